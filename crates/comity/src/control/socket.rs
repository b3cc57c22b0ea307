//! Where the control socket is: `D/state/control`, a Unix socket that its owner alone may open (mode 0600).
//!
//! A request is one line of JSON ([`Request`](super::Request)), at most [`MOST_LINE`] bytes long; the answer is one or more
//! lines, the last of which says `ok` or `error`. A connection may ask again.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longest line of a request or an answer, in bytes.
pub const MOST_LINE: usize = 4 << 20;

/// A connection that asks nothing for so long is closed: who asks later connects again.
pub const IDLE: Duration = Duration::from_secs(60);

/// The socket of the crawl in `dir`.
#[must_use]
pub fn path(dir: &Path) -> PathBuf {
    dir.join("state").join("control")
}

/// Why there is no socket.
#[derive(Debug)]
pub(crate) enum NoDoor {
    /// Another process answers there.
    Taken(String),
    /// None can be made.
    Cannot(super::ControlError),
}

#[cfg(not(unix))]
pub use elsewhere::connect;
#[cfg(not(unix))]
pub(crate) use elsewhere::{Door, bind};
#[cfg(unix)]
pub use unix::connect;
#[cfg(unix)]
pub(crate) use unix::{Door, bind};

/// Where there are no Unix sockets.
#[cfg(not(unix))]
mod elsewhere {
    use std::path::Path;

    use super::super::ControlError;
    use super::NoDoor;

    /// There is none.
    #[derive(Debug)]
    pub(crate) enum Door {}

    fn none() -> ControlError {
        ControlError::engine("a running crawl is reached through a Unix socket, which this system has not")
            .hint("stop the crawl first")
    }

    pub(crate) fn bind(_dir: &Path) -> Result<Door, NoDoor> {
        Err(NoDoor::Cannot(none()))
    }

    /// Connects to the crawl that runs in `dir`.
    ///
    /// # Errors
    /// There are no Unix sockets here.
    pub fn connect(_dir: &Path) -> Result<Option<std::net::TcpStream>, ControlError> {
        Err(none())
    }
}

#[cfg(unix)]
mod unix {
    use std::fs::{self, File, Permissions};
    use std::io::ErrorKind;
    use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::path::{Path, PathBuf};

    use super::super::ControlError;
    use super::NoDoor;

    /// The socket of a crawl that runs; removed with it.
    #[derive(Debug)]
    pub(crate) struct Door {
        pub(crate) listener: UnixListener,
        path: PathBuf,
        /// Device and number of the file: one that somebody else put there is left alone.
        file: (u64, u64),
    }

    /// Folder in which a socket is made, so that nobody meets it before it is its owner's alone.
    const MAKING: &str = "control.new";
    /// Systems take 104 to 108 bytes for the path of a socket, its end included.
    const LONGEST_PATH: usize = 100;

    /// Opens the socket of the crawl in `dir`. One that a killed crawl left behind is replaced; a live one is never taken.
    ///
    /// # Errors
    /// When another process answers there, or the system makes no socket in that place.
    pub(crate) fn bind(dir: &Path) -> Result<Door, NoDoor> {
        match connect(dir) {
            Ok(Some(_)) => Err(NoDoor::Taken(format!("{}: another process answers there", super::path(dir).display()))),
            Ok(None) => make(dir).map_err(NoDoor::Cannot),
            Err(error) => Err(NoDoor::Cannot(error)),
        }
    }

    fn make(dir: &Path) -> Result<Door, ControlError> {
        let (path, state) = (super::path(dir), dir.join("state"));
        let making = state.join(MAKING);
        let wrong = |e: std::io::Error| ControlError::storage(format!("{}: no socket: {e}", path.display()));
        let made = (|| {
            remove(&making.join("s"))?;
            let found = fs::remove_dir(&making);
            found.or_else(|e| if e.kind() == ErrorKind::NotFound { Ok(()) } else { Err(e) })?;
            fs::DirBuilder::new().mode(0o700).create(&making)
        })();
        made.map_err(wrong)?;
        let new = making.join("s");
        let listener = {
            let (reachable, _folder) = reach(&new)?;
            UnixListener::bind(reachable).map_err(wrong)?
        };
        let opened = (|| {
            fs::set_permissions(&new, Permissions::from_mode(0o600))?;
            let found = fs::symlink_metadata(&new)?;
            fs::rename(&new, &path)?;
            fs::remove_dir(&making)?;
            listener.set_nonblocking(true)?;
            Ok((found.dev(), found.ino()))
        })();
        Ok(Door { file: opened.map_err(wrong)?, listener, path })
    }

    /// Connects to the crawl that runs in `dir`, in another process or this one; `None` when none does.
    ///
    /// # Errors
    /// When there is a socket that may not be opened, or whose path no system takes.
    pub fn connect(dir: &Path) -> Result<Option<UnixStream>, ControlError> {
        let path = super::path(dir);
        if fs::symlink_metadata(&path).is_err_and(|e| e.kind() == ErrorKind::NotFound) {
            return Ok(None);
        }
        let (reachable, _folder) = reach(&path)?;
        match UnixStream::connect(reachable) {
            Ok(stream) => Ok(Some(stream)),
            Err(e) if matches!(e.kind(), ErrorKind::ConnectionRefused | ErrorKind::NotFound) => Ok(None),
            Err(e) => Err(ControlError::engine(format!("{} cannot be opened: {e}", path.display()))
                .hint("a crawl answers to its own user only")),
        }
    }

    /// A path by which the system reaches a socket: where the own one is too long, by way of its open folder.
    fn reach(path: &Path) -> Result<(PathBuf, Option<File>), ControlError> {
        if path.as_os_str().len() <= LONGEST_PATH {
            return Ok((path.to_owned(), None));
        }
        #[cfg(target_os = "linux")]
        if let (Some(folder), Some(name)) = (path.parent(), path.file_name()) {
            use std::os::fd::AsRawFd as _;
            let open = File::open(folder)
                .map_err(|e| ControlError::storage(format!("{} cannot be opened: {e}", folder.display())))?;
            let by_number = PathBuf::from(format!("/proc/self/fd/{}", open.as_raw_fd()));
            if by_number.exists() {
                return Ok((by_number.join(name), Some(open)));
            }
        }
        let (shown, long) = (path.display(), path.as_os_str().len());
        Err(ControlError::engine(format!(
            "{shown}: no socket: its path has {long} bytes, and {LONGEST_PATH} are taken"
        ))
        .hint("give a --dir with a shorter path"))
    }

    fn remove(path: &Path) -> std::io::Result<()> {
        fs::remove_file(path).or_else(|e| if e.kind() == ErrorKind::NotFound { Ok(()) } else { Err(e) })
    }

    impl Drop for Door {
        fn drop(&mut self) {
            let is_own = fs::symlink_metadata(&self.path).is_ok_and(|found| (found.dev(), found.ino()) == self.file);
            if is_own && let Err(error) = fs::remove_file(&self.path) {
                tracing::warn!(path = %self.path.display(), %error, "the control socket stays behind");
            }
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        fn folder(name: &str) -> PathBuf {
            let dir = std::env::temp_dir().join(format!("comity-socket-{}-{name}", std::process::id()));
            fs::create_dir_all(dir.join("state")).unwrap();
            dir
        }

        #[test]
        fn a_socket_is_its_owners_alone_and_goes_with_it() {
            let dir = folder("own");
            let door = bind(&dir).unwrap();
            let found = fs::symlink_metadata(super::super::path(&dir)).unwrap();
            assert_eq!(found.mode() & 0o777, 0o600);
            assert!(!dir.join("state").join(MAKING).exists());
            assert!(connect(&dir).unwrap().is_some());
            let taken = bind(&dir).unwrap_err();
            assert!(matches!(&taken, NoDoor::Taken(what) if what.contains("another process answers")), "{taken:?}");
            assert!(connect(&dir).unwrap().is_some(), "a live one is not taken");
            drop(door);
            assert!(!super::super::path(&dir).exists());
            assert!(connect(&dir).unwrap().is_none());
            fs::remove_dir_all(dir).unwrap();
        }

        #[test]
        fn what_a_killed_crawl_left_is_replaced() {
            let dir = folder("stale");
            // Nobody listens there any more, and the file stays: as after a kill.
            drop(UnixListener::bind(super::super::path(&dir)).unwrap());
            fs::create_dir_all(dir.join("state").join(MAKING)).unwrap();
            drop(UnixListener::bind(dir.join("state").join(MAKING).join("s")).unwrap());
            assert!(connect(&dir).unwrap().is_none());
            let door = bind(&dir).unwrap();
            assert!(connect(&dir).unwrap().is_some());
            // Somebody else's by now: it is left alone.
            fs::remove_file(super::super::path(&dir)).unwrap();
            let other = bind(&dir).unwrap();
            drop(door);
            assert!(connect(&dir).unwrap().is_some());
            drop(other);
            fs::remove_dir_all(dir).unwrap();
        }

        #[cfg(target_os = "linux")]
        #[test]
        fn a_path_too_long_for_the_system_is_reached_by_its_folder() {
            let base = folder("long");
            let dir = base.join("d".repeat(120));
            fs::create_dir_all(dir.join("state")).unwrap();
            let door = bind(&dir).unwrap();
            assert!(super::super::path(&dir).exists());
            assert!(connect(&dir).unwrap().is_some());
            drop(door);
            assert!(!super::super::path(&dir).exists());
            fs::remove_dir_all(base).unwrap();
        }
    }
}
