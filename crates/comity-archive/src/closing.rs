//! The end of a pair of files: closed, packed, summed.

use std::thread;

use crate::checkpoint::{FileSum, sum_file};
use crate::{Archive, ArchiveError};

/// Beside a WARC file below this, records are packed where they are closed: a thread of its own costs about as much.
const LEAST_BESIDE: u64 = 1 << 20;

impl Archive {
    /// Closes the open pair of files.
    pub(crate) fn roll(&mut self) -> Result<(), ArchiveError> {
        self.check_safe()?;
        self.flush_staged()?;
        self.sync_before()?;
        self.base = None;
        let closed = self.close_files();
        self.refused = closed.is_err();
        closed?;
        self.checkpoint()?;
        self.store_head()
    }

    /// Closes the WARC, then the records. These are packed by another thread while the WARC reaches the device and is read for its sum,
    /// which the checkpoint wants: nobody else has a turn meanwhile. A kill leaves a part of a file that the next start removes.
    fn close_files(&mut self) -> Result<(), ArchiveError> {
        let Self { dir, warc, records, checkpoints, .. } = self;
        let name = warc.file_name().filter(|_| warc.end_offset() >= LEAST_BESIDE).map(|name| format!("warc/{name}"));
        let (Some(path), Some(packing)) = (name, records.packing()) else {
            warc.close()?;
            return records.close();
        };
        let on_disk = dir.join(&path);
        let (summed, packed) = thread::scope(|scope| {
            let packs = thread::Builder::new().spawn_scoped(scope, || packing.run());
            let summed = warc.close().map(|()| sum_file(&on_disk));
            (summed, packs.ok().and_then(|thread| thread.join().ok()))
        });
        // Without a sum the checkpoint reads the file itself, and says what is wrong.
        if let Ok((bytes, sha256)) = summed? {
            checkpoints.knows(FileSum { path, bytes, sha256 });
        }
        match packed {
            Some(packed) => records.close_packed(packed),
            None => records.close(),
        }
    }
}
