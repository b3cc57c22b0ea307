use crate::Summary;
use crate::rest::{OriginRecord, Row};
use crate::scheduler::Waking;

/// An origin whose counts change.
#[derive(Debug)]
pub(super) struct Touched {
    pub(super) record: OriginRecord,
    pub(super) before: Summary,
    pub(super) home: Home,
    /// Whether the store had a record of it.
    pub(super) stored: bool,
    /// Where its domain stands, once that was asked about.
    pub(super) domain: Option<usize>,
}

/// Where an origin is, and will be after the commit.
#[derive(Debug)]
pub(super) enum Home {
    /// In memory, or new to it.
    Memory,
    /// It sleeps on.
    Asleep,
    /// It sleeps, and comes to memory as this record.
    Wakes(Box<OriginRecord>, Waking),
}

impl Touched {
    pub(super) fn resident(summary: &Summary, row: Option<Row>, stored: bool) -> Self {
        let record = OriginRecord { summary: summary.clone(), row, rest: None };
        Self { before: summary.clone(), record, home: Home::Memory, stored, domain: None }
    }

    /// One that sleeps on, or wakes.
    pub(super) fn sleeper(record: OriginRecord, waking: Option<Waking>) -> Self {
        let before = record.summary.clone();
        let (home, record) = match waking {
            None => (Home::Asleep, record),
            Some(waking) => {
                let awake = OriginRecord { rest: None, summary: record.summary.clone(), row: record.row };
                (Home::Wakes(Box::new(record), waking), awake)
            }
        };
        Self { record, before, home, stored: true, domain: None }
    }

    pub(super) fn unknown() -> Self {
        let (record, before) = (OriginRecord::default(), Summary::default());
        Self { record, before, home: Home::Memory, stored: false, domain: None }
    }

    /// Whether what its domain counts has changed.
    pub(super) fn shifts(&self) -> bool {
        let (before, after) = (&self.before, &self.record.summary);
        (before.pages(), before.queued()) != (after.pages(), after.queued())
    }
}
