//! When an origin may be asked again, over runs of the command: a delay does not end with a process.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use comity::policy::WallTime;
use comity_url::Origin;

use super::words;

/// One file per origin, which holds an instant in milliseconds of Unix time.
///
/// A folder that cannot be used is said and stops nothing: within a run the gate keeps the delays in any case.
#[derive(Debug)]
pub(super) struct Turns {
    folder: Option<PathBuf>,
}

impl Turns {
    pub(super) fn new(folder: Option<PathBuf>) -> Self {
        Self { folder }
    }

    /// How long the delay that an earlier run left still runs; never longer than `most`, as another clock may have
    /// written it.
    pub(super) fn left(&self, origin: &Origin, now: WallTime, most: Duration) -> Duration {
        let text = self.path(origin).and_then(|path| fs::read_to_string(path).ok());
        let next = text.and_then(|text| text.trim().parse().ok()).map(WallTime::from_unix_millis);
        next.map_or(Duration::ZERO, |next| next.since(now).min(most))
    }

    /// Notes that `origin` may be asked again at `next`.
    pub(super) fn note(&self, origin: &Origin, next: WallTime) {
        let Some(path) = self.path(origin) else { return };
        let folder = path.parent().unwrap_or_else(|| Path::new("."));
        let tmp = path.with_extension("tmp");
        let written = fs::create_dir_all(folder)
            .and_then(|()| fs::write(&tmp, format!("{}\n", next.unix_millis())))
            .and_then(|()| fs::rename(&tmp, &path));
        if let Err(error) = written {
            eprintln!("note: {}: {error}; the next run will not know when {origin} was asked", path.display());
        }
    }

    fn path(&self, origin: &Origin) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(format!("{}.next", words::file_name(origin))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_earlier_run_left_is_waited_for_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let turns = Turns::new(Some(dir.path().join("new")));
        let (here, other) = (Origin::parse("http://a.test").unwrap(), Origin::parse("https://a.test").unwrap());
        let (now, most) = (WallTime::from_unix_millis(1_796_000_000_000), Duration::from_secs(300));
        assert_eq!(turns.left(&here, now, most), Duration::ZERO);
        turns.note(&here, now.after(Duration::from_secs(7)));
        assert_eq!(turns.left(&here, now, most), Duration::from_secs(7));
        assert_eq!(turns.left(&here, now.after(Duration::from_secs(8)), most), Duration::ZERO);
        assert_eq!(turns.left(&other, now, most), Duration::ZERO);
        turns.note(&here, now.after(Duration::from_secs(86_400)));
        assert_eq!(turns.left(&here, now, most), most);
        assert_eq!(Turns::new(None).left(&here, now, most), Duration::ZERO);
    }
}
