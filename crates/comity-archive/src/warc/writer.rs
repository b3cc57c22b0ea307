use std::path::PathBuf;
use std::sync::Arc;

use super::coder::Coder;
use super::member::{Outgoing, write_member};
use crate::append_file::AppendFile;
use crate::disk::Disk;
use crate::index::{FileIndex, IndexEntry};
use crate::{ArchiveError, WarcFormat};

/// Compressed bytes of an event that are held in memory; of a larger one, the first are written ahead.
const MOST_HELD: usize = 256 * 1024;

/// Writes one WARC file after another: a member per record, one append per event. A body passes through in pieces: the
/// memory is the same for a page of 10 MiB as for one of 1 MiB.
#[derive(Debug)]
pub(crate) struct WarcWriter {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    coder: Coder,
    event: Vec<u8>,
    file: Option<AppendFile>,
    index: FileIndex,
}

/// Where a record lies in its file: compressed bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) offset: u64,
    pub(crate) length: u64,
}

impl WarcWriter {
    pub(crate) fn new(
        disk: Arc<dyn Disk>,
        folder: PathBuf,
        format: WarcFormat,
        level: u32,
    ) -> Result<Self, ArchiveError> {
        let coder = Coder::new(format, level).map_err(|e| ArchiveError::io(&folder, e))?;
        Ok(Self { disk, folder, coder, event: Vec::new(), file: None, index: FileIndex::default() })
    }

    /// The final name of the open file.
    pub(crate) fn file_name(&self) -> Option<&str> {
        self.file.as_ref().map(AppendFile::name)
    }

    /// Where the open file ends validly; 0 without one.
    pub(crate) fn end_offset(&self) -> u64 {
        self.file.as_ref().map_or(0, AppendFile::end)
    }

    /// True when the file has to be closed for the size of its index, which is held in memory.
    pub(crate) const fn index_is_full(&self) -> bool {
        self.index.is_full()
    }

    /// Creates a file; the caller puts its warcinfo first.
    pub(crate) fn open(&mut self, name: &str) -> Result<(), ArchiveError> {
        self.file = Some(AppendFile::create(self.disk.as_ref(), &self.folder, name)?);
        self.index = FileIndex::default();
        Ok(())
    }

    /// Compresses a record into the event. Its place is known from here on; on disk it is after [`Self::commit`]. After a
    /// failure the event has to be discarded.
    pub(crate) fn put(&mut self, record: Outgoing<'_>) -> Result<Span, ArchiveError> {
        let start = self.event_len();
        let Self { coder, event, file, folder, .. } = self;
        write_member(coder, record, event, folder, |event| {
            let Some(file) = file.as_mut().filter(|_| event.len() >= MOST_HELD) else { return Ok(()) };
            let written = file.write_ahead(event);
            event.clear();
            written
        })?;
        Ok(Span { offset: self.end_offset() + start, length: self.event_len() - start })
    }

    /// The same for a record that is compressed already.
    pub(crate) fn put_member(&mut self, member: &[u8]) -> Span {
        let start = self.event_len();
        self.event.extend_from_slice(member);
        Span { offset: self.end_offset() + start, length: self.event_len() - start }
    }

    /// Adds a record of the event to the index of the file, which takes it with the event.
    pub(crate) fn index(&mut self, entry: &IndexEntry, span: Span) {
        if let Some(file) = &self.file {
            self.index.stage(span.offset, entry.line(span.offset, span.length, file.name()));
        }
    }

    /// Compressed bytes of the event so far.
    fn event_len(&self) -> u64 {
        self.event.len() as u64 + self.file.as_ref().map_or(0, AppendFile::ahead)
    }

    /// Appends the event, all or nothing; gives its place. Without an open file the event is dropped.
    pub(crate) fn commit(&mut self) -> Result<Span, ArchiveError> {
        let offset = self.end_offset();
        let length = self.event_len();
        let result = self.file.as_mut().map_or(Ok(()), |file| file.append(&self.event));
        if result.is_ok() {
            self.index.take_staged();
        }
        self.discard();
        result.map(|()| Span { offset, length })
    }

    /// Drops an event that was not committed, with what was written ahead of it. A file that cannot be cut refuses further
    /// writes by itself.
    pub(crate) fn discard(&mut self) {
        self.event.clear();
        self.event.shrink_to(2 * MOST_HELD);
        self.index.drop_staged();
        if let Some(file) = self.file.as_mut().filter(|file| file.ahead() > 0)
            && let Err(error) = file.cut(file.end())
        {
            tracing::error!(%error, "an event that was not stored could not be taken back");
        }
    }

    /// Takes back committed events from `end` on.
    pub(crate) fn cut(&mut self, end: u64) -> Result<(), ArchiveError> {
        self.index.cut(end);
        self.file.as_mut().map_or(Ok(()), |file| file.cut(end))
    }

    /// What was committed reaches the device.
    pub(crate) fn sync(&mut self) -> Result<(), ArchiveError> {
        self.file.as_mut().map_or(Ok(()), AppendFile::sync)
    }

    /// Syncs the file, writes its index, and gives it its final name. An index that cannot be written is no reason to keep
    /// the file open: the next start makes it.
    pub(crate) fn close(&mut self) -> Result<(), ArchiveError> {
        let index = std::mem::take(&mut self.index);
        let Some(file) = self.file.take() else { return Ok(()) };
        if file.end() > 0
            && let Err(error) = index.store(&self.folder, file.name())
        {
            tracing::warn!(%error, file = file.name(), "the index was not written; the next start makes it");
        }
        file.close()
    }
}
