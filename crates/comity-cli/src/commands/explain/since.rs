//! Since when a URL waits, by what is on record: the page that named it, and the last request to its origin.

use std::path::Path;

use comity::url::{CrawlUrl, Origin};
use comity_archive::{QueryForm, Record};

use super::each_record;
use crate::exit::Failure;

/// Instants as they are on record, in UTC. `None` where nothing on record tells.
#[derive(Debug, Default)]
pub(super) struct Since {
    /// When the answer that named the URL was read: then it entered the queue. Of an answer read several times, the first.
    pub(super) queued: Option<String>,
    /// Whether that was read again since, so that the URL may have come with a later one.
    pub(super) was_read_again: bool,
    /// The end of the last request to the origin: its delays run from there, or from the head shortly before.
    pub(super) asked_last: Option<String>,
}

impl Since {
    /// Reads every record once. A seed has no answer that named it, and when it was given is not on record.
    pub(super) fn of(dir: &Path, origin: &Origin, via: Option<&str>) -> Result<Self, Failure> {
        let mut since = Self::default();
        if dir.join("records").is_dir() {
            each_record(dir, |_, record| since.hear(&record, origin, via))?;
        }
        Ok(since)
    }

    fn hear(&mut self, record: &Record, origin: &Origin, via: Option<&str>) {
        if record.request.is_none() {
            return;
        }
        let ended = &record.time.ended;
        let form = record.query.as_deref().and_then(QueryForm::from_word).unwrap_or_default();
        if record.response.is_some() && via.is_some_and(|via| form.text(via) == record.url) {
            self.was_read_again = self.queued.is_some();
            self.queued.get_or_insert_with(|| ended.clone());
        }
        // The text settles most: a URL is read only where it may be of the origin.
        let is_of = record.url.starts_with(origin.as_str())
            && CrawlUrl::parse(&record.url).is_ok_and(|url| url.origin() == origin);
        if is_of && self.asked_last.as_ref().is_none_or(|last| last < ended) {
            self.asked_last = Some(ended.clone());
        }
    }
}
