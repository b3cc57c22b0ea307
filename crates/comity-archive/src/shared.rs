use std::borrow::Cow;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
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
    turns: Arc<Turns>,
}

/// Who may write, and what waits to be written.
#[derive(Debug)]
struct Turns {
    /// The folder that errors name.
    dir: PathBuf,
    waiting: Mutex<Vec<Waiting>>,
    /// Threads that wait for a turn of their own.
    asking: AtomicUsize,
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
        let (dir, waiting, asking) = (preparer.dir.clone(), Mutex::default(), AtomicUsize::new(0));
        let turns = Arc::new(Turns { dir, waiting, asking, archive: Mutex::new(Some(archive)) });
        Ok(Self { preparer, entropy: Mutex::new(entropy), turns })
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
        answer.wait().unwrap_or_else(|| Err(self.turns.broken()))
    }

    /// Hands an outcome over, and tells what became of it once that is known: as [`SharedArchive::append`] gives it. Does not wait
    /// for a turn that another thread has, which stores it then; otherwise this thread stores what waits. Whichever
    /// thread it is calls `tell`, which may not block, nor hand over another event; it is dropped without a call where a thread
    /// panicked over the event. One that panics does so in that thread, once all others were told.
    ///
    /// The caller bounds how many it hands over before they are acknowledged: they wait in memory.
    pub fn hand_over(
        &self,
        event: PreparedEvent,
        tell: impl FnOnce(Result<Option<Stored>, ArchiveError>) + Send + 'static,
    ) {
        lock(&self.turns.waiting).push(Waiting { prepared: event.0, tell: Box::new(tell) });
        self.turns.serve();
    }

    /// Makes everything acknowledged so far safe against power loss, as [`Archive::sync`].
    ///
    /// # Errors
    /// When the device refuses.
    pub fn sync(&self) -> Result<(), ArchiveError> {
        self.turns.of_its_own(|archive| archive.as_mut().map_or(Ok(()), |archive| archive.sync().map(drop)))
    }

    /// From the next outcome on another configuration is in force, as [`Archive::reconfigure`].
    ///
    /// # Errors
    /// As there, and when the archive was closed: nothing would be stored under it.
    pub fn reconfigure(&self, facts: ConfigFacts) -> Result<ConfigFacts, ArchiveError> {
        self.turns.of_its_own(|archive| match archive.as_mut() {
            Some(archive) => archive.reconfigure(facts),
            None => Err(ArchiveError::io(&self.preparer.dir, io::Error::other("the archive is closed"))),
        })
    }

    /// Closes the archive, as [`Archive::close`]; what comes later is not stored.
    ///
    /// # Errors
    /// As there.
    pub fn close(&self) -> Result<(), ArchiveError> {
        self.turns.close()
    }
}

impl Turns {
    /// Stores what waits, and what came meanwhile, until none waits: unless another has the turn, who then looks again when it has given
    /// it back, or waits for one of its own, in which it stores what waits.
    ///
    /// Nobody is forgotten. Who finds the turn taken, or asked for, has handed over before: whoever has it looks at what waits after it
    /// gave it back, and whoever asks is counted until it has it, and looks then. One that panics tells all that wait once its turn is
    /// free, and poisons it: who comes later finds that, and tells its own.
    fn serve(&self) {
        let mut panicked = None;
        self.store_all(&mut |stored| panicked = panicked.take().or(tell_all(stored)));
        go_on(panicked);
    }

    fn store_all(&self, tell: &mut dyn FnMut(Vec<(Waiting, Outcome)>)) {
        let _told = AllTold(self);
        while !lock(&self.waiting).is_empty() && self.asking.load(Ordering::SeqCst) == 0 {
            let stored = match self.archive.try_lock() {
                Ok(mut archive) => self.store(archive.as_mut()),
                Err(TryLockError::WouldBlock) => return,
                Err(TryLockError::Poisoned(turn)) => {
                    // Who comes while this is held leaves its event to whoever has the turn: it is given back before anybody is told.
                    drop(turn);
                    self.refused()
                }
            };
            // The turn is over: nobody waits for those who are told.
            tell(stored);
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

    /// Nothing is stored any more: gives what is to be told.
    fn refused(&self) -> Vec<(Waiting, Outcome)> {
        let waiting = mem::take(&mut *lock(&self.waiting));
        waiting.into_iter().map(|one| (one, Err(self.broken()))).collect()
    }

    /// Does something in a turn of its own, and stores what waits by then, once: it comes back however much others hand over.
    fn of_its_own<T>(
        self: &Arc<Self>,
        work: impl FnOnce(&mut Option<Archive>) -> Result<T, ArchiveError>,
    ) -> Result<T, ArchiveError> {
        let _told = AllTold(self);
        let mut stored = Vec::new();
        let done = self.turn().and_then(|mut archive| {
            let done = work(&mut archive);
            stored = self.store(archive.as_mut());
            done
        });
        let panicked = tell_all(stored);
        self.hand_on();
        go_on(panicked);
        done
    }

    /// Waits for the turn. Those who store what waits leave it to whoever asks.
    fn turn(&self) -> Result<MutexGuard<'_, Option<Archive>>, ArchiveError> {
        self.asking.fetch_add(1, Ordering::SeqCst);
        let turn = self.archive.lock();
        self.asking.fetch_sub(1, Ordering::SeqCst);
        turn.map_err(|_| self.broken())
    }

    /// What was handed over since is stored by a thread of its own: it may be the last one, and it may never end.
    fn hand_on(self: &Arc<Self>) {
        if lock(&self.waiting).is_empty() {
            return;
        }
        let turns = self.clone();
        let begun = std::thread::Builder::new().name("archive".to_owned()).spawn(move || turns.serve());
        if begun.is_err() {
            self.serve();
        }
    }

    fn close(self: &Arc<Self>) -> Result<(), ArchiveError> {
        let mut stored = Vec::new();
        let closed = self.of_its_own(|archive| {
            // What was handed over while another had the turn came before.
            stored = self.store(archive.as_mut());
            archive.take().map_or(Ok(()), |archive| archive.close().map(drop))
        });
        go_on(tell_all(stored));
        closed
    }

    /// A thread that panicked in its turn may have left half an event: nothing is written after it.
    fn broken(&self) -> ArchiveError {
        ArchiveError::io(&self.dir, io::Error::other("a thread panicked while it wrote here"))
    }
}

/// What a panic left.
type Panicked = Box<dyn std::any::Any + Send>;

/// Tells each what became of it: who panics over its own outcome keeps nobody else from theirs. Gives the first panic.
fn tell_all(stored: Vec<(Waiting, Outcome)>) -> Option<Panicked> {
    let tell = |(one, outcome): (Waiting, Outcome)| catch_unwind(AssertUnwindSafe(|| one.tell(outcome))).err();
    stored.into_iter().filter_map(tell).fold(None, |first, panicked| first.or(Some(panicked)))
}

/// Lets a panic go on where everybody else was told.
fn go_on(panicked: Option<Panicked>) {
    if let Some(panicked) = panicked {
        resume_unwind(panicked);
    }
}

/// A thread that has the turn leaves nobody waiting behind it, not even where it panics.
struct AllTold<'a>(&'a Turns);

impl Drop for AllTold<'_> {
    fn drop(&mut self) {
        // In its turn: nothing is written after that.
        if std::thread::panicking() && self.0.archive.is_poisoned() {
            drop(tell_all(self.0.refused()));
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
