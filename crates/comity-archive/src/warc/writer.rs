use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use comity_policy::Spool;

use super::grammar::{RecordHeader, WarcType};
use super::gzip::Gzip;
use crate::ArchiveError;
use crate::append_file::AppendFile;
use crate::digests::{BlockDigests, each_chunk};
use crate::disk::Disk;

/// Compressed bytes of an event that are held in memory; of a larger one, the first are written ahead.
const MOST_HELD: usize = 256 * 1024;

/// Writes one WARC file after another: a gzip member per record, one append per event. A body passes through in pieces:
/// the memory is the same for a page of 10 MiB as for one of 1 MiB.
#[derive(Debug)]
pub(crate) struct WarcWriter {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    gzip: Gzip,
    event: Vec<u8>,
    file: Option<AppendFile>,
}

/// One record to be written: its header so far, and its block in two parts.
#[derive(Debug)]
pub(crate) struct Outgoing<'a> {
    pub(crate) kind: WarcType,
    pub(crate) header: RecordHeader,
    pub(crate) head: &'a [u8],
    pub(crate) body: &'a Spool,
    pub(crate) digests: &'a BlockDigests,
}

/// Where a record lies in its file: compressed bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) offset: u64,
    pub(crate) length: u64,
}

impl WarcWriter {
    pub(crate) fn new(disk: Arc<dyn Disk>, folder: PathBuf, level: u32) -> Self {
        Self { disk, folder, gzip: Gzip::new(level), event: Vec::new(), file: None }
    }

    /// The final name of the open file.
    pub(crate) fn file_name(&self) -> Option<&str> {
        self.file.as_ref().map(AppendFile::name)
    }

    /// Where the open file ends validly; 0 without one.
    pub(crate) fn end_offset(&self) -> u64 {
        self.file.as_ref().map_or(0, AppendFile::end)
    }

    /// Creates a file; the caller puts its warcinfo first.
    pub(crate) fn open(&mut self, name: &str) -> Result<(), ArchiveError> {
        self.file = Some(AppendFile::create(self.disk.as_ref(), &self.folder, name)?);
        Ok(())
    }

    /// Compresses a record into the event. Its place is known from here on; on disk it is after [`Self::commit`]. After a
    /// failure the event has to be discarded.
    pub(crate) fn put(&mut self, record: Outgoing<'_>) -> Result<Span, ArchiveError> {
        let start = self.event_len();
        let Outgoing { kind, mut header, head, body, digests } = record;
        header.push("WARC-Block-Digest", &digests.block);
        if kind.has_payload() {
            header.push("WARC-Payload-Digest", &digests.payload);
        }
        let header = header.finish(kind, digests.len);
        self.gzip.begin(&mut self.event);
        self.gzip.write(header.as_bytes(), &mut self.event);
        self.gzip.write(head, &mut self.event);
        let written = self.write_body(body, head.len() as u64, digests.len);
        self.gzip.write(b"\r\n\r\n", &mut self.event);
        let finished = self.gzip.finish(&mut self.event);
        written.and(finished.map_err(|source| ArchiveError::io(&self.folder, source)))?;
        Ok(Span { offset: self.end_offset() + start, length: self.event_len() - start })
    }

    /// Compressed bytes of the event so far.
    fn event_len(&self) -> u64 {
        self.event.len() as u64 + self.file.as_ref().map_or(0, AppendFile::ahead)
    }

    /// The body, which must be as long as when it was digested: `Content-Length` is written already.
    fn write_body(&mut self, body: &Spool, head: u64, stated: u64) -> Result<(), ArchiveError> {
        let Self { gzip, event, file, folder, .. } = self;
        let failed = |source| ArchiveError::io(folder, source);
        let (mut len, mut ahead) = (head, Ok(()));
        each_chunk(body.reader().map_err(failed)?, |chunk| {
            gzip.write(chunk, event);
            len += chunk.len() as u64;
            if event.len() >= MOST_HELD
                && let Some(file) = file
            {
                // After a failure nothing of the event counts any more: the rest only passes through.
                if ahead.is_ok() {
                    ahead = file.write_ahead(event);
                }
                event.clear();
            }
        })
        .map_err(failed)?;
        ahead?;
        if len == stated { Ok(()) } else { Err(failed(io::Error::other("the body changed while it was stored"))) }
    }

    /// Appends the event, all or nothing; gives its place. Without an open file the event is dropped.
    pub(crate) fn commit(&mut self) -> Result<Span, ArchiveError> {
        let offset = self.end_offset();
        let length = self.event_len();
        let result = self.file.as_mut().map_or(Ok(()), |file| file.append(&self.event));
        self.discard();
        result.map(|()| Span { offset, length })
    }

    /// Drops an event that was not committed, with what was written ahead of it. A file that cannot be cut refuses further
    /// writes by itself.
    pub(crate) fn discard(&mut self) {
        self.event.clear();
        self.event.shrink_to(2 * MOST_HELD);
        if let Some(file) = self.file.as_mut().filter(|file| file.ahead() > 0)
            && let Err(error) = file.cut(file.end())
        {
            tracing::error!(%error, "an event that was not stored could not be taken back");
        }
    }

    /// Takes back committed events from `end` on.
    pub(crate) fn cut(&mut self, end: u64) -> Result<(), ArchiveError> {
        self.file.as_mut().map_or(Ok(()), |file| file.cut(end))
    }

    /// What was committed reaches the device.
    pub(crate) fn sync(&self) -> Result<(), ArchiveError> {
        self.file.as_ref().map_or(Ok(()), AppendFile::sync)
    }

    /// Syncs the file and gives it its final name.
    pub(crate) fn close(&mut self) -> Result<(), ArchiveError> {
        self.file.take().map_or(Ok(()), AppendFile::close)
    }
}
