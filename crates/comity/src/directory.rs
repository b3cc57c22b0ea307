use std::fs;
use std::path::{Path, PathBuf};

use crate::Error;

/// The file that marks a directory as a crawl's.
const MARK: &str = "crawl.toml";

/// Makes the crawl directory, or takes an empty one. Nothing in an existing directory is ever written over.
///
/// # Errors
/// When it holds a crawl or anything else, or cannot be written.
pub(crate) fn claim(dir: &Path) -> Result<PathBuf, Error> {
    let shown = dir.display();
    if dir.join(MARK).exists() {
        return Err(Error::directory(format!(
            "{shown} holds a crawl already; a crawl in memory cannot be resumed yet, so give another --dir (read this one with `comity records {shown}`)"
        )));
    }
    let occupied = fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_some());
    if occupied {
        return Err(Error::directory(format!("{shown} is not empty and no crawl's; give an empty or new --dir")));
    }
    fs::create_dir_all(dir)
        .map_err(|e| Error::directory(format!("{shown} cannot be made: {e}; give another --dir")))?;
    Ok(dir.to_owned())
}

/// Writes the resolved configuration as `crawl.toml`.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn write_mark(dir: &Path, text: &str) -> Result<(), Error> {
    let path = dir.join(MARK);
    fs::write(&path, text).map_err(|e| Error::directory(format!("{} cannot be written: {e}", path.display())))
}
