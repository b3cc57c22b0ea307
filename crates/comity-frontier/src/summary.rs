use crate::queued::{Cursor, RecordError};

/// The counts of one origin, stored in the same commit as what they count.
///
/// `admitted = queued + done + refused + failed`, always. Stored form, version 1, numbers big-endian: version (1),
/// admitted, done, refused, failed (8 each), then for each priority in use: priority (1), records queued (8).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    admitted: u64,
    done: u64,
    refused: u64,
    failed: u64,
    /// Priorities with queued records, in order.
    classes: Vec<(u8, u64)>,
}

/// How a URL left the queue: its state in the seen-set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Fetched and recorded.
    Done,
    /// Refused and recorded.
    Refused,
    /// Failed for good and recorded.
    Failed,
}

/// The state byte of a URL that is still queued.
pub(crate) const SEEN_QUEUED: u8 = b'q';

const VERSION: u8 = 1;

impl Ending {
    /// The state byte in the seen-set; a queued URL has `q`.
    #[must_use]
    pub const fn state(self) -> u8 {
        match self {
            Self::Done => b'd',
            Self::Refused => b'r',
            Self::Failed => b'f',
        }
    }
}

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
        self.classes.iter().map(|(_, count)| count).sum()
    }

    /// Pages fetched or still to be fetched: what the page budget counts. Refused URLs are no load on the site.
    #[must_use]
    pub const fn pages(&self) -> u64 {
        self.admitted.saturating_sub(self.refused)
    }

    /// Priorities with queued records and how many, in order.
    #[must_use]
    pub fn classes(&self) -> &[(u8, u64)] {
        &self.classes
    }

    /// Takes one URL in and gives its sequence number.
    pub fn admit(&mut self, priority: u8) -> u64 {
        let sequence = self.admitted;
        self.admitted += 1;
        self.add(priority, 1);
        sequence
    }

    /// Takes one URL out.
    pub fn end(&mut self, priority: u8, ending: Ending) {
        let Ok(at) = self.classes.binary_search_by_key(&priority, |class| class.0) else { return };
        if let Some((_, count)) = self.classes.get_mut(at) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.classes.remove(at);
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
            summary.add(priority, 1);
        }
        summary.done = summary.admitted.saturating_sub(summary.queued());
        summary
    }

    /// The stored form.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(33 + 9 * self.classes.len());
        out.push(VERSION);
        for number in [self.admitted, self.done, self.refused, self.failed] {
            out.extend(number.to_be_bytes());
        }
        for (priority, count) in &self.classes {
            out.push(*priority);
            out.extend(count.to_be_bytes());
        }
        out
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// When it is of a later version, or its numbers do not add up.
    pub fn decode(bytes: &[u8]) -> Result<Self, RecordError> {
        let mut cursor = Cursor(bytes);
        match cursor.byte()? {
            VERSION => {}
            other => return Err(RecordError::Version(other)),
        }
        let mut number = || cursor.array().map(u64::from_be_bytes);
        let mut summary =
            Self { admitted: number()?, done: number()?, refused: number()?, failed: number()?, classes: Vec::new() };
        while !cursor.0.is_empty() {
            let priority = cursor.byte()?;
            let count = u64::from_be_bytes(cursor.array()?);
            if count == 0 || summary.classes.last().is_some_and(|last| last.0 >= priority) {
                return Err(RecordError::Field("priority"));
            }
            summary.classes.push((priority, count));
        }
        summary.adds_up().then_some(summary).ok_or(RecordError::Field("count"))
    }

    fn adds_up(&self) -> bool {
        let parts = [self.done, self.refused, self.failed];
        let counts = self.classes.iter().map(|(_, count)| *count);
        let sum = parts.into_iter().chain(counts).try_fold(0_u64, u64::checked_add);
        sum == Some(self.admitted)
    }

    fn add(&mut self, priority: u8, count: u64) {
        match self.classes.binary_search_by_key(&priority, |class| class.0) {
            Ok(at) => {
                if let Some(class) = self.classes.get_mut(at) {
                    class.1 += count;
                }
            }
            Err(at) => self.classes.insert(at, (priority, count)),
        }
    }
}
