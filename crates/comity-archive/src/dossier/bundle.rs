use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use sha2::{Digest as _, Sha256};
use zip::write::{SimpleFileOptions, ZipWriter};
use zip::{CompressionMethod, DateTime};

use crate::ArchiveError;

/// A ZIP under way whose bytes depend on what is in it alone: no times, a fixed order, one level of compression.
pub(super) struct Bundle {
    path: PathBuf,
    zip: ZipWriter<File>,
    files: Vec<FileEntry>,
}

/// A file of the bundle.
#[derive(Debug, Serialize)]
pub(super) struct FileEntry {
    path: String,
    bytes: u64,
    sha256: String,
}

impl Bundle {
    pub(super) fn create(path: &Path) -> Result<Self, ArchiveError> {
        let file = File::create(path).map_err(|e| ArchiveError::io(path, e))?;
        Ok(Self { path: path.to_owned(), zip: ZipWriter::new(file), files: Vec::new() })
    }

    /// Adds a file.
    pub(super) fn add<T>(
        &mut self,
        name: &str,
        write: impl FnOnce(&mut Hashing<'_>) -> Result<T, io::Error>,
    ) -> Result<T, ArchiveError> {
        let mut to = self.begin(name)?;
        let written = write(&mut to);
        let entry = to.entry(name);
        let written = written.map_err(|e| ArchiveError::io(&self.path, e))?;
        self.files.push(entry);
        Ok(written)
    }

    /// Adds a file that is made from other files, whose errors are not of this one.
    pub(super) fn add_with<T>(
        &mut self,
        name: &str,
        write: impl FnOnce(&mut Hashing<'_>, &dyn Fn(io::Error) -> ArchiveError) -> Result<T, ArchiveError>,
    ) -> Result<T, ArchiveError> {
        let path = self.path.clone();
        let mut to = self.begin(name)?;
        let written = write(&mut to, &|e| ArchiveError::io(&path, e))?;
        let entry = to.entry(name);
        self.files.push(entry);
        Ok(written)
    }

    fn begin(&mut self, name: &str) -> Result<Hashing<'_>, ArchiveError> {
        let options = SimpleFileOptions::default()
            .compression_method(if is_packed(name) { CompressionMethod::Stored } else { CompressionMethod::Deflated })
            .compression_level(Some(6).filter(|_| !is_packed(name)))
            .last_modified_time(DateTime::default())
            .unix_permissions(0o644)
            .large_file(true);
        self.zip.start_file(name, options).map_err(|e| ArchiveError::io(&self.path, e.into()))?;
        Ok(Hashing { to: &mut self.zip, hash: Sha256::new(), bytes: 0 })
    }

    /// Adds `dossier.json`, which names every other file with its digest.
    pub(super) fn add_manifest(
        &mut self,
        text: impl FnOnce(&[FileEntry]) -> serde_json::Result<Vec<u8>>,
    ) -> Result<(), ArchiveError> {
        let text = text(&self.files).map_err(|e| ArchiveError::io(&self.path, e.into()))?;
        self.add("dossier.json", |to| to.write_all(&text))
    }

    /// Ends the ZIP and makes it safe.
    pub(super) fn finish(self) -> Result<(), ArchiveError> {
        let Self { path, zip, .. } = self;
        let finished = zip.finish().map_err(io::Error::from).and_then(|file| file.sync_all());
        finished.map_err(|e| ArchiveError::io(&path, e))
    }
}

/// True for what is compressed already.
fn is_packed(name: &str) -> bool {
    [".gz", ".zst"].iter().any(|end| name.ends_with(end))
}

/// Passes bytes on, and knows their number and digest.
pub(super) struct Hashing<'a> {
    to: &'a mut ZipWriter<File>,
    hash: Sha256,
    bytes: u64,
}

impl Hashing<'_> {
    fn entry(self, name: &str) -> FileEntry {
        let sha256 = data_encoding::HEXLOWER.encode(&self.hash.finalize());
        FileEntry { path: name.to_owned(), bytes: self.bytes, sha256 }
    }
}

impl Write for Hashing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.hash.update(bytes.get(..written).unwrap_or_default());
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
