//! Files in which sites speak about use, as they are remembered: JSON with a version, their bytes beside the copies of robots.txt.

use bytes::Bytes;
use comity_policy::{Digest, SiteFile, SiteFileState, WallTime};
use comity_url::CrawlUrl;
use fjall::PersistMode;
use serde::{Deserialize, Serialize};

use super::{StateDir, StateError, WrittenBy};
use crate::files::FileKey;

const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Written {
    v: u32,
    written: i64,
    run: u64,
    state: String,
    status: Option<u16>,
    asked: i64,
    until: i64,
    final_url: Option<String>,
    copy: Option<WrittenCopy>,
}

#[derive(Serialize, Deserialize)]
struct WrittenCopy {
    digest: String,
    fetched: i64,
}

/// A file as it was found.
pub(super) struct Found {
    pub(super) written: WallTime,
    run: u64,
    /// Without its copy.
    file: SiteFile,
    copy: Option<(Digest, WallTime)>,
}

impl Found {
    pub(super) fn digest(&self) -> Option<Digest> {
        self.copy.map(|(digest, _)| digest)
    }
}

/// A file that was remembered, not compiled yet.
#[derive(Debug)]
pub(crate) struct RecalledCopy {
    /// Without its copy.
    pub(crate) file: SiteFile,
    pub(crate) copy: Option<(Digest, WallTime, Bytes)>,
    pub(crate) by: WrittenBy,
}

pub(super) fn read(bytes: &[u8]) -> Option<Found> {
    let found: Written = serde_json::from_slice(bytes).ok().filter(|found: &Written| found.v == VERSION)?;
    let time = WallTime::from_unix_millis;
    let file = SiteFile {
        state: SiteFileState::ALL.into_iter().find(|state| state.as_str() == found.state)?,
        status: found.status,
        asked: time(found.asked),
        until: time(found.until),
        final_url: match found.final_url {
            None => None,
            Some(url) => Some(CrawlUrl::parse(&url).ok()?),
        },
        copy: None,
    };
    let copy = match found.copy {
        None => None,
        Some(copy) => Some((copy.digest.parse().ok()?, time(copy.fetched))),
    };
    Some(Found { written: time(found.written), run: found.run, file, copy })
}

impl StateDir {
    /// A file as it was last remembered. An entry that cannot be read, or whose bytes are gone, counts as none: it is asked anew.
    pub(crate) fn recall_file(&self, key: &FileKey) -> Result<Option<RecalledCopy>, StateError> {
        let wrap = |error| StateError::new(&self.path, error);
        let entry = self.files.get(key.to_string()).map_err(wrap)?;
        let Some(found) = entry.and_then(|entry| read(&entry)) else { return Ok(None) };
        let copy = match found.copy {
            None => None,
            Some((digest, fetched)) => match self.copies.get(digest.as_bytes()).map_err(wrap)? {
                None => return Ok(None),
                Some(bytes) => Some((digest, fetched, Bytes::from(bytes.to_vec()))),
            },
        };
        let by = if found.run == self.run { WrittenBy::ThisRun } else { WrittenBy::AnEarlierRun };
        Ok(Some(RecalledCopy { file: found.file, copy, by }))
    }

    /// Remembers a file, whose bytes are remembered already.
    pub(crate) fn remember_file(&self, key: &FileKey, file: &SiteFile, now: WallTime) -> Result<(), StateError> {
        let written = Written {
            v: VERSION,
            written: now.max(self.latest).unix_millis(),
            run: self.run,
            state: file.state.as_str().to_owned(),
            status: file.status,
            asked: file.asked.unix_millis(),
            until: file.until.unix_millis(),
            final_url: file.final_url.as_ref().map(ToString::to_string),
            copy: file
                .copy
                .as_ref()
                .map(|copy| WrittenCopy { digest: copy.digest.to_string(), fetched: copy.fetched.unix_millis() }),
        };
        // Numbers, strings and options: there is nothing that JSON could not hold.
        let bytes = serde_json::to_vec(&written).unwrap_or_default();
        self.written(self.files.insert(key.to_string(), bytes))
    }

    /// Remembers the bytes of a file, before the file that stands on them.
    pub(crate) fn remember_copy(&self, digest: Digest, bytes: &[u8]) -> Result<(), StateError> {
        let mut batch = self.db.batch().durability(Some(PersistMode::Buffer));
        batch.insert(&self.copies, digest.as_bytes().as_slice(), bytes);
        self.written(batch.commit())
    }
}
