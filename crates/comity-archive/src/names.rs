use std::path::Path;

use comity_policy::WallTime;

use crate::append_file::OPEN_SUFFIX;
use crate::{ArchiveError, WarcFormat};

/// Ends of the file families that share their base names.
pub(crate) const WARC_ENDS: [&str; 2] = [WarcFormat::Gzip.ending(), WarcFormat::Zstd.ending()];
pub(crate) const RECORDS_END: &str = ".jsonl.zst";
/// End of the index beside a WARC file.
pub(crate) const INDEX_END: &str = ".cdxj";

/// How many serial numbers are tried before giving up.
const TRIES: u32 = 10_000;

/// Makes `{prefix}-{17 digits of UTC}-{serial}-{tag}` (archive reference §5), each once.
#[derive(Debug)]
pub(crate) struct Names {
    prefix: String,
    tag: String,
    serial: u32,
}

impl Names {
    pub(crate) const fn new(prefix: String, tag: String) -> Self {
        Self { prefix, tag, serial: 0 }
    }

    /// The next base name that no file of either family has, open or closed.
    pub(crate) fn next(&mut self, at: WallTime, warc: &Path, records: &Path) -> Result<String, ArchiveError> {
        for _ in 0..TRIES {
            let base = format!("{}-{}-{:05}-{}", self.prefix, at.digits17(), self.serial, self.tag);
            self.serial = self.serial.wrapping_add(1);
            let taken = |folder: &Path, end: &str| {
                folder.join(format!("{base}{end}")).exists()
                    || folder.join(format!("{base}{end}{OPEN_SUFFIX}")).exists()
            };
            if !WARC_ENDS.iter().any(|end| taken(warc, end)) && !taken(records, RECORDS_END) {
                return Ok(base);
            }
        }
        Err(ArchiveError::Names { folder: records.to_owned(), tried: TRIES })
    }
}
