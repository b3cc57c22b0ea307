//! WACZ 1.1.1: a crawl as one ZIP file that replay tools open in place.
//!
//! `archive/*.warc.gz` as they are, `indexes/index.cdx.gz` with `index.idx`, `pages/pages.jsonl` with the seeds and
//! `pages/extraPages.jsonl` with the other pages, `datapackage.json` with the digest of each, and its own digest.

mod index;
mod package;
mod pages;

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use comity_policy::{Digest, WallTime};
use sha2::{Digest as _, Sha256};
use zip::CompressionMethod;
use zip::write::{SimpleFileOptions, ZipWriter};

use crate::append_file::OPEN_SUFFIX;
use crate::disk::sync_folder;
use crate::names::WARC_ENDS;
use crate::{ArchiveError, WarcFormat};

/// What a WACZ says of itself.
#[derive(Clone, Debug)]
pub struct WaczSettings {
    /// A title for people; `None` takes the name of the crawl.
    pub title: Option<String>,
    /// When it is made.
    pub created: WallTime,
}

/// What a WACZ holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaczReport {
    /// WARC files.
    pub warcs: u64,
    /// Index lines.
    pub captures: u64,
    /// Pages: HTML, status 200.
    pub pages: u64,
    /// Size of the file.
    pub bytes: u64,
}

/// Writes the crawl in `dir` as a WACZ to `file`, which must not exist: as a whole, or not at all.
///
/// Changes nothing of the crawl: an index that is missing beside a WARC file is made for the export only, which reads that file
/// once more.
///
/// Costs a copy of the WARC files and a SHA-256 over them. Memory does not grow with the crawl, but for an open file per WARC
/// while their indexes are merged, and the indexes that have to be made.
///
/// # Errors
/// When a file of the crawl is still open (the crawl runs, or was killed and not started since), when its WARC files are not
/// gzip, which is all that readers of WACZ take, when there are none, and when something cannot be read or written.
pub fn write_wacz(dir: &Path, file: &Path, settings: &WaczSettings) -> Result<WaczReport, ArchiveError> {
    let warcs = closed_warcs(dir)?;
    if file.exists() {
        return Err(ArchiveError::export(file, "it exists already: name another file, or remove it"));
    }
    let mut tmp = file.as_os_str().to_owned();
    tmp.push(".tmp");
    let tmp = PathBuf::from(tmp);
    let written = write_to(&tmp, dir, &warcs, settings).and_then(|report| {
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

fn write_to(tmp: &Path, dir: &Path, warcs: &[PathBuf], settings: &WaczSettings) -> Result<WaczReport, ArchiveError> {
    let mut wacz = Wacz::create(tmp)?;
    let mut report = WaczReport { warcs: warcs.len() as u64, ..WaczReport::default() };
    for warc in warcs {
        let name = warc.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let mut from = File::open(warc).map_err(|e| ArchiveError::io(warc, e))?;
        wacz.add(&format!("archive/{name}"), |to| io::copy(&mut from, to).map(drop))?;
    }
    report.captures = index::write(&mut wacz, warcs)?;
    let found = pages::write(&mut wacz, dir)?;
    report.pages = found.count;
    package::write(&mut wacz, settings, &found)?;
    report.bytes = wacz.finish()?;
    Ok(report)
}

/// The WARC files of a crawl, all closed, by name.
fn closed_warcs(dir: &Path) -> Result<Vec<PathBuf>, ArchiveError> {
    let folder = dir.join("warc");
    let read = || std::fs::read_dir(&folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>();
    let mut files = read().map_err(|e| ArchiveError::io(&folder, e))?;
    let ends = |path: &PathBuf, end: &str| path.to_string_lossy().ends_with(end);
    if let Some(open) = files.iter().find(|path| ends(path, OPEN_SUFFIX)) {
        return Err(ArchiveError::export(open, "it is still open: stop the crawl, or start it once more after a kill"));
    }
    files.retain(|path| WARC_ENDS.iter().any(|end| ends(path, end)));
    if let Some(other) = files.iter().find(|path| !ends(path, WarcFormat::Gzip.ending())) {
        return Err(ArchiveError::export(
            other,
            "readers of WACZ take gzip only: crawl with [archive] compression = \"gzip\"",
        ));
    }
    if files.is_empty() {
        return Err(ArchiveError::export(&folder, "no WARC file is there"));
    }
    files.sort();
    Ok(files)
}

/// The ZIP under way, and what is in it so far.
struct Wacz {
    path: PathBuf,
    zip: ZipWriter<File>,
    resources: Vec<Resource>,
}

/// A file of the package.
struct Resource {
    path: String,
    digest: Digest,
    bytes: u64,
}

impl Wacz {
    fn create(path: &Path) -> Result<Self, ArchiveError> {
        let file = File::create(path).map_err(|e| ArchiveError::io(path, e))?;
        Ok(Self { path: path.to_owned(), zip: ZipWriter::new(file), resources: Vec::new() })
    }

    /// Adds a file, stored as it is: readers fetch parts of it in place.
    fn add(
        &mut self,
        name: &str,
        write: impl FnOnce(&mut Hashing<'_>) -> io::Result<()>,
    ) -> Result<Digest, ArchiveError> {
        let failed = |e: io::Error| ArchiveError::io(&self.path, e);
        // The size is not known before; 64-bit sizes are taken by every reader of ZIP files this large.
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(true);
        self.zip.start_file(name, options).map_err(|e| failed(e.into()))?;
        let mut to = Hashing { to: &mut self.zip, hash: Sha256::new(), bytes: 0 };
        write(&mut to).map_err(failed)?;
        let (digest, bytes) = (Digest::from_bytes(to.hash.finalize().into()), to.bytes);
        self.resources.push(Resource { path: name.to_owned(), digest, bytes });
        Ok(digest)
    }

    /// Ends the ZIP and makes it safe; gives its size.
    fn finish(self) -> Result<u64, ArchiveError> {
        let Self { path, zip, .. } = self;
        let finished = zip.finish().map_err(io::Error::from).and_then(|file| {
            file.sync_all()?;
            file.metadata().map(|facts| facts.len())
        });
        finished.map_err(|e| ArchiveError::io(&path, e))
    }
}

/// Passes bytes on, and knows their number and digest.
struct Hashing<'a> {
    to: &'a mut ZipWriter<File>,
    hash: Sha256,
    bytes: u64,
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
