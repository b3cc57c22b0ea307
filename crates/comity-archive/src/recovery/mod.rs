//! What a process that was killed left open: cut to its last whole event, synced, indexed, and given its final name.
//!
//! The records are the judge. A WARC holds nothing that no line speaks of, and no line speaks of what a WARC does not hold.
//! Nothing is touched before it is known that no line which was once safe against a power cut would go.

mod plan;
mod records_tail;

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader};
use std::path::Path;

use crate::append_file::OPEN_SUFFIX;
use crate::disk::sync_folder;
use crate::index::{FileIndex, index_path};
use crate::names::{RECORDS_END, WARC_ENDS};
use crate::warc::scan::Scan;
use crate::{ArchiveError, ChainHead};
use plan::Plan;
use records_tail::RecordsTail;

/// Brings every file of an earlier run into its final form. Takes the time of reading the files that were left open once.
///
/// # Errors
/// When a file cannot be read or written, and when a line that `D/chain` names would go.
pub(crate) fn recover(dir: &Path) -> Result<(), ArchiveError> {
    let (warc, records) = (dir.join("warc"), dir.join("records"));
    remove_leavings([&warc, &records])?;
    let stated = ChainHead::load(dir)?;
    let mut plans = Vec::new();
    for base in open_bases(&warc, &records)? {
        plans.push(Plan::make(&base, &warc, &records)?);
    }
    if let Some(stated) = stated.filter(|_| !plans.is_empty()) {
        check_kept(stated, &plans, &records)?;
    }
    for plan in plans {
        plan.carry_out()?;
    }
    index_what_has_none(&warc)
}

/// No line that was safe against a power cut may go.
fn check_kept(stated: ChainHead, plans: &[Plan], records: &Path) -> Result<(), ArchiveError> {
    for plan in plans {
        plan.check_against(stated)?;
    }
    if plans.iter().any(|plan| plan.keeps(stated)) {
        return Ok(());
    }
    let mut closed = names(records)?;
    closed.retain(|name| name.ends_with(RECORDS_END));
    closed.sort();
    for name in closed.iter().rev() {
        if RecordsTail::read(&records.join(name), name)?.lines.iter().any(|line| line.head == stated) {
            return Ok(());
        }
    }
    let problem = format!("D/chain names line {}, which is not there or is another; nothing was changed", stated.seq);
    Err(ArchiveError::Chain { path: records.to_owned(), problem })
}

/// Parts of files that were to replace others.
fn remove_leavings(folders: [&Path; 2]) -> Result<(), ArchiveError> {
    for folder in folders {
        for name in names(folder)?.iter().filter(|name| name.ends_with(".tmp")) {
            let path = folder.join(name);
            std::fs::remove_file(&path).map_err(|e| ArchiveError::io(&path, e))?;
        }
    }
    Ok(())
}

/// Base names of which a file is open, oldest first.
fn open_bases(warc: &Path, records: &Path) -> Result<Vec<String>, ArchiveError> {
    let mut bases = Vec::new();
    for name in names(warc)?.into_iter().chain(names(records)?) {
        let closed = name.strip_suffix(OPEN_SUFFIX);
        bases.extend(closed.and_then(|name| base_of(name)).map(str::to_owned));
    }
    bases.sort();
    bases.dedup();
    Ok(bases)
}

/// The part of a final name that its pair shares; `None` for files that are not ours.
fn base_of(name: &str) -> Option<&str> {
    [RECORDS_END].iter().chain(&WARC_ENDS).find_map(|end| name.strip_suffix(end))
}

/// A closed WARC whose index could not be written, or that an earlier version wrote.
fn index_what_has_none(folder: &Path) -> Result<(), ArchiveError> {
    let names = names(folder)?;
    let warcs = names.iter().filter(|name| WARC_ENDS.iter().any(|end| name.ends_with(end)));
    for name in warcs.filter(|name| !index_path(folder, name).exists()) {
        index_of(&folder.join(name), name)?.store(folder, name)?;
    }
    Ok(())
}

/// The index of a closed WARC, read from it. Costs reading the file once.
pub(crate) fn index_of(warc: &Path, name: &str) -> Result<FileIndex, ArchiveError> {
    let mut index = FileIndex::default();
    let end = scan(warc, name, |_, _| {}, &mut index)?;
    let length = warc.metadata().map_err(|e| ArchiveError::io(warc, e))?.len();
    if end < length {
        tracing::warn!(file = %warc.display(), end, "a closed WARC is damaged: its index ends here");
    }
    Ok(index)
}

/// Goes through a WARC up to its first damage; gives where it is valid to. Places of metadata records are told.
fn scan(
    path: &Path,
    name: &str,
    mut metadata: impl FnMut(u64, u64),
    index: &mut FileIndex,
) -> Result<u64, ArchiveError> {
    let file = File::open(path).map_err(|e| ArchiveError::io(path, e))?;
    let mut scan = Scan::new(BufReader::with_capacity(256 * 1024, file));
    let mut end = 0;
    loop {
        match scan.next() {
            Ok(None) => return Ok(end),
            Ok(Some(member)) => {
                end = member.end;
                if member.is_metadata {
                    metadata(member.offset, member.end);
                }
                if let Some(entry) = member.entry {
                    index.stage(member.offset, entry.line(member.offset, member.end - member.offset, name));
                    index.take_staged();
                }
            }
            Err(crate::Damage::Io(error)) => return Err(ArchiveError::io(path, error)),
            Err(_) => return Ok(end),
        }
    }
}

/// Cuts a file to `end`, which reaches the device.
fn cut(path: &Path, end: u64) -> Result<(), ArchiveError> {
    let cut = || {
        let file = OpenOptions::new().write(true).open(path)?;
        if file.metadata()?.len() != end {
            file.set_len(end)?;
        }
        file.sync_all()
    };
    cut().map_err(|e: io::Error| ArchiveError::io(path, e))
}

/// Gives a file its final name, where it has not got it, or removes it when nothing is in it.
fn finish(path: &Path, name: &str, end: u64) -> Result<(), ArchiveError> {
    let folder = path.parent().unwrap_or(path);
    let last = folder.join(name);
    let done = match (end, path == last) {
        (0, _) => std::fs::remove_file(path),
        (_, true) => return Ok(()),
        (_, false) => std::fs::rename(path, &last),
    };
    done.and_then(|()| sync_folder(folder)).map_err(|e| ArchiveError::io(path, e))
}

/// File names of a folder.
fn names(folder: &Path) -> Result<Vec<String>, ArchiveError> {
    let read = || {
        let entries = std::fs::read_dir(folder)?;
        entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect::<io::Result<Vec<_>>>()
    };
    read().map_err(|e| ArchiveError::io(folder, e))
}
