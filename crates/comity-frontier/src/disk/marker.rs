//! Up to which commit a store was made safe, written beside it: what is missing of that was lost.

use std::fs::File;
use std::io::{Result as IoResult, Write as _};
use std::path::{Path, PathBuf};

const NAME: &str = "synced";

/// What stands there: one line of text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Marker {
    /// The last commit that was safe for certain.
    pub(super) commit: u64,
    /// Up to this commit a loss was accepted: gaps in the log before it are known.
    pub(super) accepted: u64,
}

/// Where it stands.
pub(super) fn path(store: &Path) -> PathBuf {
    store.join(NAME)
}

/// Reads it; all zero where there is none, or where it cannot be understood, which is told.
///
/// # Errors
/// When it cannot be read.
pub(super) fn read(store: &Path) -> IoResult<Marker> {
    let path = path(store);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Marker::default()),
        Err(error) if error.kind() == std::io::ErrorKind::InvalidData => String::new(),
        Err(error) => return Err(error),
    };
    Ok(Marker::parse(&text).unwrap_or_else(|| {
        let shown = path.display();
        tracing::warn!(path = %shown, "cannot be read: what the frontier store may have lost of its end is not known");
        Marker::default()
    }))
}

/// Replaces it, after everything up to its commit became safe. It is not synced itself: an older one only promises less. But
/// one that says that a loss was accepted is: without it that loss would be refused again, after every power cut.
///
/// # Errors
/// When it cannot be written.
pub(super) fn write(store: &Path, marker: Marker) -> IoResult<()> {
    let path = path(store);
    let new = path.with_extension("new");
    let mut file = File::create(&new)?;
    file.write_all(marker.to_text().as_bytes())?;
    if marker.accepted == 0 {
        return std::fs::rename(&new, &path);
    }
    file.sync_all()?;
    std::fs::rename(&new, &path)?;
    // A new name is safe with its folder; only Unix can say so.
    if cfg!(unix) { File::open(store)?.sync_all() } else { Ok(()) }
}

impl Marker {
    fn to_text(self) -> String {
        format!("comity frontier 1: safe to commit {}, loss accepted to commit {}.\n", self.commit, self.accepted)
    }

    fn parse(text: &str) -> Option<Self> {
        let numbers = text.strip_prefix("comity frontier 1: safe to commit ")?;
        let (commit, rest) = numbers.split_once(", loss accepted to commit ")?;
        let accepted = rest.strip_suffix(".\n")?;
        Some(Self { commit: commit.parse().ok()?, accepted: accepted.parse().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_reads_back_and_a_part_of_it_is_not_taken_for_the_whole() -> IoResult<()> {
        let dir = tempfile::tempdir()?;
        let (marker, none) = (Marker { commit: 1234, accepted: 56 }, Marker::default());
        assert_eq!(read(dir.path())?, none);
        write(dir.path(), marker)?;
        assert_eq!(read(dir.path())?, marker);
        let whole = std::fs::read(path(dir.path()))?;
        for cut in 0..whole.len() {
            std::fs::write(path(dir.path()), &whole[..cut])?;
            assert_eq!(read(dir.path())?, none, "cut at {cut}");
        }
        std::fs::write(path(dir.path()), [0xff; 9])?;
        assert_eq!(read(dir.path())?, none);
        Ok(())
    }
}
