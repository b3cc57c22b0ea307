use std::path::Path;

use crate::records::reader::read_records_from;
use crate::{ArchiveError, ChainHead};

/// The end of the chain that is there: the last whole line of all record files, checked against `D/chain`.
pub(crate) fn last_head(dir: &Path) -> Result<Option<ChainHead>, ArchiveError> {
    let path = dir.join("records");
    let wrong = |problem: String| ArchiveError::Chain { path: path.clone(), problem };
    let stated = ChainHead::load(dir)?;
    let (mut last, mut passed) = (None, stated.is_none());
    for line in read_records_from(dir, stated.map_or(0, |head| head.seq)).map_err(|e| wrong(e.to_string()))? {
        let head = line.map_err(|e| wrong(e.to_string()))?.head();
        passed |= stated == Some(head);
        last = Some(head);
    }
    match stated {
        Some(stated) if !passed => {
            let there = last.map_or(0, |last| last.seq + 1);
            Err(wrong(format!("D/chain names line {}, {there} lines are there or the line is another", stated.seq)))
        }
        _ => Ok(last),
    }
}
