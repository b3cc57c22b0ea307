//! What a response says about its own content: header fields and the head of the page.

use std::borrow::Cow;

use crate::diagnostic::DiagnosticCode;
use crate::found::{Carried, Found, Ground};
use crate::head::prohibits;
use crate::xrobots::{Rule, Rules, robots_tag};
use crate::{
    Diagnostics, HeadFacts, Place, Preferences, Profile, Purpose, SignalOptions, Source, Statement, UnixSeconds,
    UseCeiling, Verdict, aipref, content_signal,
};

/// Who reads a response, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageReader<'a> {
    /// Our product token: rules for others do not count. Compared without ASCII case.
    pub token: &'a str,
    /// Whether the response is an image (`image/*`): `noimageindex` and `noimageai` then speak about it.
    pub image: bool,
    /// Profile and knobs.
    pub options: SignalOptions,
}

/// What a response says: statements on purposes, and constraints (signals reference §1.3) that bind a polite client
/// whatever its purpose.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent wishes, each named as the records name it")]
pub struct PageSignals {
    /// Header `Content-Usage`, header `Content-Signal`, `X-Robots-Tag`, `robots-tag`, metas: in this order.
    pub statements: Vec<Statement>,
    /// False: no link of this page may be followed.
    pub follow: bool,
    /// The longest excerpt to be shown, in characters; 0 means none, `None` that no limit was named.
    pub snippet_max: Option<u32>,
    /// False: no cached copy is to be shown.
    pub cache: bool,
    /// False: images of this page are not to be indexed.
    pub image_index: bool,
    /// False: no translation is to be offered.
    pub translate: bool,
    /// Denied: images of this page are not for training.
    pub image_ai_train: Verdict,
    /// From then on `search` is denied: see [`Self::expired`]. Of several dates the earliest.
    pub unavailable_after: Option<UnixSeconds>,
    /// The lowest `use=` of the header.
    pub use_ceiling: Option<UseCeiling>,
    /// What was odd.
    pub diagnostics: Diagnostics,
    /// The denial that `unavailable_after` becomes.
    expiry: Option<Statement>,
}

/// Reads the header fields of a response and the head of its page, by the default [`SignalOptions`]: the short form of
/// [`PageReader::read`].
///
/// `fields` are names and values in wire order, repeated fields not folded; `token` is our product token; `image` tells
/// whether the response is an image.
///
/// ```
/// use comity_signals::{HeadFacts, page_signals};
/// let page = page_signals(&[("X-Robots-Tag", "otherbot: noindex, nofollow")], &HeadFacts::default(), "ComityBot", false);
/// assert!(page.follow && page.statements.is_empty());
/// ```
#[must_use]
pub fn page_signals<N: AsRef<str>, V: AsRef<[u8]>>(
    fields: &[(N, V)],
    head: &HeadFacts,
    token: &str,
    image: bool,
) -> PageSignals {
    PageReader { token, image, options: SignalOptions::default() }.read(fields, head)
}

impl PageReader<'_> {
    /// Reads `Content-Usage`, `Content-Signal`, `X-Robots-Tag` and `robots-tag` fields and the robots metas.
    ///
    /// - Header and metas, general rules and rules for our token add up; the more restrictive wins (Google robots meta
    ///   documentation).
    /// - Each `X-Robots-Tag` field is read on its own, so that an agent prefix never reaches into another (our choice);
    ///   `Content-Usage` fields are joined before parsing, so that one broken member voids them all (RFC 9651 §4.2).
    /// - The cautious profile derives denials from `nosnippet`, `max-snippet:0` and `noarchive` (signals reference
    ///   §1.4); they are marked as derived.
    ///
    /// Bytes that are not UTF-8 are replaced. Linear in fields and head; what is kept is bounded.
    #[must_use]
    pub fn read<N: AsRef<str>, V: AsRef<[u8]>>(&self, fields: &[(N, V)], head: &HeadFacts) -> PageSignals {
        let mut reading = Reading { reader: self, found: Found::default(), signals: PageSignals::default() };
        reading.content_usage(fields);
        reading.content_signal(fields);
        for (index, value) in named(fields, "x-robots-tag") {
            let at = Carried::field(Source::HeaderXRobotsTag, index, &value);
            Rules::of_field(&value, self.token).for_each(|rule| reading.apply(rule, at));
        }
        for (index, value) in named(fields, "robots-tag") {
            let at = Carried::field(Source::HeaderRobotsTag, index, &value);
            robots_tag(&value, self.token).for_each(|rule| reading.apply(rule, at));
        }
        reading.metas(head);
        reading.embedded(head);
        reading.finish()
    }
}

impl PageSignals {
    /// The denial of `search` once the date of `unavailable_after` has passed, `None` before. It belongs to the
    /// statements as of `now`.
    #[must_use]
    pub fn expired(&self, now: UnixSeconds) -> Option<&Statement> {
        self.expiry.as_ref().filter(|_| self.unavailable_after.is_some_and(|date| now > date))
    }

    /// What holds for the content as of `now`: what was known from elsewhere (robots.txt), and this page's own words.
    /// The stricter wins, whichever said it.
    #[must_use]
    pub fn preferences(&self, known: Preferences, now: UnixSeconds) -> Preferences {
        known.with(self.statements.iter().chain(self.expired(now)).cloned())
    }
}

impl Default for PageSignals {
    /// Nothing was said.
    fn default() -> Self {
        Self {
            statements: Vec::new(),
            follow: true,
            snippet_max: None,
            cache: true,
            image_index: true,
            translate: true,
            image_ai_train: Verdict::Unspecified,
            unavailable_after: None,
            use_ceiling: None,
            diagnostics: Diagnostics::default(),
            expiry: None,
        }
    }
}

impl<'a> Carried<'a> {
    const fn field(source: Source, index: u32, raw: &'a str) -> Self {
        Self { source, place: Place::Header(index), raw, path: None }
    }
}

struct Reading<'a> {
    reader: &'a PageReader<'a>,
    found: Found,
    signals: PageSignals,
}

impl Reading<'_> {
    fn content_usage<N: AsRef<str>, V: AsRef<[u8]>>(&mut self, fields: &[(N, V)]) {
        let values: Vec<_> = named(fields, "content-usage").map(|(_, value)| value).collect();
        let place = match values.len() {
            0 => return,
            1 => Place::Header(0),
            _ => Place::Whole,
        };
        let joined = values.join(", ");
        let at = Carried { source: Source::HeaderContentUsage, place, raw: &joined, path: None };
        aipref::read(&mut self.found, at, joined.as_bytes(), self.reader.options);
    }

    fn content_signal<N: AsRef<str>, V: AsRef<[u8]>>(&mut self, fields: &[(N, V)]) {
        for (index, value) in named(fields, "content-signal") {
            let at = Carried::field(Source::HeaderContentSignal, index, &value);
            let named = content_signal::read(&mut self.found, at, &value, self.reader.options);
            self.signals.use_ceiling = UseCeiling::lower(self.signals.use_ceiling, named);
        }
    }

    fn metas(&mut self, head: &HeadFacts) {
        for (index, meta) in (0..).zip(&head.robots) {
            let name = meta.name.trim();
            if name.eq_ignore_ascii_case("robots") || name.eq_ignore_ascii_case(self.reader.token) {
                let place = Place::Element(index);
                let at = Carried { source: Source::MetaRobots, place, raw: &meta.content, path: None };
                Rules::unprefixed(&meta.content).for_each(|rule| self.apply(rule, at));
            }
        }
    }

    /// PLUS: whatever it prohibits is read as the whole, and as training (our choice for the latter; signals reference §9).
    fn embedded(&mut self, head: &HeadFacts) {
        for (index, value) in (0..).zip(&head.embedded.data_mining) {
            if prohibits(value) {
                let place = Place::Element(index);
                let at = Carried { source: Source::EmbeddedPlus, place, raw: value, path: None };
                self.derive(Purpose::Tdm, at);
                self.derive(Purpose::AiTrain, at);
            }
        }
    }

    /// The table of signals reference §7.2.
    fn apply(&mut self, rule: Rule<'_>, at: Carried<'_>) {
        match rule {
            Rule::NoIndex => self.deny(Purpose::Search, at),
            Rule::NoFollow => self.signals.follow = false,
            Rule::Nothing => {
                self.deny(Purpose::Search, at);
                self.signals.follow = false;
            }
            Rule::NoArchive => {
                self.signals.cache = false;
                self.derive(Purpose::AiTrain, at);
                self.derive(Purpose::AiInput, at);
            }
            Rule::NoCache => self.signals.cache = false,
            Rule::MaxSnippet(limit) => self.limit_snippet(limit, at),
            Rule::NoTranslate => self.signals.translate = false,
            Rule::NoImageIndex => {
                self.signals.image_index = false;
                if self.reader.image {
                    self.deny(Purpose::Search, at);
                }
            }
            Rule::NoAi | Rule::NoMl => self.deny(Purpose::AiTrain, at),
            Rule::NoImageAi if self.reader.image => self.deny(Purpose::AiTrain, at),
            Rule::NoImageAi => self.signals.image_ai_train = Verdict::Denied,
            Rule::UnavailableAfter(date) => self.expire(date, at),
            Rule::Recorded => {}
            Rule::BadDate(text) => self.found.note(DiagnosticCode::XrobotsBadDate, at, text),
            Rule::Unknown(text) => self.found.note(DiagnosticCode::XrobotsUnknownRule, at, text),
        }
    }

    fn deny(&mut self, purpose: Purpose, at: Carried<'_>) {
        self.found.state(at, purpose, Verdict::Denied, Ground::Said);
    }

    fn derive(&mut self, purpose: Purpose, at: Carried<'_>) {
        if self.reader.options.profile == Profile::Cautious {
            self.found.state(at, purpose, Verdict::Denied, Ground::Derived);
        }
    }

    fn limit_snippet(&mut self, limit: u32, at: Carried<'_>) {
        self.signals.snippet_max = Some(self.signals.snippet_max.map_or(limit, |known| known.min(limit)));
        if limit == 0 {
            self.derive(Purpose::AiInput, at);
        }
    }

    fn expire(&mut self, date: UnixSeconds, at: Carried<'_>) {
        if self.signals.unavailable_after.is_some_and(|known| known <= date) {
            return;
        }
        self.signals.unavailable_after = Some(date);
        let mut expiry = Found::default();
        expiry.state(at, Purpose::Search, Verdict::Denied, Ground::Said);
        self.signals.expiry = expiry.statements.pop();
    }

    fn finish(self) -> PageSignals {
        let Found { statements, diagnostics } = self.found;
        PageSignals { statements, diagnostics, ..self.signals }
    }
}

/// The values of one field name, numbered among themselves.
pub(crate) fn named<'a, N: AsRef<str>, V: AsRef<[u8]>>(
    fields: &'a [(N, V)],
    name: &str,
) -> impl Iterator<Item = (u32, Cow<'a, str>)> {
    let ours = fields.iter().filter(move |(field, _)| field.as_ref().eq_ignore_ascii_case(name));
    (0..).zip(ours.map(|(_, value)| String::from_utf8_lossy(value.as_ref())))
}
