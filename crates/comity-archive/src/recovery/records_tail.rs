use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::cut;
use crate::append_file::OPEN_SUFFIX;
use crate::chain::{Content, Line};
use crate::disk::sync_folder;
use crate::records::reader::{Frame, Frames};
use crate::records::writer::frame_compressor;
use crate::{ArchiveError, ChainHead};

/// The lines of a records file up to its first frame that is not whole, and where each stands.
#[derive(Debug)]
pub(super) struct RecordsTail {
    pub(super) path: PathBuf,
    /// Its final name.
    pub(super) name: String,
    pub(super) lines: Vec<KnownLine>,
    /// Where the last whole frame ends.
    end: u64,
}

/// What recovery has to know of a line.
#[derive(Debug)]
pub(super) struct KnownLine {
    pub(super) head: ChainHead,
    /// Where its frame begins.
    frame: u64,
    /// Name of the WARC it speaks of, and the place of its metadata record there.
    warc: Option<(String, u64)>,
}

impl KnownLine {
    /// Where the line says that its metadata record lies in the WARC of this name.
    pub(super) fn metadata_in(&self, warc: &str) -> Option<u64> {
        self.warc.as_ref().filter(|(file, _)| file == warc).map(|(_, offset)| *offset)
    }
}

impl RecordsTail {
    /// Reads a file that may end in the middle of a frame, or in what a power cut left there.
    pub(super) fn read(path: &Path, name: &str) -> Result<Self, ArchiveError> {
        let wrong = |e: crate::RecordsError| ArchiveError::Chain { path: path.to_owned(), problem: e.to_string() };
        let is_open = path.to_string_lossy().ends_with(OPEN_SUFFIX);
        let mut file = Frames::open(path.to_owned()).map_err(wrong)?;
        let mut tail = Self { path: path.to_owned(), name: name.to_owned(), lines: Vec::new(), end: 0 };
        loop {
            let frame = tail.end;
            match file.frame() {
                Ok(Frame::Lines(lines)) => {
                    tail.lines.extend(lines.iter().map(|line| KnownLine {
                        head: line.head(),
                        frame,
                        warc: place(line),
                    }));
                    tail.end = file.offset();
                }
                Ok(Frame::End | Frame::Torn(_)) => return Ok(tail),
                // What follows an unsynced end after a power cut may be anything. Were it a line that was safe, the
                // check against D/chain would find it missing.
                Err(_) if is_open => return Ok(tail),
                Err(error) => return Err(wrong(error)),
            }
        }
    }
}

fn place(line: &Line) -> Option<(String, u64)> {
    if let Content::Erased(_) = line.content {
        return None;
    }
    let warc = line.record().ok().flatten()?.warc?;
    Some((warc.file, warc.metadata_offset))
}

/// Leaves the first `keep` lines in the file, which reaches the device; gives its length.
pub(super) fn keep_lines(records: &RecordsTail, keep: usize) -> Result<u64, ArchiveError> {
    let RecordsTail { path, lines, .. } = records;
    let Some(lost) = lines.get(keep) else {
        cut(path, records.end)?;
        return Ok(records.end);
    };
    tracing::warn!(file = %path.display(), lines = lines.len() - keep, "lines whose WARC records are gone are dropped");
    let of_frame = lines.iter().take(keep).filter(|line| line.frame == lost.frame).count();
    if of_frame == 0 {
        cut(path, lost.frame)?;
        return Ok(lost.frame);
    }
    shorten_frame(path, lost.frame, of_frame).map_err(|e| ArchiveError::io(path, e))
}

/// Replaces the file by one whose last frame, at `offset`, holds only its first `keep` lines. As a whole: the lines that
/// stay were acknowledged.
fn shorten_frame(path: &Path, offset: u64, keep: usize) -> io::Result<u64> {
    let mut tmp = path.as_os_str().to_owned();
    tmp.push(".tmp");
    let tmp = PathBuf::from(tmp);
    let mut old = File::open(path)?;
    let mut new = File::create(&tmp)?;
    io::copy(&mut (&mut old).take(offset), &mut new)?;
    let mut text = Vec::new();
    zstd::stream::read::Decoder::new(old)?.single_frame().read_to_end(&mut text)?;
    let kept: Vec<u8> = text.split_inclusive(|b| *b == b'\n').take(keep).flatten().copied().collect();
    io::Write::write_all(&mut new, &frame_compressor()?.compress(&kept)?)?;
    new.sync_all()?;
    std::fs::rename(&tmp, path)?;
    sync_folder(path.parent().unwrap_or(path))?;
    Ok(path.metadata()?.len())
}
