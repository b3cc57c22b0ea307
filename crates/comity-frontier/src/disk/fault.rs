//! What the engine's errors mean to whoever runs a crawl.

use std::io::{Error as IoError, ErrorKind};
use std::path::Path;

use crate::StoreError;

/// Below this a write that failed has failed for want of space.
const NOTHING_LEFT: u64 = 1 << 20;

/// Names a fault of the engine.
pub(super) fn explain(path: &Path, error: fjall::Error) -> StoreError {
    use fjall::Error;
    let shown = path.display();
    match error {
        Error::Locked => StoreError::Held(shown.to_string()),
        Error::Io(error) | Error::Storage(fjall::LsmError::Io(error)) => of_io(path, error),
        // The engine accepts nothing more after a write that failed, and no longer says why it did.
        Error::Poisoned if is_low(path, NOTHING_LEFT) => StoreError::Full(shown.to_string()),
        Error::Poisoned => StoreError::Io(IoError::other(
            "an earlier write failed, and nothing more is written; start again when the disk is well",
        )),
        other => StoreError::Format(format!(
            "{shown}: not a frontier store of this version, or damaged ({other:?}); nothing in it was changed"
        )),
    }
}

/// A part of what was safe is missing.
pub(super) fn behind(path: &Path, what: &str) -> StoreError {
    StoreError::Behind(format!(
        "{}: frontier.behind: the queue lost a part of what was safe on the disk: {what}; nothing in it was changed. Look at the \
         disk, or put a copy back; to go on with what is left, accept the loss (--accept-loss): pages may be fetched again, and \
         pages that only the lost part knew are not found until something links to them again",
        path.display()
    ))
}

pub(super) fn of_io(path: &Path, error: IoError) -> StoreError {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => StoreError::Full(path.display().to_string()),
        _ => StoreError::Io(error),
    }
}

/// True when less than `least` bytes are free where `path` lies. A disk that cannot be asked is taken to have room.
pub(super) fn is_low(path: &Path, least: u64) -> bool {
    rustix::fs::statvfs(path).is_ok_and(|disk| disk.f_bavail.saturating_mul(disk.f_frsize) < least)
}
