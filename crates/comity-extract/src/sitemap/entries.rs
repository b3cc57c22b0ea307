use comity_url::CrawlUrl;

use super::entry::{Alternate, ChangeFreq, EntryKind, LastMod, Media, MediaKind, SitemapEntry, SitemapPriority};
use super::limits::SitemapLimits;
use super::notes::SitemapNotes;
use crate::notes::bump;

/// The entries of a file, resolved and bounded.
#[derive(Debug)]
pub(super) struct Entries {
    pub(super) base: CrawlUrl,
    pub(super) limits: SitemapLimits,
    pub(super) list: Vec<SitemapEntry>,
    pub(super) notes: SitemapNotes,
    url_bytes: usize,
}

/// An entry as it is written.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) kind: EntryKind,
    /// Mostly one; two in one element are two entries.
    pub(super) locs: Vec<String>,
    pub(super) lastmod: Option<String>,
    pub(super) priority: Option<String>,
    pub(super) changefreq: Option<String>,
    /// Language and reference.
    pub(super) alternates: Vec<(String, String)>,
    pub(super) media: Vec<(MediaKind, String)>,
}

/// More locations than this in one entry are not kept.
const MOST_LOCS: usize = 16;

impl Draft {
    pub(super) const fn new(kind: EntryKind) -> Self {
        Self {
            kind,
            locs: Vec::new(),
            lastmod: None,
            priority: None,
            changefreq: None,
            alternates: Vec::new(),
            media: Vec::new(),
        }
    }
}

impl Entries {
    pub(super) fn new(base: CrawlUrl, limits: SitemapLimits) -> Self {
        Self { base, limits, list: Vec::new(), notes: SitemapNotes::default(), url_bytes: 0 }
    }

    pub(super) fn too_long(&mut self) {
        bump(&mut self.notes.too_long);
    }

    /// Takes an entry in, resolved against the file's own URL.
    pub(super) fn add(&mut self, draft: Draft) {
        self.add_at(draft, None);
    }

    /// Takes an entry in, resolved against `base`, the file's own URL without one.
    pub(super) fn add_at(&mut self, draft: Draft, base: Option<&CrawlUrl>) {
        if draft.locs.iter().all(String::is_empty) {
            bump(&mut self.notes.without_loc);
            return;
        }
        let base = base.unwrap_or(&self.base).clone();
        let lastmod = draft.lastmod.as_deref().and_then(|text| self.lastmod(text));
        let priority = draft.priority.as_deref().and_then(|text| self.priority(text));
        // A word that is none says nothing, as one that is missing.
        let changefreq = draft.changefreq.as_deref().and_then(ChangeFreq::parse);
        for loc in draft.locs.iter().filter(|loc| !loc.is_empty()).take(MOST_LOCS) {
            if self.list.len() >= self.limits.entries || self.url_bytes > self.limits.url_bytes {
                bump(&mut self.notes.entries_cut);
                continue;
            }
            let Some(loc) = self.resolve(&base, loc) else { continue };
            let alternates = self.alternates(&base, &draft.alternates);
            let media = self.media(&base, &draft.media);
            let (lastmod, kind) = (lastmod.clone(), draft.kind);
            self.list.push(SitemapEntry { loc, kind, lastmod, priority, changefreq, alternates, media });
        }
    }

    fn resolve(&mut self, base: &CrawlUrl, reference: &str) -> Option<CrawlUrl> {
        match base.join(reference) {
            Ok(url) => {
                self.url_bytes = self.url_bytes.saturating_add(url.as_str().len());
                Some(url)
            }
            Err(why) => {
                self.notes.refuse(&why);
                None
            }
        }
    }

    fn alternates(&mut self, base: &CrawlUrl, written: &[(String, String)]) -> Vec<Alternate> {
        let mut kept = Vec::with_capacity(written.len());
        for (language, reference) in written {
            let Some(url) = self.resolve(base, reference) else { continue };
            kept.push(Alternate { language: language.as_str().into(), url });
        }
        kept
    }

    fn media(&mut self, base: &CrawlUrl, written: &[(MediaKind, String)]) -> Vec<Media> {
        let mut kept = Vec::with_capacity(written.len());
        for (kind, reference) in written {
            let Some(url) = self.resolve(base, reference) else { continue };
            kept.push(Media { kind: *kind, url });
        }
        kept
    }

    fn lastmod(&mut self, text: &str) -> Option<LastMod> {
        let read = LastMod::parse(text);
        if read.is_none() {
            bump(&mut self.notes.bad_dates);
        }
        read
    }

    fn priority(&mut self, text: &str) -> Option<SitemapPriority> {
        let read = SitemapPriority::parse(text);
        if read.is_none() {
            bump(&mut self.notes.bad_priorities);
        }
        read
    }
}
