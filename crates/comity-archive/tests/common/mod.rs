//! What the tests of this crate share: a made-up crawl with a still clock and seeded salts.
#![allow(dead_code, reason = "every test file uses another part")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use comity_archive::{
    Archive, ArchiveConfig, Basis, Context, CrawlFacts, Entropy, Event, Fetched, Line, NotFetched, RecordsReader,
    Target, WarcReader, WarcRecord, read_records,
};
use comity_policy::{
    Capture, Clock, Decision, Digest, Errand, Identity, Instant, Protocol, Random, Reason, RobotsEvidence, RobotsState,
    RuleEvidence, SeededRandom, Spool, Timings, TlsFacts, Vantage, WallTime,
};
use comity_signals::{Declared, Place, Preferences, Purpose, Remarks, Source, Statement, Verdict};
use comity_url::{CrawlUrl, Origin};

pub(crate) const START: i64 = 1_796_030_100_250;

#[derive(Debug)]
pub(crate) struct StillClock;

impl Clock for StillClock {
    fn now(&self) -> Instant {
        Instant::from_micros(1)
    }

    fn wall(&self) -> WallTime {
        WallTime::from_unix_millis(START)
    }
}

#[derive(Debug)]
pub(crate) struct SeededEntropy(SeededRandom);

impl SeededEntropy {
    pub(crate) fn boxed(seed: u64) -> Box<dyn Entropy> {
        Box::new(Self(SeededRandom::new(seed)))
    }
}

impl Entropy for SeededEntropy {
    fn fill(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        buffer.chunks_mut(8).for_each(|part| part.copy_from_slice(&self.0.next_u64().to_le_bytes()[..part.len()]));
        Ok(())
    }
}

pub(crate) fn crawl_facts() -> CrawlFacts {
    let purposes = vec![Declared::Judged(Purpose::Search), Declared::Judged(Purpose::AiTrain), Declared::Archive];
    let identity = Identity::new("TestBot/1.0", "https://bot.example/about", &[], purposes).unwrap();
    CrawlFacts {
        from: Some("bot@bot.example".to_owned()),
        operator: Some("Example Lab".to_owned()),
        config_digest: Some(Digest::from_bytes([0xab; 32])),
        ..CrawlFacts::new("test crawl", identity)
    }
}

pub(crate) fn config() -> ArchiveConfig {
    ArchiveConfig { min_free: 0, tag: Some("t1".to_owned()), ..ArchiveConfig::new(crawl_facts()) }
}

pub(crate) fn open(dir: &Path, config: ArchiveConfig, seed: u64) -> Archive {
    Archive::create(dir, config, Arc::new(StillClock), SeededEntropy::boxed(seed)).unwrap()
}

pub(crate) fn url(text: &str) -> CrawlUrl {
    CrawlUrl::parse(text).unwrap()
}

/// Fields of a head, as fetch hands them over.
pub(crate) fn fields_of(head: &[u8]) -> Vec<(String, Bytes)> {
    let line = |line: &[u8]| {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let colon = line.iter().position(|b| *b == b':')?;
        let value = Bytes::copy_from_slice(line[colon + 1..].trim_ascii());
        Some((String::from_utf8_lossy(&line[..colon]).into_owned(), value))
    };
    let mut fields: Vec<(String, Bytes)> = Vec::new();
    for raw in head.split(|b| *b == b'\n').skip(1) {
        match fields.last_mut() {
            // RFC 9112 §5.2, as the fetcher reads it.
            Some((_, value)) if matches!(raw.first(), Some(b' ' | b'\t')) => {
                *value = [value.as_ref(), raw.trim_ascii()].join(&b' ').trim_ascii().to_vec().into();
            }
            _ => fields.extend(line(raw)),
        }
    }
    fields
}

pub(crate) fn request_head(url: &CrawlUrl) -> String {
    format!(
        "GET {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: TestBot/1.0 (+https://bot.example/about)\r\nAccept: */*\r\n\r\n",
        url.request_target(),
        url.origin().authority()
    )
}

/// A whole exchange over TLS.
pub(crate) fn capture(target: &str, head: &[u8], body: &[u8]) -> Capture {
    let url = url(target);
    let status = head.get(9..12).and_then(|code| std::str::from_utf8(code).ok()).and_then(|code| code.parse().ok());
    Capture {
        request_head: Bytes::from(request_head(&url)),
        url,
        started: WallTime::from_unix_millis(START + 1000),
        peer: Some("192.0.2.7".parse().unwrap()),
        vantage: Vantage::Direct,
        via: None,
        protocol: Protocol::Http11,
        tls: Some(TlsFacts {
            version: "tls/1.3",
            cipher: "TLS_AES_128_GCM_SHA256".to_owned(),
            certificate_sha256: "cd".repeat(32),
            alpn: Some("http/1.1".to_owned()),
        }),
        response_head: Bytes::copy_from_slice(head),
        status: status.or(Some(200)),
        fields: fields_of(head),
        body: Spool::in_memory(Bytes::copy_from_slice(body)),
        decoded_len: body.len() as u64,
        truncated: None,
        fault: None,
        detail: None,
        timings: Timings {
            head: Some(Duration::from_millis(40)),
            total: Duration::from_millis(52),
            ..Timings::default()
        },
    }
}

pub(crate) fn robots_evidence() -> RobotsEvidence {
    RobotsEvidence {
        state: RobotsState::Fresh,
        digest: Some(Digest::from_bytes([7; 32])),
        fetched: Some(WallTime::from_unix_millis(START - 60_000)),
        expires: Some(WallTime::from_unix_millis(START + 86_340_000)),
        status: Some(200),
        final_url: Some(url("https://a.test/robots.txt")),
        bytes: 120,
        truncated: false,
        group: vec!["TestBot".to_owned()],
        group_line: Some(3),
        crawl_delay: Some(Duration::from_secs(2)),
    }
}

pub(crate) fn decision(reason: Reason, kind: &'static str, pattern: &str) -> Arc<Decision> {
    let statement = Statement {
        path: Some("/a".to_owned()),
        ..Statement::new(Source::RobotsContentSignal, Purpose::AiTrain, Verdict::Denied, "ai-train=no")
            .at(Place::Line(9))
    };
    Arc::new(Decision {
        reason,
        decided: WallTime::from_unix_millis(START),
        robots: robots_evidence().into(),
        rule: Some(RuleEvidence { kind, pattern: pattern.to_owned(), line: 4, group_line: 3, priority: 5 }),
        preferences: Preferences::combine(&[statement]),
        overridden: None,
        optout: None,
        site: comity_policy::SiteFiles::default(),
        stage: comity_policy::Stage::Before,
        again: WallTime::from_unix_millis(START),
        before: None,
        silence: comity_policy::Silence::Proceed,
        remarks: Remarks::NONE,
        level: None,
        grants: Vec::new(),
    })
}

pub(crate) fn context() -> Context {
    Context {
        via: Some(url("https://a.test/")),
        depth: 2,
        hops: 1,
        seed: false,
        attempt: 1,
        file: None,
        query: comity_archive::QueryForm::Keep,
        terms: Vec::new(),
    }
}

pub(crate) fn page(capture: Capture) -> Event {
    let errand = Errand::Judged(decision(Reason::Ok, "allow", "/page"));
    Event::Fetched(Box::new(Fetched { capture, errand, robots_copy: None, earlier: None, context: context() }))
}

pub(crate) fn robots_txt(origin: &str, capture: Capture, copy: Option<Digest>) -> Event {
    let errand = Errand::Robots { for_origin: Origin::parse(origin).unwrap(), hop: 0 };
    let context = Context { attempt: 1, ..Context::default() };
    Event::Fetched(Box::new(Fetched { capture, errand, robots_copy: copy, earlier: None, context }))
}

pub(crate) fn refused(target: &str, pattern: &str) -> Event {
    let basis = Basis::Decision(decision(Reason::RobotsDisallow, "disallow", pattern));
    let at = WallTime::from_unix_millis(START + 5);
    let target = Target::Url(url(target));
    let reason = Reason::RobotsDisallow;
    Event::NotFetched(Box::new(NotFetched { target, reason, basis, at, until: None, detail: None, context: context() }))
}

/// Files of a folder without the indexes beside them.
pub(crate) fn files(dir: &Path, folder: &str) -> Vec<PathBuf> {
    let mut files = all_files(dir, folder);
    files.retain(|file| file.extension().unwrap() != "cdxj");
    files
}

/// The index files of the WARC files.
pub(crate) fn indexes(dir: &Path) -> Vec<PathBuf> {
    let mut files = all_files(dir, "warc");
    files.retain(|file| file.extension().unwrap() == "cdxj");
    files
}

fn all_files(dir: &Path, folder: &str) -> Vec<PathBuf> {
    let mut files: Vec<_> = std::fs::read_dir(dir.join(folder)).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// Every record of every WARC file, strictly read, digests checked.
pub(crate) fn warc_records(dir: &Path) -> Vec<WarcRecord> {
    let mut all = Vec::new();
    for file in files(dir, "warc") {
        let bytes = std::fs::read(&file).unwrap();
        for record in WarcReader::new(&bytes[..]) {
            let record = record.unwrap_or_else(|e| panic!("{}: {e}", file.display()));
            record.check_digests().unwrap_or_else(|e| panic!("{} at {}: {e}", file.display(), record.offset));
            all.push(record);
        }
    }
    all
}

pub(crate) fn lines(dir: &Path) -> Vec<Line> {
    let mut reader = read_records(dir).unwrap();
    let lines = collect(&mut reader);
    assert!(reader.torn().is_empty(), "{:?}", reader.torn());
    lines
}

pub(crate) fn collect(reader: &mut RecordsReader) -> Vec<Line> {
    reader.map(|line| line.unwrap()).collect()
}

/// Every index is sorted and names exactly the responses and revisits of its WARC by their places. Gives their number.
pub(crate) fn check_index(dir: &Path) -> usize {
    let mut total = 0;
    for warc in files(dir, "warc") {
        let name = warc.file_name().unwrap().to_str().unwrap();
        let base = &name[..name.find(".warc").unwrap()];
        let index = std::fs::read_to_string(dir.join("warc").join(format!("{base}.cdxj"))).unwrap();
        let lines: Vec<&str> = index.lines().collect();
        assert!(lines.is_sorted(), "{index}");
        let mut said: Vec<(u64, u64, String)> = lines.iter().map(|line| place_of(line, name)).collect();
        said.sort();
        let bytes = std::fs::read(&warc).unwrap();
        let records = WarcReader::new(&bytes[..]).map(|record| record.unwrap());
        let captures = records.filter(|record| matches!(record.kind(), "response" | "revisit"));
        let there: Vec<_> =
            captures.map(|r| (r.offset, r.length, r.field("WARC-Target-URI").unwrap().to_owned())).collect();
        assert_eq!(said, there, "{name}");
        total += there.len();
    }
    total
}

fn place_of(line: &str, file: &str) -> (u64, u64, String) {
    let json: serde_json::Value = serde_json::from_str(&line[line.find('{').unwrap()..]).unwrap();
    let text = |name: &str| json[name].as_str().unwrap().to_owned();
    assert_eq!(text("filename"), file);
    (text("offset").parse().unwrap(), text("length").parse().unwrap(), text("url"))
}
