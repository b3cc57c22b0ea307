//! Carries out what a journal says: each file is written anew beside, and renamed. Done a second time, it changes nothing.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use serde_json::json;

use super::journal::{Amended, Becomes, Journal, PairPlan, Span, digest};
use super::tombstone::{ERASURE, Tombstone, amended};
use super::{Step, Steps, configs, evidence};
use crate::chain::commitment;
use crate::disk::sync_folder;
use crate::index::index_path;
use crate::record::absent::Why;
use crate::records::reader::{Frame, Frames};
use crate::records::writer::frame_compressor;
use crate::recovery::index_of;
use crate::warc::stream::{WarcHead, WarcStream};
use crate::{ArchiveError, Line, WarcFormat};

/// Inflated bytes of a frame, about (as for packed records).
const FRAME: usize = 1 << 20;

/// Everything that needs no archive.
pub(crate) fn files(dir: &Path, journal: &Journal, steps: &mut dyn Steps) -> Result<(), ArchiveError> {
    for pair in &journal.pairs {
        if let Some(name) = pair.warc.as_deref().filter(|_| !pair.spans.is_empty()) {
            steps.before(Step::Warc)?;
            warc(dir, name, pair, journal, steps)?;
        }
        if !pair.lines.is_empty() {
            steps.before(Step::Records)?;
            records(&dir.join("records").join(&pair.records), pair, &journal.id, steps)?;
        }
    }
    steps.before(Step::Evidence)?;
    evidence::carry_out(dir, &journal.evidence)?;
    steps.before(Step::Configs)?;
    configs::carry_out(dir, &journal.configs)
}

/// Puts tombstones in their places and makes the index anew.
fn warc(dir: &Path, name: &str, pair: &PairPlan, journal: &Journal, steps: &mut dyn Steps) -> Result<(), ArchiveError> {
    let (folder, format) = (dir.join("warc"), format_of(name));
    let path = folder.join(name);
    let wrong = |e: io::Error| ArchiveError::io(&path, e);
    if !is_done(&path, pair, &journal.id)? {
        let tmp = beside(&path);
        let mut from = File::open(&path).map_err(wrong)?;
        let mut to = BufWriter::with_capacity(256 * 1024, File::create(&tmp).map_err(wrong)?);
        let mut at = 0;
        for span in &pair.spans {
            io::copy(&mut (&mut from).take(span.offset.saturating_sub(at)), &mut to).map_err(wrong)?;
            replace(&mut from, span, journal, (format, &path))?.write(&mut to).map_err(wrong)?;
            at = span.offset + span.length;
            from.seek(SeekFrom::Start(at)).map_err(wrong)?;
        }
        io::copy(&mut from, &mut to).map_err(wrong)?;
        let file = to.into_inner().map_err(|e| wrong(e.into_error()))?;
        if file.metadata().map_err(wrong)?.len() != path.metadata().map_err(wrong)?.len() {
            return Err(wrong(io::Error::other("the file would have another length: it was left as it is")));
        }
        file.sync_all().map_err(wrong)?;
        steps.before(Step::WarcRename)?;
        std::fs::rename(&tmp, &path).and_then(|()| sync_folder(&folder)).map_err(wrong)?;
    }
    steps.before(Step::Index)?;
    if index_path(&folder, name).exists() {
        index_of(&path, name)?.store(&folder, name)?;
    }
    Ok(())
}

/// What takes the place of a span.
fn replace(
    from: &mut File,
    span: &Span,
    journal: &Journal,
    (format, path): (WarcFormat, &Path),
) -> Result<crate::warc::padded::Padded, ArchiveError> {
    let wrong = |e: io::Error| ArchiveError::io(path, e);
    let commitment = match &span.becomes {
        Becomes::Payload => None,
        Becomes::Event(commitment) | Becomes::Metadata(commitment) => Some(digest(commitment, path)?),
    };
    // The moment of a capture goes with its record.
    let date = if matches!(span.becomes, Becomes::Event(_)) { &journal.at } else { &span.date };
    if let (Becomes::Metadata(_), Some(needle)) = (&span.becomes, &journal.needle) {
        let (head, block) = read(from, span.offset, path)?;
        let names = |line: &str| needle.finds(line.as_bytes());
        if let Some(padded) = amended(&head, &block, &names, (&journal.id, format)).map_err(wrong)? {
            return Ok(padded);
        }
    }
    let tombstone = Tombstone { erasure: &journal.id, id: &span.record, date, commitment };
    tombstone.member(format, span.length).map_err(wrong)
}

/// True when the tombstones are there: a file is replaced as a whole.
fn is_done(path: &Path, pair: &PairPlan, id: &str) -> Result<bool, ArchiveError> {
    let Some(first) = pair.spans.first() else { return Ok(true) };
    let mut file = File::open(path).map_err(|e| ArchiveError::io(path, e))?;
    let (head, block) = read(&mut file, first.offset, path)?;
    Ok(head.kind() == "metadata" && block.contains(&format!("{ERASURE}: {id}\r\n")))
}

/// The record that begins at a place, and its block where that is short.
fn read(file: &mut File, offset: u64, path: &Path) -> Result<(WarcHead, String), ArchiveError> {
    const MOST: usize = 4 << 20;
    let wrong = |e: io::Error| ArchiveError::io(path, e);
    file.seek(SeekFrom::Start(offset)).map_err(wrong)?;
    let reader = BufReader::with_capacity(16 * 1024, file.try_clone().map_err(wrong)?);
    let mut block = Vec::new();
    let record = WarcStream::new(reader, offset).next_record(|_, piece| {
        block.extend_from_slice(piece.get(..MOST.saturating_sub(block.len()).min(piece.len())).unwrap_or_default());
    });
    match record {
        Some(Ok(head)) => Ok((head, String::from_utf8_lossy(&block).into_owned())),
        Some(Err(error)) => Err(wrong(io::Error::new(io::ErrorKind::InvalidData, error.to_string()))),
        None => Err(wrong(io::ErrorKind::UnexpectedEof.into())),
    }
}

/// Writes a records file anew, in frames of about 1 MiB, with tombstones in their places.
fn records(path: &Path, pair: &PairPlan, id: &str, steps: &mut dyn Steps) -> Result<(), ArchiveError> {
    let wrong = |e: io::Error| ArchiveError::io(path, e);
    let broken = |problem: String| ArchiveError::Chain { path: path.to_owned(), problem };
    let tmp = beside(path);
    let mut to = BufWriter::new(File::create(&tmp).map_err(wrong)?);
    let mut zstd = frame_compressor().map_err(wrong)?;
    let mut flush = |text: &mut String| -> io::Result<()> {
        if !text.is_empty() {
            to.write_all(&zstd.compress(text.as_bytes())?)?;
            text.clear();
        }
        Ok(())
    };
    let mut frames = Frames::open(path.to_owned()).map_err(|e| broken(e.to_string()))?;
    let (mut due, mut text) = (pair.lines.iter().peekable(), String::new());
    loop {
        let lines = match frames.frame().map_err(|e| broken(e.to_string()))? {
            Frame::Lines(lines) => lines,
            Frame::End => break,
            Frame::Torn(torn) => return Err(broken(torn.to_string())),
        };
        for line in lines {
            let written = match due.next_if(|plan| plan.seq == line.seq) {
                Some(plan) => tombstone(&line, id, plan.amended.as_ref()).map_err(broken)?.to_text(),
                None => line.to_text(),
            };
            text.push_str(&written);
            text.push('\n');
            if text.len() >= FRAME {
                flush(&mut text).map_err(wrong)?;
            }
        }
    }
    if let Some(plan) = due.next() {
        return Err(broken(format!("line {} is to be erased, and it is not there", plan.seq)));
    }
    flush(&mut text).map_err(wrong)?;
    let file = to.into_inner().map_err(|e| wrong(e.into_error()))?;
    file.sync_all().map_err(wrong)?;
    steps.before(Step::RecordsRename)?;
    std::fs::rename(&tmp, path).and_then(|()| sync_folder(path.parent().unwrap_or(path))).map_err(wrong)
}

fn tombstone(line: &Line, id: &str, plan: Option<&Amended>) -> Result<Line, String> {
    let note = match plan {
        None => json!({ "erasure": id }).to_string(),
        Some(Amended { salt, commitment: stated }) => {
            // Done a second time it is the same text: what is taken out is not there any more.
            let body = without_via(line)?.ok_or_else(|| format!("line {} went before", line.seq))?;
            let bytes = data_encoding::HEXLOWER.decode(salt.as_bytes()).map_err(|e| format!("salt: {e}"))?;
            if commitment(&bytes, body.as_bytes()).to_string() != *stated {
                return Err(format!("what is to stand in line {} is not what its commitment says", line.seq));
            }
            format!("{{\"erasure\":\"{id}\",\"salt\":\"{salt}\",\"commitment\":\"{stated}\",\"body\":{body}}}")
        }
    };
    line.erased(&note).map_err(|e| e.to_string())
}

/// The record of a line without the page that led to it, as text; nothing where the record went.
pub(super) fn without_via(line: &Line) -> Result<Option<String>, String> {
    let Some(mut record) = line.record().map_err(|e| e.to_string())? else { return Ok(None) };
    record.discovery.via = None;
    record.absent.insert("discovery.via".to_owned(), Why::Erased.as_str().to_owned());
    serde_json::to_string(&record).map(Some).map_err(|e| e.to_string())
}

/// How the records of a WARC of this name are compressed.
fn format_of(name: &str) -> WarcFormat {
    if name.ends_with(WarcFormat::Zstd.ending()) { WarcFormat::Zstd } else { WarcFormat::Gzip }
}

/// Where a file is written anew; the next start takes away what a kill leaves of it.
fn beside(path: &Path) -> PathBuf {
    let mut tmp = path.as_os_str().to_owned();
    tmp.push(".tmp");
    PathBuf::from(tmp)
}
