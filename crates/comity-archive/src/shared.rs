use std::borrow::Cow;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use comity_url::CrawlUrl;

use crate::prepare::Prepared;
use crate::prepare::Preparer;
use crate::{Archive, ArchiveError, ConfigFacts, Entropy, Event, Stored};

/// An archive that any number of threads append to at once.
///
/// Each does the costly part of its own event (heads, digests, compression) beside the others; then it waits for its turn.
/// Whoever has the turn stores all events that wait by then, in the order in which they came, their lines in one frame.
/// Waiting events are bounded by the threads that wait; a body above 1 MiB is not compressed before its turn, and passes from
/// where it lies into the file.
#[derive(Debug)]
pub struct SharedArchive {
    preparer: Arc<Preparer>,
    /// For ids of records: they are needed before the turn.
    entropy: Mutex<Box<dyn Entropy>>,
    waiting: Mutex<Vec<Waiting>>,
    /// `None` once closed.
    archive: Mutex<Option<Archive>>,
}

/// An event that waits for its turn.
#[derive(Debug)]
struct Waiting {
    prepared: Prepared<'static>,
    answer: Arc<Answer>,
}

/// What became of an event; `None` until its turn.
type Answer = Mutex<Option<Result<Stored, ArchiveError>>>;

impl SharedArchive {
    /// Shares an archive; `entropy` is for the ids of its records. What was staged before is flushed.
    ///
    /// # Errors
    /// As [`Archive::flush`].
    pub fn new(mut archive: Archive, entropy: Box<dyn Entropy>) -> Result<Self, ArchiveError> {
        archive.flush()?;
        let preparer = archive.preparer.clone();
        let (entropy, waiting, archive) = (Mutex::new(entropy), Mutex::default(), Mutex::new(Some(archive)));
        Ok(Self { preparer, entropy, waiting, archive })
    }

    /// A URL as records write it: for what is kept beside them.
    #[must_use]
    pub fn written(&self, url: &CrawlUrl) -> CrawlUrl {
        self.preparer.query.url(url)
    }

    /// Does the part of the work that needs no turn: all threads may be at it at once.
    ///
    /// # Errors
    /// When a body cannot be read, and when there is no randomness for ids.
    pub fn prepare(&self, event: Event) -> Result<PreparedEvent, ArchiveError> {
        self.preparer.prepare(Cow::Owned(event), &mut OneAtATime(&self.entropy)).map(PreparedEvent)
    }

    /// Stores one outcome: acknowledged when this returns. `None` when the archive is closed. Blocks for its turn.
    ///
    /// # Errors
    /// On failure nothing of the event is stored.
    pub fn append(&self, event: PreparedEvent) -> Result<Option<Stored>, ArchiveError> {
        let answer = Arc::new(Answer::default());
        lock(&self.waiting).push(Waiting { prepared: event.0, answer: answer.clone() });
        let mut archive = self.turn()?;
        if let Some(answered) = lock(&answer).take() {
            return answered.map(Some);
        }
        // It is this thread's turn: its own event waits among the others'.
        let waiting = std::mem::take(&mut *lock(&self.waiting));
        let Some(archive) = archive.as_mut() else { return Ok(None) };
        let prepared: Vec<&Prepared<'_>> = waiting.iter().map(|one| &one.prepared).collect();
        for (one, result) in waiting.iter().zip(archive.append_all(&prepared)) {
            *lock(&one.answer) = Some(result);
        }
        lock(&answer).take().transpose()
    }

    /// Makes everything acknowledged so far safe against power loss, as [`Archive::sync`].
    ///
    /// # Errors
    /// When the device refuses.
    pub fn sync(&self) -> Result<(), ArchiveError> {
        self.turn()?.as_mut().map_or(Ok(()), |archive| archive.sync().map(drop))
    }

    /// From the next outcome on another configuration is in force, as [`Archive::reconfigure`].
    ///
    /// # Errors
    /// As there, and when the archive was closed: nothing would be stored under it.
    pub fn reconfigure(&self, facts: ConfigFacts) -> Result<ConfigFacts, ArchiveError> {
        match self.turn()?.as_mut() {
            Some(archive) => archive.reconfigure(facts),
            None => Err(ArchiveError::io(&self.preparer.dir, io::Error::other("the archive is closed"))),
        }
    }

    /// Closes the archive, as [`Archive::close`]; what comes later is not stored.
    ///
    /// # Errors
    /// As there.
    pub fn close(&self) -> Result<(), ArchiveError> {
        self.turn()?.take().map_or(Ok(()), |archive| archive.close().map(drop))
    }

    /// Waits for the turn. A thread that panicked in its turn may have left half an event: nothing is written after it.
    fn turn(&self) -> Result<MutexGuard<'_, Option<Archive>>, ArchiveError> {
        let broken =
            |_| ArchiveError::io(&self.preparer.dir, io::Error::other("a thread panicked while it wrote here"));
        self.archive.lock().map_err(broken)
    }
}

/// An event of which only the turn is left to be waited for.
#[derive(Debug)]
pub struct PreparedEvent(Prepared<'static>);

/// Entropy that threads take turns at.
#[derive(Debug)]
struct OneAtATime<'a>(&'a Mutex<Box<dyn Entropy>>);

impl Entropy for OneAtATime<'_> {
    fn fill(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        lock(self.0).fill(buffer)
    }
}

/// What these locks guard is whole between any two steps.
fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
