use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

/// The part of a file system that the archive writes its WARC and records files through: [`RealDisk`], or one that fails on
/// purpose, in tests and simulations.
pub trait Disk: Send + Sync + fmt::Debug {
    /// Creates a file that must not exist yet.
    ///
    /// # Errors
    /// When it exists, or cannot be created.
    fn create(&self, path: &Path) -> io::Result<Box<dyn Backing>>;
    /// Bytes free for us in the folder; `None` where that cannot be read.
    ///
    /// # Errors
    /// When the folder cannot be looked at.
    fn free(&self, folder: &Path) -> io::Result<Option<u64>>;
}

/// An open file of a [`Disk`].
pub trait Backing: Write + Send + fmt::Debug {
    /// Cuts the file to `len` bytes and goes on writing there.
    ///
    /// # Errors
    /// When the system does not: the file is as it was.
    fn cut(&mut self, len: u64) -> io::Result<()>;
    /// Bytes reach the device before this returns.
    ///
    /// # Errors
    /// When the device says that they did not.
    fn sync(&self) -> io::Result<()>;
}

/// The file system of this machine.
#[derive(Clone, Copy, Debug)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn Backing>> {
        Ok(Box::new(OpenOptions::new().write(true).create_new(true).open(path)?))
    }

    #[cfg(unix)]
    fn free(&self, folder: &Path) -> io::Result<Option<u64>> {
        let stat = rustix::fs::statvfs(folder)?;
        Ok(Some(stat.f_bavail.saturating_mul(stat.f_frsize)))
    }

    #[cfg(not(unix))]
    fn free(&self, _folder: &Path) -> io::Result<Option<u64>> {
        Ok(None)
    }
}

impl Backing for File {
    fn cut(&mut self, len: u64) -> io::Result<()> {
        self.set_len(len)?;
        self.seek(SeekFrom::Start(len)).map(drop)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_all()
    }
}

/// A rename or a new name in `folder` is durable when this returns. Only Unix can say so; elsewhere nothing is done.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// Replaces `path` by `bytes` as a whole: a reader sees the old or the new content, never a part.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().ok_or_else(|| io::Error::other("no parent folder"))?;
    let mut tmp = path.as_os_str().to_owned();
    tmp.push(".tmp");
    let mut file = File::create(&tmp)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&tmp, path)?;
    sync_folder(folder)
}
