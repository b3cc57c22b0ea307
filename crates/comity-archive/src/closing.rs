//! The end of a pair of files: closed, packed, summed.

use std::thread;

use crate::checkpoint::{FileSum, sum_file};
use crate::{Archive, ArchiveError};

/// A WARC file below this is summed where it is closed: a thread of its own costs about as much.
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

    /// Closes the WARC, then the records. While these are packed, another thread reads the WARC for its sum, which the checkpoint
    /// wants: each takes as long as the other, and nobody else has a turn meanwhile.
    fn close_files(&mut self) -> Result<(), ArchiveError> {
        let Self { dir, warc, records, checkpoints, .. } = self;
        let name = warc.file_name().filter(|_| warc.end_offset() >= LEAST_BESIDE).map(|name| format!("warc/{name}"));
        warc.close()?;
        let Some(path) = name else { return records.close() };
        let on_disk = dir.join(&path);
        let (closed, sum) = thread::scope(|scope| {
            let summing = thread::Builder::new().spawn_scoped(scope, || sum_file(&on_disk));
            let closed = records.close();
            (closed, summing.ok().and_then(|thread| thread.join().ok()))
        });
        // Without it the checkpoint reads the file itself, and says what is wrong.
        if let Some(Ok((bytes, sha256))) = sum {
            checkpoints.knows(FileSum { path, bytes, sha256 });
        }
        closed
    }
}
