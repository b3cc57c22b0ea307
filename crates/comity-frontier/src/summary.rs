use smallvec::SmallVec;

use crate::queued::{Cursor, RecordError, put_number};

/// The counts of one origin, stored in the same commit as what they count.
///
/// `admitted = queued + done + refused + failed`, always; one that comes back to be visited anew is queued, and no longer
/// among those that ended. Stored form, version 4: version (1), then as numbers of variable length done, refused, failed,
/// returned, bytes, how many lanes, and of each lane priority (1 byte), records queued and low; admitted is the sum of those that
/// ended and the queued ones. Version 3 is the same without bytes, version 2 without returned, too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    admitted: u64,
    done: u64,
    refused: u64,
    failed: u64,
    /// How often a URL came back.
    returned: u64,
    /// Body bytes received of the origin.
    bytes: u64,
    /// One or two nearly always: a record is read and copied for each new URL of a sleeping origin.
    lanes: SmallVec<[Lane; 2]>,
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

const VERSION: u8 = 4;
/// Before bytes were counted.
const UNWEIGHED: u8 = 3;
/// Before URLs came back.
const OLDER: u8 = 2;

impl Summary {
    /// URLs ever taken.
    #[must_use]
    pub const fn admitted(&self) -> u64 {
        self.admitted
    }

    /// The sequence number of the next record: URLs taken, and returns.
    #[must_use]
    pub const fn next_sequence(&self) -> u64 {
        self.admitted + self.returned
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

    /// Body bytes received of the origin, over all runs: what the byte budget counts.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Counts body bytes.
    pub const fn receive(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
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
        let sequence = self.next_sequence();
        self.admitted += 1;
        self.add(priority, sequence);
        sequence
    }

    /// Takes a URL in again that had left the queue with `ending`, and gives its sequence number.
    pub fn come_back(&mut self, priority: u8, ending: Ending) -> u64 {
        let sequence = self.next_sequence();
        self.returned += 1;
        // Counts that were rebuilt know of fewer, and under another name: then it counts as one more.
        if !self.take_ended(ending) && !self.take_ended(Ending::Done) {
            self.admitted += 1;
        }
        self.add(priority, sequence);
        sequence
    }

    /// Counts one less that ended this way; false when there is none.
    const fn take_ended(&mut self, ending: Ending) -> bool {
        let ended = match ending {
            Ending::Done => &mut self.done,
            Ending::Refused => &mut self.refused,
            Ending::Failed => &mut self.failed,
        };
        let any = *ended > 0;
        *ended = ended.saturating_sub(1);
        any
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
        rows.for_each(|(priority, sequence)| summary.count(priority, sequence));
        summary
    }

    /// Takes one URL back in, at the place that it had: how it ended does not count any more.
    pub(crate) fn restore(&mut self, priority: u8, sequence: u64, ending: Ending) {
        // In counts made anew everything that left counts as done.
        if !self.take_ended(ending) && !self.take_ended(Ending::Done) {
            self.admitted += 1;
        }
        self.add(priority, sequence);
        if let Some(lane) = self.lanes.iter_mut().find(|lane| lane.priority == priority) {
            lane.low = lane.low.min(sequence);
        }
        self.reach(sequence.saturating_add(1));
    }

    /// Counts a queued record; those of a priority come in their order. What is missing up to the highest has ended.
    pub(crate) fn count(&mut self, priority: u8, sequence: u64) {
        self.add(priority, sequence);
        self.admitted = self.admitted.max(sequence.saturating_add(1));
        self.done = self.admitted.saturating_sub(self.queued());
    }

    /// Takes over how URLs ended from an earlier count, of whose queued records only those counted here are there.
    pub(crate) fn recall_endings(&mut self, before: Option<&Self>) {
        let Some(before) = before else { return };
        let next = self.next_sequence().max(before.next_sequence());
        (self.done, self.refused, self.failed) = (before.done, before.refused, before.failed);
        self.returned = before.returned;
        self.bytes = before.bytes;
        self.admitted = self.queued() + self.done + self.refused + self.failed;
        self.reach(next);
    }

    /// The next sequence is `next` or more: what is missing up to it has ended, nobody knows how.
    const fn reach(&mut self, next: u64) {
        let missing = next.saturating_sub(self.next_sequence());
        self.done += missing;
        self.admitted += missing;
    }

    /// The stored form.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(16 + 4 * self.lanes.len());
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
        for number in [self.done, self.refused, self.failed, self.returned, self.bytes, self.lanes.len() as u64] {
            put_number(out, number);
        }
        for lane in &self.lanes {
            out.push(lane.priority);
            put_number(out, lane.queued);
            put_number(out, lane.low);
        }
    }

    pub(crate) fn read(cursor: &mut Cursor<'_>) -> Result<Self, RecordError> {
        let version = cursor.byte()?;
        if !matches!(version, OLDER..=VERSION) {
            return Err(RecordError::Version(version));
        }
        let [done, refused, failed] = [cursor.number()?, cursor.number()?, cursor.number()?];
        let returned = if version >= UNWEIGHED { cursor.number()? } else { 0 };
        let bytes = if version == VERSION { cursor.number()? } else { 0 };
        let mut summary = Self { admitted: 0, done, refused, failed, returned, bytes, lanes: SmallVec::new() };
        for _ in 0..cursor.number()? {
            let lane = Lane { priority: cursor.byte()?, queued: cursor.number()?, low: cursor.number()? };
            if lane.queued == 0 {
                return Err(RecordError::Field("lane"));
            }
            if summary.lanes.last().is_some_and(|last| last.priority >= lane.priority) {
                return Err(RecordError::Field("priority"));
            }
            summary.lanes.push(lane);
        }
        let parts = [done, refused, failed].into_iter().chain(summary.lanes.iter().map(|lane| lane.queued));
        summary.admitted = parts.into_iter().try_fold(0, u64::checked_add).ok_or(RecordError::Field("count"))?;
        let next = summary.admitted.checked_add(returned).ok_or(RecordError::Field("count"))?;
        let is_low = summary.lanes.iter().all(|lane| lane.low < next);
        if is_low { Ok(summary) } else { Err(RecordError::Field("lane")) }
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
