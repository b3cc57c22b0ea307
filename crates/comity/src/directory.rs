use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use comity_url::CrawlUrl;

use crate::pending::Pending;
use crate::recording::{LOCK_FILE, READING_FILE};
use crate::{Error, marking};

/// The file that marks a directory as a crawl's.
const MARK: &str = "crawl.toml";
/// The same while it is written.
const NEW_MARK: &str = "crawl.toml.new";
/// The folder of every configuration that a record may name.
const CONFIGS: &str = "configs";
/// What else a kill may leave of a crawl whose mark did not stand yet.
const BEGUN: [&str; 6] = ["state", "configs", "warc", "records", "evidence", "checkpoints.jsonl"];
/// Longest mark read.
const LONGEST_MARK: u64 = 64 << 20;

/// A directory that a crawl may use.
#[derive(Debug)]
pub(crate) enum Claim {
    /// It holds nothing.
    Fresh,
    /// It holds a crawl, which began under this configuration.
    Crawl(String),
}

/// Makes the crawl directory, takes an empty one, or finds the crawl in it. Nothing of somebody else's is written over.
///
/// # Errors
/// When it holds anything else, or cannot be read or written.
pub(crate) fn claim(dir: &Path) -> Result<Claim, Error> {
    let shown = dir.display();
    if dir.join(MARK).exists() {
        let mut text = String::new();
        let read = File::open(dir.join(MARK)).and_then(|file| file.take(LONGEST_MARK).read_to_string(&mut text));
        read.map_err(|e| Error::directory(format!("{shown}/{MARK} cannot be read: {e}")))?;
        return Ok(Claim::Crawl(text));
    }
    // A kill may leave the mark half written, and what was made beside it: nothing was crawled before it stood. The lock is taken
    // before that.
    let is_begun = dir.join(NEW_MARK).exists();
    let is_others = |name: &std::ffi::OsStr| {
        let is_lock = name == LOCK_FILE || name == READING_FILE;
        name != NEW_MARK && !is_lock && !(is_begun && BEGUN.iter().any(|begun| name == *begun))
    };
    let occupied = fs::read_dir(dir)
        .is_ok_and(|entries| entries.filter_map(Result::ok).any(|entry| is_others(&entry.file_name())));
    if occupied {
        return Err(Error::directory(format!("{shown} is not empty and no crawl's; give an empty or new --dir")));
    }
    fs::create_dir_all(dir)
        .map_err(|e| Error::directory(format!("{shown} cannot be made: {e}; give another --dir")))?;
    Ok(Claim::Fresh)
}

/// A crawl that was found cannot be gone on with.
pub(crate) fn no_resume(dir: &Path, why: &str) -> Error {
    let shown = dir.display();
    Error::directory(format!(
        "{shown} holds a crawl that cannot go on: {why}; give another --dir (read this one with `comity records {shown}`)"
    ))
}

/// Writes the resolved configuration as `crawl.toml`: the old one stands until the new one is whole. Each is kept under the digest
/// by which records name it, `configs/SHA256.toml`: what a record was decided under can be read as long as the record.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn write_mark(dir: &Path, text: &str) -> Result<(), Error> {
    let path = dir.join(MARK);
    let written = put(&dir.join(NEW_MARK), &path, text);
    written.map_err(|e| Error::directory(format!("{} cannot be written: {e}", path.display())))?;
    keep(dir, text)
}

/// Begins a new crawl: its configuration stands in the directory before anything else does, under another name until
/// [`Beginning::mark`] gives it its own.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn begin(dir: &Path, text: String) -> Result<Beginning, Error> {
    let (new, path) = (dir.join(NEW_MARK), dir.join(MARK));
    let written = File::create(&new).and_then(|mut file| file.write_all(text.as_bytes()).map(|()| file));
    let file = written.map_err(|e| Error::directory(format!("{} cannot be written: {e}", path.display())))?;
    Ok(Beginning { dir: dir.to_owned(), text, file })
}

/// A new crawl whose mark does not stand yet.
#[derive(Debug)]
pub(crate) struct Beginning {
    dir: PathBuf,
    pub(crate) text: String,
    file: File,
}

impl Beginning {
    /// Gives the mark its name, whole against a power cut; to be done before anything is queued or asked. That its name and the copy of
    /// the configuration stand is safe when what is given has finished, and nothing of the crawl may be called safe before.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn mark(self) -> Result<Pending, Error> {
        let Self { dir, text, file } = self;
        let (path, folder) = (dir.join(MARK), dir.join(CONFIGS));
        let wrong =
            |path: &Path, e: std::io::Error| Error::directory(format!("{} cannot be written: {e}", path.display()));
        file.sync_all().and_then(|()| fs::rename(dir.join(NEW_MARK), &path)).map_err(|e| wrong(&path, e))?;
        let kept = folder.join(format!("{}.toml", marking::digest(&text)));
        let new = kept.with_extension("toml.new");
        let written =
            fs::create_dir_all(&folder).and_then(|()| fs::write(&new, &text)).and_then(|()| fs::rename(&new, &kept));
        written.map_err(|e| wrong(&kept, e))?;
        Ok(Pending::of(vec![kept, folder, dir]))
    }
}

/// Keeps a configuration under its digest.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn keep(dir: &Path, text: &str) -> Result<(), Error> {
    let folder = dir.join(CONFIGS);
    let kept = folder.join(format!("{}.toml", marking::digest(text)));
    if kept.exists() {
        return Ok(());
    }
    let written = fs::create_dir_all(&folder).and_then(|()| put(&kept.with_extension("toml.new"), &kept, text));
    written.map_err(|e| Error::directory(format!("{} cannot be written: {e}", kept.display())))
}

/// Writes a file under another name first. The folder is synced too: without, a power cut may bring the old file back.
pub(crate) fn put(new: &Path, path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = File::create(new)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(new, path)?;
    sync_folder(path)
}

/// Only Unix opens folders.
#[cfg(unix)]
fn sync_folder(path: &Path) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_path: &Path) -> std::io::Result<()> {
    Ok(())
}

/// The targets of the seeds' redirects, one a line: they belong to the scope, and the crawl that goes on must know them.
#[derive(Debug)]
pub(crate) struct ScopeSeeds {
    file: File,
    path: PathBuf,
}

impl ScopeSeeds {
    /// Opens the list, and reads what is in it. A line that a kill cut short is dropped: its page is not settled, and comes
    /// again.
    ///
    /// # Errors
    /// When it cannot be read or written.
    pub(crate) fn open(dir: &Path) -> Result<(Self, Vec<CrawlUrl>), Error> {
        let path = dir.join("state").join("scope-seeds");
        let wrong = |e: std::io::Error| Error::directory(format!("{} cannot be used: {e}", path.display()));
        fs::create_dir_all(dir.join("state")).map_err(wrong)?;
        let seeds = Self::read(dir)?;
        let mut file = OpenOptions::new().create(true).append(true).open(&path).map_err(wrong)?;
        // What the last run left of a line becomes none by the next one's end: it is no URL with what is put behind it.
        file.write_all(b" cut\n").map_err(wrong)?;
        Ok((Self { file, path }, seeds))
    }

    /// Reads the list of the crawl in `dir`.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn read(dir: &Path) -> Result<Vec<CrawlUrl>, Error> {
        let path = dir.join("state").join("scope-seeds");
        if !path.exists() {
            return Ok(Vec::new());
        }
        let list = fs::read(&path).map_err(|e| Error::directory(format!("{} cannot be used: {e}", path.display())))?;
        let lines = list.split_inclusive(|byte| *byte == b'\n').filter_map(|line| line.strip_suffix(b"\n"));
        Ok(lines.filter_map(|line| CrawlUrl::parse(std::str::from_utf8(line).ok()?).ok()).collect())
    }

    /// Takes URLs off the list of the crawl in `dir`; gives how many. It is replaced as a whole.
    ///
    /// # Errors
    /// When it cannot be read or written.
    #[cfg(feature = "disk")]
    pub(crate) fn forget(dir: &Path, goes: &dyn Fn(&CrawlUrl) -> bool) -> Result<u64, Error> {
        let seeds = Self::read(dir)?;
        let kept: Vec<&CrawlUrl> = seeds.iter().filter(|seed| !goes(seed)).collect();
        if kept.len() == seeds.len() {
            return Ok(0);
        }
        let path = dir.join("state").join("scope-seeds");
        let text: String = kept.iter().map(|seed| format!("{seed}\n")).collect();
        put(&path.with_extension("new"), &path, &text)
            .map_err(|e| Error::directory(format!("{} cannot be written: {e}", path.display())))?;
        Ok((seeds.len() - kept.len()) as u64)
    }

    /// Adds some.
    ///
    /// # Errors
    /// When they cannot be written.
    pub(crate) fn add(&mut self, seeds: &[CrawlUrl]) -> Result<(), Error> {
        let line: String = seeds.iter().map(|seed| format!("{seed}\n")).collect();
        // Before the seed's settlement, which may be safe against a power cut within a second.
        self.file
            .write_all(line.as_bytes())
            .and_then(|()| self.file.sync_data())
            .map_err(|e| Error::directory(format!("{} cannot be written: {e}", self.path.display())))
    }
}

#[cfg(test)]
#[cfg(feature = "disk")]
mod tests {
    use super::*;

    fn wrong(e: &dyn std::fmt::Debug) -> std::io::Error {
        std::io::Error::other(format!("{e:?}"))
    }

    /// Killed before its mark stood, nothing was crawled: the next start begins anew, whatever was made beside it.
    #[test]
    fn what_was_begun_and_never_marked_is_begun_anew_and_nothing_of_others_is() -> std::io::Result<()> {
        let dir = tempfile::tempdir()?;
        for name in BEGUN {
            drop(begin(dir.path(), "a = 1".to_owned()).map_err(|e| wrong(&e))?);
            fs::create_dir_all(dir.path().join(name))?;
            assert!(matches!(claim(dir.path()), Ok(Claim::Fresh)), "{name}");
        }
        fs::write(dir.path().join("letter.txt"), "somebody else's")?;
        assert!(claim(dir.path()).is_err());
        fs::remove_file(dir.path().join("letter.txt"))?;
        fs::remove_file(dir.path().join(NEW_MARK))?;
        assert!(claim(dir.path()).is_err(), "without a mark nobody knows whose it is");
        begin(dir.path(), "a = 2".to_owned()).and_then(Beginning::mark).map_err(|e| wrong(&e))?.finish()?;
        assert!(matches!(claim(dir.path()), Ok(Claim::Crawl(text)) if text == "a = 2"));
        let kept = dir.path().join(CONFIGS).join(format!("{}.toml", marking::digest("a = 2")));
        assert_eq!(fs::read_to_string(kept)?, "a = 2");
        Ok(())
    }
}
