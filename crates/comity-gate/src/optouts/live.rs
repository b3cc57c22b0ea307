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
    current: Option<RwLock<Arc<OptOuts>>>,
    /// Microseconds of the clock before which nobody looks again.
    next_look: AtomicU64,
}

/// Files are looked at this often at most: a look is one question to the file system for each file.
const LOOK_EVERY: Duration = Duration::from_millis(250);

impl LiveOptOuts {
    pub(crate) fn new(files: OptOutFiles) -> Self {
        let current = (!files.files.is_empty()).then(|| RwLock::new(Arc::new(files.optouts())));
        Self { files: Mutex::new(files.files), current, next_look: AtomicU64::new(0) }
    }

    /// What holds now; `None` where there are no files. Reads the files when they changed, which blocks for about a
    /// microsecond a line.
    pub(crate) fn current(&self, clock: &dyn Clock) -> Option<Arc<OptOuts>> {
        let current = self.current.as_ref()?;
        let (now, due) = (clock.now(), self.next_look.load(Ordering::Relaxed));
        let next = now.after(LOOK_EVERY).as_micros();
        let mine = now.as_micros() >= due
            && self.next_look.compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if mine && let Some(all) = self.look() {
            *current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(all);
        }
        Some(current.read().unwrap_or_else(PoisonError::into_inner).clone())
    }

    /// What holds by files that changed; `None` when none did.
    fn look(&self) -> Option<OptOuts> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = files.iter_mut().fold(false, |changed, file| file.look() | changed);
        changed.then(|| OptOutFiles::together(&files))
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
