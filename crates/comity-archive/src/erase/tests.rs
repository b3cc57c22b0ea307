//! Forty origins, one of which is erased: nothing of it is found anywhere, and everything else still holds.

mod forged;
mod journal;
mod rests;

use std::collections::BTreeSet;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use comity_policy::{Errand, Reason, WallTime};
use comity_url::Origin;
use ring::signature::{Ed25519KeyPair, KeyPair as _};

use super::journal::JOURNAL;
use super::{Depth, Erasure, ErasureReport, Named, Step, Steps};
use crate::fault_tests::common::*;
use crate::verify::{FaultKind, Verification, VerifyOptions, verify};
use crate::{
    Archive, ArchiveConfig, ArchiveError, CheckpointSigner, Content, Event, EvidenceKind, EvidenceStore, Line,
    WarcFormat,
};

/// The one that goes.
const GONE: usize = 17;
/// Most tests do with the last of them.
const FEW: std::ops::Range<usize> = 14..21;

#[derive(Debug)]
struct TestSigner(Ed25519KeyPair);

impl TestSigner {
    fn shared(seed: u8) -> Arc<dyn CheckpointSigner> {
        Arc::new(Self(Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap()))
    }
}

impl CheckpointSigner for TestSigner {
    fn public(&self) -> String {
        data_encoding::BASE64URL_NOPAD.encode(self.0.public_key().as_ref())
    }

    fn sign(&self, bytes: &[u8]) -> Vec<u8> {
        self.0.sign(bytes).as_ref().to_vec()
    }
}

fn host(n: usize) -> String {
    format!("origin{n:02}.test")
}

fn settings(format: WarcFormat) -> ArchiveConfig {
    ArchiveConfig { rollover: 60_000, format, signer: Some(TestSigner::shared(7)), dedup: true, ..uncounted() }
}

/// Without the digest of a configuration: no `crawl.toml` is needed then.
fn uncounted() -> ArchiveConfig {
    let mut config = config();
    config.crawl.config_digest = None;
    config
}

/// A body of its own for each page, and one that two pages of different origins share.
fn body(n: usize, page: usize) -> Vec<u8> {
    match page {
        2 if n == GONE || n == GONE + 3 => b"the very same text at two places, twice over. ".repeat(20),
        _ => format!("content-of-{n}-{page} ").repeat(60).into_bytes(),
    }
}

/// A crawl of forty origins: a robots.txt with its copy, three pages and a refusal each. The first page of each was found on
/// the one before; one of another origin redirects to the one that goes, and one names it in its text.
fn crawl(dir: &Path, format: WarcFormat) {
    crawl_of(dir, format, FEW);
}

fn crawl_of(dir: &Path, format: WarcFormat, origins: std::ops::Range<usize>) {
    let mut archive = open(dir, settings(format), 1);
    let mut evidence = EvidenceStore::open(dir).unwrap();
    let last = origins.end - 1;
    for n in origins {
        let origin = format!("http://{}", host(n));
        let robots = format!("# robots of {n}\nUser-agent: *\nDisallow: /private\n");
        let at = WallTime::from_unix_millis(START + 1000);
        let address = url(&format!("{origin}/robots.txt"));
        let copy = evidence.put(EvidenceKind::RobotsTxt, &address, at, 200, Some(robots.as_bytes())).unwrap().unwrap();
        archive.stage(&robots_txt(&origin, capture(address.as_str(), HEAD, robots.as_bytes()), Some(copy))).unwrap();
        for page in 0..3 {
            let event = page_of(n, page, &body(n, page), HEAD);
            archive.stage(&judged(event, copy, &origin, (n, page))).unwrap();
        }
        let Event::NotFetched(mut refusal) = refused(&format!("{origin}/private/{n}"), "/private") else { panic!() };
        refusal.basis = crate::Basis::Rule;
        refusal.context.via = Some(url(&format!("{origin}/page0")));
        archive.stage(&Event::NotFetched(refusal)).unwrap();
        archive.flush().unwrap();
    }
    let origin = format!("http://{}", host(last));
    let to = format!("HTTP/1.1 302 Found\r\nLocation: http://{}/page1\r\nContent-Length: 0\r\n\r\n", host(GONE));
    let copy = crate::digests::sha256(format!("# robots of {last}\nUser-agent: *\nDisallow: /private\n").as_bytes());
    archive.stage(&judged(page_of(last, 8, b"", to.as_bytes()), copy, &origin, (last, 8))).unwrap();
    let text = format!("we like http://{}/page1 very much ", host(GONE)).repeat(20);
    archive.stage(&judged(page_of(last, 9, text.as_bytes(), HEAD), copy, &origin, (last, 9))).unwrap();
    evidence.sync().unwrap();
    archive.close().unwrap();
}

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nServer: t\r\n\r\n";

fn page_of(n: usize, number: usize, body: &[u8], head: &[u8]) -> Event {
    page(capture(&format!("http://{}/page{number}", host(n)), head, body))
}

/// Judged by the copy of its own origin; its first page was found on the last of the origin before.
fn judged(event: Event, copy: comity_policy::Digest, origin: &str, (n, page): (usize, usize)) -> Event {
    let Event::Fetched(mut fetched) = event else { panic!("a page") };
    let mut decision = Arc::unwrap_or_clone(decision(Reason::Ok, "allow", "/page"));
    let mut robots = robots_evidence();
    (robots.digest, robots.final_url) = (Some(copy), Some(Origin::parse(origin).unwrap().robots_url()));
    decision.robots = robots.into();
    fetched.errand = Errand::Judged(Arc::new(decision));
    let from = if page == 0 && n > 0 { host(n - 1) } else { host(n) };
    fetched.context.via = Some(url(&format!("http://{from}/page2")));
    Event::Fetched(fetched)
}

fn origin(n: usize) -> Named {
    Named::Origin(Origin::parse(&format!("http://{}", host(n))).unwrap())
}

fn erasure(named: Named, depth: Depth) -> Erasure {
    Erasure { named, depth, mentions: false, reason: "a person asked".to_owned(), request: "REF-7".to_owned() }
}

fn erase(dir: &Path, format: WarcFormat, erasure: &Erasure) -> ErasureReport {
    // Other random bytes each time: the same ones would give two erasures one id.
    let seed = lines(dir).len() as u64 + 100;
    let mut archive = open(dir, settings(format), seed);
    let report = archive.erase(erasure, false).unwrap();
    archive.close().unwrap();
    report
}

fn verified(dir: &Path) -> Verification {
    verify(dir, &VerifyOptions { key: Some(TestSigner::shared(7).public()), threads: None }).unwrap()
}

#[track_caller]
fn holds(dir: &Path) -> Verification {
    let found = verified(dir);
    assert!(found.holds() && found.sealed, "{:#?} {:?}", found.faults, found.notes);
    check_index(dir);
    found
}

fn kinds(found: &Verification) -> Vec<FaultKind> {
    found.totals.keys().copied().collect()
}

/// All bytes of a directory, inflated.
fn everything(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.append(&mut everything(&path));
            continue;
        }
        let (bytes, mut text) = (fs::read(&path).unwrap(), Vec::new());
        let name = path.to_string_lossy().into_owned();
        if name.ends_with(".zst") {
            text = zstd::decode_all(&bytes[..]).unwrap();
        } else if name.ends_with(".gz") {
            flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_end(&mut text).unwrap();
        }
        all.push((path.clone(), bytes));
        all.push((path, text));
    }
    all
}

/// Files in which one of these texts is found.
fn found_in(dir: &Path, texts: &[&str]) -> BTreeSet<String> {
    let has = |bytes: &[u8]| texts.iter().any(|text| memchr::memmem::find(bytes, text.as_bytes()).is_some());
    let all = everything(dir);
    let named = all.iter().filter(|(_, bytes)| has(bytes));
    named.map(|(path, _)| path.strip_prefix(dir).unwrap().to_string_lossy().into_owned()).collect()
}

#[test]
fn of_an_erased_origin_nothing_is_found() {
    for format in [WarcFormat::Gzip, WarcFormat::Zstd] {
        let dir = tempfile::tempdir().unwrap();
        crawl_of(dir.path(), format, 0..40);
        let before = holds(dir.path()).checked;
        let wanted = [host(GONE), format!("content-of-{GONE}-"), format!("# robots of {GONE}\n")];
        let wanted: Vec<&str> = wanted.iter().map(String::as_str).chain(["the very same text"]).collect();
        assert!(found_in(dir.path(), &wanted).len() >= 4);
        let offsets: Vec<_> = warc_records(dir.path())
            .iter()
            .map(|r| (r.offset, r.field("WARC-Record-ID").unwrap().to_owned()))
            .collect();
        let report = erase(dir.path(), format, &Erasure { mentions: true, ..erasure(origin(GONE), Depth::Records) });
        // robots.txt, three pages, a refusal; the redirect, and the page that repeats one of them.
        assert_eq!((report.lines, report.amended, report.payloads), (7, 1, 1), "{report:?}");
        assert_eq!((report.sightings, report.copies, report.mentions.total), (1, 1, 1), "{report:?}");
        assert_eq!(found_in(dir.path(), &wanted), BTreeSet::new());
        let after = holds(dir.path()).checked;
        assert_eq!((after.lines, after.erased, after.amended), (before.lines + 1, 8, 1));
        assert_eq!((after.payloads_erased, after.erasures), (1, 1));
        // Every other record lies where it lay.
        let left: BTreeSet<_> = warc_records(dir.path())
            .iter()
            .map(|r| (r.offset, r.field("WARC-Record-ID").unwrap().to_owned()))
            .collect();
        assert!(left.iter().all(|one| offsets.contains(one) || !offsets.iter().any(|(_, id)| *id == one.1)));
        assert!(left.len() + 13 >= offsets.len(), "{} of {}", left.len(), offsets.len());
        // What was named is shown by the receipt alone.
        let salted = data_encoding::HEXLOWER.decode(report.receipt.as_bytes()).unwrap();
        let text = [&salted[..], format!("http://{}", host(GONE)).as_bytes()].concat();
        let named = crate::digests::sha256(&text).to_string();
        assert_eq!(found_in(dir.path(), &[&report.receipt]), BTreeSet::new());
        assert_eq!(found_in(dir.path(), &[&named]).len(), 1);
        let last = lines(dir.path()).pop().unwrap().record().unwrap().unwrap();
        let event = last.erasure.unwrap();
        assert_eq!((event.request.as_str(), event.reason.as_str(), event.id), ("REF-7", "a person asked", report.id));
        // A second time there is nothing to do.
        assert_eq!(erase(dir.path(), format, &erasure(origin(GONE), Depth::Records)), ErasureReport::default());
        holds(dir.path());
    }
}

#[test]
fn pages_of_others_that_name_it_are_told_and_stay() {
    let dir = tempfile::tempdir().unwrap();
    crawl(dir.path(), WarcFormat::Gzip);
    let report = erase(dir.path(), WarcFormat::Gzip, &erasure(origin(GONE), Depth::Records));
    assert_eq!(
        report.mentions.first.iter().map(|told| told.url.as_str()).collect::<Vec<_>>(),
        ["http://origin20.test/page9"]
    );
    let left = found_in(dir.path(), &[&host(GONE)]);
    assert!(left.len() == 1 && left.iter().all(|file| file.starts_with("warc/")), "{left:?}");
    holds(dir.path());
}

#[test]
fn payloads_go_with_their_copies_and_the_records_stay() {
    let dir = tempfile::tempdir().unwrap();
    crawl(dir.path(), WarcFormat::Gzip);
    let report = erase(dir.path(), WarcFormat::Gzip, &erasure(origin(GONE), Depth::Payload));
    // robots.txt is evidence. The other page that holds the same text is a revisit of the one that went.
    assert_eq!((report.lines, report.amended, report.payloads, report.copies), (0, 0, 3, 0), "{report:?}");
    assert_eq!(
        report.revisits.first.iter().map(|told| told.url.as_str()).collect::<Vec<_>>(),
        ["http://origin20.test/page2"]
    );
    assert_eq!(found_in(dir.path(), &["content-of-17-", "the very same text"]), BTreeSet::new());
    assert!(found_in(dir.path(), &["# robots of 17"]).len() == 2);
    let found = holds(dir.path());
    assert_eq!((found.checked.erased, found.checked.payloads_erased), (0, 3));
    // Then the records, too.
    let report = erase(dir.path(), WarcFormat::Gzip, &erasure(origin(GONE), Depth::Records));
    assert_eq!((report.lines, report.amended), (7, 1), "{report:?}");
    holds(dir.path());
}

#[test]
fn a_page_whose_record_was_amended_can_be_erased_later() {
    let dir = tempfile::tempdir().unwrap();
    crawl(dir.path(), WarcFormat::Gzip);
    erase(dir.path(), WarcFormat::Gzip, &erasure(origin(GONE), Depth::Records));
    let record = lines(dir.path())
        .iter()
        .filter_map(|line| line.record().unwrap())
        .find(|r| r.url == "http://origin18.test/page0");
    let record = record.unwrap();
    assert_eq!((record.discovery.via, record.absent["discovery.via"].as_str()), (None, "erased"));
    let named = Named::Url(url("http://origin18.test/page0"));
    let report = erase(dir.path(), WarcFormat::Gzip, &erasure(named, Depth::Records));
    assert_eq!((report.lines, report.amended), (1, 1), "the page, and the refusal found there: {report:?}");
    assert_eq!(found_in(dir.path(), &["origin18.test/page0"]), BTreeSet::new());
    holds(dir.path());
}

#[test]
fn a_payload_is_erased_by_its_digest_and_a_copy_in_the_evidence_too() {
    let dir = tempfile::tempdir().unwrap();
    crawl(dir.path(), WarcFormat::Gzip);
    for text in [body(15, 1), b"# robots of 15\nUser-agent: *\nDisallow: /private\n".to_vec()] {
        let named = Named::Payload(crate::digests::sha256(&text));
        let report = erase(dir.path(), WarcFormat::Gzip, &erasure(named, Depth::Payload));
        assert_eq!((report.lines, report.payloads), (0, 1), "{report:?}");
        assert_eq!(found_in(dir.path(), &[std::str::from_utf8(&text).unwrap()]), BTreeSet::new());
        holds(dir.path());
    }
}

/// A line cuts a long URL: another one of the same begin and length is told apart by its WARC records.
#[test]
fn a_url_that_its_line_cuts_is_erased_and_one_that_begins_alike_stays() {
    let dir = tempfile::tempdir().unwrap();
    let long = |end: char| format!("http://origin15.test/{}{end}", "long".repeat(1500));
    let mut archive = open(dir.path(), settings(WarcFormat::Gzip), 1);
    for end in ['a', 'b'] {
        archive.stage(&page(capture(&long(end), HEAD, format!("the body of {end}").as_bytes()))).unwrap();
    }
    archive.flush().unwrap();
    archive.close().unwrap();
    let before = found_in(dir.path(), &[&long('b')]);
    for depth in [Depth::Payload, Depth::Records] {
        let report = erase(dir.path(), WarcFormat::Gzip, &erasure(Named::Url(url(&long('a'))), depth));
        let expected = if depth == Depth::Records { (1, 0) } else { (0, 1) };
        assert_eq!((report.lines, report.payloads), expected, "{report:?}");
        assert_eq!(found_in(dir.path(), &["the body of a"]), BTreeSet::new());
        assert_eq!(found_in(dir.path(), &["the body of b"]).len(), 1);
    }
    assert_eq!(found_in(dir.path(), &[&long('a')]), BTreeSet::new());
    assert_eq!(found_in(dir.path(), &[&long('b')]), before);
}

#[test]
fn what_is_older_goes_and_the_evidence_stays() {
    let dir = tempfile::tempdir().unwrap();
    crawl(dir.path(), WarcFormat::Gzip);
    let evidence = everything(&dir.path().join("evidence")).len();
    // Pages began a second after the refusals were settled.
    let before = Named::Before(WallTime::from_unix_millis(START + 500));
    let report = erase(dir.path(), WarcFormat::Gzip, &erasure(before, Depth::Records));
    assert_eq!((report.lines, report.payloads), (7, 0));
    holds(dir.path());
    let before = Named::Before(WallTime::from_unix_millis(START + 5000));
    let report = erase(dir.path(), WarcFormat::Gzip, &erasure(before.clone(), Depth::Payload));
    assert_eq!((report.lines, report.payloads), (0, 3 * 7 + 2 - 1), "the revisit holds none");
    assert_eq!(found_in(dir.path(), &["content-of-"]), BTreeSet::new());
    holds(dir.path());
    let report = erase(dir.path(), WarcFormat::Gzip, &erasure(before, Depth::Records));
    assert_eq!(report.lines, 4 * 7 + 2);
    holds(dir.path());
    assert_eq!(everything(&dir.path().join("evidence")).len(), evidence);
}

/// Ends at the nth step, as a kill does.
struct KilledAt(usize, Vec<Step>);

impl Steps for KilledAt {
    fn before(&mut self, step: Step) -> Result<(), ArchiveError> {
        self.1.push(step);
        if self.1.len() > self.0 {
            return Err(ArchiveError::Io { path: PathBuf::new(), source: std::io::Error::other("killed") });
        }
        Ok(())
    }
}

#[test]
fn killed_between_any_two_steps_it_goes_on_at_the_next_start() {
    let made = tempfile::tempdir().unwrap();
    crawl(made.path(), WarcFormat::Gzip);
    let wanted = Erasure { mentions: true, ..erasure(origin(GONE), Depth::Records) };
    let mut step = 0;
    loop {
        let dir = tempfile::tempdir().unwrap();
        copy_tree(made.path(), dir.path());
        let mut killed = KilledAt(step, Vec::new());
        let mut archive = open(dir.path(), settings(WarcFormat::Gzip), 2);
        let ended = archive.erase_in(&wanted, false, &mut killed);
        // What a kill leaves: nothing is closed, and what was half written lies beside.
        drop(archive);
        if ended.is_ok() {
            assert!(step >= 10, "{:?}", killed.1);
            return;
        }
        let last = *killed.1.last().unwrap();
        let begun = last != Step::Journal;
        assert_eq!(dir.path().join(JOURNAL).exists(), begun, "{last:?}");
        let found = verified(dir.path());
        assert_eq!(kinds(&found).contains(&FaultKind::Erasure), begun, "{last:?}: {:?}", found.faults);
        let warc = files(dir.path(), "warc").remove(0);
        fs::write(format!("{}.tmp", warc.display()), b"half").unwrap();
        // Any start: here of a crawl that goes on.
        let mut archive = open(dir.path(), settings(WarcFormat::Gzip), 3);
        archive.append(&page(capture("http://origin15.test/later", HEAD, b"later"))).err();
        archive.close().unwrap();
        assert!(!dir.path().join(JOURNAL).exists(), "{last:?}");
        let texts = [host(GONE), format!("content-of-{GONE}-")];
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        assert_eq!(found_in(dir.path(), &texts).is_empty(), begun, "{last:?}");
        let found = verified(dir.path());
        // The page that came later rests on a copy that is not there: it is made up.
        assert_eq!(kinds(&found), [FaultKind::Evidence], "{last:?}: {:?}", found.faults);
        assert_eq!(found.checked.erasures, u64::from(begun), "{last:?}");
        step += 1;
    }
}

fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_tree(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}

#[test]
fn reasons_that_name_what_goes_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    crawl(dir.path(), WarcFormat::Gzip);
    let mut archive = open(dir.path(), settings(WarcFormat::Gzip), 2);
    let good = erasure(origin(GONE), Depth::Payload);
    for (reason, request) in
        [("", "x"), ("x", ""), ("the owner of origin17.test asked", "x"), ("x", "HTTP://ORIGIN17.test/"), ("a\nb", "x")]
    {
        let bad = Erasure { reason: reason.to_owned(), request: request.to_owned(), ..good.clone() };
        assert!(matches!(archive.erase(&bad, false), Err(ArchiveError::Setting { .. })), "{reason:?} {request:?}");
    }
    let (told, done) = (archive.erase(&good, true).unwrap(), archive.erase(&good, false).unwrap());
    assert_eq!((told.payloads, told.revisits), (done.payloads, done.revisits), "told without being done");
    drop::<Archive>(archive);
}
