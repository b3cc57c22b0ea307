use std::io::Cursor;

use super::*;
use crate::disk::{DiskSettings, DiskStore, explain, loss_in_log};
use crate::{Keyspace, Store, StoreError, WriteBatch};

const COMMITS: u64 = 12;
const SAFE: u64 = 7;

fn commit(store: &mut DiskStore, number: u64) -> Result<(), StoreError> {
    let mut batch = WriteBatch::default();
    // One of them long.
    let length = if number == 3 { 5000 } else { 3 };
    batch.insert(Keyspace::Queue, format!("key {number}").into_bytes(), vec![b'v'; length]);
    batch.insert(Keyspace::Meta, b"totals".to_vec(), number.to_be_bytes().to_vec());
    batch.delete(Keyspace::Queue, format!("key {}", number / 2).into_bytes());
    store.commit(batch)
}

/// A store of so many commits, of which the first are safe. Gives its log.
fn written(path: &Path) -> Result<PathBuf, StoreError> {
    let mut store = DiskStore::open(path, DiskSettings::default())?;
    for number in 1..=COMMITS {
        commit(&mut store, number)?;
        if number == SAFE {
            store.sync()?;
        }
    }
    drop(store);
    files(path).map_err(StoreError::Io).map(|files| files.into_iter().last().unwrap_or_default())
}

fn data(log: &Path) -> IoResult<Vec<u8>> {
    let mut bytes = std::fs::read(log)?;
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    bytes.truncate(end);
    Ok(bytes)
}

/// Where each commit ends.
fn ends(bytes: &[u8]) -> Vec<usize> {
    bytes.windows(4).enumerate().filter(|(_, four)| *four == TRAILER).map(|(at, _)| at + 4).collect()
}

/// Whatever byte is flipped and wherever it is cut: what is missing was not safe, or it is told.
#[test]
fn no_damage_of_a_log_is_silent() -> Result<(), StoreError> {
    let dir = tempfile::tempdir().map_err(StoreError::Io)?;
    let log = written(dir.path())?;
    let whole = data(&log).map_err(StoreError::Io)?;
    let read = walk(dir.path(), 0).map_err(StoreError::Io)?;
    assert_eq!((read.last_commit, &read.torn, &read.damage), (Some(COMMITS), &None, &None));
    let (mut told, mut repaired) = (0, 0);
    let mut judge = |bytes: &[u8], what: String| -> IoResult<()> {
        let mut read = Log::default();
        read.read_in(log.clone(), Reader::new(Cursor::new(bytes), bytes.len() as u64), 0, true)?;
        match loss_in_log(&read, SAFE) {
            Some(_) => told += 1,
            // Nothing of the log is left: the tables tell, once it is open.
            None if read.last_commit.is_none() => {}
            None => {
                assert!(read.last_commit.is_some_and(|last| last >= SAFE), "{what}: {read:?}");
                repaired += 1;
            }
        }
        Ok(())
    };
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        judge(&bytes, format!("bit {} of byte {at}", at % 8)).map_err(StoreError::Io)?;
        judge(&whole[..at], format!("cut at {at}")).map_err(StoreError::Io)?;
    }
    assert!(told > 500 && repaired > 500, "{told} told, {repaired} repaired");
    Ok(())
}

/// Damage that the engine would cut off silently is refused, and every byte left as it was; accepted, it is gone on with.
#[test]
fn a_store_that_lost_what_was_safe_is_refused_unless_that_is_accepted() -> Result<(), StoreError> {
    let dir = tempfile::tempdir().map_err(StoreError::Io)?;
    let log = written(dir.path())?;
    let mut bytes = data(&log).map_err(StoreError::Io)?;
    for at in [bytes.len() / 3, 0] {
        bytes[at] ^= 1;
        std::fs::write(&log, &bytes).map_err(StoreError::Io)?;
        let Err(StoreError::Behind(what)) = DiskStore::open(dir.path(), DiskSettings::default()) else {
            panic!("opened");
        };
        assert!(what.contains("frontier.behind") && what.contains("commit 7 was safe"), "{what}");
        assert_eq!(std::fs::read(&log).map_err(StoreError::Io)?, bytes, "left as it was");
    }
    let accepting = DiskSettings { accept_loss: true, ..DiskSettings::default() };
    let store = DiskStore::open(dir.path(), accepting)?;
    assert!(store.get(Keyspace::Meta, crate::local::MEND)?.is_some(), "whoever reads it next looks through it");
    drop(store);
    DiskStore::open(dir.path(), DiskSettings::default()).map(drop)
}

/// A gap that was accepted is not told again; what is lost later is.
#[test]
fn an_accepted_gap_stays_accepted() -> Result<(), StoreError> {
    let dir = tempfile::tempdir().map_err(StoreError::Io)?;
    let log = written(dir.path())?;
    let bytes = data(&log).map_err(StoreError::Io)?;
    let ends = ends(&bytes);
    // The third commit is missing.
    std::fs::write(&log, [&bytes[..ends[1]], &bytes[ends[2]..]].concat()).map_err(StoreError::Io)?;
    let opened = DiskStore::open(dir.path(), DiskSettings::default());
    assert!(matches!(&opened, Err(StoreError::Behind(what)) if what.contains("missing in the middle")), "{opened:?}");
    let accepting = DiskSettings { accept_loss: true, ..DiskSettings::default() };
    drop(DiskStore::open(dir.path(), accepting)?);
    let mut store = DiskStore::open(dir.path(), DiskSettings::default())?;
    commit(&mut store, 99)?;
    store.sync()?;
    drop(store);
    let length = data(&log).map_err(StoreError::Io)?.len() as u64;
    std::fs::OpenOptions::new()
        .write(true)
        .open(&log)
        .and_then(|file| file.set_len(length - 1))
        .map_err(StoreError::Io)?;
    let opened = DiskStore::open(dir.path(), DiskSettings::default());
    assert!(matches!(opened, Err(StoreError::Behind(_))), "{opened:?}");
    Ok(())
}

/// Tables that are newer than what is left of the log: once that is accepted, it is accepted, at every later start. The
/// log shows the loss where a safe commit is cut off; else the tables do.
#[test]
fn an_accepted_loss_behind_newer_tables_stays_accepted() -> Result<(), StoreError> {
    for log_shows in [true, false] {
        let dir = tempfile::tempdir().map_err(StoreError::Io)?;
        let log = written(dir.path())?;
        let mut store = DiskStore::open(dir.path(), DiskSettings::default())?;
        if log_shows {
            commit(&mut store, COMMITS + 1)?;
            store.sync()?;
        }
        for table in &store.tables.0 {
            table.rows.rotate_memtable_and_wait().map_err(|error| explain(dir.path(), error))?;
        }
        drop(store);
        let mut bytes = data(&log).map_err(StoreError::Io)?;
        let at = ends(&bytes)[8] - 20;
        bytes[at] ^= 1;
        std::fs::write(&log, &bytes).map_err(StoreError::Io)?;
        let opened = DiskStore::open(dir.path(), DiskSettings::default());
        assert!(matches!(opened, Err(StoreError::Behind(_))), "{opened:?}");
        assert_eq!(data(&log).map_err(StoreError::Io)?, bytes, "left as it was");
        let accepting = DiskSettings { accept_loss: true, ..DiskSettings::default() };
        drop(DiskStore::open(dir.path(), accepting)?);
        for number in 100..103 {
            let mut store = DiskStore::open(dir.path(), DiskSettings::default())?;
            commit(&mut store, number)?;
            store.sync()?;
        }
    }
    Ok(())
}

/// What was not safe may be torn in any way, and not only at its end: the store opens with the commits before.
#[test]
fn a_torn_end_with_a_wrong_checksum_is_repaired() -> Result<(), StoreError> {
    let dir = tempfile::tempdir().map_err(StoreError::Io)?;
    let log = written(dir.path())?;
    let mut bytes = data(&log).map_err(StoreError::Io)?;
    let at = ends(&bytes)[8] - 20;
    bytes[at] ^= 1;
    std::fs::write(&log, &bytes).map_err(StoreError::Io)?;
    let store = DiskStore::open(dir.path(), DiskSettings::default())?;
    assert_eq!(store.last_commit, 8);
    Ok(())
}

/// A log whose end is gone as a whole, as a file that was put back from an older copy.
#[test]
fn a_log_that_is_gone_is_told() -> Result<(), StoreError> {
    let dir = tempfile::tempdir().map_err(StoreError::Io)?;
    let log = written(dir.path())?;
    std::fs::write(&log, b"").map_err(StoreError::Io)?;
    let opened = DiskStore::open(dir.path(), DiskSettings::default());
    assert!(matches!(opened, Err(StoreError::Behind(_))), "{opened:?}");
    Ok(())
}

/// The second of three logs lost a commit at its end: what follows it does not agree with what went before.
#[test]
fn a_gap_between_two_logs_is_damage() -> Result<(), StoreError> {
    let dir = tempfile::tempdir().map_err(StoreError::Io)?;
    let log = written(dir.path())?;
    let bytes = data(&log).map_err(StoreError::Io)?;
    let ends = ends(&bytes);
    let parts = |second: &[u8]| -> IoResult<Log> {
        std::fs::write(&log, &bytes[..ends[3]])?;
        std::fs::write(dir.path().join("900.jnl"), second)?;
        std::fs::write(dir.path().join("901.jnl"), &bytes[ends[8]..])?;
        walk(dir.path(), 0)
    };
    let whole = parts(&bytes[ends[3]..ends[8]]).map_err(StoreError::Io)?;
    assert_eq!((whole.last_commit, whole.damage), (Some(COMMITS), None));
    let short = parts(&bytes[ends[3]..ends[7]]).map_err(StoreError::Io)?;
    assert!(short.damage.is_some_and(|(_, what)| what == Damage::Gap));
    let torn = parts(&bytes[ends[3]..ends[8] - 1]).map_err(StoreError::Io)?;
    assert!(torn.damage.is_some_and(|(_, what)| what == Damage::NotWhole));
    Ok(())
}
