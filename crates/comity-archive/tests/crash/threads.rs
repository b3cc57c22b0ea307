//! Many threads at one archive.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};

use comity_archive::{Archive, ArchiveConfig, ConfigFacts, Entropy, Event, SharedArchive};
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
                let stored = shared.append(shared.prepare(event(n, 50)).unwrap()).unwrap().unwrap();
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

/// Page `n`, one of so many bodies.
fn event(n: usize, bodies: usize) -> Event {
    let body = format!("page {} ", n % bodies).repeat(200);
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
    page(capture(&format!("https://a.test/{n}"), head.as_bytes(), body.as_bytes()))
}

/// Who hands over does not wait, while another thread syncs again and again.
#[test]
fn what_is_handed_over_is_told_once_and_stored_before_the_close() {
    let dir = tempfile::tempdir().unwrap();
    let config = ArchiveConfig { rollover: 60_000, ..config() };
    let shared = SharedArchive::new(open(dir.path(), config, 1), SeededEntropy::boxed(2)).unwrap();
    let (next, events, told) = (AtomicUsize::new(0), 120, Arc::new(Mutex::new(Vec::new())));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= events {
                        return;
                    }
                    let told = told.clone();
                    let tell = move |outcome: Result<Option<comity_archive::Stored>, _>| {
                        told.lock().unwrap().push((n, outcome.unwrap().unwrap().seq));
                    };
                    shared.hand_over(shared.prepare(event(n, events)).unwrap(), tell);
                    if n % 10 == 0 {
                        shared.sync().unwrap();
                    }
                }
            });
        }
    });
    shared.close().unwrap();
    let (closed, none) = (Arc::new(AtomicBool::new(false)), shared.prepare(event(0, 1)).unwrap());
    let said = closed.clone();
    shared.hand_over(none, move |outcome| said.store(outcome.unwrap().is_none(), Ordering::Relaxed));
    assert!(closed.load(Ordering::Relaxed), "after the close nothing is stored");

    let lines = lines(dir.path());
    assert_eq!(check_chain(&lines), events as u64);
    check_tied(dir.path());
    assert_eq!(check_index(dir.path()), events);
    let mut told = Arc::try_unwrap(told).unwrap().into_inner().unwrap();
    told.sort_unstable();
    assert_eq!(told.iter().map(|(n, _)| *n).collect::<Vec<_>>(), (0..events).collect::<Vec<_>>());
    for (n, seq) in told {
        let record = lines[usize::try_from(seq).unwrap()].record().unwrap().unwrap();
        assert_eq!(record.url, format!("https://a.test/{n}"), "each was told the number of its own line");
    }
}

/// Panics when it is asked once `armed`, after another event was handed over.
#[derive(Debug)]
struct PanicsInTurn {
    armed: Arc<AtomicBool>,
    handed_over: Mutex<mpsc::Receiver<()>>,
}

impl Entropy for PanicsInTurn {
    fn fill(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        if self.armed.load(Ordering::Relaxed) {
            self.handed_over.lock().unwrap().recv().unwrap();
            panic!("in its turn");
        }
        buffer.fill(7);
        Ok(())
    }
}

#[test]
fn a_thread_that_panics_in_its_turn_leaves_nobody_waiting() {
    let dir = tempfile::tempdir().unwrap();
    let (armed, (send, handed_over)) = (Arc::new(AtomicBool::new(false)), mpsc::channel());
    let entropy = Box::new(PanicsInTurn { armed: armed.clone(), handed_over: Mutex::new(handed_over) });
    let archive = Archive::create(dir.path(), config(), Arc::new(StillClock), entropy).unwrap();
    let shared = SharedArchive::new(archive, SeededEntropy::boxed(2)).unwrap();
    armed.store(true, Ordering::Relaxed);
    let [first, second, third] = [1, 2, 3].map(|n| shared.prepare(event(n, 9)).unwrap());
    std::thread::scope(|scope| {
        // The id of the file's first record is drawn in the turn.
        let panics = scope.spawn(|| shared.append(first));
        let waits = scope.spawn(|| shared.append(second));
        send.send(()).unwrap();
        // Whichever had the turn: the other is told.
        let ends = [panics.join(), waits.join()];
        assert_eq!(ends.iter().filter(|end| matches!(end, Ok(Err(_)))).count(), 1, "{ends:?}");
        assert_eq!(ends.iter().filter(|end| end.is_err()).count(), 1, "{ends:?}");
    });
    shared.append(third).unwrap_err();
    shared.sync().unwrap_err();
}

/// Who finds the broken turn taken by one that gives up is told, too.
#[test]
fn nobody_waits_for_ever_at_a_broken_archive() {
    let dir = tempfile::tempdir().unwrap();
    let (armed, (send, handed_over)) = (Arc::new(AtomicBool::new(false)), mpsc::channel());
    let entropy = Box::new(PanicsInTurn { armed: armed.clone(), handed_over: Mutex::new(handed_over) });
    let archive = Archive::create(dir.path(), config(), Arc::new(StillClock), entropy).unwrap();
    let shared = Arc::new(SharedArchive::new(archive, SeededEntropy::boxed(2)).unwrap());
    armed.store(true, Ordering::Relaxed);
    let [first, second, third] = [1, 2, 3].map(|n| shared.prepare(event(n, 9)).unwrap());
    send.send(()).unwrap();
    let panics = shared.clone();
    std::thread::spawn(move || panics.append(first)).join().unwrap_err();
    // Broken. While the second is told so, a third is handed over by another thread.
    let (tell, told) = mpsc::channel();
    let other = shared.clone();
    shared.hand_over(second, move |outcome| {
        outcome.unwrap_err();
        std::thread::spawn(move || other.hand_over(third, move |outcome| tell.send(outcome.is_err()).unwrap()))
            .join()
            .unwrap();
    });
    assert_eq!(told.try_recv(), Ok(true), "the third is told by whoever tells the second");
}

#[derive(Debug)]
struct SlowDisk;

#[derive(Debug)]
struct SlowFile(Box<dyn comity_archive::Backing>);

impl comity_archive::Disk for SlowDisk {
    fn create(&self, path: &std::path::Path) -> io::Result<Box<dyn comity_archive::Backing>> {
        Ok(Box::new(SlowFile(comity_archive::RealDisk.create(path)?)))
    }

    fn free(&self, folder: &std::path::Path) -> io::Result<Option<u64>> {
        comity_archive::RealDisk.free(folder)
    }
}

impl io::Write for SlowFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        std::thread::sleep(std::time::Duration::from_millis(1));
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl comity_archive::Backing for SlowFile {
    fn cut(&mut self, len: u64) -> io::Result<()> {
        self.0.cut(len)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync()
    }
}

/// However much others hand over meanwhile: who syncs stores what waits once, and not what comes while it does.
#[test]
fn a_sync_comes_back_while_others_go_on() {
    const THREADS: usize = 4;
    const AT_ONCE: usize = 32;
    let dir = tempfile::tempdir().unwrap();
    let (clock, entropy) = (Arc::new(StillClock), SeededEntropy::boxed(1));
    let archive = Archive::create_on(Arc::new(SlowDisk), dir.path(), config(), clock, entropy).unwrap();
    let shared = SharedArchive::new(archive, SeededEntropy::boxed(2)).unwrap();
    let (stop, next) = (AtomicBool::new(false), AtomicUsize::new(0));
    let (syncer, by_the_syncer) = (std::thread::current().id(), Arc::new(AtomicUsize::new(0)));
    std::thread::scope(|scope| {
        // As a crawl does: each keeps some on their way, and settles one before it hands over the next.
        for _ in 0..THREADS {
            scope.spawn(|| {
                let (settled, settles) = mpsc::channel();
                (0..AT_ONCE).for_each(|_| settled.send(()).unwrap());
                while !stop.load(Ordering::Relaxed) {
                    settles.recv().unwrap();
                    let (n, settled, told) =
                        (next.fetch_add(1, Ordering::Relaxed), settled.clone(), by_the_syncer.clone());
                    shared.hand_over(shared.prepare(event(n, 1_000_000)).unwrap(), move |outcome| {
                        outcome.unwrap().unwrap();
                        told.fetch_add(usize::from(std::thread::current().id() == syncer), Ordering::Relaxed);
                        settled.send(()).ok();
                    });
                }
            });
        }
        for _ in 0..6 {
            by_the_syncer.store(0, Ordering::Relaxed);
            shared.sync().unwrap();
            let told = by_the_syncer.load(Ordering::Relaxed);
            assert!(told <= THREADS * AT_ONCE, "one sync stored {told} events of others");
        }
        stop.store(true, Ordering::Relaxed);
    });
}

/// Who panics over its own outcome keeps nobody else from theirs: what is stored is told as stored.
#[test]
fn one_that_panics_when_it_is_told_is_alone_with_it() {
    let (dir, disk) = (tempfile::tempdir().unwrap(), Arc::new(SlowDisk));
    let archive =
        Archive::create_on(disk, dir.path(), config(), Arc::new(StillClock), SeededEntropy::boxed(1)).unwrap();
    let shared = SharedArchive::new(archive, SeededEntropy::boxed(2)).unwrap();
    let prepared: Vec<_> = (0..40).map(|n| shared.prepare(event(n, 9)).unwrap()).collect();
    let (stored, panicked) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for (n, one) in prepared.into_iter().enumerate() {
            let (shared, stored, panicked) = (&shared, &stored, &panicked);
            scope.spawn(move || {
                let told = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| match n % 20 {
                    10 => shared.hand_over(one, |_| panic!("over its own outcome")),
                    _ => assert!(shared.append(one).unwrap().is_some()),
                }));
                // Whoever has the turn tells the others, too, and is the one that the panic goes on in.
                let count = if told.is_ok() { stored } else { panicked };
                count.fetch_add(1, Ordering::SeqCst);
            });
        }
    });
    let (stored, panicked) = (stored.load(Ordering::SeqCst), panicked.load(Ordering::SeqCst));
    assert!(panicked <= 2 && stored >= 38, "{stored} told, {panicked} panicked");
    assert_eq!(shared.append(shared.prepare(event(40, 9)).unwrap()).unwrap().map(|stored| stored.seq), Some(40));
    shared.close().unwrap();
    assert_eq!(lines(dir.path()).len(), 41);
}
