use comity_policy::PaceMemory;
use comity_url::Origin;

use super::*;

/// All bytes of all files below a directory. A mark may go meanwhile: its owner makes the store safe beside us.
fn bytes_under(dir: &Path) -> Vec<u8> {
    let paths = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    paths.flat_map(|path| if path.is_dir() { bytes_under(&path) } else { read(&path) }).collect()
}

fn read(path: &Path) -> Vec<u8> {
    match std::fs::read(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        read => read.unwrap(),
    }
}

/// What is dropped stays in the files of the engine.
#[test]
fn an_origin_of_which_nothing_is_remembered_any_more_stands_in_no_file() {
    for is_idle in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let now = WallTime::from_unix_millis(1_700_000_000_000);
        let state = StateDir::open(&dir.path().join("gate"), now).unwrap();
        let pace = PaceMemory { backoff_until: Some(now), parked_until: None, failures: 1 };
        for name in ["http://gone.test", "http://kept.test"] {
            state.remember_pace(&Origin::parse(name).unwrap(), &pace).unwrap();
        }
        if is_idle {
            state.remember_pace(&Origin::parse("http://gone.test").unwrap(), &PaceMemory::default()).unwrap();
        }
        state.sync().unwrap();
        let has = |needle: &[u8]| bytes_under(dir.path()).windows(needle.len()).any(|bytes| bytes == needle);
        assert!(has(b"gone.test"));
        let (state, gone) = state.forget(now, &|bytes| bytes.starts_with(b"http://gone.test")).unwrap();
        assert_eq!(gone, u64::from(!is_idle));
        assert_eq!(state.recall_pace(&Origin::parse("http://kept.test").unwrap()).unwrap(), Some(pace));
        drop(state);
        assert!(!has(b"gone.test") && has(b"kept.test"), "idle: {is_idle}");
    }
}

/// Between the renames nobody makes a store in its place, and nobody takes the copy away.
#[cfg(unix)]
#[test]
fn whoever_comes_between_the_renames_is_refused_and_the_copy_stays() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("gate");
    let now = WallTime::from_unix_millis(1_700_000_000_000);
    let origin = Origin::parse("http://kept.test").unwrap();
    let pace = PaceMemory { backoff_until: Some(now), parked_until: None, failures: 1 };
    let state = StateDir::open(&path, now).unwrap();
    state.remember_pace(&origin, &pace).unwrap();
    let new = swap::begin(&path).unwrap();
    std::fs::create_dir(&new).unwrap();
    copy(&state, &new, &|_| false).unwrap();
    let held = hold(&new).unwrap();
    drop(state);
    assert!(StateDir::open(&path, now).is_err(), "before the first");
    std::fs::rename(&path, dir.path().join("gate.old")).unwrap();
    std::fs::create_dir(&path).unwrap();
    std::fs::write(path.join("of-somebody"), "").unwrap();
    assert!(StateDir::open(&path, now).is_err(), "in its place is another folder");
    std::fs::remove_dir_all(&path).unwrap();
    assert!(StateDir::open(&path, now).is_err(), "in its place is nothing");
    drop(held);
    let state = StateDir::open(&path, now).unwrap();
    assert_eq!(state.recall_pace(&origin).unwrap(), Some(pace));
    assert!(!dir.path().join("gate.old").exists() && !new.exists());
}

/// Somebody who looks again and again while origins are forgotten has it whole, or is told that it is held; no erasure fails for it.
#[cfg(unix)]
#[test]
fn whoever_looks_meanwhile_has_it_whole_or_is_told_that_it_is_held() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("gate");
    let now = WallTime::from_unix_millis(1_700_000_000_000);
    let origin = Origin::parse("http://kept.test").unwrap();
    let pace = PaceMemory { backoff_until: Some(now), parked_until: None, failures: 1 };
    let state = StateDir::open(&path, now).unwrap();
    state.remember_pace(&origin, &pace).unwrap();
    state.sync().unwrap();
    drop(state);
    let (inside, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
    let alone = |state: &StateDir| {
        assert!(!inside.swap(true, Ordering::SeqCst), "two have it at once");
        assert_eq!(state.recall_pace(&origin).unwrap(), Some(pace), "it is whole");
        inside.store(false, Ordering::SeqCst);
    };
    let look = || match StateDir::open(&path, now) {
        Ok(state) => Some(state),
        Err(error) => {
            assert!(error.is_held(), "{error}");
            None
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    look().iter().for_each(alone);
                }
            });
        }
        let ended = std::panic::catch_unwind(|| {
            let mut forgotten = 0;
            while forgotten < 20 {
                let Some(state) = look() else { continue };
                let (state, _) = state.forget(now, &|_| false).unwrap();
                alone(&state);
                forgotten += 1;
            }
        });
        is_over.store(true, Ordering::Relaxed);
        ended.unwrap();
    });
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "nothing stands beside it");
}
