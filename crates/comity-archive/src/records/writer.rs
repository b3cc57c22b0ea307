use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use zstd::bulk::Compressor;
use zstd::zstd_safe::CParameter;

use super::pack::{Packed, pack};
use crate::ArchiveError;
use crate::append_file::AppendFile;
use crate::chain::Line;
use crate::disk::Disk;

/// zstd level of closed record files (our choice: lines are much alike, and of them 1 makes less than 3, in half the time).
const LEVEL: i32 = 1;

/// And of the frames of an open file, which are packed when it closes: a line alone costs 1 µs at this level, where it stays
/// nearly as it is, and 20 at the other, where it takes half the room.
const OPEN_LEVEL: i32 = -100;

/// Makes the frames of record lines, for good.
pub(crate) fn frame_compressor() -> io::Result<Compressor<'static>> {
    compressor(LEVEL)
}

fn compressor(level: i32) -> io::Result<Compressor<'static>> {
    let mut zstd = Compressor::new(level)?;
    zstd.set_parameter(CParameter::ChecksumFlag(true))?;
    Ok(zstd)
}

/// Writes record lines: staged in memory, then one whole zstd frame a flush, so that a crash loses no flushed line.
pub(crate) struct RecordsWriter {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    zstd: Compressor<'static>,
    staged: String,
    file: Option<AppendFile>,
}

impl std::fmt::Debug for RecordsWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RecordsWriter").field("staged", &self.staged.len()).field("file", &self.file).finish()
    }
}

impl RecordsWriter {
    pub(crate) fn new(disk: Arc<dyn Disk>, folder: PathBuf) -> Result<Self, ArchiveError> {
        let zstd = compressor(OPEN_LEVEL).map_err(|e| ArchiveError::io(&folder, e))?;
        Ok(Self { disk, folder, zstd, staged: String::new(), file: None })
    }

    pub(crate) fn open(&mut self, name: &str) -> Result<(), ArchiveError> {
        self.file = Some(AppendFile::create(self.disk.as_ref(), &self.folder, name)?);
        Ok(())
    }

    pub(crate) fn file_name(&self) -> Option<&str> {
        self.file.as_ref().map(AppendFile::name)
    }

    pub(crate) fn end_offset(&self) -> u64 {
        self.file.as_ref().map_or(0, AppendFile::end)
    }

    /// Adds a line to the next frame; gives its length.
    pub(crate) fn stage(&mut self, line: &Line) -> usize {
        let before = self.staged.len();
        line.write_to(&mut self.staged);
        self.staged.push('\n');
        self.staged.len() - before
    }

    /// Bytes staged.
    pub(crate) const fn staged(&self) -> usize {
        self.staged.len()
    }

    /// Writes what is staged as one frame. On failure the staged lines are dropped and the file is as before.
    pub(crate) fn flush(&mut self) -> Result<(), ArchiveError> {
        if self.staged.is_empty() {
            return Ok(());
        }
        let frame = self.zstd.compress(self.staged.as_bytes()).map_err(|e| ArchiveError::io(&self.folder, e));
        self.staged.clear();
        self.staged.shrink_to(1 << 20);
        let frame = frame?;
        self.file.as_mut().map_or(Ok(()), |file| file.append(&frame))
    }

    /// Drops what is staged.
    pub(crate) fn discard(&mut self) {
        self.staged.clear();
    }

    /// What was flushed reaches the device.
    pub(crate) fn sync(&mut self) -> Result<(), ArchiveError> {
        self.file.as_mut().map_or(Ok(()), AppendFile::sync)
    }

    /// What the open file can be packed with before it is closed, off this thread; `None` where it holds no line. Nothing may be flushed
    /// after it.
    pub(crate) fn packing(&self) -> Option<Packing> {
        let file = self.file.as_ref().filter(|file| file.end() > 0)?;
        Some(Packing { disk: self.disk.clone(), from: file.open_path(), path: self.folder.join(file.name()) })
    }

    /// Syncs the file, gives it its final name and packs it.
    pub(crate) fn close(&mut self) -> Result<(), ArchiveError> {
        if let Some(path) = self.close_file()? {
            warn_unless(pack(self.disk.as_ref(), &path), &path);
        }
        Ok(())
    }

    /// The same where [`Packing`] was at it before.
    pub(crate) fn close_packed(&mut self, packed: io::Result<Packed>) -> Result<(), ArchiveError> {
        if let Some(path) = self.close_file()? {
            warn_unless(packed.and_then(Packed::take_place), &path);
        }
        Ok(())
    }

    /// Gives the file, unless there is none or none is left.
    fn close_file(&mut self) -> Result<Option<PathBuf>, ArchiveError> {
        let Some(file) = self.file.take() else { return Ok(None) };
        let path = Some(self.folder.join(file.name())).filter(|_| file.end() > 0);
        file.close()?;
        Ok(path)
    }
}

/// Packs an open records file.
#[derive(Debug)]
pub(crate) struct Packing {
    disk: Arc<dyn Disk>,
    from: PathBuf,
    path: PathBuf,
}

impl Packing {
    pub(crate) fn run(self) -> io::Result<Packed> {
        Packed::make(self.disk.as_ref(), &self.from, &self.path)
    }
}

fn warn_unless(packed: io::Result<()>, path: &Path) {
    if let Err(error) = packed {
        tracing::warn!(%error, file = %path.display(), "records could not be packed: they stay as they were written");
    }
}
