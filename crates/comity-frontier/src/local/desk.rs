//! The thread on which a store that waits for a disk does its work.

use std::fmt;
use std::thread::JoinHandle;

use tokio::sync::mpsc;

use crate::StoreError;

/// Work for the thread.
pub(super) type Job = Box<dyn FnOnce() + Send>;

/// A thread that does one job after the other, in the order in which they came.
///
/// A job that was taken is done to its end, whether or not somebody still waits for its answer: dropping a call of the
/// frontier never leaves half of it undone.
pub(super) struct Desk {
    /// `None` once the desk closes.
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

/// Jobs that wait at most; who comes then waits with its own.
const WAITING: usize = 256;

impl Desk {
    pub(super) fn open() -> Result<Self, StoreError> {
        let (jobs, mut queue) = mpsc::channel::<Job>(WAITING);
        let work = move || {
            while let Some(job) = queue.blocking_recv() {
                job();
            }
        };
        let thread = std::thread::Builder::new().name("frontier".to_owned()).spawn(work).map_err(StoreError::Io)?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Hands a job in. Waits while the desk is full.
    pub(super) async fn hand_in(&self, job: Job) -> Result<(), StoreError> {
        let Some(jobs) = &self.jobs else { return Err(StoreError::Closed) };
        jobs.send(job).await.map_err(|_| StoreError::Closed)
    }
}

impl Drop for Desk {
    /// Waits for the jobs that were handed in: what was acknowledged was written before, the rest is written now.
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // A job that panicked has told so already.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Desk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Desk").finish_non_exhaustive()
    }
}
