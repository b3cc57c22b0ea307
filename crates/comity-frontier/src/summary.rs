use crate::queued::{Cursor, RecordError};

/// The counts of one origin, stored in the same commit as what they count.
///
/// `admitted = queued + done + refused + failed`, always. Stored form, version 2, numbers big-endian: version (1),
/// admitted, done, refused, failed (8 each), number of lanes (2), then each lane: priority (1), records queued (8), low
/// (8).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    admitted: u64,
    done: u64,
    refused: u64,
    failed: u64,
    lanes: Vec<Lane>,
}

/// The queued records of one priority of an origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lane {
    /// The priority.
    pub priority: u8,
    /// How many there are.
    pub queued: u64,
    /// No queued record of the priority has a sequence below: where reading may begin after a restart, past the graves of
    /// what has left.
    pub low: u64,
}

/// How a URL left the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Fetched and recorded.
    Done,
    /// Refused and recorded.
    Refused,
    /// Failed for good and recorded.
    Failed,
}

const VERSION: u8 = 2;

impl Summary {
    /// URLs ever taken; also the sequence number of the next one.
    #[must_use]
    pub const fn admitted(&self) -> u64 {
        self.admitted
    }

    /// URLs that ended this way.
    #[must_use]
    pub const fn ended(&self, ending: Ending) -> u64 {
        match ending {
            Ending::Done => self.done,
            Ending::Refused => self.refused,
            Ending::Failed => self.failed,
        }
    }

    /// Records in the queue, leased ones among them.
    #[must_use]
    pub fn queued(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.queued).sum()
    }

    /// Pages fetched or still to be fetched: what the page budget counts. Refused URLs are no load on the site.
    #[must_use]
    pub const fn pages(&self) -> u64 {
        self.admitted.saturating_sub(self.refused)
    }

    /// Priorities with queued records, in order.
    #[must_use]
    pub fn lanes(&self) -> &[Lane] {
        &self.lanes
    }

    /// Notes that no queued record of `priority` has a sequence below `low`.
    pub(crate) fn rise(&mut self, priority: u8, low: u64) {
        if let Some(lane) = self.lanes.iter_mut().find(|lane| lane.priority == priority) {
            lane.low = lane.low.max(low);
        }
    }

    /// Takes one URL in and gives its sequence number.
    pub fn admit(&mut self, priority: u8) -> u64 {
        let sequence = self.admitted;
        self.admitted += 1;
        self.add(priority, sequence);
        sequence
    }

    /// Takes one URL out.
    pub fn end(&mut self, priority: u8, ending: Ending) {
        let Ok(at) = self.lanes.binary_search_by_key(&priority, |lane| lane.priority) else { return };
        if let Some(lane) = self.lanes.get_mut(at) {
            lane.queued = lane.queued.saturating_sub(1);
            if lane.queued == 0 {
                self.lanes.remove(at);
            }
        }
        match ending {
            Ending::Done => self.done += 1,
            Ending::Refused => self.refused += 1,
            Ending::Failed => self.failed += 1,
        }
    }

    /// Counts anew from what the queue holds: for a summary that cannot be read. What has left the queue counts as
    /// done, since how it ended is no longer known here.
    pub(crate) fn recount(rows: impl Iterator<Item = (u8, u64)>) -> Self {
        let mut summary = Self::default();
        for (priority, sequence) in rows {
            summary.admitted = summary.admitted.max(sequence.saturating_add(1));
            summary.add(priority, sequence);
        }
        summary.done = summary.admitted.saturating_sub(summary.queued());
        summary
    }

    /// The stored form.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(35 + 17 * self.lanes.len());
        self.encode_into(&mut out);
        out
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// When it is of another version, or its numbers do not add up.
    pub fn decode(bytes: &[u8]) -> Result<Self, RecordError> {
        let mut cursor = Cursor(bytes);
        let summary = Self::read(&mut cursor)?;
        if cursor.0.is_empty() { Ok(summary) } else { Err(RecordError::Length) }
    }

    pub(crate) fn encode_into(&self, out: &mut Vec<u8>) {
        out.push(VERSION);
        for number in [self.admitted, self.done, self.refused, self.failed] {
            out.extend(number.to_be_bytes());
        }
        out.extend(u16::try_from(self.lanes.len()).unwrap_or(u16::MAX).to_be_bytes());
        for lane in &self.lanes {
            out.push(lane.priority);
            out.extend(lane.queued.to_be_bytes());
            out.extend(lane.low.to_be_bytes());
        }
    }

    pub(crate) fn read(cursor: &mut Cursor<'_>) -> Result<Self, RecordError> {
        match cursor.byte()? {
            VERSION => {}
            other => return Err(RecordError::Version(other)),
        }
        let mut number = || cursor.array().map(u64::from_be_bytes);
        let mut summary =
            Self { admitted: number()?, done: number()?, refused: number()?, failed: number()?, lanes: Vec::new() };
        for _ in 0..u16::from_be_bytes(cursor.array()?) {
            let priority = cursor.byte()?;
            let queued = u64::from_be_bytes(cursor.array()?);
            let low = u64::from_be_bytes(cursor.array()?);
            if queued == 0 || low >= summary.admitted {
                return Err(RecordError::Field("lane"));
            }
            if summary.lanes.last().is_some_and(|last| last.priority >= priority) {
                return Err(RecordError::Field("priority"));
            }
            summary.lanes.push(Lane { priority, queued, low });
        }
        summary.adds_up().then_some(summary).ok_or(RecordError::Field("count"))
    }

    fn adds_up(&self) -> bool {
        let parts = [self.done, self.refused, self.failed];
        let counts = self.lanes.iter().map(|lane| lane.queued);
        let sum = parts.into_iter().chain(counts).try_fold(0_u64, u64::checked_add);
        sum == Some(self.admitted)
    }

    /// Counts one record that stands at `sequence`, behind all of its priority that were counted before.
    fn add(&mut self, priority: u8, sequence: u64) {
        match self.lanes.binary_search_by_key(&priority, |lane| lane.priority) {
            Ok(at) => {
                if let Some(lane) = self.lanes.get_mut(at) {
                    lane.queued += 1;
                }
            }
            Err(at) => self.lanes.insert(at, Lane { priority, queued: 1, low: sequence }),
        }
    }
}
