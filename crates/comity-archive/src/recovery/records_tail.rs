use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;

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
    pub(super) place: Place,
}

/// What a line says of where its WARC records lie.
#[derive(Debug)]
pub(super) enum Place {
    /// It has none.
    Nowhere,
    /// In the WARC of this name.
    In {
        warc: String,
        /// Where its first record begins.
        begin: u64,
        /// Where its metadata record begins, the last one.
        metadata: u64,
    },
    /// It was erased: its records lie between those of its neighbours, or nowhere.
    Erased,
    /// It cannot be read, so nothing may be cut on its account: why.
    Unreadable(String),
}

/// What recovery reads of a record, of whatever schema the rest is.
#[derive(Deserialize)]
struct Body {
    warc: Option<Warc>,
}

#[derive(Deserialize)]
struct Warc {
    file: String,
    metadata_offset: u64,
    request: Option<Part>,
    response: Option<Part>,
}

#[derive(Deserialize)]
struct Part {
    offset: u64,
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
                        place: Place::of(line),
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

impl Place {
    fn of(line: &Line) -> Self {
        let Content::Kept { body, .. } = &line.content else { return Self::Erased };
        match serde_json::from_str(body) {
            Ok(Body { warc: None }) => Self::Nowhere,
            Ok(Body { warc: Some(Warc { file, metadata_offset, request, response }) }) => {
                let parts = [request, response].into_iter().flatten().map(|part| part.offset);
                let begin = parts.fold(metadata_offset, u64::min);
                Self::In { warc: file, begin, metadata: metadata_offset }
            }
            Err(error) => Self::Unreadable(error.to_string()),
        }
    }
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
