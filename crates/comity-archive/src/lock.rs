//! `D/lock`: one process at a time changes a crawl directory. `D/reading`: nothing is erased under somebody who reads it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::ArchiveError;

/// The file's name in the crawl directory.
pub const LOCK_FILE: &str = "lock";

/// The file whose lock readers share, and whoever erases has alone.
pub const READING_FILE: &str = "reading";

/// Bytes of it that are read.
const MOST_READ: u64 = 256;

/// What a process does with a crawl directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Use {
    /// Crawls.
    Crawl,
    /// Erases what was named.
    Erase,
    /// Erases what is too old.
    Prune,
    /// Looks at, and changes, the queue of a crawl that is stopped.
    Steer,
    /// Writes an archive without a crawl.
    Archive,
}

impl Use {
    /// The word that stands in the file.
    const fn word(self) -> &'static str {
        match self {
            Self::Crawl => "crawl",
            Self::Erase => "erase",
            Self::Prune => "prune",
            Self::Steer => "steer",
            Self::Archive => "archive",
        }
    }

    fn of_word(word: &str) -> Option<Self> {
        [Self::Crawl, Self::Erase, Self::Prune, Self::Steer, Self::Archive].into_iter().find(|one| one.word() == word)
    }

    const fn is_erasing(self) -> bool {
        matches!(self, Self::Erase | Self::Prune)
    }

    /// For whoever meets the lock: who has the directory, and what to do.
    const fn told(self) -> (&'static str, &'static str) {
        match self {
            Self::Crawl => ("a crawl runs in it", "stop it, or wait for its end"),
            Self::Erase => ("an erasure changes it", "wait for its end"),
            Self::Prune => ("what is too old is being erased from it", "wait for its end"),
            Self::Steer => ("its queue is looked at or changed", "wait for the end of that command"),
            Self::Archive => ("an archive is written in it", "wait for its end"),
        }
    }
}

/// A crawl directory that is this process's alone, from [`CrawlLock::take`] until it is dropped.
///
/// The system's lock of the open file is what holds, not the file: it goes with the process, however that ends, and the file stays.
/// Its text tells others who has it, and is nothing more.
#[derive(Debug)]
pub struct CrawlLock {
    file: File,
    path: PathBuf,
    /// `D/reading`, for as long as something may be erased. No text is believed of who reads.
    reading: Mutex<Option<File>>,
}

/// A crawl directory that is read: until this is dropped nothing is erased from it, and no crawl starts in it, which may have to.
#[derive(Debug)]
pub struct ReadLock {
    file: File,
}

// Given up by name, and not by closing the file: a child process has it too, from the moment it is forked until it becomes another
// program, and the system would keep the lock as long. What fails here goes with the process.
impl Drop for CrawlLock {
    fn drop(&mut self) {
        self.lets_readers_in();
        drop(self.file.unlock());
    }
}

impl Drop for ReadLock {
    fn drop(&mut self) {
        drop(self.file.unlock());
    }
}

impl CrawlLock {
    /// Takes the directory, which exists, from others and from readers. Those are let in again by [`Self::says`].
    ///
    /// # Errors
    /// [`ArchiveError::Held`] when somebody else has it or reads it; [`ArchiveError::Io`] when the file cannot be made.
    pub fn take(dir: &Path, what: Use) -> Result<Self, ArchiveError> {
        let path = dir.join(LOCK_FILE);
        let io = |source| ArchiveError::io(&path, source);
        let file = open(&path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(held(&path, &file)),
            // Some network file systems have none: what keeps two crawls apart there are the locks of queue and memory.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
                tracing::warn!(path = %path.display(), "this file system knows no locks: nothing keeps a second process out");
            }
            Err(TryLockError::Error(error)) => return Err(io(error)),
        }
        let lock = Self { file, path, reading: Mutex::default() };
        lock.tells(what)?;
        if what != Use::Steer {
            lock.keeps_readers_out()?;
        }
        Ok(lock)
    }

    /// From here on others are told this, and readers are let in, unless something is erased.
    ///
    /// # Errors
    /// [`ArchiveError::Held`] when something is to be erased and somebody reads; [`ArchiveError::Io`] when the file cannot be written.
    pub fn says(&self, what: Use) -> Result<(), ArchiveError> {
        if what.is_erasing() {
            self.keeps_readers_out()?;
        } else {
            self.lets_readers_in();
        }
        self.tells(what)
    }

    fn lets_readers_in(&self) {
        if let Some(file) = self.reading.lock().unwrap_or_else(PoisonError::into_inner).take() {
            drop(file.unlock());
        }
    }

    fn keeps_readers_out(&self) -> Result<(), ArchiveError> {
        let mut reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        if reading.is_some() {
            return Ok(());
        }
        let path = self.path.with_file_name(READING_FILE);
        let file = open(&path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let (by, advice) =
                    ("it is being read, by an export or a command like it".to_owned(), "wait for its end");
                return Err(ArchiveError::Held { path, by, advice });
            }
            // As with the lock itself, and it was told there.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {}
            Err(TryLockError::Error(error)) => return Err(ArchiveError::io(&path, error)),
        }
        *reading = Some(file);
        Ok(())
    }

    fn tells(&self, what: Use) -> Result<(), ArchiveError> {
        let text = format!("{} process {}\n", what.word(), std::process::id());
        let mut file = &self.file;
        let emptied = file.set_len(0).and_then(|()| file.seek(SeekFrom::Start(0)));
        emptied.and_then(|_| file.write_all(text.as_bytes())).map_err(|source| ArchiveError::io(&self.path, source))
    }
}

impl ReadLock {
    /// Holds the directory for reading. `None` in a directory from before there was a lock.
    ///
    /// # Errors
    /// [`ArchiveError::Held`] while something is erased from it, and while a crawl opens it, which may have to.
    pub fn take(dir: &Path) -> Result<Option<Self>, ArchiveError> {
        let path = dir.join(READING_FILE);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(ArchiveError::io(&path, error)),
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(Some(Self { file })),
            Err(TryLockError::WouldBlock) => Err(opened_or_erased(dir)),
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(None),
            Err(TryLockError::Error(error)) => Err(ArchiveError::io(&path, error)),
        }
    }
}

/// For a reader that was kept out. The text of the lock is for the message alone.
fn opened_or_erased(dir: &Path) -> ArchiveError {
    let path = dir.join(LOCK_FILE);
    let (what, who) = File::open(&path).map_or_else(|_| (None, String::new()), |file| holder(&file));
    let (doing, advice) = match what {
        Some(Use::Crawl) => ("a crawl is just opening it", "try again in a moment"),
        Some(what) => what.told(),
        None => ("another process changes it", "wait for its end"),
    };
    let by = if who.is_empty() { doing.to_owned() } else { format!("{doing} ({who})") };
    ArchiveError::Held { path, by, advice }
}

/// Not cut short: it may be another's.
fn open(path: &Path) -> Result<File, ArchiveError> {
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
    file.map_err(|source| ArchiveError::io(path, source))
}

/// Who has it, as the file says.
fn holder(file: &File) -> (Option<Use>, String) {
    let mut text = String::new();
    // It may be changed this moment: what cannot be read is not known.
    let mut file = file;
    drop(file.seek(SeekFrom::Start(0)));
    drop(file.take(MOST_READ).read_to_string(&mut text));
    let (word, who) = text.trim_end().split_once(' ').unwrap_or_default();
    let who = if who.chars().all(|c| c.is_ascii_alphanumeric() || c == ' ') { who.to_owned() } else { String::new() };
    (Use::of_word(word), who)
}

/// The error for whoever did not get it.
fn held(path: &Path, file: &File) -> ArchiveError {
    let path = path.to_owned();
    let (what, who) = holder(file);
    let (doing, advice) = what.map_or(("another process has it", "wait for its end"), Use::told);
    let by = if who.is_empty() { doing.to_owned() } else { format!("{doing} ({who})") };
    ArchiveError::Held { path, by, advice }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A child that was forked and is not yet another program has every file of this process, and with it its locks.
    #[test]
    fn what_was_given_up_is_free_while_a_child_still_has_its_file() -> Result<(), Box<dyn std::error::Error>> {
        let dir = tempfile::tempdir()?;
        let lock = CrawlLock::take(dir.path(), Use::Crawl)?;
        let of_child = lock.file.try_clone()?;
        drop(lock);
        let reader = ReadLock::take(dir.path())?.ok_or("nobody has it")?;
        let of_another = reader.file.try_clone()?;
        drop(reader);
        let erasing = CrawlLock::take(dir.path(), Use::Erase)?;
        drop((of_child, of_another));
        assert!(CrawlLock::take(dir.path(), Use::Crawl).is_err(), "a child's end takes no lock from anybody");
        drop(erasing);
        Ok(())
    }

    fn told(error: ArchiveError) -> String {
        assert!(error.is_held(), "{error:?}");
        error.to_string()
    }

    #[test]
    fn one_at_a_time_and_the_other_is_told_who() {
        let dir = tempfile::tempdir().unwrap();
        for (what, told_of) in [
            (Use::Crawl, "a crawl runs in it"),
            (Use::Erase, "an erasure changes it"),
            (Use::Steer, "its queue is looked at"),
        ] {
            let lock = CrawlLock::take(dir.path(), what).unwrap();
            for second in [Use::Crawl, Use::Erase, Use::Prune] {
                let told = told(CrawlLock::take(dir.path(), second).unwrap_err());
                assert!(told.contains(told_of) && told.contains(&format!("process {}", std::process::id())), "{told}");
            }
            drop(lock);
        }
        CrawlLock::take(dir.path(), Use::Crawl).unwrap();
    }

    #[test]
    fn readers_share_it_and_keep_changes_out() {
        let dir = tempfile::tempdir().unwrap();
        assert!(ReadLock::take(dir.path()).unwrap().is_none(), "no lock was ever made");
        drop(CrawlLock::take(dir.path(), Use::Erase).unwrap());
        let (one, other) = (ReadLock::take(dir.path()).unwrap(), ReadLock::take(dir.path()).unwrap());
        assert!(one.is_some() && other.is_some());
        // The erasure of before is not named.
        let told = told(CrawlLock::take(dir.path(), Use::Prune).unwrap_err());
        assert!(told.contains("it is being read"), "{told}");
        drop((one, other));
        CrawlLock::take(dir.path(), Use::Prune).unwrap();
    }

    #[test]
    fn a_crawl_may_be_read_and_an_erasure_not() {
        let dir = tempfile::tempdir().unwrap();
        let lock = CrawlLock::take(dir.path(), Use::Crawl).unwrap();
        let told_of = told(ReadLock::take(dir.path()).unwrap_err());
        assert!(told_of.contains("just opening it"), "{told_of}");
        lock.says(Use::Crawl).unwrap();
        let reader = ReadLock::take(dir.path()).unwrap();
        assert!(reader.is_some());
        told(lock.says(Use::Prune).unwrap_err());
        drop(reader);
        lock.says(Use::Prune).unwrap();
        told(ReadLock::take(dir.path()).unwrap_err());
        lock.says(Use::Crawl).unwrap();
        assert!(ReadLock::take(dir.path()).unwrap().is_some());
    }

    #[test]
    fn a_reader_that_began_under_a_crawl_keeps_later_erasures_out() {
        let dir = tempfile::tempdir().unwrap();
        let lock = CrawlLock::take(dir.path(), Use::Crawl).unwrap();
        lock.says(Use::Crawl).unwrap();
        let reader = ReadLock::take(dir.path()).unwrap();
        drop(lock);
        for what in [Use::Erase, Use::Prune] {
            let told = told(CrawlLock::take(dir.path(), what).unwrap_err());
            assert!(told.contains("it is being read"), "{told}");
        }
        CrawlLock::take(dir.path(), Use::Steer).unwrap();
        drop(reader);
        CrawlLock::take(dir.path(), Use::Erase).unwrap();
    }

    /// Whatever stands in the file, the lock is the system's: a text of a process that is gone holds nothing.
    #[test]
    fn what_the_file_says_holds_nobody_out() {
        let dir = tempfile::tempdir().unwrap();
        drop(CrawlLock::take(dir.path(), Use::Crawl).unwrap());
        for text in ["crawl process 1\n", "", "\u{1b}[31m", "erase", "nonsense of many words"] {
            std::fs::write(dir.path().join(LOCK_FILE), text).unwrap();
            assert!(ReadLock::take(dir.path()).unwrap().is_some(), "{text:?}");
            drop(CrawlLock::take(dir.path(), Use::Crawl).unwrap());
        }
    }

    /// A program that writes an archive without a crawl.
    #[test]
    fn an_archive_may_be_read_while_it_is_written_and_not_while_it_erases() {
        use crate::fault_tests::common::*;
        let dir = tempfile::tempdir().unwrap();
        let mut archive = open(dir.path(), config(), 1);
        let reader = ReadLock::take(dir.path()).unwrap();
        assert!(reader.is_some());
        archive.append(&page(capture("https://a.test/1", b"HTTP/1.1 200 OK\r\n\r\n", &[b'x'; 600]))).unwrap();
        archive.close().unwrap();
        let mut archive = {
            let told = told(
                crate::Archive::create(dir.path(), config(), std::sync::Arc::new(StillClock), SeededEntropy::boxed(2))
                    .unwrap_err(),
            );
            assert!(told.contains("it is being read"), "{told}");
            drop(reader);
            open(dir.path(), config(), 2)
        };
        let erasure = crate::Erasure {
            named: crate::Named::Url(url("https://a.test/1")),
            depth: crate::Depth::Payload,
            mentions: false,
            reason: "asked".to_owned(),
            request: "R-1".to_owned(),
        };
        let reader = ReadLock::take(dir.path()).unwrap();
        archive.erase(&erasure, true).unwrap();
        told(archive.erase(&erasure, false).unwrap_err());
        drop(reader);
        assert_eq!(archive.erase(&erasure, false).unwrap().payloads, 1);
        assert!(ReadLock::take(dir.path()).unwrap().is_some(), "let in again");
    }
}
