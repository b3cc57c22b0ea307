use std::path::{Path, PathBuf};

use super::records_tail::{Place, RecordsTail, keep_lines};
use super::{cut, finish, scan};
use crate::append_file::OPEN_SUFFIX;
use crate::disk::RealDisk;
use crate::index::{FileIndex, index_path};
use crate::names::{RECORDS_END, WARC_ENDS};
use crate::records::pack::pack;
use crate::{ArchiveError, ChainHead};

/// What is to be done with the pair of files of one base name.
#[derive(Debug)]
pub(super) struct Plan {
    warc: Option<WarcPlan>,
    records: Option<RecordsTail>,
    /// Lines that stay.
    lines: usize,
}

#[derive(Debug)]
struct WarcPlan {
    path: PathBuf,
    /// Its final name.
    name: String,
    end: u64,
    index: FileIndex,
}

impl Plan {
    /// Reads both files and changes neither.
    pub(super) fn make(base: &str, warc: &Path, records: &Path) -> Result<Self, ArchiveError> {
        let records = match found(records, &format!("{base}{RECORDS_END}")) {
            Some((path, name)) => Some(RecordsTail::read(&path, &name)?),
            None => None,
        };
        let warc = WARC_ENDS.iter().find_map(|end| found(warc, &format!("{base}{end}")));
        let Some((path, name)) = warc else {
            // Lines that speak of a WARC which is gone stay: what was lost must not look as if it had never been.
            let lines = records.as_ref().map_or(0, |records| records.lines.len());
            return Ok(Self { warc: None, records, lines });
        };
        let (mut metadata, mut index) = (Vec::new(), FileIndex::default());
        let valid = scan(&path, &name, |offset, end| metadata.push((offset, end)), &mut index)?;
        let Some(records) = records else {
            tracing::warn!(file = %path.display(), "a WARC without records: kept up to its last whole record");
            return Ok(Self { warc: Some(WarcPlan { path, name, end: valid, index }), records: None, lines: 0 });
        };
        let end_of = |offset: u64| {
            let at = metadata.binary_search_by_key(&offset, |(from, _)| *from).ok()?;
            metadata.get(at).map(|(_, end)| *end)
        };
        let (end, lines) = kept(&records, (&name, valid), end_of)?;
        index.cut(end);
        Ok(Self { warc: Some(WarcPlan { path, name, end, index }), records: Some(records), lines })
    }

    /// True when this line stays.
    pub(super) fn keeps(&self, head: ChainHead) -> bool {
        self.records.iter().flat_map(|records| records.lines.iter().take(self.lines)).any(|line| line.head == head)
    }

    /// No line up to this one may go for the sake of a damaged WARC.
    pub(super) fn check_against(&self, stated: ChainHead) -> Result<(), ArchiveError> {
        let Some(records) = &self.records else { return Ok(()) };
        match records.lines.get(self.lines).map(|line| line.head.seq) {
            Some(lost) if lost <= stated.seq => Err(ArchiveError::Chain {
                path: records.path.clone(),
                problem: format!(
                    "line {lost} speaks of WARC records that are damaged, and D/chain names line {} as safe; nothing was \
                     changed. Restore the WARC file, or start in another directory",
                    stated.seq
                ),
            }),
            _ => Ok(()),
        }
    }

    /// Cuts, syncs, indexes, renames. Cut short anywhere, the next start does the rest.
    pub(super) fn carry_out(self) -> Result<(), ArchiveError> {
        let records_end = match &self.records {
            Some(records) => keep_lines(records, self.lines)?,
            None => 0,
        };
        if let Some(WarcPlan { path, name, end, index }) = self.warc {
            let folder = path.parent().unwrap_or(&path).to_owned();
            cut(&path, end)?;
            if end > 0 {
                index.store(&folder, &name)?;
            } else {
                drop(std::fs::remove_file(index_path(&folder, &name)));
            }
            finish(&path, &name, end)?;
            tracing::info!(file = name, end, "a WARC that was left open is closed");
        }
        if let Some(records) = self.records {
            finish(&records.path, &records.name, records_end)?;
            let closed = records.path.with_file_name(&records.name);
            if records_end > 0
                && closed != records.path
                && let Err(error) = pack(&RealDisk, &closed)
            {
                tracing::warn!(%error, file = %closed.display(), "records could not be packed: they stay as they were written");
            }
            tracing::info!(file = records.name, lines = self.lines, "records that were left open are closed");
        }
        Ok(())
    }
}

/// Up to where a WARC of this name, valid up to there, and how many of the lines stay; `end_of` tells where the metadata
/// record that begins at a place ends.
fn kept(
    records: &RecordsTail,
    (warc, valid): (&str, u64),
    end_of: impl Fn(u64) -> Option<u64>,
) -> Result<(u64, usize), ArchiveError> {
    let (mut end, mut lines) = (0, 0);
    // Of an erased line nobody knows where its records lie: up to the next known place all may be its own.
    let mut follows_erased = false;
    for line in &records.lines {
        match &line.place {
            Place::In { warc: file, begin, metadata } if file == warc => {
                let Some(there) = end_of(*metadata) else {
                    let erased_end = if follows_erased { valid.min(*begin) } else { end };
                    return Ok((end.max(erased_end), lines));
                };
                (end, follows_erased) = (there, false);
            }
            Place::In { .. } | Place::Nowhere => {}
            Place::Erased => follows_erased = true,
            Place::Unreadable(why) => {
                let problem = format!(
                    "record {} cannot be read, so nobody knows what of {warc} is its own; nothing was changed. Start the \
                     version that wrote it: {why}",
                    line.head.seq
                );
                return Err(ArchiveError::Chain { path: records.path.clone(), problem });
            }
        }
        lines += 1;
    }
    Ok((if follows_erased { valid } else { end }, lines))
}

/// The file of this final name, open or closed, with that name.
fn found(folder: &Path, name: &str) -> Option<(PathBuf, String)> {
    let open = folder.join(format!("{name}{OPEN_SUFFIX}"));
    let closed = folder.join(name);
    [open, closed].into_iter().find(|path| path.exists()).map(|path| (path, name.to_owned()))
}
