use std::error::Error;
use std::fmt;

use crate::WriteBatch;

/// What a frontier keeps on disk or in memory: a synchronous key-value contract.
///
/// Keys sort as their bytes do. A store that waits for a disk runs on a thread of its own behind a bounded channel:
/// its latency must never sit in the scheduler. A memory store, and any store in a simulation, is called inline.
pub trait Store: Send + fmt::Debug {
    /// Writes a batch: all of it or nothing, over all keyspaces. Deletes come first, then inserts.
    ///
    /// With the answer it survives the death of the process.
    ///
    /// # Errors
    /// Then nothing of the batch was written.
    fn commit(&mut self, batch: WriteBatch) -> Result<(), StoreError>;

    /// Makes everything committed so far safe against a power cut. Nothing to do for a store in memory.
    ///
    /// # Errors
    /// When the disk says that it could not.
    fn sync(&mut self) -> Result<(), StoreError>;

    /// The value of a key.
    ///
    /// # Errors
    /// When it cannot be read.
    fn get(&self, space: Keyspace, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError>;

    /// The first `limit` rows with `from <= key < until`, in key order. Costs one seek and `limit` steps: callers
    /// remember where they stopped and never start at the head again.
    ///
    /// # Errors
    /// When they cannot be read.
    fn peek(&self, space: Keyspace, from: &[u8], until: &[u8], limit: usize) -> Result<Vec<Row>, StoreError>;

    /// As [`Store::peek`], of rows whose length others choose: it ends with the row that brings keys and values to so many
    /// `bytes`, so at least one comes while there is one, and fewer than `limit` may come although there are more.
    ///
    /// A store that does not say how reads 16 at a time, and gives all of them that were read.
    ///
    /// # Errors
    /// When they cannot be read.
    fn peek_within(
        &self,
        space: Keyspace,
        from: &[u8],
        until: &[u8],
        (limit, _bytes): (usize, usize),
    ) -> Result<Vec<Row>, StoreError> {
        self.peek(space, from, until, limit.min(16))
    }
}

impl<S: Store + ?Sized> Store for Box<S> {
    fn commit(&mut self, batch: WriteBatch) -> Result<(), StoreError> {
        (**self).commit(batch)
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        (**self).sync()
    }

    fn get(&self, space: Keyspace, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        (**self).get(space, key)
    }

    fn peek(&self, space: Keyspace, from: &[u8], until: &[u8], limit: usize) -> Result<Vec<Row>, StoreError> {
        (**self).peek(space, from, until, limit)
    }

    fn peek_within(
        &self,
        space: Keyspace,
        from: &[u8],
        until: &[u8],
        most: (usize, usize),
    ) -> Result<Vec<Row>, StoreError> {
        (**self).peek_within(space, from, until, most)
    }
}

/// A key and its value.
pub type Row = (Vec<u8>, Vec<u8>);

/// The tables of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Keyspace {
    /// `origin ‖ 0 ‖ priority ‖ sequence` → a queued URL.
    Queue,
    /// Number of the commit → the fingerprints it marked seen, 16 bytes each. Only appended to, and read as a whole when
    /// a frontier is opened.
    Seen,
    /// Origin → its counts, and what a sleeping origin takes along.
    Origin,
    /// Registrable domain → the sums over its origins; the host where there is none.
    Domain,
    /// `run ‖ instant ‖ ticket` → an origin with queued URLs: in which order those that are not in memory come due.
    Due,
    /// URLs that are visited anew: `t ‖ time ‖ origin ‖ 0 ‖ fingerprint` → the URL, and `k ‖ fingerprint` → that key.
    Visit,
    /// Name → setting: the versions of the formats, the number of the run, the sums over all origins.
    Meta,
    /// `records ‖ number` → a URL that left the queue since the records of the crawl were last safe on the disk, and how:
    /// where a power cut takes its record, it comes back.
    Left,
}

impl Keyspace {
    /// Every keyspace.
    pub const ALL: [Self; 8] =
        [Self::Queue, Self::Seen, Self::Origin, Self::Domain, Self::Due, Self::Visit, Self::Meta, Self::Left];
}

/// Why a store could not do what it was asked.
#[non_exhaustive]
#[derive(Debug)]
pub enum StoreError {
    /// No space is left, or less than is kept in reserve.
    Full(String),
    /// Another process holds it.
    Held(String),
    /// Reading or writing failed.
    Io(std::io::Error),
    /// What stands there is not what was written, or of a later version.
    Format(String),
    /// A part of what was safe on the disk is missing.
    Behind(String),
    /// The store's thread is gone.
    Closed,
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full(place) => {
                write!(f, "{place}: no space left on the disk; make room and start again, nothing acknowledged is lost")
            }
            Self::Held(place) => write!(f, "{place} is in use by another process; one crawl at a time holds a store"),
            Self::Io(_) => f.write_str("reading or writing the frontier store failed"),
            Self::Format(what) | Self::Behind(what) => f.write_str(what),
            Self::Closed => f.write_str("the frontier store is closed"),
        }
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}
