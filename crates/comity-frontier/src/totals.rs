use crate::queued::{Cursor, RecordError};
use crate::{Ending, Summary};

/// Sums over every origin of a store, written in the same commit as what they count: nobody walks over all origins.
///
/// Stored form, version 2, numbers big-endian: version (1), origins, admitted, queued, done, refused, failed, scheduled
/// (8 each). Version 1 is the same without scheduled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    /// Origins that have a record.
    pub(crate) origins: u64,
    pub(crate) admitted: u64,
    pub(crate) queued: u64,
    pub(crate) done: u64,
    pub(crate) refused: u64,
    pub(crate) failed: u64,
    /// URLs that left the queue and come again: each is among those that ended.
    pub(crate) scheduled: u64,
}

const VERSION: u8 = 2;
/// Before URLs came back.
const OLDER: u8 = 1;

impl Totals {
    pub(crate) fn add(&mut self, summary: &Summary) {
        self.admitted += summary.admitted();
        self.queued += summary.queued();
        self.done += summary.ended(Ending::Done);
        self.refused += summary.ended(Ending::Refused);
        self.failed += summary.ended(Ending::Failed);
    }

    pub(crate) fn subtract(&mut self, summary: &Summary) {
        self.admitted = self.admitted.saturating_sub(summary.admitted());
        self.queued = self.queued.saturating_sub(summary.queued());
        self.done = self.done.saturating_sub(summary.ended(Ending::Done));
        self.refused = self.refused.saturating_sub(summary.ended(Ending::Refused));
        self.failed = self.failed.saturating_sub(summary.ended(Ending::Failed));
    }

    pub(crate) fn encode(self) -> Vec<u8> {
        let mut out = vec![VERSION];
        let Self { origins, admitted, queued, done, refused, failed, scheduled } = self;
        let numbers = [origins, admitted, queued, done, refused, failed, scheduled];
        out.extend(numbers.into_iter().flat_map(u64::to_be_bytes));
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, RecordError> {
        let mut cursor = Cursor(bytes);
        let version = cursor.byte()?;
        if !matches!(version, OLDER | VERSION) {
            return Err(RecordError::Version(version));
        }
        let mut number = || cursor.array().map(u64::from_be_bytes);
        let totals = Self {
            origins: number()?,
            admitted: number()?,
            queued: number()?,
            done: number()?,
            refused: number()?,
            failed: number()?,
            scheduled: if version == VERSION { number()? } else { 0 },
        };
        if cursor.0.is_empty() { Ok(totals) } else { Err(RecordError::Length) }
    }
}
