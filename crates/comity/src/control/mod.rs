//! Looks at a crawl and steers it, while it runs or while it is stopped.
//!
//! [`Control`] does the work. A crawl that runs in this process gives one ([`Crawler::control`](crate::Crawler::control)); one
//! that runs in another is reached through the socket in its directory ([`socket`]), over which the same [`Op`]s travel as JSON
//! lines; a stopped one is opened from its directory (`Control::stopped`, feature `disk`).
//!
//! | module | what it holds |
//! |---|---|
//! | `op` | [`Op`] and [`Answer`]: what can be asked, as it travels |
//! | `subject`, `stopped` | whom it is asked of: a crawl that runs, or a stopped one |
//! | `look`, `parks`, `seed`, `moves`, `reload` | what each [`Op`] does |
//! | `rows` | the rows of lists, as JSON |
//! | `socket`, `server` | the Unix socket: its place, its owner, its lines |

mod error;
mod look;
mod moves;
mod op;
mod parks;
mod reload;
mod rows;
mod seed;
pub(crate) mod server;
pub mod socket;
#[cfg(feature = "disk")]
mod stopped;
#[cfg(not(feature = "disk"))]
#[path = "stopped/without.rs"]
mod stopped;
mod subject;
mod visits;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use error::{ControlError, ControlFault};
pub use moves::Prints;
pub use op::{Answer, Filter, Op, PlaceText, Request, VERSION};
pub(crate) use parks::ParkFile;
pub use parks::Parked;
pub use reload::Reload;
pub(crate) use subject::Running;

#[cfg(feature = "disk")]
use self::stopped::Stopped;
use self::subject::Subject;
#[cfg(feature = "disk")]
use crate::Error;
#[cfg(feature = "disk")]
use crate::config::ConfigFile;
use crate::engine::Shared;

/// The crawl's own opt-out file, beside those of its configuration: read by every run, and looked at while one runs.
#[must_use]
pub fn own_optouts(dir: &Path) -> PathBuf {
    dir.join("state").join("optout.jsonl")
}

/// A handle on a crawl. Cheap to clone; does not keep the crawl alive.
///
/// Every call may be made at any time and from anywhere. After the end of a running crawl each answers
/// [`ControlFault::Engine`].
#[derive(Clone, Debug)]
pub struct Control {
    subject: Subject,
}

impl Control {
    /// Of a crawl in this process.
    pub(crate) fn running(shared: &Arc<Shared>) -> Self {
        Self { subject: Subject::Running(Arc::downgrade(shared)) }
    }

    /// Opens the queue of the stopped crawl in `dir`, as its only user until the last clone is dropped. Reads the fingerprints
    /// of all URLs, as the start of a crawl does; nothing is sent.
    ///
    /// # Errors
    /// When there is no crawl with a queue on disk, another process has it ([`Error::is_held`]), or it cannot be read.
    #[cfg(feature = "disk")]
    pub fn stopped(dir: &Path) -> Result<Self, Error> {
        Ok(Self { subject: Subject::Stopped(Arc::new(Stopped::open(dir)?)) })
    }

    /// Begins a crawl in `dir`, which is new or empty, without a request: to be filled, and to be gone on with. `prints` are those of
    /// an export that is to be taken in: its fingerprints are of use when the key rules are the same.
    ///
    /// # Errors
    /// A setting that cannot be used, or a directory that holds something.
    #[cfg(feature = "disk")]
    pub fn create(dir: &Path, file: ConfigFile, prints: Option<&Prints>) -> Result<Self, Error> {
        Ok(Self { subject: Subject::Stopped(Arc::new(Stopped::create(dir, file, prints)?)) })
    }

    /// Whether the crawl runs in this process.
    #[must_use]
    pub const fn is_running(&self) -> bool {
        matches!(self.subject, Subject::Running(_))
    }

    /// Does what is asked.
    ///
    /// # Errors
    /// [`ControlError`]: what is wrong, whose fault it is, and what to do.
    pub async fn ask(&self, op: Op) -> Result<Answer, ControlError> {
        match op {
            Op::Stats => self.stats().await,
            Op::List { filter, after, n } => self.list(filter, after, n).await,
            Op::Urls { origin, after, n } => self.urls(origin, after, n).await,
            Op::Parks => self.parks(),
            Op::Park { origin, until, why } => Ok(self.park(origin, until, &why).await?.answer()),
            Op::Release { origin } => self.release(&origin).await,
            Op::Seed { urls } => self.seed(&urls).await,
            Op::Optouts => self.optouts().await,
            Op::Head => self.head().await,
            Op::Visits { after, n } => self.visits(after, look::rows_wanted(n)).await,
            Op::Seen { after, last } => self.seen(after, last).await,
            Op::Import { lines, first, prints } => self.import(&lines, first, prints.as_ref()).await,
            Op::Reload { config, show } => self.reload_text(&config, show).await,
        }
    }
}
