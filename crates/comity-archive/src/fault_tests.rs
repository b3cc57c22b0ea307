//! A disk that fills up after every number of bytes: what was acknowledged stays, what was not is gone.

#[path = "../tests/common/mod.rs"]
pub(crate) mod common;

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::checkpoint::{Checkpoint, sum_file};
use crate::disk::{Backing, Disk};
use crate::{Archive, ArchiveConfig, ArchiveError, ChainVerifier, ConfigFacts, Event};
use common::{StillClock, capture, lines, page, refused, warc_records};

/// Real files that take `room` bytes in all, then none; the write that meets the end is cut short.
#[derive(Debug)]
struct SmallDisk {
    room: Arc<AtomicU64>,
    cuts_fail: bool,
    /// The device refuses to make files safe whose names contain this.
    refuses: Arc<Mutex<Option<&'static str>>>,
}

#[derive(Debug)]
struct SmallFile {
    file: File,
    path: PathBuf,
    room: Arc<AtomicU64>,
    cuts_fail: bool,
    refuses: Arc<Mutex<Option<&'static str>>>,
}

impl Disk for SmallDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn Backing>> {
        let file = File::create_new(path)?;
        let (room, refuses) = (self.room.clone(), self.refuses.clone());
        Ok(Box::new(SmallFile { file, path: path.to_owned(), room, cuts_fail: self.cuts_fail, refuses }))
    }

    fn free(&self, _: &Path) -> io::Result<Option<u64>> {
        Ok(Some(self.room.load(Ordering::Relaxed)))
    }
}

impl Write for SmallFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.room.load(Ordering::Relaxed);
        let fits = bytes.len().min(usize::try_from(room).unwrap());
        if fits == 0 && !bytes.is_empty() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.room.store(room - fits as u64, Ordering::Relaxed);
        self.file.write(&bytes[..fits])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Backing for SmallFile {
    fn cut(&mut self, len: u64) -> io::Result<()> {
        if self.cuts_fail { Err(io::ErrorKind::Other.into()) } else { Backing::cut(&mut self.file, len) }
    }

    fn sync(&self) -> io::Result<()> {
        let name = self.path.file_name().unwrap().to_string_lossy().into_owned();
        match *self.refuses.lock().unwrap() {
            Some(part) if name.contains(part) => Err(io::ErrorKind::Other.into()),
            _ => Backing::sync(&self.file),
        }
    }
}

fn open(dir: &Path, room: &Arc<AtomicU64>, cuts_fail: bool, config: ArchiveConfig) -> Result<Archive, ArchiveError> {
    let disk = Arc::new(SmallDisk { room: room.clone(), cuts_fail, refuses: Arc::default() });
    Archive::create_on(disk, dir, config, Arc::new(StillClock), common::SeededEntropy::boxed(9))
}

fn events() -> Vec<Event> {
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    let one = |n: u32| match n % 3 {
        0 => refused(&format!("https://a.test/private/{n}"), "/private"),
        _ => page(capture(&format!("https://a.test/{n}"), head, b"hello")),
    };
    (1..6).map(one).collect()
}

/// As many metadata records as acknowledged fetches, as many lines as acknowledgements, all of it readable.
fn check_whole(dir: &Path, acknowledged: u64) {
    let lines = lines(dir);
    assert_eq!(lines.len() as u64, acknowledged);
    let mut chain = ChainVerifier::default();
    lines.iter().for_each(|line| chain.step(line).unwrap());
    let fetched = lines.iter().filter(|line| line.record().unwrap().unwrap().outcome == "fetched").count();
    let records = warc_records(dir);
    for kind in ["response", "request", "metadata"] {
        assert_eq!(records.iter().filter(|r| r.kind() == kind).count(), fetched, "{kind}");
    }
    assert!(records.first().is_none_or(|first| first.kind() == "warcinfo"));
}

#[test]
fn a_disk_that_fills_up_anywhere_loses_only_what_was_not_acknowledged() {
    let events = events();
    let config = ArchiveConfig { rollover: 2500, ..common::config() };
    let mut failures = 0;
    for bytes in (0..16_000).step_by(499) {
        let (dir, room) = (tempfile::tempdir().unwrap(), Arc::new(AtomicU64::new(bytes)));
        let mut archive = open(dir.path(), &room, false, config.clone()).unwrap();
        let mut acknowledged = 0;
        let mut rest = events.iter();
        let failed = rest.find(|event| match archive.append(event) {
            Ok(stored) => {
                assert_eq!(stored.seq, acknowledged);
                acknowledged += 1;
                false
            }
            Err(error) => {
                assert!(error.is_full(), "{error}");
                true
            }
        });
        check_whole(dir.path(), acknowledged);
        failures += u32::from(failed.is_some());
        // Space comes back: the very archive goes on where it was.
        room.store(1 << 20, Ordering::Relaxed);
        for event in failed.into_iter().chain(rest) {
            assert_eq!(archive.append(event).unwrap().seq, acknowledged);
            acknowledged += 1;
        }
        archive.close().unwrap();
        check_whole(dir.path(), events.len() as u64);
    }
    assert!(failures > 20, "the small disk filled up only {failures} times");
}

#[test]
fn a_large_event_that_meets_the_end_of_the_disk_is_taken_back_whole() {
    // Noise, so that compressed it is written ahead in several parts.
    let mut noise = 1_u64;
    let body: Vec<u8> = std::iter::repeat_with(|| {
        noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u8::try_from(noise >> 56).unwrap()
    })
    .take(1 << 20)
    .collect();
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
    let large = page(capture("https://a.test/large", head.as_bytes(), &body));
    let small = &events()[0];
    for room in [2000, 4000, 300_000, 600_000, 1_040_000, 1_050_500] {
        let (dir, left) = (tempfile::tempdir().unwrap(), Arc::new(AtomicU64::new(1 << 30)));
        let mut archive = open(dir.path(), &left, false, common::config()).unwrap();
        archive.append(small).unwrap();
        let end = archive.end_offset().unwrap().1;
        left.store(room, Ordering::Relaxed);
        assert!(archive.append(&large).unwrap_err().is_full(), "{room}");
        assert_eq!(archive.end_offset().unwrap().1, end, "{room}");
        let on_disk = common::files(dir.path(), "warc")[0].metadata().unwrap().len();
        assert_eq!(on_disk, end, "{room}: nothing of it stays");
        left.store(1 << 30, Ordering::Relaxed);
        archive.append(&large).unwrap();
        archive.append(small).unwrap();
        archive.close().unwrap();
        check_whole(dir.path(), 3);
        let bodies = warc_records(dir.path());
        assert!(bodies.iter().any(|record| record.http().is_some_and(|(_, payload)| payload == body)), "{room}");
    }
}

#[test]
fn a_failed_flush_takes_back_every_staged_event() {
    let (dir, room) = (tempfile::tempdir().unwrap(), Arc::new(AtomicU64::new(1 << 20)));
    let mut archive = open(dir.path(), &room, false, common::config()).unwrap();
    archive.append(&events()[0]).unwrap();
    let end = archive.end_offset().unwrap().1;
    events().iter().for_each(|event| archive.stage(event).unwrap());
    assert!(archive.end_offset().unwrap().1 > end);
    room.store(3, Ordering::Relaxed);
    assert!(archive.flush().unwrap_err().is_full());
    assert_eq!(archive.end_offset().unwrap().1, end);
    check_whole(dir.path(), 1);
    room.store(1 << 20, Ordering::Relaxed);
    events().iter().for_each(|event| archive.stage(event).unwrap());
    let stored = archive.flush().unwrap();
    assert_eq!(stored.iter().map(|s| s.seq).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    archive.close().unwrap();
    check_whole(dir.path(), 6);
}

#[test]
fn events_stored_together_are_told_apart_when_the_disk_fills_up() {
    let events = events();
    let mut mixed = 0;
    for bytes in (0..14_000_u64).step_by(203) {
        let (dir, room) = (tempfile::tempdir().unwrap(), Arc::new(AtomicU64::new(bytes)));
        // Files so small that the pair is closed, and its lines flushed, among them.
        let config = ArchiveConfig { rollover: 2500, ..common::config() };
        let mut archive = open(dir.path(), &room, false, config).unwrap();
        let mut entropy = common::SeededEntropy::boxed(3);
        let prepare = |event| archive.preparer.prepare(Cow::Borrowed(event), entropy.as_mut()).unwrap();
        let prepared: Vec<_> = events.iter().map(prepare).collect();
        let answers = archive.append_all(&prepared.iter().collect::<Vec<_>>());
        assert_eq!(answers.len(), events.len());
        let stored: Vec<u64> = answers.iter().filter_map(|answer| answer.as_ref().ok().map(|s| s.seq)).collect();
        assert!(answers.iter().filter_map(|answer| answer.as_ref().err()).all(ArchiveError::is_full));
        assert_eq!(stored, (0..stored.len() as u64).collect::<Vec<_>>(), "{bytes}");
        mixed += u32::from(!stored.is_empty() && stored.len() < events.len());
        check_whole(dir.path(), stored.len() as u64);
        // What was acknowledged is what is there.
        let urls: Vec<String> = lines(dir.path()).iter().map(|line| line.record().unwrap().unwrap().url).collect();
        let acknowledged =
            events.iter().zip(&answers).filter(|(_, answer)| answer.is_ok()).map(|(event, _)| match event {
                Event::Fetched(event) => event.capture.url.as_str().to_owned(),
                Event::NotFetched(event) => event.target.as_str().to_owned(),
            });
        assert_eq!(urls, acknowledged.collect::<Vec<_>>(), "{bytes}");
    }
    assert!(mixed > 5, "some were stored and some not only {mixed} times");
}

#[test]
fn a_capture_that_was_taken_back_is_never_pointed_at() {
    let (dir, room) = (tempfile::tempdir().unwrap(), Arc::new(AtomicU64::new(1 << 20)));
    let config = ArchiveConfig { dedup: true, ..common::config() };
    let mut archive = open(dir.path(), &room, false, config).unwrap();
    let body = b"the same again ".repeat(60);
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
    let event = |n: u32| page(capture(&format!("https://a.test/{n}"), head.as_bytes(), &body));
    archive.stage(&event(1)).unwrap();
    room.store(3, Ordering::Relaxed);
    assert!(archive.flush().unwrap_err().is_full());
    room.store(1 << 20, Ordering::Relaxed);
    archive.append(&event(2)).unwrap();
    archive.append(&event(3)).unwrap();
    archive.close().unwrap();
    let kinds: Vec<String> = warc_records(dir.path()).iter().map(|record| record.kind().to_owned()).collect();
    assert_eq!(kinds, ["warcinfo", "response", "request", "metadata", "revisit", "request", "metadata"]);
    assert_eq!(common::check_index(dir.path()), 2, "nor does the index name it");
}

#[test]
fn a_write_that_cannot_be_taken_back_ends_the_file() {
    let (dir, room) = (tempfile::tempdir().unwrap(), Arc::new(AtomicU64::new(2500)));
    let mut archive = open(dir.path(), &room, true, common::config()).unwrap();
    let events = events();
    let error = events.iter().cycle().take(100).find_map(|event| archive.append(event).err()).unwrap();
    assert!(matches!(error, ArchiveError::Torn { .. }), "{error}");
    room.store(1 << 20, Ordering::Relaxed);
    assert!(archive.append(&events[0]).is_err(), "nothing may follow a torn record");
    assert!(archive.close().is_err());
    assert!(
        common::files(dir.path(), "records")
            .iter()
            .chain(&common::files(dir.path(), "warc"))
            .all(|f| f.extension().unwrap() == "open")
    );
}

#[test]
fn too_little_free_space_is_said_before_anything_is_written() {
    let (dir, room) = (tempfile::tempdir().unwrap(), Arc::new(AtomicU64::new(999)));
    let config = ArchiveConfig { min_free: 1000, ..common::config() };
    let error = open(dir.path(), &room, false, config.clone()).unwrap_err();
    assert!(error.to_string().ends_with("999 bytes are free, at least 1000 must stay free"), "{error}");
    room.store(1000, Ordering::Relaxed);
    assert!(open(dir.path(), &room, false, config).is_ok());
}

/// A device that lost bytes says so once; the next try succeeds.
#[test]
fn nothing_is_called_safe_after_the_device_has_refused_once() {
    type Step = fn(&mut Archive) -> Result<(), ArchiveError>;
    let sync: Step = |archive| archive.sync().map(drop);
    let roll: Step = |archive| {
        let crawl = archive.config.crawl.clone();
        let facts = ConfigFacts { config_digest: None, robots: crawl.robots, overrides: crawl.overrides };
        archive.reconfigure(facts).map(drop)
    };
    for refused in [".warc", ".jsonl"] {
        for (first, then) in [(sync, sync), (sync, roll), (roll, sync), (roll, roll)] {
            let (dir, refuses) = (tempfile::tempdir().unwrap(), Arc::new(Mutex::new(None)));
            let disk =
                SmallDisk { room: Arc::new(AtomicU64::new(1 << 20)), cuts_fail: false, refuses: refuses.clone() };
            let (config, entropy) = (common::config(), common::SeededEntropy::boxed(9));
            let mut archive =
                Archive::create_on(Arc::new(disk), dir.path(), config, Arc::new(StillClock), entropy).unwrap();
            archive.append(&events()[1]).unwrap();
            archive.sync().unwrap();
            archive.append(&events()[0]).unwrap();
            let safe = || ["chain", "checkpoints.jsonl"].map(|name| std::fs::read(dir.path().join(name)).unwrap());
            let before = safe();
            *refuses.lock().unwrap() = Some(refused);
            first(&mut archive).unwrap_err();
            *refuses.lock().unwrap() = None;
            then(&mut archive).unwrap_err();
            archive.append(&events()[3]).unwrap_err();
            archive.close().unwrap_err();
            assert_eq!(safe(), before, "{refused}");
            // The process ends; the system has kept what it was given.
            let room = Arc::new(AtomicU64::new(1 << 20));
            open(dir.path(), &room, false, common::config()).unwrap().close().unwrap();
            check_whole(dir.path(), 2);
        }
    }
}

/// Large enough that records are packed beside the close of their WARC.
#[test]
fn a_large_pair_is_packed_as_a_whole_or_not_at_all_whatever_the_device_refuses() {
    let head = b"HTTP/1.1 200 OK\r\n\r\n";
    for (refused, closes) in [(None, true), (Some(".tmp"), true), (Some(".warc"), false), (Some(".zst.open"), false)] {
        let (dir, refuses) = (tempfile::tempdir().unwrap(), Arc::new(Mutex::new(None)));
        let room = Arc::new(AtomicU64::new(8 << 20));
        let disk = SmallDisk { room: room.clone(), cuts_fail: false, refuses: refuses.clone() };
        let (config, entropy) = (ArchiveConfig { level: 0, ..common::config() }, common::SeededEntropy::boxed(9));
        let mut archive =
            Archive::create_on(Arc::new(disk), dir.path(), config, Arc::new(StillClock), entropy).unwrap();
        for n in 0..3 {
            archive.append(&page(capture(&format!("https://a.test/{n}"), head, &vec![b'x'; 400_000]))).unwrap();
        }
        let before = lines(dir.path());
        let open_size = records_size(dir.path());
        *refuses.lock().unwrap() = refused;
        assert_eq!(archive.close().is_ok(), closes, "{refused:?}");
        let left = common::files(dir.path(), "records");
        assert_eq!(left.len(), 1, "no part of a file is left: {left:?}");
        assert_eq!(lines(dir.path()), before, "{refused:?}");
        assert_eq!(records_size(dir.path()) < open_size, refused.is_none(), "{refused:?}");
        open(dir.path(), &room, false, common::config()).unwrap().close().unwrap();
        check_whole(dir.path(), 3);
        assert_eq!(lines(dir.path()), before, "{refused:?}");
        check_sums(dir.path());
    }
}

fn records_size(dir: &Path) -> u64 {
    common::files(dir, "records").iter().map(|file| file.metadata().unwrap().len()).sum()
}

/// Checkpoints hold the sums of the closed files, each as it is.
fn check_sums(dir: &Path) {
    let text = std::fs::read_to_string(dir.join("checkpoints.jsonl")).unwrap();
    let sums: Vec<_> = text.lines().flat_map(|line| Checkpoint::parse(line).unwrap().files).collect();
    assert_eq!(sums.len(), 3, "records, WARC and index");
    for sum in sums {
        assert_eq!(sum_file(&dir.join(&sum.path)).unwrap(), (sum.bytes, sum.sha256), "{}", sum.path);
    }
}
