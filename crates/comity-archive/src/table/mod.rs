//! A crawl as a Parquet table: the columns of Common Crawl's index first, ours after them.
//!
//! | module | what it holds |
//! |---|---|
//! | `columns` | names, types, and what each says of a row |
//! | `rows` | a record as a row |
//! | `gone` | what an erasure took: read before the first row |
//! | `digests` | SHA-1 of payloads, out of the indexes |
//! | `suffix` | registered domains, with and without the private rules |
//! | `sort` | by SURT key in bounded memory |
//! | `write` | row groups |

mod columns;
mod digests;
mod gone;
mod rows;
mod sort;
mod suffix;
#[cfg(test)]
mod tests;
mod write;

use std::path::{Path, PathBuf};

use self::digests::Digests;
use self::gone::Gone;
use self::rows::{Fate, Held};
use self::sort::{Bounds, Sorter};
use self::write::Table;
use crate::disk::sync_folder;
use crate::{ArchiveError, Line, read_records};

/// The schema that a table states in its key-value metadata, as `comity.schema`.
pub const TABLE_SCHEMA: &str = "comity-table/1";

/// Which lines become rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TableRows {
    /// Captures, as Common Crawl has them: an answer that lies in a WARC file. Nullability of the columns is Common Crawl's.
    #[default]
    Captures,
    /// Every record of a URL, refusals and failures too. What these do not have is null, also where Common Crawl's columns
    /// never are; `subset` is null for whatever is no capture.
    All,
}

/// What a table holds, and what of the crawl it does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableReport {
    /// Rows.
    pub rows: u64,
    /// Tombstones: lines whose record was erased.
    pub erased: u64,
    /// Records without an answer in a WARC file, refusals among them; not with [`TableRows::All`].
    pub no_capture: u64,
    /// Answers that were withheld; not with [`TableRows::All`].
    pub withheld: u64,
    /// Captures whose payload was erased; not with [`TableRows::All`], where they have no place.
    pub payload_erased: u64,
    /// Captures whose URL is longer than a record holds (4,096 bytes); not with [`TableRows::All`].
    pub url_cut: u64,
    /// Records of erasures: they are of no URL.
    pub erasures: u64,
    /// Frames that end early; what was in them was never acknowledged.
    pub torn: u64,
}

/// Writes the crawl in `dir` to the Parquet file `file`, which must not exist: as a whole, or not at all. The same crawl gives
/// the same bytes. Hashes are not checked: `verify` does that.
///
/// Sorted by SURT key, then by the number of the line. Memory: 64 MiB of records, then one row group of 32,768 rows, and the
/// index of one WARC file; what is more is sorted in temporary files beside `file` that take about the room of the records.
/// Reads the records twice.
///
/// # Errors
/// When the records cannot be read, a place is beyond 2 GiB, which the columns cannot say, or the file cannot be written.
pub fn write_table(dir: &Path, file: &Path, which: TableRows) -> Result<TableReport, ArchiveError> {
    write_within(dir, file, which, Bounds::default())
}

fn write_within(dir: &Path, file: &Path, which: TableRows, bounds: Bounds) -> Result<TableReport, ArchiveError> {
    if file.exists() {
        return Err(ArchiveError::export(file, "it exists already: name another file, or remove it"));
    }
    let tmp = with_end(file, ".tmp");
    let written = write_to(dir, &tmp, which, bounds).and_then(|report| {
        std::fs::rename(&tmp, file).map_err(|e| ArchiveError::io(file, e))?;
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        sync_folder(folder).map_err(|e| ArchiveError::io(folder, e))?;
        Ok(report)
    });
    if written.is_err() {
        drop(std::fs::remove_file(&tmp));
    }
    written
}

fn write_to(dir: &Path, tmp: &Path, which: TableRows, bounds: Bounds) -> Result<TableReport, ArchiveError> {
    let mut table = Table::create(tmp, which)?;
    let gone = Gone::read(dir)?;
    let (mut report, mut digests, mut sorter) =
        (TableReport::default(), Digests::of(dir), Sorter::new(tmp.to_owned(), bounds));
    let mut lines = read_records(dir).map_err(|e| unread(dir, &e))?;
    for line in lines.by_ref() {
        let line = line.map_err(|e| unread(dir, &e))?;
        if let Some(held) = held(dir, &line, which, (&gone, &mut digests), &mut report)? {
            report.rows += 1;
            sorter.push(held)?;
        }
    }
    report.torn = lines.torn().len() as u64;
    for held in sorter.sorted()? {
        table.push(held?.row(dir)?)?;
    }
    table.finish(&report)?;
    Ok(report)
}

/// A line as it is sorted, or the count of what it is.
fn held(
    dir: &Path,
    line: &Line,
    which: TableRows,
    (gone, digests): (&Gone, &mut Digests),
    report: &mut TableReport,
) -> Result<Option<Held>, ArchiveError> {
    let Some(body) = line.standing() else {
        report.erased += 1;
        return Ok(None);
    };
    let record = line.record().map_err(|e| unread(dir, &e))?;
    let Some(record) = record.filter(|record| record.erasure.is_none()) else {
        report.erasures += 1;
        return Ok(None);
    };
    let fate = Fate::of(&record, gone.payload(line.seq));
    let count = match fate {
        _ if which == TableRows::All => None,
        Fate::Capture => None,
        Fate::NoCapture => Some(&mut report.no_capture),
        Fate::Withheld => Some(&mut report.withheld),
        Fate::PayloadErased => Some(&mut report.payload_erased),
        Fate::UrlCut => Some(&mut report.url_cut),
    };
    if let Some(count) = count {
        *count += 1;
        return Ok(None);
    }
    Held::of(line.seq, &record, body, fate, digests).map(Some)
}

fn unread(dir: &Path, problem: &dyn std::fmt::Display) -> ArchiveError {
    let problem = format!("{problem}: `comity verify` tells more");
    ArchiveError::Chain { path: dir.join("records"), problem }
}

fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}
