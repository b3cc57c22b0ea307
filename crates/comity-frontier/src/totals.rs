use crate::queued::{Cursor, RecordError};
use crate::{Ending, Spent, Summary};

/// Sums over every origin of a store, written in the same commit as what they count: nobody walks over all origins.
///
/// Stored form, version 3, numbers big-endian: version (1), origins, admitted, queued, done, refused, failed, scheduled,
/// pages and bytes spent (8 each). Version 2 is the same without what was spent, version 1 without scheduled, too.
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
    /// By all settlements. Not a sum over origins: a page that is visited anew is spent again. In a store from before it was
    /// kept, and where the sums are added up anew, URLs that are done count as pages.
    pub(crate) spent: Spent,
}

const VERSION: u8 = 3;
/// Before it was kept what was spent.
const UNSPENT: u8 = 2;
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

    /// What was spent, from what is known of the origins alone.
    pub(crate) const fn spent_at_least(&self) -> Spent {
        Spent { pages: self.done, bytes: self.spent.bytes }
    }

    /// Counts what a settlement cost.
    pub(crate) const fn spend(&mut self, spent: Spent) {
        self.spent.pages = self.spent.pages.saturating_add(spent.pages);
        self.spent.bytes = self.spent.bytes.saturating_add(spent.bytes);
    }

    pub(crate) fn encode(self) -> Vec<u8> {
        let mut out = vec![VERSION];
        let Self { origins, admitted, queued, done, refused, failed, scheduled, spent } = self;
        let numbers = [origins, admitted, queued, done, refused, failed, scheduled, spent.pages, spent.bytes];
        out.extend(numbers.into_iter().flat_map(u64::to_be_bytes));
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, RecordError> {
        let mut cursor = Cursor(bytes);
        let version = cursor.byte()?;
        if !matches!(version, OLDER..=VERSION) {
            return Err(RecordError::Version(version));
        }
        let mut number = || cursor.array().map(u64::from_be_bytes);
        let mut totals = Self {
            origins: number()?,
            admitted: number()?,
            queued: number()?,
            done: number()?,
            refused: number()?,
            failed: number()?,
            scheduled: if version >= UNSPENT { number()? } else { 0 },
            spent: Spent::default(),
        };
        totals.spent = match version {
            VERSION => Spent { pages: number()?, bytes: number()? },
            _ => totals.spent_at_least(),
        };
        if cursor.0.is_empty() { Ok(totals) } else { Err(RecordError::Length) }
    }
}
