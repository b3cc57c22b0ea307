//! The folder of an export: written beside its place, and put there when it is whole.

use std::fs::File;
use std::io::{self, BufWriter, Read as _, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::exit::Failure;

/// A folder under way; what is not finished is removed.
#[derive(Debug)]
pub(super) struct Folder {
    out: PathBuf,
    tmp: PathBuf,
    is_done: bool,
}

/// A file of the export.
#[derive(Clone, Debug, Serialize)]
pub(super) struct FileEntry {
    path: String,
    bytes: u64,
    sha256: String,
}

impl Folder {
    pub(super) fn create(out: &Path) -> Result<Self, Failure> {
        let taken = |path: &Path| {
            Failure::usage(format!("{}: it exists already", path.display())).hint("name another folder, or remove it")
        };
        if out.exists() {
            return Err(taken(out));
        }
        let mut tmp = out.as_os_str().to_owned();
        tmp.push(".tmp");
        let tmp = PathBuf::from(tmp);
        match std::fs::create_dir(&tmp) {
            Ok(()) => Ok(Self { out: out.to_owned(), tmp, is_done: false }),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(taken(&tmp)),
            Err(error) => Err(failed(&tmp, &error)),
        }
    }

    pub(super) fn folder(&self, name: &str) -> Result<PathBuf, Failure> {
        let path = self.tmp.join(name);
        std::fs::create_dir(&path).map_err(|error| failed(&path, &error))?;
        Ok(path)
    }

    pub(super) fn file(&self, name: &str) -> Result<Lines, Failure> {
        let path = self.tmp.join(name);
        let file = File::create_new(&path).map_err(|error| failed(&path, &error))?;
        Ok(Lines { path, to: BufWriter::with_capacity(64 * 1024, file) })
    }

    /// Digest and length of every file of the folder, by name.
    pub(super) fn entries(&self) -> Result<Vec<FileEntry>, Failure> {
        let mut entries = Vec::new();
        list(&self.tmp, "", &mut entries).map_err(|error| failed(&self.tmp, &error))?;
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(entries)
    }

    /// Puts it in its place.
    pub(super) fn finish(mut self) -> Result<(), Failure> {
        if self.out.exists() {
            return Err(Failure::storage(format!("{}: it was made meanwhile", self.out.display())));
        }
        let parent = self.out.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let sync = |path: &Path| File::open(path).and_then(|folder| folder.sync_all());
        sync(&self.tmp)
            .and_then(|()| std::fs::rename(&self.tmp, &self.out))
            .and_then(|()| sync(parent))
            .map_err(|error| failed(&self.out, &error))?;
        self.is_done = true;
        Ok(())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.is_done {
            // It was made by this very run.
            drop(std::fs::remove_dir_all(&self.tmp));
        }
    }
}

fn list(folder: &Path, prefix: &str, entries: &mut Vec<FileEntry>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            list(&entry.path(), &format!("{name}/"), entries)?;
            continue;
        }
        let (mut file, mut hash, mut bytes) = (File::open(entry.path())?, Sha256::new(), 0);
        let mut piece = vec![0; 64 * 1024];
        loop {
            let got = file.read(&mut piece)?;
            if got == 0 {
                break;
            }
            hash.update(piece.get(..got).unwrap_or_default());
            bytes += got as u64;
        }
        entries.push(FileEntry { path: name, bytes, sha256: data_encoding::HEXLOWER.encode(&hash.finalize()) });
    }
    Ok(())
}

/// A file of lines.
#[derive(Debug)]
pub(super) struct Lines {
    path: PathBuf,
    to: BufWriter<File>,
}

impl Lines {
    pub(super) fn add(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let written = self.to.write_all(bytes).and_then(|()| self.to.write_all(b"\n"));
        written.map_err(|error| failed(&self.path, &error))
    }

    pub(super) fn json(&mut self, row: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_vec(row).map_err(|error| Failure::storage(error.to_string()))?;
        self.add(&text)
    }

    pub(super) fn finish(mut self) -> Result<(), Failure> {
        self.to.flush().and_then(|()| self.to.get_ref().sync_all()).map_err(|error| failed(&self.path, &error))
    }
}

pub(super) fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::storage(format!("{}: {error}", path.display()))
}
