use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::exit::Failure;

/// Files to be written below a folder, by their paths in it.
#[derive(Debug, Default)]
pub(super) struct Files(Vec<(PathBuf, String)>);

impl Files {
    /// Adds a file; `path` has no leading slash.
    pub(super) fn add(&mut self, path: impl AsRef<Path>, text: String) {
        self.0.push((path.as_ref().to_owned(), text));
    }

    /// Writes all of them below `dir`, each whole or not at all: the folder may be one that is being served.
    ///
    /// # Errors
    /// Without `force`, when one of them exists already, and then none is written; when one cannot be written.
    pub(super) fn write(&self, dir: &Path, force: bool) -> Result<Vec<PathBuf>, Failure> {
        let paths: Vec<PathBuf> = self.0.iter().map(|(path, _)| dir.join(path)).collect();
        if let Some(taken) = paths.iter().find(|path| !force && path.exists()) {
            return Err(Failure::usage(format!("{} exists already", taken.display()))
                .hint("give another --dir, or --force to write over files of an earlier time"));
        }
        for (path, (_, text)) in paths.iter().zip(&self.0) {
            replace(path, text).map_err(|e| Failure::storage(format!("{} cannot be written: {e}", path.display())))?;
        }
        Ok(paths)
    }
}

fn replace(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut draft = path.as_os_str().to_owned();
    draft.push(".new");
    fs::write(&draft, text)?;
    fs::rename(&draft, path)
}
