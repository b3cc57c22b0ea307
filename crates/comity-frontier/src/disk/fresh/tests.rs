use super::*;
use crate::{DiskSettings, DiskStore, Keyspace, Store as _, StoreError, WriteBatch};

/// The files of a store, in the order of their names, and its folders before them.
fn all_under(path: &Path, found: &mut Vec<PathBuf>) {
    let mut entries = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    entries.sort();
    for entry in entries {
        found.push(entry.clone());
        if entry.is_dir() {
            all_under(&entry, found);
        }
    }
}

/// A store as it is made, and not yet opened.
fn made(path: &Path) -> Vec<PathBuf> {
    std::fs::create_dir_all(path).unwrap();
    make(path, |draft| super::super::open_engine(draft, DiskSettings::default()).map(drop)).unwrap();
    let mut files = Vec::new();
    all_under(path, &mut files);
    files
}

/// It takes a commit, and has it after it is opened again.
fn works(path: &Path, step: &str) {
    for round in 0..2 {
        let mut store = DiskStore::open(path, DiskSettings::default()).unwrap_or_else(|e| panic!("{step}: {e}"));
        assert_eq!(store.get(Keyspace::Left, b"row").unwrap().is_some(), round == 1, "{step}");
        let mut batch = WriteBatch::default();
        for space in Keyspace::ALL {
            batch.insert(space, b"row".to_vec(), b"value".to_vec());
        }
        store.commit(batch).unwrap();
        store.sync().unwrap();
    }
    let left = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>();
    let of_making = |name: &std::ffi::OsString| name == MAKING || name.to_string_lossy().starts_with(DRAFT);
    assert!(!left.iter().any(of_making), "{step}: {left:?}");
}

/// These steps of making it are done; the last file may be cut in half.
fn begun(whole: &Path, files: &[PathBuf], to: &Path, is_half: bool) {
    std::fs::create_dir_all(to).unwrap();
    File::create(to.join(MAKING)).unwrap();
    for (at, file) in files.iter().enumerate() {
        let name = file.strip_prefix(whole).unwrap();
        // The last step gives this one its name.
        let place = if name == Path::new(WHOLE) { to.join(MAKING) } else { to.join(name) };
        if file.is_dir() {
            std::fs::create_dir_all(place).unwrap();
            continue;
        }
        let mut bytes = std::fs::read(file).unwrap();
        if is_half && at + 1 == files.len() {
            bytes.truncate(bytes.len() / 2);
        }
        std::fs::write(place, bytes).unwrap();
    }
}

#[test]
fn killed_at_any_step_of_making_it_a_store_is_made_anew() {
    let dir = tempfile::tempdir().unwrap();
    let whole = dir.path().join("whole");
    made(&whole);
    works(&whole, "whole");
    let step = if std::env::var("COMITY_TEST_SIZE").is_ok_and(|size| size == "all") { 1 } else { 9 };
    let template = dir.path().join("template");
    let files = made(&template);
    assert!(files.len() > 3 * Keyspace::ALL.len(), "{files:?}");
    for count in (0..=files.len()).rev().step_by(step) {
        for is_half in [false, true] {
            let path = dir.path().join(format!("{count}-{is_half}"));
            begun(&template, &files[..count], &path, is_half);
            std::fs::create_dir_all(path.join(format!("{DRAFT}x"))).unwrap();
            works(&path, &format!("{count} of {}, half: {is_half}", files.len()));
        }
    }
}

/// It may hold something, and is no store that was never whole.
#[test]
fn a_store_that_lost_its_mark_is_refused_and_left_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    works(dir.path(), "new");
    std::fs::remove_file(dir.path().join(WHOLE)).unwrap();
    let mut before = Vec::new();
    all_under(dir.path(), &mut before);
    let refused = DiskStore::open(dir.path(), DiskSettings::default()).unwrap_err();
    assert!(matches!(refused, StoreError::Io(_) | StoreError::Format(_)), "{refused}");
    let mut after = Vec::new();
    all_under(dir.path(), &mut after);
    assert_eq!(before, after);
    assert!(std::fs::read(dir.path().join(LOG)).unwrap().windows(5).any(|bytes| bytes == b"value"));
}

#[test]
fn without_memory_for_files_it_is_made_all_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let elsewhere = |draft: &Path| {
        if draft.starts_with(MEMORY) {
            return Err(io::Error::from(ErrorKind::StorageFull).into());
        }
        super::super::open_engine(draft, DiskSettings::default()).map(drop)
    };
    make(dir.path(), elsewhere).unwrap();
    works(dir.path(), "drafted in its own folder");
}

#[test]
fn one_that_another_process_makes_is_held() {
    let dir = tempfile::tempdir().unwrap();
    let _theirs = lock(dir.path()).unwrap();
    let refused = DiskStore::open(dir.path(), DiskSettings::default()).unwrap_err();
    assert!(matches!(refused, StoreError::Held(_)), "{refused}");
}
