use super::usage::UsageSet;
use super::xml;
use crate::DiagnosticCode;
use crate::scope::PlacePattern;

/// One RSL document in compiled form: parsed once, asked for every resource.
///
/// Never fails: what does not conform permits nothing, and keeps its prohibitions as far as they could be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RslDocument {
    pub(super) contents: Vec<Content>,
    pub(super) conformant: bool,
    pub(super) legacy_list: bool,
    max_age_days: Option<u32>,
    terms: Vec<String>,
}

/// What applies to one part of a site.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Content {
    /// The `url` attribute; empty where it is missing.
    pub(super) url: String,
    /// The same, compiled; `None` where it is empty, or matches nothing.
    pub(super) place: Option<PlacePattern>,
    /// A licence server has to be asked for a token.
    pub(super) server: bool,
    pub(super) licences: Vec<Licence>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Licence {
    pub(super) permits: Vec<UsageList>,
    pub(super) prohibits: Vec<UsageList>,
    /// Classes of users and regions, each as a list of lists: permitted and prohibited ones.
    pub(super) users: Limits,
    pub(super) regions: Limits,
    pub(super) payments: Vec<Payment>,
    pub(super) reporting: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Limits {
    pub(super) permitted: Option<Vec<String>>,
    pub(super) prohibited: Option<Vec<String>>,
}

/// `permits` or `prohibits` of usages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UsageList {
    pub(super) set: UsageSet,
    /// The element as written, cut.
    pub(super) raw: String,
}

/// What a payment is called among the conditions that an operator may meet: its type, or `custom`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Payment {
    pub(super) kind: String,
}

impl RslDocument {
    /// The namespace of the format. The media type is not decisive, this is.
    pub const NAMESPACE: &'static str = "https://rslstandard.org/rsl";

    /// Bytes that are read of a document (our choice); a longer one does not conform.
    pub const MAX_BYTES: usize = 1 << 20;

    /// Bytes of memory that is taken by what is kept of a document (our choice: the sixteen licences that one page may have then
    /// fit into a cache of 32 MiB). One that takes more does not conform.
    pub const MAX_KEPT_BYTES: usize = 1 << 20;

    /// Days for which a document holds when it does not say.
    pub const DEFAULT_MAX_AGE_DAYS: u32 = 30;

    /// Reads a document. No DTD, no entities but those of XML itself, at most 32 levels and 20,000 elements; whatever goes
    /// beyond makes it non-conformant. Of one that takes more than [`Self::MAX_KEPT_BYTES`] the prohibitions are kept; where these
    /// alone take more, what is prohibited anywhere is prohibited everywhere. Cost: linear in the first [`Self::MAX_BYTES`] bytes.
    /// Nothing that it links to is fetched here or looked at.
    #[must_use]
    pub fn parse(body: &[u8]) -> Self {
        xml::read(body)
    }

    /// Whether it conforms: only then it permits anything.
    #[must_use]
    pub const fn is_conformant(&self) -> bool {
        self.conformant
    }

    /// For how many days the document and the pointer to it hold (`max-age`, default 30).
    #[must_use]
    pub fn max_age_days(&self) -> u32 {
        self.max_age_days.unwrap_or(Self::DEFAULT_MAX_AGE_DAYS)
    }

    /// The URLs of `terms` elements as written, at most 16: prose, to be kept and not interpreted.
    #[must_use]
    pub fn terms(&self) -> &[String] {
        &self.terms
    }

    /// Bytes of memory that it takes, for a cache that is bounded in bytes.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let terms: usize = self.terms.iter().map(|url| url.len() + size_of::<String>()).sum();
        terms + self.contents.iter().map(Content::heap_bytes).sum::<usize>()
    }

    /// What is odd about the document as a whole.
    pub fn oddities(&self) -> impl Iterator<Item = DiagnosticCode> {
        let codes = [(self.legacy_list, DiagnosticCode::RslLegacyList), (!self.conformant, DiagnosticCode::RslInvalid)];
        codes.into_iter().filter(|(found, _)| *found).map(|(_, code)| code)
    }

    /// The same within [`Self::MAX_KEPT_BYTES`]: never more is permitted, nor less prohibited.
    pub(super) fn bounded(mut self) -> Self {
        if self.heap_bytes() > Self::MAX_KEPT_BYTES {
            self.conformant = false;
            self.contents.iter_mut().for_each(Content::keep_prohibitions);
            self.contents.retain(|content| !content.licences.is_empty());
        }
        if self.heap_bytes() > Self::MAX_KEPT_BYTES {
            let lists =
                self.contents.iter().flat_map(|content| &content.licences).flat_map(|licence| &licence.prohibits);
            let raw = lists.clone().next().map(|list| list.raw.clone()).unwrap_or_default();
            let set = lists.fold(UsageSet::default(), |all, list| all.with(list.set));
            let licence = Licence { prohibits: vec![UsageList { set, raw }], ..Licence::default() };
            self.contents = vec![Content::new("/", false, vec![licence])];
        }
        self.contents.iter_mut().for_each(Content::shrink);
        self.contents.shrink_to_fit();
        self
    }

    pub(super) const fn set_max_age(&mut self, days: Option<u32>) {
        self.max_age_days = days;
    }

    pub(super) fn add_terms(&mut self, url: &str) {
        if self.terms.len() < 16 && !url.is_empty() {
            self.terms.push(crate::found::cut(url, 2048).to_owned());
        }
    }
}

impl Content {
    pub(super) fn new(url: &str, server: bool, licences: Vec<Licence>) -> Self {
        Self { url: url.to_owned(), place: PlacePattern::new(url), server, licences }
    }

    fn keep_prohibitions(&mut self) {
        self.licences.retain(|licence| !licence.prohibits.is_empty());
        for licence in &mut self.licences {
            *licence = Licence { prohibits: std::mem::take(&mut licence.prohibits), ..Licence::default() };
        }
    }

    /// Lets go of room that nothing takes, and nothing counts.
    fn shrink(&mut self) {
        self.licences.shrink_to_fit();
        for Licence { permits, prohibits, users, regions, payments, reporting: _ } in &mut self.licences {
            permits.shrink_to_fit();
            prohibits.shrink_to_fit();
            payments.shrink_to_fit();
            let limits = [&mut users.permitted, &mut users.prohibited, &mut regions.permitted, &mut regions.prohibited];
            limits.into_iter().flatten().for_each(Vec::shrink_to_fit);
        }
    }

    fn heap_bytes(&self) -> usize {
        let place = self.place.as_ref().map_or(0, PlacePattern::heap_bytes);
        size_of::<Self>() + self.url.len() + place + self.licences.iter().map(Licence::heap_bytes).sum::<usize>()
    }
}

impl Licence {
    fn heap_bytes(&self) -> usize {
        let lists = self.permits.iter().chain(&self.prohibits).map(|list| size_of::<UsageList>() + list.raw.len());
        let limits = [&self.users.permitted, &self.users.prohibited, &self.regions.permitted, &self.regions.prohibited];
        let words = limits.into_iter().flatten().flatten().map(|word| size_of::<String>() + word.len());
        let payments = self.payments.iter().map(|one| size_of::<Payment>() + one.kind.len());
        size_of::<Self>() + lists.sum::<usize>() + words.sum::<usize>() + payments.sum::<usize>()
    }
}
