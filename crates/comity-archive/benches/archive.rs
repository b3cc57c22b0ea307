//! What an archive costs beside raw gzip of the very same bytes at the same level: one stream of zlib-rs, which nobody reads
//! record by record, and libdeflate, which the archive uses, over the whole as one buffer.
//!
//! `cargo bench -p comity-archive -- [rounds] [megabytes] [word of a contestant]`. The pages are those of documentation trees where they are installed
//! (`cargo xtask peers --install`); without them there is nothing to measure. Contestants take turns.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a bench prints, and ends where it cannot go on")]
#![expect(clippy::disallowed_methods, reason = "a bench measures real time")]

#[path = "../tests/common/mod.rs"]
mod common;

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use comity_archive::{Archive, ArchiveConfig, Event, OsEntropy, SharedArchive, WarcFormat};
use common::{StillClock, capture, config, files, page};
use flate2::write::GzEncoder;
use flate2::{Compress, Compression, Crc, FlushCompress, Status, read::MultiGzDecoder};

/// Wall and CPU time of one run.
#[derive(Clone, Copy)]
struct Took {
    wall: Duration,
    cpu: Duration,
}

struct Contestant {
    name: String,
    run: Box<dyn Fn(&Path)>,
    took: Vec<Took>,
}

fn main() {
    let numbers: Vec<usize> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let (rounds, megabytes) = (numbers.first().copied().unwrap_or(5), numbers.get(1).copied().unwrap_or(48));
    let events = Arc::new(pages(megabytes << 20));
    if events.is_empty() {
        println!("no documentation tree is installed: nothing to measure");
        return;
    }
    let text = Arc::new(written(&events));
    let bodies: u64 = events.iter().map(body_len).sum();
    println!("{} pages, {:.1} MB of bodies, {:.1} MB of WARC text", events.len(), mb(bodies), mb(text.len() as u64));
    let mut all = contestants(&events, &text);
    // For a profiler: one contestant, by a word of its name.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word.chars().all(char::is_alphabetic)).collect();
    all.retain(|one| words.iter().all(|word| one.name.contains(word.as_str())));
    for round in 0..rounds {
        let order: Vec<usize> = (0..all.len()).map(|at| (at + round) % all.len()).collect();
        for at in order {
            let dir = tempfile::tempdir().unwrap();
            let (wall, cpu) = (Instant::now(), cpu_time());
            (all[at].run)(dir.path());
            all[at].took.push(Took { wall: wall.elapsed(), cpu: cpu_time().saturating_sub(cpu) });
        }
    }
    report(&all, text.len() as u64);
    if words.is_empty() {
        sizes(&events);
    }
}

fn contestants(events: &Arc<Vec<Event>>, text: &Arc<Vec<u8>>) -> Vec<Contestant> {
    let mut all = Vec::new();
    let mut add = |name: &str, run: Box<dyn Fn(&Path)>| {
        all.push(Contestant { name: name.to_owned(), run, took: Vec::new() });
    };
    let bytes = text.clone();
    add("raw gzip, one stream, level 3", Box::new(move |dir| raw_gzip(dir, &bytes)));
    let bytes = text.clone();
    add("libdeflate, one buffer, level 3", Box::new(move |dir| at_once(dir, &[&bytes[..]])));
    let parts = Arc::new(members(events));
    let records = parts.clone();
    add("raw gzip, a member for each record", Box::new(move |dir| raw_members(dir, &records)));
    add("libdeflate, a member for each record", Box::new(move |dir| at_once(dir, &parts)));
    for (name, level, format, threads) in [
        ("archive, gzip 3, one thread", 3, WarcFormat::Gzip, 1),
        ("archive, gzip 3, two threads", 3, WarcFormat::Gzip, 2),
        ("archive, gzip 3, two workers, others wait", 3, WarcFormat::Gzip, 6),
        ("archive, stored (level 0), one thread", 0, WarcFormat::Gzip, 1),
        ("archive, zstd 3, one thread", 3, WarcFormat::Zstd, 1),
    ] {
        let events = events.clone();
        let config = move || ArchiveConfig { level, format, ..config() };
        add(name, Box::new(move |dir| archive(dir, config(), &events, threads)));
    }
    let records = events.clone();
    let config = || ArchiveConfig { warc: false, ..config() };
    add("records only: digests and lines", Box::new(move |dir| archive(dir, config(), &records, 1)));
    let hashed = text.clone();
    add("the digests alone: SHA-1 twice, SHA-256", Box::new(move |_| digests(&hashed)));
    all
}

/// Pages of documentation trees, as events; largest trees first, up to so many bytes.
fn pages(most: usize) -> Vec<Event> {
    let mut events = Vec::new();
    let mut bytes = 0;
    for folder in trees() {
        let mut pages: Vec<PathBuf> = walk(&folder);
        pages.sort();
        for path in pages {
            let body = std::fs::read(&path).unwrap();
            if bytes + body.len() > most {
                return events;
            }
            bytes += body.len();
            let head = format!(
                "HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Mon, 30 Nov 2026 09:15:01 GMT\r\nContent-Type: text/html\r\n\
                 Content-Length: {}\r\nETag: \"{:x}\"\r\n\r\n",
                body.len(),
                crc(&body)
            );
            let name = path.strip_prefix(&folder).unwrap().to_string_lossy().into_owned();
            events.push(page(capture(&format!("https://docs.a.test/{name}"), head.as_bytes(), &body)));
        }
    }
    events
}

fn trees() -> Vec<PathBuf> {
    let entries = std::fs::read_dir("/usr/share/doc").into_iter().flatten().filter_map(Result::ok);
    let html = entries.map(|entry| entry.path().join("html"));
    let mut trees: Vec<PathBuf> = html
        .filter(|html| html.join("library/index.html").is_file() || html.join("sql-select.html").is_file())
        .collect();
    trees.iter_mut().for_each(|tree| *tree = tree.canonicalize().unwrap());
    trees.sort();
    trees.dedup();
    trees
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let pages = files.into_iter().filter(|path| path.extension().is_some_and(|end| end == "html"));
    pages.chain(folders.iter().flat_map(|folder| walk(folder))).collect()
}

/// What an archive writes of the events, before compression.
fn written(events: &[Event]) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    archive(dir.path(), config(), events, 1);
    let mut text = Vec::new();
    for file in files(dir.path(), "warc") {
        MultiGzDecoder::new(BufReader::new(File::open(file).unwrap())).read_to_end(&mut text).unwrap();
    }
    text
}

fn raw_gzip(dir: &Path, text: &[u8]) {
    let mut gzip = GzEncoder::new(File::create(dir.join("raw.gz")).unwrap(), Compression::new(3));
    text.chunks(16 * 1024).for_each(|chunk| gzip.write_all(chunk).unwrap());
    gzip.finish().unwrap().sync_all().unwrap();
}

/// The records of the archive, before compression.
fn members(events: &[Event]) -> Vec<Vec<u8>> {
    let dir = tempfile::tempdir().unwrap();
    archive(dir.path(), config(), events, 1);
    let mut all = Vec::new();
    for file in files(dir.path(), "warc") {
        let mut input = BufReader::new(File::open(file).unwrap());
        while !input.fill_buf().unwrap().is_empty() {
            let mut text = Vec::new();
            flate2::bufread::GzDecoder::new(&mut input).read_to_end(&mut text).unwrap();
            all.push(text);
        }
    }
    all
}

fn raw_members(dir: &Path, members: &[Vec<u8>]) {
    let mut file = BufWriter::with_capacity(256 * 1024, File::create(dir.join("raw.gz")).unwrap());
    let mut compress = Compress::new(Compression::new(3), false);
    let mut out = Vec::with_capacity(64 * 1024);
    for member in members {
        compress.reset();
        out.clear();
        let mut crc = Crc::new();
        crc.update(member);
        while !matches!(
            compress.compress_vec(
                member.get(usize::try_from(compress.total_in()).unwrap()..).unwrap(),
                &mut out,
                FlushCompress::Finish
            ),
            Ok(Status::StreamEnd)
        ) {
            out.reserve(64 * 1024);
        }
        std::hint::black_box(crc.sum());
        file.write_all(&out).unwrap();
    }
    file.into_inner().unwrap().sync_all().unwrap();
}

fn at_once(dir: &Path, members: &[impl AsRef<[u8]>]) {
    let mut file = BufWriter::with_capacity(256 * 1024, File::create(dir.join("raw.gz")).unwrap());
    let mut compressor = libdeflater::Compressor::new(libdeflater::CompressionLvl::new(3).unwrap());
    let mut room = Vec::new();
    for member in members.iter().map(AsRef::as_ref) {
        room.resize(compressor.gzip_compress_bound(member.len()), 0);
        let length = compressor.gzip_compress(member, &mut room).unwrap();
        file.write_all(&room[..length]).unwrap();
    }
    file.into_inner().unwrap().sync_all().unwrap();
}

fn digests(text: &[u8]) {
    use sha2::Digest as _;
    let (mut block, mut payload, mut content) = (sha1::Sha1::new(), sha1::Sha1::new(), sha2::Sha256::new());
    for chunk in text.chunks(16 * 1024) {
        block.update(chunk);
        payload.update(chunk);
        content.update(chunk);
    }
    std::hint::black_box((block.finalize(), payload.finalize(), content.finalize()));
}

fn archive(dir: &Path, config: ArchiveConfig, events: &[Event], threads: usize) {
    let archive = Archive::create(dir, config, Arc::new(StillClock), Box::new(OsEntropy)).unwrap();
    let shared = SharedArchive::new(archive, Box::new(OsEntropy)).unwrap();
    let (next, stored) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
    // As a crawl does it: two prepare; who waits to be told holds nobody up.
    let workers = Workers { idle: Mutex::new(2), gone_idle: Condvar::new() };
    let work = || {
        while let Some(event) = events.get(next.fetch_add(1, Ordering::Relaxed)) {
            if threads > 2 {
                let prepared = workers.run(|| shared.prepare(event.clone()).unwrap());
                shared.append(prepared).unwrap();
                stored.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            let stored = stored.clone();
            shared.hand_over(shared.prepare(event.clone()).unwrap(), move |outcome| {
                outcome.unwrap();
                stored.fetch_add(1, Ordering::Relaxed);
            });
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    shared.close().unwrap();
    assert_eq!(stored.load(Ordering::Relaxed), events.len());
}

/// How many may prepare at once.
struct Workers {
    idle: Mutex<usize>,
    gone_idle: Condvar,
}

impl Workers {
    fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        *self.gone_idle.wait_while(self.idle.lock().unwrap(), |idle| *idle == 0).unwrap() -= 1;
        let made = work();
        *self.idle.lock().unwrap() += 1;
        self.gone_idle.notify_one();
        made
    }
}

fn report(all: &[Contestant], bytes: u64) {
    println!("| contestant | MB/s by wall, median | best | MB/s by CPU, median | of raw gzip by wall | by CPU |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: |");
    let wall = |one: &Contestant| median(one.took.iter().map(|took| took.wall));
    let cpu = |one: &Contestant| median(one.took.iter().map(|took| took.cpu));
    let (raw_wall, raw_cpu) = (wall(&all[0]), cpu(&all[0]));
    for one in all {
        let best = one.took.iter().map(|took| took.wall).min().unwrap();
        let rate = |span: Duration| mb(bytes) / span.as_secs_f64();
        println!(
            "| {} | {:.0} | {:.0} | {:.0} | {:.2} | {:.2} |",
            one.name,
            rate(wall(one)),
            rate(best),
            rate(cpu(one)),
            raw_wall.as_secs_f64() / wall(one).as_secs_f64(),
            raw_cpu.as_secs_f64() / cpu(one).as_secs_f64(),
        );
    }
}

/// Bytes on disk of a whole archive, page by page, and of its records when many wait together.
fn sizes(events: &[Event]) {
    let pages = events.len() as u64;
    for threads in [1, 8] {
        let dir = tempfile::tempdir().unwrap();
        archive(dir.path(), config(), events, threads);
        let size = |folder: &str| files(dir.path(), folder).iter().map(|f| f.metadata().unwrap().len()).sum::<u64>();
        println!(
            "{threads} threads: {} bytes of records a page, {:.1} MB of WARC",
            size("records") / pages,
            mb(size("warc"))
        );
    }
}

fn median(spans: impl Iterator<Item = Duration>) -> Duration {
    let mut spans: Vec<Duration> = spans.collect();
    spans.sort();
    spans[spans.len() / 2]
}

/// User and system time of the process so far, by Linux's clock of 10 ms.
fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok()).unwrap_or_default();
    Duration::from_millis(10 * (ticks(11) + ticks(12)))
}

fn body_len(event: &Event) -> u64 {
    match event {
        Event::Fetched(event) => event.capture.body.len(),
        Event::NotFetched(_) => 0,
    }
}

fn crc(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

fn mb(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
