use std::fmt;

use comity_url::UrlError;

use crate::notes::bump;

/// What the reader left out, or read leniently, counted. All zero on a sound file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SitemapNotes {
    /// Entries without a location, or with an empty one.
    pub without_loc: u32,
    /// Locations that are no URL: reason `url.syntax`.
    pub unparseable: u32,
    /// Locations of schemes other than http and https.
    pub other_schemes: u32,
    /// Locations whose URL cannot be sent as it would be judged: reason `url.unsendable`.
    pub unsendable: u32,
    /// Values longer than a bound: reason `url.length`.
    pub too_long: u32,
    /// Entries beyond the bounds on their number or their bytes, not kept.
    pub entries_cut: u32,
    /// Alternates and media beyond the bound of their entry, not kept.
    pub extensions_cut: u32,
    /// `lastmod` values that are no date; the entry is kept without.
    pub bad_dates: u32,
    /// `priority` values that are none; the entry is kept without.
    pub bad_priorities: u32,
    /// Ampersands that begin no reference, and references to entities that XML does not define: kept as written.
    pub odd_references: u32,
    /// Tags that do not match: read as if what they should have closed were closed.
    pub mismatched_tags: u32,
    /// Pieces of markup that could not be read; each costs the entry it stands in at most.
    pub broken_markup: u32,
    /// Elements nested deeper than any sitemap; not looked into.
    pub too_deep: u32,
    /// Document type declarations: skipped. No entity that one defines is ever resolved, inside or outside the file.
    pub doctypes: u32,
    /// Whether bytes that are not of the charset were replaced by U+FFFD.
    pub replaced: bool,
    /// Whether the file ended in the middle.
    pub truncated: bool,
    /// What could not be read to its end.
    pub broken: Option<BrokenFile>,
    /// Why reading ended before the file did; what was found until then is kept.
    pub stopped: Option<SitemapStop>,
}

/// Why reading ended before the file did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SitemapStop {
    /// The file is longer than [`SitemapLimits::bytes`](crate::SitemapLimits::bytes).
    Bytes,
    /// Too many pieces of markup could not be read.
    Markup,
}

/// What of a file could not be read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BrokenFile {
    /// The gzip data.
    Gzip,
    /// The JSON.
    Json,
}

impl SitemapNotes {
    /// Whether nothing was left out or read leniently.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether the file itself is damaged, so that something may be lost which a whole copy would give. Bare
    /// ampersands, bad dates and entries beyond a bound are flaws and no damage.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        self.truncated
            || self.broken.is_some()
            || self.broken_markup > 0
            || self.mismatched_tags > 0
            || self.stopped == Some(SitemapStop::Markup)
    }

    /// Keeps the first reason only.
    pub(super) fn stop(&mut self, why: SitemapStop) {
        self.stopped.get_or_insert(why);
    }

    pub(super) fn refuse(&mut self, why: &UrlError) {
        bump(match why {
            UrlError::Scheme(_) => &mut self.other_schemes,
            UrlError::Unsendable { .. } => &mut self.unsendable,
            UrlError::Length { .. } => &mut self.too_long,
            _ => &mut self.unparseable,
        });
    }
}

impl SitemapNotes {
    /// One line per note, for people; nothing for a sound file.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        let counts = [
            (self.without_loc, "entries have no location"),
            (self.unparseable, "locations are no URL"),
            (self.other_schemes, "locations are neither http nor https"),
            (self.unsendable, "locations cannot be sent as judged"),
            (self.too_long, "values are too long"),
            (self.entries_cut, "entries beyond the limit were not kept"),
            (self.extensions_cut, "alternates or media beyond the limit were not kept"),
            (self.bad_dates, "values of lastmod are no date"),
            (self.bad_priorities, "values of priority are not between 0.0 and 1.0"),
            (self.odd_references, "ampersands or references were kept as written"),
            (self.mismatched_tags, "tags do not match"),
            (self.broken_markup, "pieces of markup could not be read"),
            (self.too_deep, "elements are nested too deep"),
            (self.doctypes, "document type declarations were skipped"),
        ];
        let flags = [
            (self.replaced, "undecodable bytes were replaced"),
            (self.truncated, "the file ends in the middle"),
            (self.broken == Some(BrokenFile::Gzip), "the gzip data are broken or cut"),
            (self.broken == Some(BrokenFile::Json), "the JSON is broken or cut"),
            (self.stopped == Some(SitemapStop::Bytes), "longer than the byte limit, the rest was not read"),
            (self.stopped == Some(SitemapStop::Markup), "too much broken markup, the rest was not read"),
        ];
        let counted = counts.into_iter().filter(|(count, _)| *count > 0).map(|(count, text)| format!("{count} {text}"));
        counted.chain(flags.into_iter().filter(|(is_so, _)| *is_so).map(|(_, text)| text.to_owned()))
    }
}

impl fmt::Display for SitemapNotes {
    /// Clauses joined by `; `, nothing for an empty value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines().collect::<Vec<_>>().join("; "))
    }
}
