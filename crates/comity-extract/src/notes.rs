//! What was left out of a page, and why.

use std::fmt;

use comity_url::UrlError;

/// What the reader left out, counted. All zero on an ordinary page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Notes {
    /// References that are no URL (`http://[`): reason `url.syntax`.
    pub unparseable: u32,
    /// References of schemes other than http and https (`mailto:`, `javascript:`, `data:`).
    pub other_schemes: u32,
    /// References whose URL cannot be sent as it would be judged: reason `url.unsendable`.
    pub unsendable: u32,
    /// References, and base elements, longer than a bound: reason `url.length`.
    pub too_long: u32,
    /// References beyond the bounds on their number or their bytes, not kept.
    pub links_cut: u32,
    /// Metas beyond the bound on their number, and metas and titles cut to 4,096 bytes. The directives of such robots metas,
    /// and a reservation, are read all the same.
    pub heads_cut: u32,
    /// Tags longer than [`PageLimits::memory`](crate::PageLimits::memory): read as if they had no attributes.
    pub tags_cut: u32,
    /// Whether bytes that are not of the charset were replaced by U+FFFD.
    pub replaced: bool,
    /// Why reading ended before the page did; what was found until then is kept.
    pub stopped: Option<Stopped>,
}

/// Why reading ended before the page did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stopped {
    /// The page is longer than [`PageLimits::bytes`](crate::PageLimits::bytes).
    Bytes,
}

impl Notes {
    /// Whether nothing was left out.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Keeps the first reason only: later ones follow from it.
    pub(crate) fn stop(&mut self, why: Stopped) {
        self.stopped.get_or_insert(why);
    }

    pub(crate) fn refuse(&mut self, why: &UrlError) {
        let count = match why {
            UrlError::Scheme(_) => &mut self.other_schemes,
            UrlError::Unsendable { .. } => &mut self.unsendable,
            UrlError::Length { .. } => &mut self.too_long,
            _ => &mut self.unparseable,
        };
        bump(count);
    }
}

pub(crate) fn bump(count: &mut u32) {
    *count = count.saturating_add(1);
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bytes => "page: longer than the byte limit, the rest was not read",
        })
    }
}

impl fmt::Display for Notes {
    /// Clauses joined by `; `, nothing for an empty value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [
            (self.unparseable, "references are no URL"),
            (self.other_schemes, "references are neither http nor https"),
            (self.unsendable, "references cannot be sent as judged"),
            (self.too_long, "references are too long"),
            (self.links_cut, "references beyond the limit were not kept"),
            (self.tags_cut, "tags beyond the limit lost their attributes"),
            (self.heads_cut, "metas or titles beyond the limit were cut"),
        ];
        let mut clauses: Vec<String> =
            counts.iter().filter(|(count, _)| *count > 0).map(|(count, text)| format!("{count} {text}")).collect();
        if self.replaced {
            clauses.push("undecodable bytes were replaced".to_owned());
        }
        clauses.extend(self.stopped.map(|why| why.to_string()));
        f.write_str(&clauses.join("; "))
    }
}
