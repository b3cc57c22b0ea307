use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use comity_policy::{Digest, SiteFileKind, WallTime};
use comity_url::CrawlUrl;
use serde::{Deserialize, Serialize};

use crate::ArchiveError;
use crate::digests::sha256;
use crate::unsynced::UnsyncedEvidence;

/// Dated copies of what decisions rest on: the bytes once per digest, an index line per sighting (invariant 12).
///
/// `evidence/<first two hex digits>/<sha256>` holds the bytes, `evidence/index.jsonl` the lines. One process writes.
#[derive(Debug)]
pub struct EvidenceStore {
    folder: PathBuf,
    index: File,
    unsynced: UnsyncedEvidence,
}

/// What kind of evidence a copy is.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EvidenceKind {
    /// A robots.txt, decoded.
    #[serde(rename = "robots.txt")]
    RobotsTxt,
    /// A `/.well-known/tdmrep.json`.
    #[serde(rename = "tdmrep.json")]
    Tdmrep,
    /// An RSL licence, one that stands within a page too.
    #[serde(rename = "licence")]
    Licence,
    /// A `/ai.txt`.
    #[serde(rename = "ai.txt")]
    AiTxt,
    /// A `/trust.txt`.
    #[serde(rename = "trust.txt")]
    TrustTxt,
    /// Terms in prose.
    #[serde(rename = "terms")]
    Terms,
}

impl From<SiteFileKind> for EvidenceKind {
    fn from(kind: SiteFileKind) -> Self {
        match kind {
            SiteFileKind::Tdmrep => Self::Tdmrep,
            SiteFileKind::AiTxt => Self::AiTxt,
            SiteFileKind::TrustTxt => Self::TrustTxt,
            SiteFileKind::Licence => Self::Licence,
            SiteFileKind::Terms => Self::Terms,
        }
    }
}

impl EvidenceKind {
    /// The word of records for an errand of that kind.
    #[must_use]
    pub const fn errand(self) -> &'static str {
        match self {
            Self::RobotsTxt => "robots",
            Self::Tdmrep => SiteFileKind::Tdmrep.as_str(),
            Self::Licence => SiteFileKind::Licence.as_str(),
            Self::AiTxt => SiteFileKind::AiTxt.as_str(),
            Self::TrustTxt => SiteFileKind::TrustTxt.as_str(),
            Self::Terms => SiteFileKind::Terms.as_str(),
        }
    }
}

/// One sighting: what stood where, when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sighting {
    /// What it is.
    pub kind: EvidenceKind,
    /// The URL first asked.
    pub url: String,
    /// When the answer came, RFC 3339.
    pub fetched: String,
    /// HTTP status of the answer.
    pub status: u16,
    /// SHA-256 of the bytes; null when there were none, which is evidence too.
    pub digest: Option<String>,
    /// Their number.
    pub bytes: u64,
}

/// The largest copy that is read back.
pub(crate) const MAX_COPY: u64 = 64 * 1024 * 1024;
/// The longest index line: a URL of 65,534 bytes, escaped.
pub(crate) const MAX_INDEX_LINE: u64 = 512 * 1024;

impl EvidenceStore {
    /// Opens `dir/evidence`, which is created when missing. A torn last index line, left by a crash, is cut off.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn open(dir: &Path) -> Result<Self, ArchiveError> {
        let folder = dir.join("evidence");
        std::fs::create_dir_all(&folder).map_err(|e| ArchiveError::io(&folder, e))?;
        let path = folder.join("index.jsonl");
        let options = OpenOptions::new().read(true).append(true).create(true).open(&path);
        let mut index = options.map_err(|e| ArchiveError::io(&path, e))?;
        cut_torn_line(&mut index).map_err(|e| ArchiveError::io(&path, e))?;
        let unsynced = UnsyncedEvidence::of(&folder);
        Ok(Self { folder, index, unsynced })
    }

    /// Keeps what was seen at `url`; `None` for an answer without a copy, such as 404. Gives the digest of the bytes.
    ///
    /// # Errors
    /// When it cannot be written; the store is as before then.
    pub fn put(
        &mut self,
        kind: EvidenceKind,
        url: &CrawlUrl,
        fetched: WallTime,
        status: u16,
        bytes: Option<&[u8]>,
    ) -> Result<Option<Digest>, ArchiveError> {
        let digest = bytes.map(sha256);
        if let Some((bytes, digest)) = bytes.zip(digest) {
            self.keep(bytes, digest)?;
        }
        let sighting = Sighting {
            kind,
            url: url.as_str().to_owned(),
            fetched: fetched.to_string(),
            status,
            digest: digest.map(|d| d.to_string()),
            bytes: bytes.map_or(0, |b| b.len() as u64),
        };
        let path = self.folder.join("index.jsonl");
        self.write_line(&sighting).map_err(|e| ArchiveError::io(&path, e))?;
        Ok(digest)
    }

    /// The bytes of a digest; `None` when they are not kept, or no longer what they were.
    ///
    /// # Errors
    /// When the file is there and cannot be read.
    pub fn find(&self, digest: Digest) -> Result<Option<Vec<u8>>, ArchiveError> {
        let path = self.path(digest);
        let mut bytes = Vec::new();
        match File::open(&path).and_then(|file| file.take(MAX_COPY).read_to_end(&mut bytes)) {
            Ok(_) => Ok(Some(bytes).filter(|bytes| sha256(bytes) == digest)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(ArchiveError::io(&path, error)),
        }
    }

    /// Every sighting, oldest first. Memory: one line.
    ///
    /// # Errors
    /// When the index cannot be opened; items are errors where a line cannot be read.
    pub fn sightings(&self) -> Result<impl Iterator<Item = Result<Sighting, ArchiveError>> + use<>, ArchiveError> {
        let path = self.folder.join("index.jsonl");
        let file = File::open(&path).map_err(|e| ArchiveError::io(&path, e))?;
        let mut reader = BufReader::new(file);
        Ok(std::iter::from_fn(move || {
            let mut line = Vec::new();
            match reader.by_ref().take(MAX_INDEX_LINE).read_until(b'\n', &mut line) {
                Ok(0) => None,
                Ok(_) => Some(serde_json::from_slice(&line).map_err(|e| ArchiveError::io(&path, e.into()))),
                Err(error) => Some(Err(ArchiveError::io(&path, error))),
            }
        }))
    }

    /// What of this store a power cut may still take: for [`crate::Archive::rest_on`].
    #[must_use]
    pub fn unsynced(&self) -> UnsyncedEvidence {
        self.unsynced.clone()
    }

    /// Everything kept so far is safe against power loss.
    ///
    /// # Errors
    /// When the device refuses.
    pub fn sync(&mut self) -> Result<(), ArchiveError> {
        self.unsynced.sync()?;
        self.index.sync_all().map_err(|e| ArchiveError::io(&self.folder, e))
    }

    /// Writes the bytes unless they are there: whole under their name, or not at all. A copy that is no longer what it was,
    /// as a power cut may leave it, is written anew.
    fn keep(&mut self, bytes: &[u8], digest: Digest) -> Result<(), ArchiveError> {
        let path = self.path(digest);
        if holds(&path, bytes) {
            return Ok(());
        }
        let shelf = path.parent().unwrap_or(&self.folder);
        let is_new_shelf = !shelf.exists();
        let written = std::fs::create_dir_all(shelf).and_then(|()| {
            let tmp = path.with_extension("tmp");
            std::fs::write(&tmp, bytes)?;
            std::fs::rename(&tmp, &path)
        });
        written.map_err(|e| ArchiveError::io(&path, e))?;
        self.unsynced.add(path, is_new_shelf)
    }

    /// One line, whole or cut off again.
    fn write_line(&mut self, sighting: &Sighting) -> io::Result<()> {
        let mut line = serde_json::to_vec(sighting)?;
        line.push(b'\n');
        let end = self.index.metadata()?.len();
        self.index.write_all(&line).inspect_err(|_| {
            // The next open cuts it off, should this fail too.
            let _ = self.index.set_len(end);
        })
    }

    fn path(&self, digest: Digest) -> PathBuf {
        let hex = digest.to_string();
        self.folder.join(hex.get(..2).unwrap_or_default()).join(hex)
    }
}

/// Whether the copy at `path` is these bytes. Reads it only where its length fits; one that cannot be read is none.
fn holds(path: &Path, bytes: &[u8]) -> bool {
    let fits = std::fs::metadata(path).is_ok_and(|there| there.len() == bytes.len() as u64);
    fits && std::fs::read(path).is_ok_and(|there| there == bytes)
}

/// Cuts the file after its last line end.
fn cut_torn_line(file: &mut File) -> io::Result<()> {
    let end = file.metadata()?.len();
    let from = end.saturating_sub(MAX_INDEX_LINE);
    file.seek(SeekFrom::Start(from))?;
    let mut tail = Vec::new();
    file.take(MAX_INDEX_LINE).read_to_end(&mut tail)?;
    let whole = tail.iter().rposition(|b| *b == b'\n').map_or(0, |at| at as u64 + 1);
    if whole == 0 && from > 0 {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the last line of the index has no begin"));
    }
    if from + whole < end { file.set_len(from + whole) } else { Ok(()) }
}
