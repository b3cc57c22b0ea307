use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use comity_policy::{Clock, OptOuts};

use super::{OpenFile, OptOutFiles, OptOutReading, stamp};

/// The opt-outs in force: read again when a file changed, looked at by whoever asks and by nobody else.
#[derive(Debug)]
pub(crate) struct LiveOptOuts {
    files: Mutex<Vec<OpenFile>>,
    /// `None` without any file: nothing is ever looked at.
    current: RwLock<Option<Arc<OptOuts>>>,
    /// Microseconds of the clock before which nobody looks again.
    next_look: AtomicU64,
}

/// Files are looked at this often at most: a look is one question to the file system for each file.
const LOOK_EVERY: Duration = Duration::from_millis(250);

impl LiveOptOuts {
    pub(crate) fn new(files: OptOutFiles) -> Self {
        let current = (!files.files.is_empty()).then(|| Arc::new(files.optouts()));
        Self { files: Mutex::new(files.files), current: RwLock::new(current), next_look: AtomicU64::new(0) }
    }

    /// Looks at these files too from now on.
    pub(crate) fn add(&self, new: OptOutFiles) {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let known: Vec<_> = files.iter().map(|file| file.path.clone()).collect();
        files.extend(new.files.into_iter().filter(|file| !known.contains(&file.path)));
        if !files.is_empty() {
            self.put(OptOutFiles::together(&files));
        }
    }

    /// Looks now, however short ago the last look is, and gives what then stands. Waits for a look that is under way: its answer
    /// may be that of before.
    pub(crate) fn look_now(&self) -> Option<Arc<OptOuts>> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        self.take_in(&mut files);
        self.standing()
    }

    fn put(&self, all: OptOuts) {
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(all));
    }

    fn standing(&self) -> Option<Arc<OptOuts>> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What holds now; `None` where there are no files. Reads the files when they changed, which blocks for about a
    /// microsecond a line.
    pub(crate) fn current(&self, clock: &dyn Clock) -> Option<Arc<OptOuts>> {
        let standing = self.standing()?;
        let (now, due) = (clock.now(), self.next_look.load(Ordering::Relaxed));
        let next = now.after(LOOK_EVERY).as_micros();
        let mine = now.as_micros() >= due
            && self.next_look.compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if mine && self.look() { self.standing() } else { Some(standing) }
    }

    /// Takes in what changed; true when something did.
    fn look(&self) -> bool {
        self.take_in(&mut self.files.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn take_in(&self, files: &mut [OpenFile]) -> bool {
        let changed = files.iter_mut().fold(false, |changed, file| file.look() | changed);
        if changed {
            self.put(OptOutFiles::together(files));
        }
        changed
    }
}

impl OpenFile {
    /// Takes in what changed; true when something may hold that did not, or the other way round.
    ///
    /// An opt-out ends by a `remove` line and by nothing else: what held stays when the file is gone, shorter, or has
    /// lines that cannot be read.
    fn look(&mut self) -> bool {
        let found = stamp(&self.path);
        if found == self.stamp {
            return false;
        }
        let reading = match (found, OptOutReading::of(&self.path)) {
            (None, _) => {
                self.tell(format!("{}: it is gone; its {} opt-outs hold on", self.name, self.held.len()));
                self.stamp = None;
                return false;
            }
            (_, Err(fault)) => {
                // The stamp stays as it was: the next look tries again.
                self.tell(format!("{fault}; its {} opt-outs hold on", self.held.len()));
                return false;
            }
            (_, Ok(reading)) => reading,
        };
        let shorter = found.zip(self.stamp).is_some_and(|(now, before)| now.0 < before.0);
        self.told = None;
        if shorter {
            self.tell(format!("{}: it is shorter than before; an opt-out ends by a `remove` line only", self.name));
        }
        for fault in &reading.faults {
            tracing::error!(place = %fault.place, what = %fault.what, "opt-out line not read; what held before holds on");
        }
        reading.replay_onto(&mut self.held);
        self.stamp = found;
        true
    }

    fn tell(&mut self, fault: String) {
        if self.told.as_ref() != Some(&fault) {
            tracing::error!(%fault, "opt-out file");
            self.told = Some(fault);
        }
    }
}
