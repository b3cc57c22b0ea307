//! Copies once per digest, dates for each sighting.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use comity_archive::verify::{VerifyOptions, verify};
use comity_archive::{
    Archive, ArchiveConfig, ArchiveError, Depth, Erasure, EvidenceKind, EvidenceStore, Named, QueryForm, SharedArchive,
    Sighting,
};
use comity_policy::WallTime;
use common::*;

fn at(minute: i64) -> WallTime {
    WallTime::from_unix_millis(START + minute * 60_000)
}

fn sightings(store: &EvidenceStore) -> Vec<Sighting> {
    store.sightings().unwrap().map(|s| s.unwrap()).collect()
}

#[test]
fn bytes_are_kept_once_and_every_sighting_is_dated() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = EvidenceStore::open(dir.path()).unwrap();
    let (kind, body) = (EvidenceKind::RobotsTxt, &b"User-agent: *\nDisallow: /\n"[..]);
    let a = store.put(kind, &url("http://a.test/robots.txt"), at(0), 200, Some(body)).unwrap().unwrap();
    let b = store.put(kind, &url("http://b.test/robots.txt"), at(1), 200, Some(body)).unwrap().unwrap();
    let none = store.put(kind, &url("http://c.test/robots.txt"), at(2), 404, None).unwrap();
    let empty = store.put(kind, &url("http://d.test/robots.txt"), at(3), 200, Some(b"")).unwrap().unwrap();
    store.sync().unwrap();
    assert_eq!((a, none), (b, None));
    assert_eq!(store.find(a).unwrap().as_deref(), Some(body));
    assert_eq!(store.find(empty).unwrap().as_deref(), Some(&b""[..]));
    assert_eq!(empty.to_string(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    let hex = a.to_string();
    assert_eq!(std::fs::read(dir.path().join("evidence").join(&hex[..2]).join(&hex)).unwrap(), body);

    drop(store);
    let store = EvidenceStore::open(dir.path()).unwrap();
    let seen = sightings(&store);
    assert_eq!(seen.len(), 4);
    assert_eq!(seen[1].url, "http://b.test/robots.txt");
    assert_eq!(seen[1].fetched, "2026-11-30T09:16:00.250Z");
    assert_eq!((seen[1].digest.as_deref(), seen[1].bytes), (Some(hex.as_str()), body.len() as u64));
    assert_eq!((seen[2].status, seen[2].digest.as_ref()), (404, None));
}

#[test]
fn a_torn_index_line_is_cut_off() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = EvidenceStore::open(dir.path()).unwrap();
    let robots = url("http://a.test/robots.txt");
    for n in 0..2 {
        store.put(EvidenceKind::RobotsTxt, &robots, at(n), 200, Some(b"x")).unwrap();
    }
    drop(store);
    let index = dir.path().join("evidence/index.jsonl");
    let text = std::fs::read(&index).unwrap();
    let first = text.iter().position(|b| *b == b'\n').unwrap() + 1;
    for end in 0..=text.len() {
        std::fs::write(&index, &text[..end]).unwrap();
        let mut store = EvidenceStore::open(dir.path()).unwrap();
        let whole = usize::from(end >= first) + usize::from(end == text.len());
        assert_eq!(sightings(&store).len(), whole, "cut at {end}");
        store.put(EvidenceKind::RobotsTxt, &robots, at(9), 200, Some(b"y")).unwrap();
        assert_eq!(sightings(&store).len(), whole + 1, "cut at {end}");
    }
}

#[test]
fn bytes_that_changed_are_not_handed_out() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = EvidenceStore::open(dir.path()).unwrap();
    let robots = url("http://a.test/robots.txt");
    let digest = store.put(EvidenceKind::RobotsTxt, &robots, at(0), 200, Some(b"kept")).unwrap().unwrap();
    let hex = digest.to_string();
    let path = dir.path().join("evidence").join(&hex[..2]).join(&hex);
    std::fs::write(&path, b"KEPT").unwrap();
    assert_eq!(store.find(digest).unwrap(), None);
    std::fs::write(&path, b"ke").unwrap();
    assert_eq!(store.find(digest).unwrap(), None);
    store.put(EvidenceKind::RobotsTxt, &robots, at(1), 200, Some(b"kept")).unwrap();
    assert_eq!(store.find(digest).unwrap().as_deref(), Some(&b"kept"[..]), "a short copy is written anew");
    std::fs::write(&path, b"KEPT").unwrap();
    store.put(EvidenceKind::RobotsTxt, &robots, at(2), 200, Some(b"kept")).unwrap();
    assert_eq!(store.find(digest).unwrap().as_deref(), Some(&b"kept"[..]), "and one of other bytes");
    std::fs::remove_file(&path).unwrap();
    assert_eq!(store.find(digest).unwrap(), None);
}

#[test]
fn a_copy_that_could_not_be_made_safe_is_tried_again() {
    let robots = url("http://a.test/robots.txt");
    let bodies = ["one", "two", "three"].map(str::as_bytes);
    for gone in 0..bodies.len() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = EvidenceStore::open(dir.path()).unwrap();
        let paths = bodies.map(|body| {
            let hex = store.put(EvidenceKind::RobotsTxt, &robots, at(0), 200, Some(body)).unwrap().unwrap().to_string();
            dir.path().join("evidence").join(&hex[..2]).join(&hex)
        });
        std::fs::remove_file(&paths[gone]).unwrap();
        for _ in 0..3 {
            // As long as one is not safe, no sync says so.
            store.sync().unwrap_err();
        }
        std::fs::write(&paths[gone], bodies[gone]).unwrap();
        store.sync().unwrap();
    }
}

/// A copy that cannot be made safe keeps back every checkpoint, whatever would write it.
#[test]
fn checkpoints_wait_for_the_copies_that_they_rest_on() {
    type Step = fn(Archive) -> Result<(), ArchiveError>;
    let robots = || page(capture("https://a.test/1", b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n", b"x"));
    let rows: [(&str, u64, Step); 3] = [
        ("sync", 1 << 30, |mut archive| archive.sync().map(drop)),
        ("close", 1 << 30, |archive| archive.close().map(drop)),
        // The second event closes the files of the first.
        ("roll", 10, |mut archive| {
            let head = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n";
            archive.append(&page(capture("https://a.test/2", head, b"y"))).map(drop)
        }),
    ];
    for (row, rollover, step) in rows {
        for is_there in [true, false] {
            let dir = tempfile::tempdir().unwrap();
            let mut archive = open(dir.path(), ArchiveConfig { rollover, ..config() }, 1);
            let mut store = EvidenceStore::open(dir.path()).unwrap();
            archive.rest_on(store.unsynced());
            let target = url("http://a.test/robots.txt");
            let digest = store.put(EvidenceKind::RobotsTxt, &target, at(0), 200, Some(b"kept")).unwrap().unwrap();
            archive.append(&robots()).unwrap();
            let hex = digest.to_string();
            if !is_there {
                std::fs::remove_file(dir.path().join("evidence").join(&hex[..2]).join(&hex)).unwrap();
            }
            let checkpoints = || std::fs::read(dir.path().join("checkpoints.jsonl")).unwrap();
            let (before, chain) = (checkpoints(), std::fs::read(dir.path().join("chain")).ok());
            assert_eq!(step(archive).is_ok(), is_there, "{row}");
            let is_same = (checkpoints(), std::fs::read(dir.path().join("chain")).ok()) == (before, chain);
            assert_eq!(is_same, !is_there, "{row}");
        }
    }
}

/// Where a page was written without its query, a licence within it goes with it; what else was seen at that path is of other pages. What
/// the erasure says that it takes, it takes, and nothing is left that no line names.
#[test]
fn of_a_page_without_its_query_the_licence_within_it_goes_and_no_other_file() {
    const ELSE: [EvidenceKind; 4] =
        [EvidenceKind::Tdmrep, EvidenceKind::AiTxt, EvidenceKind::TrustTxt, EvidenceKind::Terms];
    for query in [QueryForm::Keep, QueryForm::Hash, QueryForm::Drop] {
        let dir = tempfile::tempdir().unwrap();
        let config = ArchiveConfig { query, ..config() };
        let mut archive = open(dir.path(), config.clone(), 1);
        // Where the crawl writes what it finds within the page.
        let asked = url("http://a.test/x?n=1");
        let written = SharedArchive::new(archive, SeededEntropy::boxed(2)).unwrap().written(&asked);
        let mut evidence = EvidenceStore::open(dir.path()).unwrap();
        let licence = evidence.put(EvidenceKind::Licence, &written, at(0), 200, Some(b"<rsl>within</rsl>")).unwrap();
        let path = url("http://a.test/x");
        let others = ELSE.map(|kind| {
            let body = format!("{kind:?} at the path itself");
            evidence.put(kind, &path, at(1), 200, Some(body.as_bytes())).unwrap().unwrap()
        });
        evidence.sync().unwrap();
        drop(evidence);
        archive = open(dir.path(), config.clone(), 3);
        archive.append(&page(capture(asked.as_str(), b"HTTP/1.1 200 OK\r\n\r\n", b"hello"))).unwrap();
        archive.close().unwrap();
        let erasure = Erasure {
            named: Named::Url(asked),
            depth: Depth::Records,
            mentions: false,
            reason: "asked for".into(),
            request: "R-1".into(),
        };
        let mut archive = open(dir.path(), config, 4);
        let report = archive.erase(&erasure, false).unwrap();
        archive.close().unwrap();
        assert_eq!((report.lines, report.sightings, report.copies), (1, 1, 1), "{query:?}: {report:?}");
        let store = EvidenceStore::open(dir.path()).unwrap();
        let left: Vec<_> = sightings(&store).into_iter().map(|one| one.digest.unwrap()).collect();
        assert_eq!(left, others.map(|digest| digest.to_string()), "{query:?}");
        assert!(others.iter().all(|digest| store.find(*digest).unwrap().is_some()), "{query:?}");
        assert_eq!(store.find(licence.unwrap()).unwrap(), None, "{query:?}");
        let faults = verify(dir.path(), &VerifyOptions::default()).unwrap().faults;
        // The folder is no whole crawl: it has no configuration.
        assert!(faults.iter().all(|fault| format!("{fault:?}").contains("crawl.toml")), "{query:?}: {faults:?}");
    }
}
