//! What the elements of a page say, gathered in document order.

use comity_signals::{HeadFacts, RobotsMeta};
use lol_html::html_content::TextType;
use lol_html::send::Element;

use crate::notes::bump;
use crate::{LinkTag, Notes, PageLimits, Rel, attribute, refresh, srcset};

/// The elements a page is read for.
pub(crate) const ELEMENTS: [&str; 19] = [
    "a", "area", "audio", "base", "embed", "frame", "html", "iframe", "image", "img", "link", "meta", "noscript",
    "object", "source", "title", "track", "use", "video",
];

/// `noscript` within `noscript` is read this deep; what lies deeper is text.
pub(crate) const NOSCRIPT_DEPTH: usize = 3;

/// Bytes of a title or a meta's content that are kept.
const FACT_BYTES: usize = 4096;
/// A base element may be longer than a reference: without it all relative links would be wrong.
const BASE_BYTES: usize = comity_url::MAX_CRAWL_URL_BYTES;

const HTML: &str = "http://www.w3.org/1999/xhtml";
const SVG: &str = "http://www.w3.org/2000/svg";

/// A reference, not yet resolved.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) tag: LinkTag,
    pub(crate) rel: Rel,
    pub(crate) reference: Box<str>,
}

/// What the text of the `noscript` elements at one depth is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Noscript {
    /// Not read: within a template, or foreign.
    #[default]
    Ignored,
    /// A new element: its text is the start of a fragment.
    Opened,
    /// More of the same fragment.
    Going,
}

/// How far a collector has come.
#[derive(Debug)]
pub(crate) struct Mark {
    found: usize,
    robots: usize,
    tdm_reservation: usize,
    tdm_policy: usize,
    pages: usize,
    resources: usize,
    bytes: usize,
    notes: Notes,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Title {
    #[default]
    Awaited,
    Reading,
    Read,
}

/// Everything found so far.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    limits: PageLimits,
    pub(crate) found: Vec<Found>,
    pub(crate) base: Option<String>,
    pub(crate) head: HeadFacts,
    pub(crate) notes: Notes,
    title: Title,
    title_text: String,
    /// Depth and offset of the element last seen within a template.
    in_template: Option<(usize, usize)>,
    noscript: [Noscript; NOSCRIPT_DEPTH],
    pages: usize,
    resources: usize,
    bytes: usize,
}

impl Collector {
    pub(crate) fn new(limits: PageLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark {
            found: self.found.len(),
            robots: self.head.robots.len(),
            tdm_reservation: self.head.tdm_reservation.len(),
            tdm_policy: self.head.tdm_policy.len(),
            pages: self.pages,
            resources: self.resources,
            bytes: self.bytes,
            notes: self.notes.clone(),
        }
    }

    /// Drops what was found since `mark`, as it will be read again; answers how often that has happened.
    /// Values of which the first counts stay: the second reading finds the same.
    pub(crate) fn roll_back(&mut self, mark: Mark) -> u32 {
        self.found.truncate(mark.found);
        self.head.robots.truncate(mark.robots);
        self.head.tdm_reservation.truncate(mark.tdm_reservation);
        self.head.tdm_policy.truncate(mark.tdm_policy);
        (self.pages, self.resources, self.bytes) = (mark.pages, mark.resources, mark.bytes);
        self.notes = mark.notes;
        bump(&mut self.notes.restarts);
        self.notes.restarts
    }

    /// Says that this element, which [`Collector::element`] may get next, lies within a template: its
    /// content is no part of the document.
    pub(crate) fn enter_template(&mut self, element: &Element<'_, '_>, depth: usize) {
        self.in_template = Some((depth, element.source_location().bytes().start));
    }

    /// Takes one start tag; `depth` counts the `noscript` elements around it.
    pub(crate) fn element(&mut self, element: &Element<'_, '_>, depth: usize) {
        let in_template = self.in_template.take() == Some((depth, element.source_location().bytes().start));
        let name = element.tag_name();
        if name == "title" && self.title == Title::Reading {
            self.title = Title::Read;
        }
        let namespace = element.namespace_uri();
        if name == "noscript" {
            let read = namespace == HTML && !in_template;
            self.open_noscript(depth, if read { Noscript::Opened } else { Noscript::Ignored });
        } else if in_template {
        } else if namespace == HTML {
            self.html_element(&name, element);
        } else if namespace == SVG {
            self.svg_element(&name, element);
        }
    }

    fn open_noscript(&mut self, depth: usize, state: Noscript) {
        if let Some(slot) = self.noscript.get_mut(depth) {
            *slot = state;
        }
    }

    /// What the next text of a `noscript` at `depth` is.
    pub(crate) fn noscript(&mut self, depth: usize) -> Noscript {
        let Some(slot) = self.noscript.get_mut(depth) else { return Noscript::Ignored };
        let state = *slot;
        if state == Noscript::Opened {
            *slot = Noscript::Going;
        }
        state
    }

    /// Takes text of a `title` element. That of an HTML title is of the kind RCDATA; other titles stand in
    /// SVG, where the tokeniser reports them as HTML elements.
    pub(crate) fn title_text(&mut self, text: &str, kind: TextType, is_last: bool) {
        if self.title == Title::Reading && kind != TextType::RCData {
            self.title = Title::Awaited;
        }
        if self.title == Title::Reading {
            let room = FACT_BYTES.saturating_sub(self.title_text.len());
            let kept = prefix(text, room);
            if kept.len() < text.len() {
                bump(&mut self.notes.heads_cut);
            }
            // Once cut, nothing more is taken, or a later short chunk would close the gap.
            self.title_text.push_str(kept);
            if is_last || kept.len() < text.len() {
                self.title = Title::Read;
            }
        }
    }

    /// Puts the title together; nothing comes after.
    pub(crate) fn finish(&mut self) {
        let text = attribute::text(std::mem::take(&mut self.title_text));
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        self.head.title = Some(words.join(" ")).filter(|title| !title.is_empty());
    }

    fn html_element(&mut self, name: &str, element: &Element<'_, '_>) {
        match name {
            "a" => self.hyperlink(LinkTag::A, element),
            "area" => self.hyperlink(LinkTag::Area, element),
            "link" => self.link(element),
            "meta" => self.meta(element),
            "base" => self.base(element),
            "html" => self.html(element),
            "title" if self.title == Title::Awaited => self.title = Title::Reading,
            "iframe" => self.resource(LinkTag::Iframe, element, "src"),
            "frame" => self.resource(LinkTag::Frame, element, "src"),
            "img" | "image" => self.image(LinkTag::Img, element),
            "source" => self.image(LinkTag::Source, element),
            "video" => {
                self.resource(LinkTag::Video, element, "src");
                self.resource(LinkTag::Video, element, "poster");
            }
            "audio" => self.resource(LinkTag::Audio, element, "src"),
            "track" => self.resource(LinkTag::Track, element, "src"),
            "embed" => self.resource(LinkTag::Embed, element, "src"),
            "object" => self.resource(LinkTag::Object, element, "data"),
            _ => {}
        }
    }

    /// SVG takes `href`, and `xlink:href` where that is missing. Source: SVG 2 §16.1.6.
    fn svg_element(&mut self, name: &str, element: &Element<'_, '_>) {
        let tag = match name {
            "a" => LinkTag::A,
            "image" => LinkTag::SvgImage,
            "use" => LinkTag::SvgUse,
            _ => return,
        };
        let Some(reference) = attr(element, "href").or_else(|| attr(element, "xlink:href")) else { return };
        // A part of this very document is no other resource.
        if tag == LinkTag::A || !reference.trim_start().starts_with('#') {
            self.add(tag, rel(element), reference);
        }
    }

    fn hyperlink(&mut self, tag: LinkTag, element: &Element<'_, '_>) {
        if let Some(reference) = attr(element, "href") {
            self.add(tag, rel(element), reference);
        }
    }

    fn link(&mut self, element: &Element<'_, '_>) {
        let Some(reference) = attr(element, "href").filter(|reference| !reference.is_empty()) else { return };
        let rel = rel(element);
        if rel.contains(Rel::CANONICAL) && self.head.canonical.is_none() && reference.len() <= FACT_BYTES {
            self.head.canonical = Some(reference.clone());
        }
        self.add(LinkTag::Link, rel, reference);
    }

    fn image(&mut self, tag: LinkTag, element: &Element<'_, '_>) {
        self.resource(tag, element, "src");
        let Some(value) = attr(element, "srcset") else { return };
        for candidate in srcset::candidates(&value) {
            self.add(tag, Rel::default(), candidate.to_owned());
        }
    }

    /// An empty `src` loads nothing, other than an empty `href`.
    fn resource(&mut self, tag: LinkTag, element: &Element<'_, '_>, name: &str) {
        if let Some(reference) = attr(element, name).filter(|reference| !reference.trim_ascii().is_empty()) {
            self.add(tag, Rel::default(), reference);
        }
    }

    /// The first base with an href counts. Source: the HTML standard, "the base element".
    fn base(&mut self, element: &Element<'_, '_>) {
        if self.base.is_some() {
            return;
        }
        match attr(element, "href") {
            Some(href) if href.len() > BASE_BYTES => bump(&mut self.notes.too_long),
            href => self.base = href,
        }
    }

    /// Attributes of later `html` tags fill in what the first one lacks, as the tree builder does.
    fn html(&mut self, element: &Element<'_, '_>) {
        if self.head.language.is_none() {
            let language = attr(element, "lang").or_else(|| attr(element, "xml:lang"));
            self.head.language = language.map(|tag| prefix(tag.trim_ascii(), 64).to_owned()).filter(|l| !l.is_empty());
        }
    }

    fn meta(&mut self, element: &Element<'_, '_>) {
        let Some(content) = attr(element, "content") else { return };
        if attr(element, "http-equiv").is_some_and(|value| value.eq_ignore_ascii_case("refresh")) {
            self.refresh(&content);
        }
        if let Some(name) = attr(element, "name") {
            self.named_meta(&name.trim_ascii().to_ascii_lowercase(), content);
        }
    }

    fn refresh(&mut self, content: &str) {
        if let Some(refresh) = refresh::parse(content).filter(|refresh| !refresh.reference.is_empty()) {
            self.add(LinkTag::Meta { delay: refresh.delay }, Rel::default(), refresh.reference.to_owned());
        }
    }

    fn named_meta(&mut self, name: &str, content: String) {
        let kept = match name {
            "tdm-reservation" => self.head.tdm_reservation.len(),
            "tdm-policy" => self.head.tdm_policy.len(),
            _ if speaks_to_robots(name, &content) => self.head.robots.len(),
            _ => return,
        };
        let content_kept = prefix(&content, FACT_BYTES);
        if kept >= self.limits.metas || content_kept.len() < content.len() {
            bump(&mut self.notes.heads_cut);
        }
        if kept >= self.limits.metas {
            return;
        }
        let content = content_kept.to_owned();
        match name {
            "tdm-reservation" => self.head.tdm_reservation.push(content),
            "tdm-policy" => self.head.tdm_policy.push(content),
            _ => self.head.robots.push(RobotsMeta { name: name.to_owned(), content }),
        }
    }

    fn add(&mut self, tag: LinkTag, rel: Rel, reference: String) {
        if is_never_http(&reference) {
            return bump(&mut self.notes.other_schemes);
        }
        if reference.len() > self.limits.reference_bytes {
            return bump(&mut self.notes.too_long);
        }
        let count = if tag.leads_to_document(rel) { &mut self.pages } else { &mut self.resources };
        let bytes = self.bytes.saturating_add(reference.len());
        if *count >= self.limits.links || bytes > self.limits.references_bytes {
            return bump(&mut self.notes.links_cut);
        }
        *count += 1;
        self.bytes = bytes;
        self.found.push(Found { tag, rel, reference: reference.into_boxed_str() });
    }
}

/// The first attribute of that name, decoded. Source: the HTML standard, "duplicate-attribute".
fn attr(element: &Element<'_, '_>, name: &str) -> Option<String> {
    element.get_attribute(name).map(attribute::attribute_value)
}

fn rel(element: &Element<'_, '_>) -> Rel {
    attr(element, "rel").map_or_else(Rel::default, |value| Rel::parse(&value))
}

/// The longest prefix of at most `len` bytes.
fn prefix(text: &str, len: usize) -> &str {
    text.get(..text.floor_char_boundary(len)).unwrap_or(text)
}

/// Schemes that would only waste memory until they are refused.
fn is_never_http(reference: &str) -> bool {
    let start = reference.trim_start_matches(|c: char| c <= ' ');
    ["data:", "javascript:", "mailto:", "tel:", "blob:"]
        .iter()
        .any(|scheme| start.get(..scheme.len()).is_some_and(|head| head.eq_ignore_ascii_case(scheme)))
}

/// Whether a meta is a robots meta: named `robots`, or named like a crawler and holding at least one known
/// directive, as which crawler reads the page is not known here.
///
/// Source of the directives: Google's robots meta documentation; `noai` and `noimageai` by DeviantArt.
fn speaks_to_robots(name: &str, content: &str) -> bool {
    const DIRECTIVES: [&str; 18] = [
        "all",
        "none",
        "index",
        "noindex",
        "follow",
        "nofollow",
        "archive",
        "noarchive",
        "nocache",
        "snippet",
        "nosnippet",
        "noimageindex",
        "notranslate",
        "indexifembedded",
        "noai",
        "noimageai",
        "noodp",
        "noydir",
    ];
    const VALUED: [&str; 4] = ["max-snippet", "max-image-preview", "max-video-preview", "unavailable_after"];
    let is_directive = |word: &str| {
        let key = word.split(':').next().unwrap_or(word).trim_ascii_end();
        let known = |table: &[&str], word: &str| table.iter().any(|known| known.eq_ignore_ascii_case(word));
        known(&DIRECTIVES, word) || known(&VALUED, key)
    };
    let is_token =
        !name.is_empty() && name.len() <= 64 && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b));
    name == "robots" || (is_token && content.split(',').any(|word| is_directive(word.trim_ascii())))
}
