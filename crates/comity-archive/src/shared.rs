use std::borrow::Cow;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::{fmt, mem};

use comity_url::CrawlUrl;

use crate::prepare::Prepared;
use crate::prepare::Preparer;
use crate::{Archive, ArchiveError, ConfigFacts, Entropy, Event, Stored};

/// An archive that any number of threads append to at once.
///
/// Each does the costly part of its own event (heads, digests, compression) beside the others; then it hands it over. Whoever finds
/// that nobody has the turn takes it, and stores all events that wait by then, in the order in which they came, their lines in one
/// frame, and those that came meanwhile, until none waits. So nobody waits for the turn of another to be over, unless it asks to be
/// told before it goes on ([`SharedArchive::append`]).
///
/// Waiting events are bounded by whoever hands them over; a body above 1 MiB is not compressed before its turn, and passes from
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
struct Waiting {
    prepared: Prepared<'static>,
    tell: Tell,
}

impl fmt::Debug for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiting").field("prepared", &self.prepared).finish_non_exhaustive()
    }
}

/// Is told what became of an event; of one that came after the close, nothing.
type Tell = Box<dyn FnOnce(Outcome) + Send>;

type Outcome = Result<Option<Stored>, ArchiveError>;

impl Waiting {
    fn tell(self, outcome: Outcome) {
        (self.tell)(outcome);
    }
}

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

    /// Stores one outcome: acknowledged when this returns. `None` when the archive is closed. Blocks until it is stored.
    ///
    /// # Errors
    /// On failure nothing of the event is stored.
    pub fn append(&self, event: PreparedEvent) -> Result<Option<Stored>, ArchiveError> {
        let answer = Arc::new(Answer::default());
        let teller = Teller(answer.clone());
        self.hand_over(event, move |outcome| teller.tell(outcome));
        answer.wait().unwrap_or_else(|| Err(self.broken()))
    }

    /// Hands an outcome over, and tells what became of it once that is known: as [`SharedArchive::append`] gives it. Does not wait
    /// for a turn that another thread has, which stores it then; otherwise this thread stores what waits. Whichever
    /// thread it is calls `tell`, which may not block; it is dropped without a call where a thread panicked over the event.
    ///
    /// The caller bounds how many it hands over before they are acknowledged: they wait in memory.
    pub fn hand_over(
        &self,
        event: PreparedEvent,
        tell: impl FnOnce(Result<Option<Stored>, ArchiveError>) + Send + 'static,
    ) {
        lock(&self.waiting).push(Waiting { prepared: event.0, tell: Box::new(tell) });
        self.serve();
    }

    /// Stores what waits, unless another has the turn: that one looks again when it has given it back, and whoever finds the turn
    /// taken has handed over before.
    fn serve(&self) {
        let _told = AllTold(self);
        while !lock(&self.waiting).is_empty() {
            let stored = match self.archive.try_lock() {
                Ok(mut archive) => self.store(archive.as_mut()),
                Err(TryLockError::WouldBlock) => return,
                Err(TryLockError::Poisoned(_)) => return self.give_up(),
            };
            // The turn is over: nobody waits for those who are told.
            stored.into_iter().for_each(|(one, outcome)| one.tell(outcome));
        }
    }

    /// Stores what waits by now, together; gives what is to be told.
    fn store(&self, archive: Option<&mut Archive>) -> Vec<(Waiting, Outcome)> {
        let waiting = mem::take(&mut *lock(&self.waiting));
        let Some(archive) = archive else { return waiting.into_iter().map(|one| (one, Ok(None))).collect() };
        let prepared: Vec<&Prepared<'_>> = waiting.iter().map(|one| &one.prepared).collect();
        let outcomes = archive.append_all(&prepared);
        waiting.into_iter().zip(outcomes.into_iter().map(|outcome| outcome.map(Some))).collect()
    }

    /// Nothing is stored any more.
    fn give_up(&self) {
        let waiting = mem::take(&mut *lock(&self.waiting));
        waiting.into_iter().for_each(|one| one.tell(Err(self.broken())));
    }

    /// Makes everything acknowledged so far safe against power loss, as [`Archive::sync`].
    ///
    /// # Errors
    /// When the device refuses.
    pub fn sync(&self) -> Result<(), ArchiveError> {
        self.in_turn(|archive| archive.as_mut().map_or(Ok(()), |archive| archive.sync().map(drop)))
    }

    /// From the next outcome on another configuration is in force, as [`Archive::reconfigure`].
    ///
    /// # Errors
    /// As there, and when the archive was closed: nothing would be stored under it.
    pub fn reconfigure(&self, facts: ConfigFacts) -> Result<ConfigFacts, ArchiveError> {
        self.in_turn(|archive| match archive.as_mut() {
            Some(archive) => archive.reconfigure(facts),
            None => Err(ArchiveError::io(&self.preparer.dir, io::Error::other("the archive is closed"))),
        })
    }

    /// Closes the archive, as [`Archive::close`]; what comes later is not stored.
    ///
    /// # Errors
    /// As there.
    pub fn close(&self) -> Result<(), ArchiveError> {
        let mut stored = Vec::new();
        let closed = self.in_turn(|archive| {
            // What was handed over while another had the turn came before.
            stored = self.store(archive.as_mut());
            archive.take().map_or(Ok(()), |archive| archive.close().map(drop))
        });
        stored.into_iter().for_each(|(one, outcome)| one.tell(outcome));
        closed
    }

    /// Does something in a turn of its own, and then what was handed over meanwhile.
    fn in_turn<T>(
        &self,
        work: impl FnOnce(&mut Option<Archive>) -> Result<T, ArchiveError>,
    ) -> Result<T, ArchiveError> {
        let _told = AllTold(self);
        let done = self.turn().and_then(|mut archive| work(&mut archive));
        self.serve();
        done
    }

    /// Waits for the turn.
    fn turn(&self) -> Result<MutexGuard<'_, Option<Archive>>, ArchiveError> {
        self.archive.lock().map_err(|_| self.broken())
    }

    /// A thread that panicked in its turn may have left half an event: nothing is written after it.
    fn broken(&self) -> ArchiveError {
        ArchiveError::io(&self.preparer.dir, io::Error::other("a thread panicked while it wrote here"))
    }
}

/// A thread that has the turn leaves nobody waiting behind it, not even where it panics.
struct AllTold<'a>(&'a SharedArchive);

impl Drop for AllTold<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.give_up();
        }
    }
}

/// What became of an event, for a thread that waits for it.
#[derive(Debug, Default)]
struct Answer {
    progress: Mutex<Progress>,
    over: Condvar,
}

#[derive(Debug, Default)]
enum Progress {
    #[default]
    Waits,
    /// Nothing where a thread panicked over it.
    Over(Option<Outcome>),
}

impl Answer {
    /// The first word counts.
    fn is(&self, outcome: Option<Outcome>) {
        let mut progress = lock(&self.progress);
        if matches!(*progress, Progress::Waits) {
            *progress = Progress::Over(outcome);
            self.over.notify_one();
        }
    }

    fn wait(&self) -> Option<Outcome> {
        let waited = self.over.wait_while(lock(&self.progress), |progress| matches!(progress, Progress::Waits));
        match mem::take(&mut *waited.unwrap_or_else(PoisonError::into_inner)) {
            Progress::Waits => None,
            Progress::Over(outcome) => outcome,
        }
    }
}

/// Answers, at the latest when it is dropped.
struct Teller(Arc<Answer>);

impl Teller {
    fn tell(&self, outcome: Outcome) {
        self.0.is(Some(outcome));
    }
}

impl Drop for Teller {
    fn drop(&mut self) {
        self.0.is(None);
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
