use comity_robots::{ExtensionKind, RuleSet, Signal};

use crate::diagnostic::DiagnosticCode;
use crate::found::{Carried, Found, cut};
use crate::page::named;
use crate::{Diagnostics, HeadFacts, Place, Source, link_field};

/// Pointers that are kept of a resource (our choice).
const MAX_POINTERS: usize = 16;
const MAX_URL_BYTES: usize = 2048;
const MEDIA_TYPE: &str = "application/rsl+xml";

/// Where a licence document is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RslCarrier {
    /// A `License` line of robots.txt: for the site.
    Robots,
    /// A `Link` field of the response.
    Link,
    /// A `link` element of the page.
    Html,
    /// The document itself, within the page.
    Inline,
}

/// A licence document that is to be fetched and read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RslPointer {
    /// An absolute `https` URL, as written.
    pub url: String,
    /// Where it is named.
    pub carrier: RslCarrier,
    /// Line, field or element.
    pub place: Place,
}

/// Every licence that a site and a page name for one resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RslPointers {
    /// RSL documents, each once, in the order robots.txt, `Link` fields, elements.
    pub documents: Vec<RslPointer>,
    /// Links to licences of another kind, as written: recorded, not read.
    pub others: Vec<String>,
    /// What was odd.
    pub diagnostics: Diagnostics,
}

impl RslCarrier {
    /// The name in records.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Robots => "robots.txt",
            Self::Link => "link field",
            Self::Html => "link element",
            Self::Inline => "inline",
        }
    }

    /// The carrier of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Robots, Self::Link, Self::Html, Self::Inline].into_iter().find(|carrier| carrier.as_str() == name)
    }

    /// Whether a content without a URL means the page itself (signals reference §8.3).
    #[must_use]
    pub const fn is_of_the_page(self) -> bool {
        matches!(self, Self::Html | Self::Inline)
    }
}

impl RslPointers {
    /// Finds the pointers of a resource: `License` lines of the selected group of `rules`, and only when it has none those
    /// before the first group; `Link` fields and link elements with the media type of RSL. Links without it are ordinary
    /// licence links (signals reference §8.1).
    #[must_use]
    pub fn read<N: AsRef<str>, V: AsRef<[u8]>>(rules: Option<&RuleSet>, fields: &[(N, V)], head: &HeadFacts) -> Self {
        let (mut pointers, mut found) = (Self::default(), Found::default());
        for line in rules.into_iter().flat_map(licence_lines) {
            pointers.add(&mut found, RslCarrier::Robots, Place::Line(line.line), &line.value);
        }
        for (index, value) in named(fields, "link") {
            for link in link_field::links(&value).filter(|link| !link.has_anchor && is_licence(&link.rel)) {
                let typed = link.media_type.as_deref().is_some_and(is_rsl);
                pointers.sort(&mut found, (RslCarrier::Link, Place::Header(index)), typed, link.target);
            }
        }
        for (index, link) in (0..).zip(&head.licences) {
            let typed = link.media_type.as_deref().is_some_and(is_rsl);
            pointers.sort(&mut found, (RslCarrier::Html, Place::Element(index)), typed, &link.href);
        }
        Self { diagnostics: found.diagnostics, ..pointers }
    }

    /// Every URL, RSL or not, each once: the constraint `license_urls` of records.
    pub fn urls(&self) -> impl Iterator<Item = &str> {
        self.documents.iter().map(|pointer| pointer.url.as_str()).chain(self.others.iter().map(String::as_str))
    }

    fn sort(&mut self, found: &mut Found, (carrier, place): (RslCarrier, Place), typed: bool, url: &str) {
        if typed {
            return self.add(found, carrier, place, url);
        }
        let url = cut(url.trim(), MAX_URL_BYTES);
        if self.others.len() < MAX_POINTERS && !url.is_empty() && !self.others.iter().any(|known| known == url) {
            self.others.push(url.to_owned());
        }
    }

    fn add(&mut self, found: &mut Found, carrier: RslCarrier, place: Place, url: &str) {
        let url = url.trim();
        if !is_absolute(url) {
            let at = Carried { source: Source::Rsl, place, raw: url, path: None };
            return found.note(DiagnosticCode::RslBadUrl, at, url);
        }
        let known = self.documents.iter().any(|pointer| pointer.url == url && pointer.carrier == carrier);
        if !known && self.documents.len() < MAX_POINTERS {
            self.documents.push(RslPointer { url: url.to_owned(), carrier, place });
        }
    }
}

fn licence_lines(rules: &RuleSet) -> Vec<&Signal> {
    let of = |lines| -> Vec<&Signal> {
        <[Signal]>::iter(lines).filter(|line: &&Signal| line.kind == ExtensionKind::License).collect()
    };
    let own = of(rules.signals());
    if own.is_empty() { of(rules.file_signals()) } else { own }
}

fn is_licence(rel: &str) -> bool {
    rel.split_ascii_whitespace().any(|word| word.eq_ignore_ascii_case("license"))
}

fn is_rsl(media_type: &str) -> bool {
    media_type.split(';').next().unwrap_or(media_type).trim().eq_ignore_ascii_case(MEDIA_TYPE)
}

/// An `https` URL with a host.
fn is_absolute(url: &str) -> bool {
    let scheme = url.get(..8).is_some_and(|head| head.eq_ignore_ascii_case("https://"));
    let fits =
        url.len() <= MAX_URL_BYTES && !url.bytes().any(|byte| byte.is_ascii_whitespace() || byte.is_ascii_control());
    scheme && fits && url.get(8..).is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['/', '?', '#', ':']))
}
