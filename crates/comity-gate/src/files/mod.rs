//! Files in which a site speaks about use: `/.well-known/tdmrep.json`, `/ai.txt`, RSL licences, and copies of terms. Asked for
//! before the first page of their origin, judged and paced like pages (invariant 2), at most once in a file's life.
//!
//! | file | what it holds |
//! |---|---|
//! | `cache` | [`FileCache`]: what is known of them, bounded; which are due |
//! | `fetch` | one fetch: its chain of redirects, its turns, what the answers mean |

mod cache;
mod fetch;

use std::fmt;

use comity_policy::{SiteFileKind, Vantage};
use comity_signals::{Declared, Purpose};
use comity_url::{CrawlUrl, Origin};

#[cfg(test)]
pub(crate) use cache::MOST_BYTES;
pub(crate) use cache::{FileCache, Known};
pub(crate) use fetch::FileNews;

/// Whether a site's tdmrep.json is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AskTdmrep {
    /// Never.
    #[default]
    Never,
    /// Where a declared purpose is one that it speaks about: `tdm`, and `ai_train`, which is derived from it.
    WhenNeeded,
    /// Of every site.
    Always,
}

impl AskTdmrep {
    /// Whether it is asked for under these purposes.
    #[must_use]
    pub fn asks(self, purposes: &[Declared]) -> bool {
        let speaks = |declared: &Declared| matches!(declared.judged(), Some(Purpose::Tdm | Purpose::AiTrain));
        match self {
            Self::Never => false,
            Self::WhenNeeded => purposes.iter().any(speaks),
            Self::Always => true,
        }
    }
}

/// Which files are asked for beside robots.txt; by default none is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is asked for or not, whatever the others are")]
pub struct AskFiles {
    /// tdmrep.json.
    pub tdmrep: AskTdmrep,
    /// ai.txt.
    pub ai_txt: bool,
    /// trust.txt.
    pub trust_txt: bool,
    /// RSL licences that robots.txt and pages name.
    pub licences: bool,
    /// Copies of terms: those that were reviewed, and those that pages link to.
    pub terms: bool,
}

/// One file: of an origin, or at a place that somebody names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FileKey {
    pub(crate) kind: SiteFileKind,
    pub(crate) place: Place,
    /// Sites answer by country: a file of an origin belongs to the vantage it was fetched from. What is named is one document
    /// for all (our choice).
    pub(crate) vantage: Vantage,
}

/// Where a file stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    /// At its own place on an origin.
    Of(Origin),
    /// Where somebody named it.
    At(CrawlUrl),
}

impl FileKey {
    pub(crate) const fn of(kind: SiteFileKind, origin: Origin, vantage: Vantage) -> Self {
        Self { kind, place: Place::Of(origin), vantage }
    }

    pub(crate) const fn at(kind: SiteFileKind, url: CrawlUrl) -> Self {
        Self { kind, place: Place::At(url), vantage: Vantage::Direct }
    }

    pub(crate) fn origin(&self) -> &Origin {
        match &self.place {
            Place::Of(origin) => origin,
            Place::At(url) => url.origin(),
        }
    }

    /// Bytes that its name takes beside the fixed part.
    pub(crate) fn url_bytes(&self) -> usize {
        match &self.place {
            Place::Of(_) => 0,
            Place::At(url) => url.as_str().len(),
        }
    }

    pub(crate) fn url(&self) -> Option<CrawlUrl> {
        match &self.place {
            Place::Of(origin) => self.kind.url_on(origin),
            Place::At(url) => Some(url.clone()),
        }
    }
}

impl fmt::Display for FileKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = match &self.place {
            Place::Of(origin) => origin.as_str(),
            Place::At(url) => url.as_str(),
        };
        write!(f, "{}\t{place}\t{}", self.kind.as_str(), self.vantage)
    }
}
