//! Many threads at one archive.

use std::sync::atomic::{AtomicUsize, Ordering};

use comity_archive::{ArchiveConfig, ConfigFacts, SharedArchive};
use comity_policy::Overrides;

use crate::common::*;
use crate::{check_chain, check_tied};

#[test]
fn many_threads_store_everything_once_in_one_chain() {
    let dir = tempfile::tempdir().unwrap();
    let config = ArchiveConfig { rollover: 60_000, dedup: true, ..config() };
    let shared = SharedArchive::new(open(dir.path(), config, 1), SeededEntropy::boxed(2)).unwrap();
    let (next, events) = (AtomicUsize::new(0), 120);
    let mut answers: Vec<(usize, u64)> = std::thread::scope(|scope| {
        let work = || {
            let mut answers = Vec::new();
            loop {
                let n = next.fetch_add(1, Ordering::Relaxed);
                if n >= events {
                    return answers;
                }
                let body = format!("page {} ", n % 50).repeat(200);
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
                let event = page(capture(&format!("https://a.test/{n}"), head.as_bytes(), body.as_bytes()));
                let stored = shared.append(shared.prepare(event).unwrap()).unwrap().unwrap();
                answers.push((n, stored.seq));
            }
        };
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    shared.close().unwrap();
    let after = shared.prepare(page(capture("https://a.test/late", b"HTTP/1.1 200 OK\r\n\r\n", b"late"))).unwrap();
    assert!(shared.append(after).unwrap().is_none(), "what comes after the close is not stored");
    let facts = ConfigFacts { config_digest: None, robots: "obey".into(), overrides: Overrides::default() };
    assert!(shared.reconfigure(facts).is_err(), "nor does another configuration come into force");

    let lines = lines(dir.path());
    assert_eq!(check_chain(&lines), events as u64);
    check_tied(dir.path());
    assert_eq!(check_index(dir.path()), events);
    answers.sort_unstable();
    for (n, seq) in answers {
        let record = lines[usize::try_from(seq).unwrap()].record().unwrap().unwrap();
        assert_eq!(record.url, format!("https://a.test/{n}"), "each was told the number of its own line");
    }
    // However they met: each body once, and every revisit behind what it points at.
    let records = warc_records(dir.path());
    let ids = |kind: &str, field: &str| -> Vec<String> {
        records.iter().filter(|r| r.kind() == kind).filter_map(|r| r.field(field).map(str::to_owned)).collect()
    };
    let (responses, pointed_at) = (ids("response", "WARC-Record-ID"), ids("revisit", "WARC-Refers-To"));
    assert_eq!((responses.len(), pointed_at.len()), (50, 70));
    assert!(pointed_at.iter().all(|id| responses.contains(id)));
}
