use std::fmt;
use std::sync::Arc;

use comity_policy::Digest;

use crate::Earlier;

/// Where an outcome was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Number of its record line.
    pub seq: u64,
    /// The line's salted commitment: `comity-record` of the WARC metadata.
    pub record: Digest,
    /// Final name of the records file.
    pub records_file: Arc<str>,
    /// Where the event lies in the WARC; `None` when nothing of it does.
    pub warc: Option<StoredWarc>,
    /// What a later capture of the same content points at: this one, or, where this one repeats another, the one that
    /// holds the content. `None` when there is no answer or not the whole of it, and for one that holds no content: an error,
    /// a redirect, a 304 that repeats nothing.
    pub capture: Option<Earlier>,
}

/// Where an event lies in a WARC file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredWarc {
    /// Final name of the file; while written it ends in `.open`.
    pub file: Arc<str>,
    /// First byte of the event.
    pub offset: u64,
    /// First byte after it: the file is valid up to here.
    pub end: u64,
}

impl fmt::Display for StoredWarc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}-{}", self.file, self.offset, self.end)
    }
}
