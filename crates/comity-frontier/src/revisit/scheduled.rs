use comity_policy::WallTime;

use super::Row;
use crate::{Ending, QueuedUrl};

/// A URL that left the queue and waits for its next visit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheduled {
    /// When that is due. Civil time.
    pub at: WallTime,
    /// The priority within its origin that it will have.
    pub priority: u8,
    /// How its last visit ended, under which its origin counts it meanwhile.
    pub ending: Ending,
    /// The URL, with what its visits have shown.
    pub queued: QueuedUrl,
}

/// Where a URL stands in the schedule: by time. A place is of the store that gave it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct VisitPlace(Vec<u8>);

impl VisitPlace {
    /// As bytes, to be handed on.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// From what [`Self::as_bytes`] gave. Of other bytes a list begins somewhere.
    #[must_use]
    pub const fn from_bytes(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl Scheduled {
    /// The row under a key by time.
    pub(crate) fn of(at: WallTime, row: Row) -> Self {
        let Row { priority, ending, queued } = row;
        Self { at, priority, ending, queued }
    }

    pub(crate) fn into_row(self) -> (WallTime, Row) {
        let Self { at, priority, ending, queued } = self;
        (at, Row { priority, ending, queued })
    }
}
