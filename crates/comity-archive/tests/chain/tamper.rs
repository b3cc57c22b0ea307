//! Whatever is changed in the directory of a closed crawl, `verify` finds it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use comity_archive::verify::{Fault, FaultKind, Verification, VerifyOptions, verify};
use comity_archive::{
    ArchiveConfig, CheckpointSigner, CrawlFacts, Entropy as _, Event, EvidenceKind, EvidenceStore, OsEntropy,
    WarcFormat,
};
use comity_policy::{Digest, Errand, Random as _, Reason, SeededRandom, WallTime};
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use sha2::{Digest as _, Sha256};

use super::common::*;

pub(super) const ROBOTS: &[u8] = b"User-agent: TestBot\nDisallow: /private\n";

#[derive(Debug)]
pub(super) struct TestSigner(Ed25519KeyPair);

impl TestSigner {
    pub(super) fn boxed(seed: u8) -> Arc<dyn CheckpointSigner> {
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

fn sum(bytes: &[u8]) -> Digest {
    Digest::from_bytes(Sha256::digest(bytes).into())
}

/// A page whose decision rests on a copy that is in the evidence.
pub(super) fn judged(event: Event, copy: Digest) -> Event {
    let Event::Fetched(mut fetched) = event else { return event };
    let mut decision = Arc::unwrap_or_clone(decision(Reason::Ok, "allow", "/page"));
    let mut robots = robots_evidence();
    robots.digest = Some(copy);
    decision.robots = robots.into();
    fetched.errand = Errand::Judged(Arc::new(decision));
    Event::Fetched(fetched)
}

/// A crawl of three runs, several files each, signed in the last two, with refusals, robots.txt and absent ones.
fn crawl(dir: &Path) {
    crawl_signed_from(dir, 1);
}

fn crawl_signed_from(dir: &Path, first_signed: u8) {
    fs::write(dir.join("crawl.toml"), "[agent]\n").unwrap();
    fs::create_dir(dir.join("configs")).unwrap();
    fs::write(dir.join(format!("configs/{}.toml", sum(b"[agent]\n"))), "[agent]\n").unwrap();
    let facts = CrawlFacts { config_digest: Some(sum(b"[agent]\n")), ..crawl_facts() };
    for run in 0..3_u8 {
        let signer = (run >= first_signed).then(|| TestSigner::boxed(7));
        let format = if run == 2 { WarcFormat::Zstd } else { WarcFormat::Gzip };
        let (rollover, dedup, crawl) = (2_400, run == 1, facts.clone());
        let config = ArchiveConfig { rollover, dedup, format, signer, crawl, ..config() };
        let mut archive = open(dir, config, u64::from(run) + 1);
        let mut evidence = EvidenceStore::open(dir).unwrap();
        let robots = url("https://a.test/robots.txt");
        let at = WallTime::from_unix_millis(START);
        let copy = evidence.put(EvidenceKind::RobotsTxt, &robots, at, 200, Some(ROBOTS)).unwrap().unwrap();
        evidence.put(EvidenceKind::RobotsTxt, &url("https://b.test/robots.txt"), at, 404, None).unwrap();
        archive.stage(&robots_txt("https://a.test", capture(robots.as_str(), HEAD, ROBOTS), Some(copy))).unwrap();
        for n in 0..6 {
            let body = format!("page {} of run {run}", n / 4).repeat(40 + n / 4);
            let page = page(capture(&format!("https://a.test/page{n}"), HEAD, body.as_bytes()));
            archive.stage(&judged(page, copy)).unwrap();
            archive.flush().unwrap();
            if n % 2 == 0 {
                archive
                    .stage(&Event::NotFetched(Box::new(not_judged(&format!("https://a.test/private/{n}")))))
                    .unwrap();
            }
        }
        evidence.sync().unwrap();
        archive.close().unwrap();
    }
}

pub(super) const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nServer: t\r\n\r\n";

fn not_judged(target: &str) -> comity_archive::NotFetched {
    let Event::NotFetched(mut event) = refused(target, "/private") else { panic!("a refusal") };
    event.basis = comity_archive::Basis::Rule;
    *event
}

pub(super) fn verified(dir: &Path) -> Verification {
    verify(dir, &VerifyOptions::default()).unwrap()
}

pub(super) fn verified_under_key(dir: &Path) -> Verification {
    verify(dir, &VerifyOptions { key: Some(TestSigner::boxed(7).public()), threads: None }).unwrap()
}

/// A line that goes on with the chain as anybody can write it: another refusal.
fn forged_line(dir: &Path) -> String {
    let all = lines(dir);
    let last = all.last().unwrap().head();
    let text = all.iter().map(comity_archive::Line::to_text).find(|text| text.contains(r#""warc":null"#)).unwrap();
    let body = text.split_once(",\"body\":").unwrap().1.strip_suffix('}').unwrap();
    let commitment = sum(&[&[0; 16], body.as_bytes()].concat());
    let seq = last.seq + 1;
    let link = sum(&[&seq.to_be_bytes()[..], last.link.as_bytes(), commitment.as_bytes()].concat());
    let (prev, salt) = (last.link, "0".repeat(32));
    format!(
        "{{\"v\":1,\"seq\":{seq},\"prev\":\"{prev}\",\"salt\":\"{salt}\",\"commitment\":\"{commitment}\",\
         \"link\":\"{link}\",\"body\":{body}}}\n"
    )
}

fn append(path: &Path, bytes: &[u8]) {
    let mut all = fs::read(path).unwrap();
    all.extend_from_slice(bytes);
    fs::write(path, all).unwrap();
}

/// What anybody can append to a closed crawl so that it looks as after a kill.
const APPENDS: [&str; 8] = [
    "a further line",
    "a sighting",
    "a copy and its sighting",
    "half a sighting",
    "half a checkpoint",
    "an open WARC",
    "half a copy",
    "half a configuration",
];

fn append_to_closed(dir: &Path, what: &str) {
    let copy = |bytes: &[u8]| {
        let hex = sum(bytes).to_string();
        fs::create_dir_all(dir.join("evidence").join(&hex[..2])).unwrap();
        dir.join("evidence").join(&hex[..2]).join(hex)
    };
    let sighting = |bytes: &[u8]| {
        let (hex, length) = (sum(bytes), bytes.len());
        format!(
            "{{\"kind\":\"robots.txt\",\"url\":\"https://a.test/robots.txt\",\
             \"fetched\":\"2026-11-30T00:00:00.000Z\",\"status\":200,\"digest\":\"{hex}\",\"bytes\":{length}}}\n"
        )
    };
    let index = dir.join("evidence/index.jsonl");
    let forged = b"User-agent: *\nAllow: /\n";
    match what {
        "a further line" => {
            let frame = zstd::encode_all(forged_line(dir).as_bytes(), 3).unwrap();
            fs::write(dir.join("records/test-20991130000000000-00000-aaaaaa.jsonl.zst.open"), frame).unwrap();
        }
        "a sighting" => append(&index, sighting(ROBOTS).as_bytes()),
        "a copy and its sighting" => {
            fs::write(copy(forged), forged).unwrap();
            append(&index, sighting(forged).as_bytes());
        }
        "half a sighting" => append(&index, b"{\"kind\":"),
        "half a checkpoint" => append(&dir.join("checkpoints.jsonl"), b"{\"v\":"),
        "an open WARC" => {
            let name = "test-20991130000000000-00000-aaaaaa.warc.gz.open";
            fs::copy(files(dir, "warc").remove(0), dir.join("warc").join(name)).unwrap();
        }
        "half a copy" => fs::write(copy(forged).with_extension("tmp"), b"User").unwrap(),
        _ => fs::write(dir.join(format!("configs/{}.toml.new", sum(forged))), b"[ag").unwrap(),
    }
}

/// These crawls have no configuration of theirs.
pub(super) fn of_config(fault: &Fault) -> bool {
    fault.kind == FaultKind::Config || fault.file.starts_with("configs/")
}

/// Every file below `dir`, sorted; but for the locks, which say who had the directory, and prove nothing.
fn all_files(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let locks = [comity_archive::LOCK_FILE, comity_archive::READING_FILE];
    for path in entries.filter(|path| !locks.iter().any(|lock| path.ends_with(lock))) {
        if path.is_dir() { files.extend(all_files(&path)) } else { files.push(path) }
    }
    files.sort();
    files
}

/// Pieces that a file is made of: gzip members of a WARC, lines of an inflated records file, lines of text, else bytes.
fn pieces(path: &Path, bytes: &[u8]) -> Vec<Vec<u8>> {
    let name = path.to_string_lossy();
    if name.contains(".warc.") {
        let mut starts: Vec<usize> =
            comity_archive::WarcReader::new(bytes).map(|r| r.unwrap().offset as usize).collect();
        starts.push(bytes.len());
        starts.windows(2).map(|pair| bytes[pair[0]..pair[1]].to_vec()).collect()
    } else {
        let text = if name.ends_with(".zst") { zstd::decode_all(bytes).unwrap() } else { bytes.to_vec() };
        text.split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec).collect()
    }
}

fn put_together(path: &Path, pieces: &[Vec<u8>]) -> Vec<u8> {
    let whole = pieces.concat();
    if path.to_string_lossy().ends_with(".jsonl.zst") { zstd::encode_all(&whole[..], 3).unwrap() } else { whole }
}

/// Does one random thing to one random file; tells what.
fn tamper(dir: &Path, dice: &SeededRandom) -> String {
    let below = |n: usize| (dice.next_u64() % n as u64) as usize;
    let files = all_files(dir);
    let path = &files[below(files.len())];
    let name = path.strip_prefix(dir).unwrap().display().to_string();
    let mut bytes = fs::read(path).unwrap();
    let kind = below(10);
    if kind < 5 {
        let at = below(bytes.len());
        let flip = 1 << below(8);
        bytes[at] ^= flip;
        fs::write(path, bytes).unwrap();
        return format!("{name}: byte {at} ^ {flip:#x}");
    }
    let mut parts = pieces(path, &bytes);
    let (one, other) = (below(parts.len()), below(parts.len()));
    let what = match kind {
        5 => {
            fs::remove_file(path).unwrap();
            return format!("{name}: removed");
        }
        6 => {
            parts.remove(one);
            format!("{name}: part {one} left out")
        }
        7 if parts[one] != parts[other] => {
            parts.swap(one, other);
            format!("{name}: parts {one} and {other} swapped")
        }
        8 => {
            let part = parts[one].clone();
            parts.insert(other, part);
            format!("{name}: part {one} doubled at {other}")
        }
        _ => {
            fs::copy(path, path.with_file_name(format!("x{}", path.file_name().unwrap().display()))).unwrap();
            let beside = path.parent() == Some(dir);
            if beside {
                fs::write(path, [&bytes[..], b"\n"].concat()).unwrap();
            }
            return format!("{name}: copied, {beside}");
        }
    };
    fs::write(path, put_together(path, &parts)).unwrap();
    what
}

fn copy_tree(from: &Path, to: &Path) {
    for file in all_files(from) {
        let target = to.join(file.strip_prefix(from).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(&file, target).unwrap();
    }
}

#[test]
fn a_closed_crawl_holds_and_everything_in_it_is_counted() {
    let dir = tempfile::tempdir().unwrap();
    crawl(dir.path());
    let found = verified(dir.path());
    assert!(found.holds(), "{:#?}", found.faults);
    assert_eq!(found.notes, Vec::<String>::new());
    let checked = found.checked;
    let lines = lines(dir.path());
    assert_eq!(found.head, lines.last().map(comity_archive::Line::head));
    assert_eq!(checked.lines, lines.len() as u64);
    let in_warc = warc_records(dir.path());
    assert_eq!(checked.warc_records, in_warc.len() as u64);
    assert!(in_warc.iter().any(|record| record.kind() == "revisit"), "every kind of record is there");
    assert_eq!((checked.copies, checked.sightings), (1, 6));
    assert!(checked.records_files > 3, "{checked:?}");
    assert_eq!(checked.summed_files, checked.records_files + 2 * checked.warc_files, "an index beside each WARC");
    assert!(checked.signed > 0 && checked.signed < checked.checkpoints, "{checked:?}");
    let threads = VerifyOptions { threads: std::num::NonZeroUsize::new(1), key: None };
    assert_eq!(verify(dir.path(), &threads).unwrap(), found, "the same on one thread");
    let on_disk: u64 =
        ["warc", "records"].iter().flat_map(|f| files(dir.path(), f)).map(|f| f.metadata().unwrap().len()).sum();
    assert_eq!(checked.warc_bytes + checked.records_bytes, on_disk);
}

/// It is nobody's: a note to whoever asks for no key, and a fault to whoever does.
#[test]
fn what_is_appended_to_a_closed_crawl_is_sealed_by_nothing() {
    let whole = tempfile::tempdir().unwrap();
    crawl_signed_from(whole.path(), 0);
    let found = verified_under_key(whole.path());
    assert!(found.holds() && found.sealed, "{:#?}", found.faults);
    for what in APPENDS {
        let dir = tempfile::tempdir().unwrap();
        copy_tree(whole.path(), dir.path());
        append_to_closed(dir.path(), what);
        let found = verified(dir.path());
        assert!(found.holds(), "{what}: {:#?}", found.faults);
        assert!(!found.sealed && !found.notes.is_empty(), "{what}: {found:#?}");
        let found = verified_under_key(dir.path());
        let kinds: Vec<FaultKind> = found.faults.iter().map(|fault| fault.kind).collect();
        assert_eq!(kinds, [FaultKind::Unsealed], "{what}: {:#?}", found.faults);
    }
}

/// Name and bytes of every file.
fn content_of(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let files = all_files(dir).into_iter();
    files.map(|path| (path.strip_prefix(dir).unwrap().to_owned(), fs::read(&path).unwrap())).collect()
}

/// 1,000 in the long form.
#[test]
fn whatever_is_changed_is_found() {
    let whole = tempfile::tempdir().unwrap();
    crawl_signed_from(whole.path(), 0);
    let mut seed = [0; 8];
    OsEntropy.fill(&mut seed).unwrap();
    let seed = u64::from_le_bytes(seed);
    let dice = SeededRandom::new(seed);
    let rounds = if std::env::var_os("COMITY_TEST_SIZE").is_some_and(|size| size == "all") { 1_000 } else { 60 };
    let mut kinds = BTreeSet::new();
    let original = content_of(whole.path());
    for round in 0..rounds {
        let dir = tempfile::tempdir().unwrap();
        copy_tree(whole.path(), dir.path());
        let append = APPENDS.get(round % (2 * APPENDS.len()));
        append.iter().for_each(|what| append_to_closed(dir.path(), what));
        let what = tamper(dir.path(), &dice);
        let found = verified(dir.path());
        if content_of(dir.path()) == original {
            // What was appended was taken away again: there is nothing to find.
            assert!(found.holds() && found.sealed, "seed {seed}, round {round}: {what}, {append:?}");
            continue;
        }
        // What was appended may be changed again: no checkpoint covers it, so such a crawl is not called sealed.
        let is_found = !found.holds() || (append.is_some() && !found.sealed);
        assert!(is_found, "seed {seed}, round {round}: {what}, {append:?}");
        let found = verified_under_key(dir.path());
        assert!(!found.holds(), "seed {seed}, round {round}: {what}, {append:?}");
        kinds.extend(found.faults.iter().map(|fault| fault.kind));
    }
    assert!(kinds.len() >= 8, "faults of many kinds are met: {kinds:?}");
}

/// A response's gzip member with `from` replaced, of the same length on disk, its block digest that of its new block.
fn rewritten(member: &[u8], from: &str, to: &str) -> Vec<u8> {
    use std::io::{Read as _, Write as _};
    let mut content = Vec::new();
    flate2::read::GzDecoder::new(member).read_to_end(&mut content).unwrap();
    let text = String::from_utf8(content).unwrap();
    if !text.contains("WARC-Type: response") || !text.contains(from) {
        return member.to_vec();
    }
    let text = text.replacen(from, to, 1);
    let digest = |text: &str| {
        let block = text.split_once("\r\n\r\n").unwrap().1.strip_suffix("\r\n\r\n").unwrap();
        let sum = <sha1::Sha1 as sha1::Digest>::digest(block.as_bytes());
        format!("WARC-Block-Digest: sha1:{}", data_encoding::BASE32.encode(&sum))
    };
    let stated = text.lines().find(|line| line.starts_with("WARC-Block-Digest")).unwrap().to_owned();
    let text = text.replacen(&stated, &digest(&text), 1);
    // A field less that no line speaks for, and one of the forger's own, make up for the length.
    let spare = text.lines().find(|line| line.starts_with("WARC-Cipher-Suite")).unwrap().to_owned() + "\r\n";
    let text = text.replacen(&spare, "", 1);
    let noise = data_encoding::BASE32.encode(&Sha256::digest(from.as_bytes()));
    // Many texts of each length: their members differ by a byte or two, so that one fits, whatever made the member.
    let mut parts = (1..noise.len()).flat_map(|n| (0..noise.len() - n).map(move |at| at..at + n));
    let made = parts.find_map(|part| {
        let text = text.replacen("\r\n\r\n", &format!("\r\nX: {}\r\n\r\n", &noise[part]), 1);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(text.as_bytes()).unwrap();
        let mut made = gzip.finish().unwrap();
        made[..10].copy_from_slice(&member[..10]);
        (made.len() == member.len()).then_some(made)
    });
    made.unwrap_or_else(|| panic!("no form of {} bytes", member.len()))
}

/// Without checkpoints, as in crawls of the first versions, what lines name is still held against what is there.
#[test]
fn lines_alone_speak_for_their_warc_records() {
    let whole = tempfile::tempdir().unwrap();
    crawl(whole.path());
    fs::remove_file(whole.path().join("checkpoints.jsonl")).unwrap();
    let head = lines(whole.path()).last().unwrap().head();
    fs::write(whole.path().join("chain"), format!("{{\"v\":1,\"seq\":{},\"link\":\"{}\"}}\n", head.seq, head.link))
        .unwrap();
    let found = verified(whole.path());
    assert!(found.holds() && found.notes.len() == 1, "{found:#?}");
    let warc = files(whole.path(), "warc").remove(0);
    let bytes = fs::read(&warc).unwrap();
    let parts = pieces(&warc, &bytes);
    for one in 0..parts.len() {
        let rows = [
            (0, [&parts[..one], &parts[one + 1..]].concat()),
            (1, [&parts[..one], &parts[one..=one], &parts[one..]].concat()),
        ];
        for (row, changed) in rows {
            fs::write(&warc, changed.concat()).unwrap();
            assert!(!verified(whole.path()).holds(), "record {one}, row {row}");
        }
    }
    // What a line has of the answer: status, fields, address, and whether it repeats another.
    let rows = [
        ("HTTP/1.1 200 OK", "HTTP/1.1 201 OK"),
        ("Server: t", "Server: u"),
        ("Server: t", "Sorver: t"),
        ("192.0.2.7", "192.0.2.8"),
        ("WARC-Type: response", "WARC-Type: revisit"),
    ];
    for (from, to) in rows {
        let changed: Vec<u8> = parts.iter().flat_map(|part| rewritten(part, from, to)).collect();
        assert_ne!(changed, bytes);
        fs::write(&warc, changed).unwrap();
        let found = verified(whole.path());
        assert!(found.totals.contains_key(&FaultKind::Content), "{from} -> {to}: {:#?}", found.faults);
        assert!(!found.totals.contains_key(&FaultKind::WarcDigest), "{from} -> {to}: the digests are the forger's");
    }
    fs::write(&warc, [&bytes[..], &parts[1]].concat()).unwrap();
    let found = verified(whole.path());
    assert_eq!(found.faults.iter().map(|fault| fault.kind).collect::<Vec<_>>(), [FaultKind::Unnamed]);
}

#[test]
fn a_key_that_is_asked_for_must_have_signed_every_checkpoint() {
    let dir = tempfile::tempdir().unwrap();
    let signer = TestSigner::boxed(7);
    let mut archive = open(dir.path(), ArchiveConfig { signer: Some(signer.clone()), ..config() }, 1);
    archive.append(&Event::NotFetched(Box::new(not_judged("https://a.test/1")))).unwrap();
    archive.close().unwrap();
    fs::write(dir.path().join("crawl.toml"), "x").unwrap();
    let ask = |key: String| verify(dir.path(), &VerifyOptions { key: Some(key), threads: None }).unwrap();
    let found = ask(signer.public());
    assert_eq!(found.keys, [signer.public()]);
    assert_eq!(
        found.faults.iter().map(|fault| fault.kind).collect::<Vec<_>>(),
        [FaultKind::Config, FaultKind::Missing]
    );
    let found = ask(TestSigner::boxed(8).public());
    assert!(found.totals.contains_key(&FaultKind::Signer), "{found:?}");

    // Whoever rewrites a checkpoint and its digest cannot sign it.
    let path = dir.path().join("checkpoints.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let (first, rest) = text.split_once('\n').unwrap();
    let first = first.replace("2026-", "2025-");
    let (body, tail) = first.split_once(",\"digest\":\"").unwrap();
    let forged = format!("{body},\"digest\":\"{}{}\n{rest}", sum(body.as_bytes()), &tail[64..]);
    fs::write(&path, forged).unwrap();
    let found = ask(signer.public());
    let fault = found.faults.iter().find(|fault| fault.kind == FaultKind::Checkpoint).unwrap();
    assert!(fault.problem.contains("signature"), "{fault}");
}
