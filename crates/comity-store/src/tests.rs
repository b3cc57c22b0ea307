use std::cell::RefCell;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use fjall::{Database, KeyspaceCreateOptions, PersistMode};

use super::draft::Draft;
use super::*;

const TABLE_NAMES: [&str; 3] = ["first", "second", "third"];
/// Set for the child: the folder in which it makes stores.
const FOLDER: &str = "COMITY_TEST_STORE_FOLDER";

fn engine(path: &Path) -> Result<(Database, Vec<fjall::Keyspace>), fjall::Error> {
    let db = Database::builder(path).worker_threads(1).open()?;
    let tables = TABLE_NAMES.iter().map(|name| db.keyspace(name, KeyspaceCreateOptions::default));
    let tables = tables.collect::<Result<_, _>>()?;
    Ok((db, tables))
}

fn draft(path: &Path) -> Result<(), fjall::Error> {
    engine(path).map(drop)
}

/// Made where it is missing, opened, and a row read and written in each table. True when the rows of an earlier call were there.
fn open_and_write(path: &Path, boot: Option<&str>) -> bool {
    let made = make_on(path, boot, draft).unwrap();
    let (db, tables) = engine(path).unwrap();
    let there = tables.iter().filter(|table| table.get("row").unwrap().is_some()).count();
    assert!(there == 0 || there == tables.len(), "{there} of the rows");
    for table in &tables {
        table.insert("row", "value").unwrap();
    }
    made.finish().unwrap();
    db.persist(PersistMode::SyncAll).unwrap();
    there > 0
}

/// It is empty, takes rows, and has them after it is opened again; nothing of making it is left.
fn is_made_anew(path: &Path, step: &str) {
    assert!(!open_and_write(path, Some("this boot")), "{step}");
    nothing_is_left(path, step);
    assert!(open_and_write(path, Some("a later boot")), "{step}");
}

fn nothing_is_left(path: &Path, step: &str) {
    let mut all = Vec::new();
    all_under(path, &mut all).unwrap();
    let of_making = |name: &str| [MAKING, UNSAFE].contains(&name) || name.starts_with("comity-draft-");
    let left = all.iter().filter(|path| of_making(&path.file_name().unwrap().to_string_lossy())).collect::<Vec<_>>();
    assert!(left.is_empty(), "{step}: {left:?}");
}

/// The files of a store as it is made, in the order of their names, each after its folder.
fn made(path: &Path) -> Vec<PathBuf> {
    std::fs::create_dir_all(path).unwrap();
    make_on(path, None, draft).unwrap().finish().unwrap();
    let mut files = Vec::new();
    all_under(path, &mut files).unwrap();
    files.retain(|file| !file.ends_with(LOCK));
    files.sort();
    files
}

/// These files of it are there; the last one may be cut in half.
fn begun(whole: &Path, files: &[PathBuf], to: &Path, is_half: bool) {
    std::fs::create_dir_all(to).unwrap();
    for (at, file) in files.iter().enumerate() {
        let place = to.join(file.strip_prefix(whole).unwrap());
        if file.is_dir() {
            std::fs::create_dir_all(place).unwrap();
            continue;
        }
        let mut bytes = std::fs::read(file).unwrap();
        if is_half && at + 1 == files.len() {
            bytes.truncate(bytes.len() / 2);
        }
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(place, bytes).unwrap();
    }
}

fn step() -> usize {
    if std::env::var("COMITY_TEST_SIZE").is_ok_and(|size| size == "all") { 1 } else { 5 }
}

#[test]
fn killed_at_any_step_of_making_it_a_store_is_made_anew() {
    let dir = tempfile::tempdir().unwrap();
    let template = dir.path().join("template");
    let files = made(&template);
    assert!(files.len() > 3 * TABLE_NAMES.len(), "{files:?}");
    for count in (0..=files.len()).rev().step_by(step()) {
        for is_half in [false, true] {
            let path = dir.path().join(format!("{count}-{is_half}"));
            begun(&template, &files[..count], &path, is_half);
            let left = Draft::named(Path::new(MEMORY));
            let mark = Mark { boot: Some("this boot".to_owned()), draft: Some(left.path().to_owned()) };
            mark.write(&path.join(MAKING)).unwrap();
            if Path::new(MEMORY).is_dir() {
                left.begin().unwrap();
                std::fs::write(left.path().join(LOG), "something").unwrap();
            }
            std::fs::create_dir_all(path.join("comity-draft-x")).unwrap();
            is_made_anew(&path, &format!("{count} of {}, half: {is_half}", files.len()));
            assert!(!left.path().exists());
        }
    }
}

/// What somebody put into a folder stays, whatever marks stand beside it.
#[test]
fn nothing_of_anybody_else_is_taken_away() {
    for (mark, is_made) in [(None, false), (Some(MAKING), true), (Some(UNSAFE), true)] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path();
        std::fs::create_dir_all(path.join("src")).unwrap();
        std::fs::write(path.join("src/main.rs"), "precious").unwrap();
        std::fs::write(path.join("letter.txt"), "dear").unwrap();
        if let Some(mark) = mark {
            Mark { boot: Some("an earlier boot".to_owned()), draft: None }.write(&path.join(mark)).unwrap();
        }
        make_on(path, Some("this boot"), draft).unwrap().finish().unwrap();
        assert_eq!(path.join(WHOLE).exists(), is_made, "{mark:?}");
        assert_eq!(std::fs::read(path.join("src/main.rs")).unwrap(), b"precious", "{mark:?}");
        assert_eq!(std::fs::read(path.join("letter.txt")).unwrap(), b"dear", "{mark:?}");
    }
}

/// A power cut before it was safe: any part of it may be missing or cut, and the mark may say nothing.
#[test]
fn what_was_not_safe_when_the_machine_went_down_is_made_anew() {
    let dir = tempfile::tempdir().unwrap();
    let template = dir.path().join("template");
    let files = made(&template);
    let mark = Mark { boot: Some("an earlier boot".to_owned()), draft: None };
    mark.write(&dir.path().join(UNSAFE)).unwrap();
    let mark = std::fs::read(dir.path().join(UNSAFE)).unwrap();
    for (round, cut) in [mark.len(), mark.len() - 1, 1, 0].into_iter().enumerate() {
        // Any part: what is left begins and ends anywhere.
        for count in (0..=files.len()).rev().step_by(step()) {
            let path = dir.path().join(format!("{round}-{count}"));
            let from = count / (round + 1);
            begun(&template, &files[from..count], &path, round % 2 == 0);
            std::fs::write(path.join(UNSAFE), &mark[..cut]).unwrap();
            std::fs::write(path.join("synced"), "of its owner").unwrap();
            std::fs::write(path.join(HELD), "").unwrap();
            is_made_anew(&path, &format!("{from} to {count} of {}, mark cut to {cut}", files.len()));
            assert!(!path.join("synced").exists() && path.join(HELD).exists());
        }
    }
}

/// A kill before it was safe takes nothing: the next start of the same boot goes on with it, and makes it safe.
#[test]
fn what_was_not_safe_when_it_was_killed_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    assert!(!open_and_write(dir.path(), Some("this boot")));
    let mark = Mark { boot: Some("this boot".to_owned()), draft: None };
    for _ in 0..2 {
        mark.write(&dir.path().join(UNSAFE)).unwrap();
        assert!(open_and_write(dir.path(), Some("this boot")));
        nothing_is_left(dir.path(), "killed");
    }
    // Where a boot has no name nothing can be told from a power cut; such a machine writes no such mark.
    mark.write(&dir.path().join(UNSAFE)).unwrap();
    assert!(!open_and_write(dir.path(), None));
}

/// What a process before this one could not sync may be clean by now, and not on the disk: the engine's next sync says nothing of it.
#[test]
fn logs_that_may_not_be_on_the_disk_are_written_again_before_the_engine_has_them() {
    let dir = tempfile::tempdir().unwrap();
    assert!(!open_and_write(dir.path(), Some("this boot")));
    let log = dir.path().join(LOG);
    let (before, long_ago) = (std::fs::read(&log).unwrap(), std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(9));
    let is_written = |boot: &str, is_marked: bool| {
        File::options().write(true).open(&log).unwrap().set_modified(long_ago).unwrap();
        if is_marked {
            Mark { boot: Some(boot.to_owned()), draft: None }.write(&dir.path().join(UNSAFE)).unwrap();
        }
        drop(found(dir.path(), Some("this boot")).unwrap().unwrap());
        std::fs::metadata(&log).unwrap().modified().unwrap() != long_ago
    };
    assert!(!is_written("this boot", false), "it is safe");
    assert!(is_written("this boot", true));
    assert!(std::fs::read(&log).unwrap() == before);
    let _theirs = lock(dir.path()).unwrap();
    assert!(!is_written("this boot", true), "whoever has it wrote it");
}

/// Kills a process that makes stores, at any instant; what it left in memory is gone after the next start.
#[test]
fn killed_for_real_nothing_is_left_and_every_store_opens() {
    let dir = tempfile::tempdir().unwrap();
    let (rounds, mut half_made, mut round, mut longest) = (if step() == 1 { 200 } else { 20 }, 0, 0_u64, 60_000);
    // Until one at least was killed in the middle of it.
    while round < rounds || (half_made == 0 && round < 200) {
        let path = dir.path().join(round.to_string());
        std::fs::create_dir(&path).unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "tests::child", "--nocapture"])
            .env(FOLDER, &path)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let began = lines.map_while(Result::ok).any(|line| line.ends_with("begins"));
        let random = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), round);
        std::thread::sleep(Duration::from_micros(random % longest));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(began);
        half_made += u32::from(path.join(MAKING).exists());
        if path.join(WHOLE).exists() {
            // It took less than that here.
            longest = (longest * 3 / 4).max(2_000);
        } else {
            longest = (longest * 2).min(60_000);
        }
        let left = Mark::read(&path.join(MAKING)).unwrap().and_then(|mark| mark.draft);
        open_and_write(&path, boot().as_deref());
        nothing_is_left(&path, "killed");
        assert!(left.is_none_or(|left| !left.exists()));
        assert!(open_and_write(&path, boot().as_deref()), "round {round}");
        round += 1;
    }
    assert!(half_made > 0, "none of {round} processes was killed while it made the store: this tests nothing");
}

/// The child: makes a store, and works with it until it is killed.
#[test]
fn child() {
    let Ok(path) = std::env::var(FOLDER) else { return };
    println!("begins");
    let _made = make(Path::new(&path), draft).unwrap();
    let (_db, tables) = engine(Path::new(&path)).unwrap();
    loop {
        for table in &tables {
            table.insert("other", "value").unwrap();
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn without_memory_for_files_it_is_made_all_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let drafts = RefCell::new(Vec::new());
    let elsewhere = |path: &Path| {
        drafts.borrow_mut().push(path.to_owned());
        if path.starts_with(MEMORY) {
            return Err(io::Error::from(ErrorKind::StorageFull).into());
        }
        draft(path)
    };
    make_on(dir.path(), Some("this boot"), elsewhere).unwrap().finish().unwrap();
    assert!(drafts.borrow().iter().all(|draft| !draft.exists()));
    assert!(drafts.borrow().last().unwrap().starts_with(dir.path()));
    is_made_anew(dir.path(), "drafted in its own folder");
}

/// Names in a mark are words of a file: nothing is taken away for them but a draft in memory.
#[test]
fn only_a_draft_in_memory_is_taken_away() {
    let dir = tempfile::tempdir().unwrap();
    let memory = dir.path().join("memory");
    let others = [
        dir.path().join("comity-draft-elsewhere"),
        memory.join("else"),
        memory.join("else/comity-draft-deeper"),
        memory.clone(),
        memory.join("comity-draft-x/.."),
    ];
    std::fs::create_dir(&memory).unwrap();
    others.iter().take(3).for_each(|other| std::fs::create_dir(other).unwrap());
    others.iter().for_each(|other| draft::remove(&memory, other));
    assert!(others.iter().take(4).all(|other| other.exists()));
    let ours = memory.join("comity-draft-0");
    std::fs::create_dir(&ours).unwrap();
    draft::remove(&memory, &ours);
    assert!(!ours.exists());
}

#[test]
fn one_that_another_process_makes_is_held() {
    let dir = tempfile::tempdir().unwrap();
    let _theirs = lock(dir.path()).unwrap();
    assert!(matches!(make(dir.path(), draft), Err(fjall::Error::Locked)));
}

/// What could not be made safe is said, each time it is asked.
#[test]
fn a_disk_that_fails_is_told_for_as_long_as_it_does() {
    let dir = tempfile::tempdir().unwrap();
    // A name longer than any file system takes.
    let pending = Pending::of(vec![dir.path().to_owned(), dir.path().join("x".repeat(5000))]);
    for _ in 0..2 {
        let fault = pending.finish().unwrap_err();
        assert_ne!(fault.kind(), ErrorKind::NotFound, "{fault}");
    }
    // What is gone is none.
    Pending::of(vec![dir.path().join("gone")]).finish().unwrap();
}

/// A fault in the first second is not one for good: else a store that is used for weeks would be made anew after the next start of
/// the machine.
#[cfg(unix)]
#[test]
fn what_failed_once_is_safe_as_soon_as_the_disk_is_well() {
    for is_new in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path();
        // A name that no call can follow, in the place of one of the files.
        let ill = path.join("ill");
        std::os::unix::fs::symlink(&ill, &ill).unwrap();
        let pending = if is_new {
            Mark { boot: Some("this boot".to_owned()), draft: None }.write(&path.join(UNSAFE)).unwrap();
            std::fs::write(path.join("rows"), "of weeks").unwrap();
            Pending::marked(path.join(UNSAFE), vec![path.join("rows"), ill.clone()], Bytes::Written)
        } else {
            // As the next process of the same boot finds it.
            Mark { boot: Some("this boot".to_owned()), draft: None }.write(&path.join(UNSAFE)).unwrap();
            std::fs::write(path.join("rows"), "of weeks").unwrap();
            found(path, Some("this boot")).unwrap().unwrap()
        };
        for _ in 0..2 {
            pending.finish().unwrap_err();
            assert!(path.join(UNSAFE).exists(), "it says so for as long as it is so");
        }
        std::fs::remove_file(&ill).unwrap();
        pending.finish().unwrap();
        assert!(!path.join(UNSAFE).exists(), "new: {is_new}");
        assert_eq!(std::fs::read(path.join("rows")).unwrap(), b"of weeks");
        pending.finish().unwrap();
    }
}
