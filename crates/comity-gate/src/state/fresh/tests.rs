use comity_policy::{PaceMemory, WallTime};
use comity_url::Origin;

use super::*;
use crate::state::{StateDir, tables};

const NOW: WallTime = WallTime::from_unix_millis(1_700_000_000_000);

/// It remembers, also after it is opened again.
fn works(path: &Path, step: &str) {
    let origin = Origin::parse("http://site.test").unwrap();
    let pace = PaceMemory { backoff_until: None, parked_until: Some(NOW), failures: 1 };
    for run in 1..=2 {
        let state = StateDir::open(path, NOW).unwrap_or_else(|e| panic!("{step}: {e}"));
        assert_eq!(state.follows_another_process(), run == 2, "{step}");
        state.remember_pace(&origin, &pace).unwrap();
        assert_eq!(state.recall_pace(&origin).unwrap(), Some(pace), "{step}");
    }
    assert!(!path.join(MAKING).exists(), "{step}");
}

fn files_under(path: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let mut files =
        entries.flat_map(|path| if path.is_dir() { files_under(&path) } else { vec![path] }).collect::<Vec<_>>();
    files.sort();
    files
}

#[test]
fn killed_at_any_step_of_making_it_a_directory_is_made_anew() {
    let dir = tempfile::tempdir().unwrap();
    let whole = dir.path().join("whole");
    std::fs::create_dir(&whole).unwrap();
    make(&whole, |draft| tables(draft).map(drop)).unwrap();
    let files = files_under(&whole);
    assert!(files.len() > 10, "{files:?}");
    for count in (0..=files.len()).rev().step_by(4) {
        let path = dir.path().join(count.to_string());
        std::fs::create_dir(&path).unwrap();
        File::create(path.join(MAKING)).unwrap();
        for file in files.iter().take(count).filter(|file| !file.ends_with(WHOLE)) {
            let place = path.join(file.strip_prefix(&whole).unwrap());
            std::fs::create_dir_all(place.parent().unwrap()).unwrap();
            std::fs::copy(file, place).unwrap();
        }
        works(&path, &format!("{count} of {}", files.len()));
    }
    works(&whole, "whole");
}

#[test]
fn one_that_another_process_makes_is_held() {
    let dir = tempfile::tempdir().unwrap();
    let _theirs = lock(dir.path()).unwrap();
    assert!(StateDir::open(dir.path(), NOW).unwrap_err().is_held());
}
