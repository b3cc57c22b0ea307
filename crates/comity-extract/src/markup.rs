//! The tokeniser: `lol_html` set up for reading only.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use lol_html::errors::RewritingError;
use lol_html::html_content::TextChunk;
use lol_html::send::{Element, ElementContentHandlers, HtmlRewriter, Settings};
use lol_html::{HandlerResult, MemorySettings, OutputSink, Selector};

use crate::collect::{Collector, ELEMENTS, Mark, NOSCRIPT_DEPTH, Noscript};
use crate::{PageLimits, Stopped};

/// The collector of one page, shared by the handlers of its tokenisers; all run on one thread at a time.
#[derive(Clone, Debug)]
pub(crate) struct Shared(Arc<Mutex<Collector>>);

impl Shared {
    pub(crate) fn new(limits: PageLimits) -> Self {
        Self(Arc::new(Mutex::new(Collector::new(limits))))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Collector> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Fresh starts of one page. Our choice: each costs the page some 100,000 unclosed elements, or a tag of
/// megabytes, so that no page of the default size gets there.
const MAX_RESTARTS: u32 = 1000;

/// Reads markup in UTF-8, in chunks cut anywhere, into a collector.
pub(crate) struct Markup {
    /// `None` once reading was given up.
    rewriter: Option<Rewriter>,
    shared: Shared,
    limits: PageLimits,
    depth: usize,
}

type Rewriter = HtmlRewriter<'static, Discard>;

impl Markup {
    pub(crate) fn new(shared: Shared, limits: PageLimits) -> Self {
        Self::at_depth(shared, limits, 0)
    }

    fn at_depth(shared: Shared, limits: PageLimits, depth: usize) -> Self {
        let rewriter = Some(rewriter(&shared, limits, depth));
        Self { rewriter, shared, limits, depth }
    }

    pub(crate) fn write(&mut self, chunk: &[u8]) {
        // A tokeniser must not be used after an error: it is put back only when all went well.
        let Some(mut rewriter) = self.rewriter.take() else { return };
        let mark = self.shared.lock().mark();
        match rewriter.write(chunk) {
            Ok(()) => self.rewriter = Some(rewriter),
            Err(RewritingError::MemoryLimitExceeded(_)) => self.restart(mark, chunk),
            Err(_) => self.shared.lock().notes.stop(Stopped::Markup),
        }
    }

    /// The tokeniser keeps every element that was not closed, and pages that close no `p` or `li` are old
    /// and honest. So a full one is replaced by a fresh one, which reads the chunk again: at most the tag
    /// at its start is lost.
    fn restart(&mut self, mark: Mark, chunk: &[u8]) {
        let may_restart = self.shared.lock().roll_back(mark) <= MAX_RESTARTS;
        let mut fresh = rewriter(&self.shared, self.limits, self.depth);
        if may_restart && fresh.write(chunk).is_ok() {
            self.rewriter = Some(fresh);
        } else {
            self.shared.lock().notes.stop(Stopped::Memory);
        }
    }

    pub(crate) fn finish(self) {
        match self.rewriter.map(HtmlRewriter::end) {
            None | Some(Ok(())) => {}
            Some(Err(RewritingError::MemoryLimitExceeded(_))) => self.shared.lock().notes.stop(Stopped::Memory),
            Some(Err(_)) => self.shared.lock().notes.stop(Stopped::Markup),
        }
    }
}

/// Where the rewritten page would go.
struct Discard;

impl OutputSink for Discard {
    fn handle_chunk(&mut self, _: &[u8]) {}
}

fn rewriter(shared: &Shared, limits: PageLimits, depth: usize) -> Rewriter {
    HtmlRewriter::new(settings(shared, limits, depth), Discard)
}

struct Selectors {
    elements: Selector,
    in_template: Selector,
    title: Selector,
    noscript: Selector,
}

/// Compiled once. Not strict, below: strict mode gives up on ambiguous markup and loses the page.
#[expect(clippy::expect_used, reason = "the selectors are constants, and every test of this crate parses them")]
static SELECTORS: LazyLock<Selectors> = LazyLock::new(|| {
    let parse = |text: &str| text.parse().expect("a constant selector parses");
    Selectors {
        elements: parse(&ELEMENTS.join(",")),
        in_template: parse("template *"),
        title: parse("title"),
        noscript: parse("noscript"),
    }
});

/// Handlers run in the order of their registration: the template mark comes before what it marks.
fn settings(shared: &Shared, limits: PageLimits, depth: usize) -> Settings<'static, 'static> {
    let memory = MemorySettings::new().with_max_allowed_memory_usage(limits.memory >> (2 * depth));
    let settings = Settings::new_send().with_memory_settings(memory).with_strict(false).with_enable_esi_tags(false);
    let templates = shared.clone();
    let elements = shared.clone();
    let titles = shared.clone();
    let settings = settings
        .append_element_content_handler((
            Cow::Borrowed(&SELECTORS.in_template),
            ElementContentHandlers::default().element(move |element: &mut Element<'_, '_>| {
                templates.lock().enter_template(element, depth);
                Ok(())
            }),
        ))
        .append_element_content_handler((
            Cow::Borrowed(&SELECTORS.elements),
            ElementContentHandlers::default().element(move |element: &mut Element<'_, '_>| {
                elements.lock().element(element, depth);
                Ok(())
            }),
        ))
        .append_element_content_handler((
            Cow::Borrowed(&SELECTORS.title),
            ElementContentHandlers::default().text(move |text: &mut TextChunk<'_>| {
                titles.lock().title_text(text.as_str(), text.text_type(), text.last_in_text_node());
                Ok(())
            }),
        ));
    if depth >= NOSCRIPT_DEPTH {
        return settings;
    }
    let noscript = ElementContentHandlers::default().text(read_noscript(shared.clone(), limits, depth));
    settings.append_element_content_handler((Cow::Borrowed(&SELECTORS.noscript), noscript))
}

/// A tokeniser takes `noscript` for text, as a browser that runs scripts does. Nothing runs scripts here,
/// so the text is read as markup, by a tokeniser of its own.
fn read_noscript(
    shared: Shared,
    limits: PageLimits,
    depth: usize,
) -> impl FnMut(&mut TextChunk<'_>) -> HandlerResult + Send + 'static {
    let mut inner: Option<Box<Markup>> = None;
    move |text| {
        let state = shared.lock().noscript(depth);
        match state {
            Noscript::Ignored => inner = None,
            Noscript::Opened => inner = Some(Box::new(Markup::at_depth(shared.clone(), limits, depth + 1))),
            Noscript::Going => {}
        }
        if let Some(markup) = &mut inner {
            markup.write(text.as_str().as_bytes());
        }
        Ok(())
    }
}
