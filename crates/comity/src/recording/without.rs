//! A program without the feature `warc`: there is no archive.

use std::path::Path;
use std::sync::Arc;

use comity_frontier::RecordMark;
use comity_policy::Clock;

use crate::Error;
use crate::config::CrawlConfig;
use crate::keep::{Exposed, Store};
use crate::open::Work;
use crate::remembered::Remembered;

/// Nothing is written.
pub(crate) type Files = ();

/// The name of the file that keeps others out of a crawl directory.
pub(crate) const LOCK_FILE: &str = "lock";
/// The file whose lock readers share.
pub(crate) const READING_FILE: &str = "reading";

/// A crawl directory that is this process's alone: there is none.
#[derive(Debug)]
pub(crate) enum Held {}

/// # Errors
/// Always. No crawl has a directory here, so nobody asks.
pub(crate) fn hold(_: &Path) -> Result<Held, Error> {
    Err(Error::internal("this program was built without an archive"))
}

/// Nobody can ask: there is nothing to hold.
pub(crate) const fn open(
    _: &Path,
    _: &CrawlConfig,
    _: &Arc<dyn Clock>,
    _: Remembered,
    (_, _, _, held): (Files, Work, Arc<Exposed>, Held),
    _: &mut dyn FnMut(u64, RecordMark) -> Result<(), Error>,
) -> Result<Store, Error> {
    match held {}
}
