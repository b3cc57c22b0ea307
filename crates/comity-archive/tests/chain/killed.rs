//! What a kill leaves in a directory is told, and is no fault.

use std::fs;

use comity_archive::verify::{Fault, FaultKind};
use comity_archive::{ArchiveConfig, EvidenceKind, EvidenceStore};
use comity_policy::WallTime;

use super::common::*;
use super::tamper::{HEAD, ROBOTS, TestSigner, judged, of_config, verified, verified_under_key};

/// A kill leaves open files, and perhaps records in the WARC that no line names: worth a note, and no fault.
#[test]
fn what_a_kill_leaves_is_told_and_is_no_fault() {
    let dir = tempfile::tempdir().unwrap();
    let mut archive = open(dir.path(), config(), 1);
    fs::write(dir.path().join("crawl.toml"), "x").unwrap();
    let mut evidence = EvidenceStore::open(dir.path()).unwrap();
    let at = WallTime::from_unix_millis(START);
    let copy = evidence.put(EvidenceKind::RobotsTxt, &url("https://a.test/robots.txt"), at, 200, Some(ROBOTS)).unwrap();
    for n in 0..3 {
        archive.append(&judged(page(capture(&format!("https://a.test/{n}"), HEAD, b"body")), copy.unwrap())).unwrap();
    }
    archive.stage(&judged(page(capture("https://a.test/staged", HEAD, b"body")), copy.unwrap())).unwrap();
    drop(archive);
    let found = verified(dir.path());
    assert!(found.faults.iter().all(of_config), "{:#?}", found.faults);
    assert!(found.notes.iter().any(|note| note.contains("no acknowledged line")), "{:?}", found.notes);
    // The next run cuts what the first one left to what its lines name, indexes it, and sums all three.
    open(dir.path(), config(), 2).close().unwrap();
    let found = verified(dir.path());
    assert_eq!(found.checked.summed_files, 3, "{found:#?}");
    assert!(found.faults.iter().all(of_config), "{:#?}", found.faults);
    assert_eq!(found.notes, Vec::<String>::new());
    let warc = files(dir.path(), "warc").remove(0);
    let mut bytes = fs::read(&warc).unwrap();
    let last = bytes.len() - 9;
    bytes[last] ^= 0x80;
    fs::write(&warc, bytes).unwrap();
    assert!(verified(dir.path()).totals.contains_key(&FaultKind::FileSum));
}

/// A roll closes, packs and indexes before it writes its checkpoint. A kill in between leaves closed files without a sum and
/// parts of new ones; the same files in the place of older ones are nobody's.
#[test]
fn what_a_kill_leaves_of_a_roll_is_told_and_is_no_fault() {
    let signer = || Some(TestSigner::boxed(7));
    let whole = tempfile::tempdir().unwrap();
    fs::write(whole.path().join("crawl.toml"), "x").unwrap();
    let mut archive = open(whole.path(), ArchiveConfig { signer: signer(), ..config() }, 1);
    let mut evidence = EvidenceStore::open(whole.path()).unwrap();
    let at = WallTime::from_unix_millis(START);
    let copy = evidence.put(EvidenceKind::RobotsTxt, &url("https://a.test/robots.txt"), at, 200, Some(ROBOTS)).unwrap();
    archive.append(&judged(page(capture("https://a.test/1", HEAD, b"body")), copy.unwrap())).unwrap();
    evidence.sync().unwrap();
    let before = fs::read(whole.path().join("checkpoints.jsonl")).unwrap();
    let chain = fs::read(whole.path().join("chain")).ok();
    archive.close().unwrap();
    // The disk as it was between the close of the files and the checkpoint.
    fs::write(whole.path().join("checkpoints.jsonl"), before).unwrap();
    match chain {
        Some(chain) => fs::write(whole.path().join("chain"), chain).unwrap(),
        None => fs::remove_file(whole.path().join("chain")).unwrap(),
    }
    let name = |folder: &str| files(whole.path(), folder).remove(0).to_string_lossy().into_owned();
    let (records, warc) = (name("records"), name("warc"));
    assert!(records.ends_with(".jsonl.zst"), "{records}");
    let index = warc.trim_end_matches(".warc.gz").to_owned() + ".cdxj";
    for leaving in [format!("{records}.tmp"), format!("{index}.tmp")] {
        fs::write(leaving, b"par").unwrap();
    }
    let found = verified(whole.path());
    let unexpected: Vec<&Fault> = found.faults.iter().filter(|fault| !of_config(fault)).collect();
    assert!(unexpected.is_empty() && !found.sealed, "{unexpected:#?}");
    for part in ["after a kill between its close and its checkpoint", ".jsonl.zst.tmp: not finished", ".cdxj.tmp: not"]
    {
        assert!(found.notes.iter().any(|note| note.contains(part)), "{part}: {:?}", found.notes);
    }
    assert!(verified_under_key(whole.path()).totals.get(&FaultKind::Unsealed) >= Some(&5));
    // Of a pair that is not there, or beside an index alone, it is no leaving.
    for (stranger, from) in [("warc/x.cdxj.tmp", &index), ("warc/y-20991130000000000-00000-aa.cdxj", &index)] {
        let path = whole.path().join(stranger);
        fs::copy(from, &path).unwrap();
        assert!(verified(whole.path()).totals.contains_key(&FaultKind::Added), "{stranger}");
        fs::remove_file(path).unwrap();
    }
    // An older pair without a sum was not left by this kill.
    for path in [format!("{records}.tmp"), format!("{index}.tmp")] {
        fs::remove_file(path).unwrap();
    }
    let later = records.rsplit('/').next().unwrap().replace("-2026", "-2099");
    fs::write(whole.path().join("records").join(later), b"").unwrap();
    assert!(verified(whole.path()).totals.contains_key(&FaultKind::Added));
}
