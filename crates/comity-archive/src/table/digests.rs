use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::ArchiveError;
use crate::append_file::OPEN_SUFFIX;
use crate::index::index_path;
use crate::recovery::index_of;

/// SHA-1 digests of payloads, as the index beside each WARC file has them: one file's at a time.
#[derive(Debug)]
pub(super) struct Digests {
    folder: PathBuf,
    file: String,
    /// By the place of the record.
    known: HashMap<u64, String>,
}

#[derive(Deserialize)]
struct Entry<'a> {
    offset: &'a str,
    digest: Option<&'a str>,
}

impl Digests {
    pub(super) fn of(dir: &Path) -> Self {
        Self { folder: dir.join("warc"), file: String::new(), known: HashMap::new() }
    }

    /// The digest of the record at this place in Base32, without its label; `None` where the file is not there.
    pub(super) fn at(&mut self, file: &str, offset: u64) -> Result<Option<String>, ArchiveError> {
        if self.file != file {
            self.known = self.read(file)?;
            file.clone_into(&mut self.file);
        }
        Ok(self.known.get(&offset).cloned())
    }

    fn read(&self, file: &str) -> Result<HashMap<u64, String>, ArchiveError> {
        // A name out of a record is a name, no path.
        if file.contains(['/', '\\', '\0']) || file.starts_with('.') {
            return Ok(HashMap::new());
        }
        let entry = |line: &str| {
            let entry: Entry<'_> = serde_json::from_str(line.get(line.find('{')?..)?).ok()?;
            Some((entry.offset.parse().ok()?, entry.digest?.strip_prefix("sha1:")?.to_owned()))
        };
        Ok(self.index(file)?.lines().filter_map(entry).collect())
    }

    /// The index of a closed file, or what it would be: of one that is open, or was left so, it is made of the file.
    fn index(&self, file: &str) -> Result<String, ArchiveError> {
        let path = index_path(&self.folder, file);
        match std::fs::read_to_string(&path) {
            Ok(text) => return Ok(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(ArchiveError::io(&path, error)),
        }
        let places = [self.folder.join(file), self.folder.join(format!("{file}{OPEN_SUFFIX}"))];
        match places.iter().find(|place| place.is_file()) {
            Some(warc) => Ok(index_of(warc, file)?.into_text()),
            None => Ok(String::new()),
        }
    }
}
