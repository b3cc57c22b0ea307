//! A dossier holds all of its origin and nothing of another, and whoever has it can check it without our code.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use comity::Crawler;
use comity::config::{ByteSize, Span};
use comity::policy::{SeededRandom, WallTime};
use comity_fetch::SystemClock;
use comity_testweb::{Answer, Site, Target, Web};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use super::explain::fixture;
use super::verify::{change_records, copy_tree};
use super::{comity, stderr};

const START: i64 = 1_796_000_000_000;
const KEY: &str = "WpHTDXPZHUfNcNiAcxZx05doGrqf8OwppnIsGCKlWt8";
const FIXTURE: &str = "http://a.test:8099";

type Files = BTreeMap<String, Vec<u8>>;
/// What somebody does to a file.
type Change = Box<dyn Fn(&mut Vec<u8>)>;

/// Three sites: `b` links to `a`, and its robots.txt is kept at `c`; `a` and `c` name nobody.
async fn crawl(dir: &Path) {
    let epoch = WallTime::from_unix_millis(START);
    let secret = |site: &str| Answer::text(format!("the secret of {site}"));
    let a = Site::new()
        .name("a.test")
        .robots("User-agent: *\nDisallow: /private/\nContent-Signal: search=yes, ai-train=no\n")
        .page("/", Answer::page([Target::here("/x"), Target::here("/private/<b>&"), Target::here("/gone")]))
        .page("/x", secret("a"))
        .page("/z", secret("a, too"));
    let b = Site::new()
        .name("b.test")
        .robots_answer(Answer::redirect(302, Target::at(2, "/robots.txt")))
        .page("/", Answer::page([Target::here("/s"), Target::at(0, "/z")]))
        .page("/s", secret("b"));
    let c = Site::new()
        .name("c.test")
        .robots("User-agent: *\nDisallow: /not-here\n")
        .page("/", Answer::page([Target::here("/s")]))
        .page("/s", secret("c"));
    let (net, _) = Web::builder(1).epoch(epoch).site(a).site(b).site(c).build().unwrap().in_memory();
    let crawler = Crawler::builder("DossierBot/1.0 (+https://example.com/bot)")
        .net(Arc::new(net))
        .clock(Arc::new(SystemClock::paused_at(epoch)))
        .random(Arc::new(SeededRandom::new(1)))
        .allow_addresses("10.0.0.0/8")
        .dir(dir)
        .configure(|file| {
            file.crawl.seeds = Some(["a", "b", "c"].map(|name| format!("http://{name}.test/")).to_vec());
            file.archive.min_free = Some(ByteSize(0));
            file.politeness.delay = Some(Span(Duration::from_millis(100)));
        });
    eprintln!("{}", crawler.build().unwrap().run().await.unwrap());
}

/// Makes a dossier; gives its path and what was said.
fn dossier(home: &TempDir, origin: &str, dir: &Path, name: &str, flags: &[&str]) -> (PathBuf, String) {
    let out = home.path().join(name);
    let args = ["dossier", origin, "--dir", dir.to_str().unwrap(), "--out", out.to_str().unwrap()];
    let ran = comity(home.path(), &[&args, flags].concat());
    assert!(ran.status.success(), "{}", stderr(&ran));
    (out, String::from_utf8(ran.stdout).unwrap())
}

fn files(path: &Path) -> Files {
    let mut zip = zip::ZipArchive::new(File::open(path).unwrap()).unwrap();
    let mut files = Files::new();
    for at in 0..zip.len() {
        let mut file = zip.by_index(at).unwrap();
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).unwrap();
        files.insert(file.name().unwrap().into_owned(), bytes);
    }
    files
}

/// Every byte of a dossier, inflated.
fn everything(path: &Path) -> String {
    let mut all = Vec::new();
    for (name, bytes) in files(path) {
        all.extend_from_slice(name.as_bytes());
        if name.ends_with(".gz") {
            flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_end(&mut all).unwrap();
        } else {
            all.extend_from_slice(&bytes);
        }
    }
    String::from_utf8_lossy(&all).into_owned()
}

/// The script's exit code and words; `None` where there is no Python.
fn checked(path: &Path, flags: &[&str]) -> Option<(Option<i32>, String)> {
    let script: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", "..", "docs", "verify_dossier.py"].iter().collect();
    let Ok(ran) = Command::new("python3").arg(script).arg(path).args(flags).output() else {
        eprintln!("left out: docs/verify_dossier.py, there is no python3");
        return None;
    };
    Some((
        ran.status.code(),
        format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr)),
    ))
}

fn records(path: &Path) -> Vec<Value> {
    let text = files(path).remove("records.jsonl").unwrap();
    String::from_utf8(text).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn it_holds_all_of_its_origin_and_nothing_of_another() {
    let home = TempDir::new().unwrap();
    let dir = home.path().join("d");
    crawl(&dir).await;
    let total = fs::read_to_string(dir.join("checkpoints.jsonl")).unwrap();
    let total: Value = serde_json::from_str(total.lines().last().unwrap()).unwrap();
    // Of `b` its own bytes are there, which name the others.
    let rows = [
        ("a", 6, 1, ["b.test", "c.test", "secret of c"]),
        ("b", 3, 0, ["secret of a", "secret of c", "not-here/"]),
        ("c", 4, 1, ["a.test", "b.test", "secret of b"]),
    ];
    let mut all = 0;
    for (site, count, withheld, never) in rows {
        let origin = format!("http://{site}.test");
        let (path, said) = dossier(&home, &origin, &dir, &format!("{site}.zip"), &[]);
        let (text, lines) = (everything(&path), records(&path));
        assert_eq!(lines.len(), count, "{said}");
        assert_eq!(lines.iter().filter(|line| line["shown"].is_object()).count(), withheld, "{said}");
        assert_eq!(said.contains("name other origins"), withheld > 0, "{said}");
        for word in never {
            assert!(!text.contains(word), "{site}: {word} {}", &text[text.find(word).unwrap_or(0)..][..200]);
        }
        assert!(
            text.contains(&format!("the secret of {site}")) && text.contains(&format!("Host: {site}.test")),
            "{text}"
        );
        if let Some((code, said)) = checked(&path, &[]) {
            assert!(code == Some(0) && said.contains("what is there holds"), "{said}");
            assert_eq!(said.contains("shown in part"), withheld > 0, "{said}");
        }
        let (whole, _) = dossier(&home, &origin, &dir, &format!("{site}-whole.zip"), &["--with-others"]);
        assert!(records(&whole).iter().all(|line| line["body"].is_object()));
        assert!(everything(&whole).contains("b.test"), "{site}");
        all += lines.len() as u64;
    }
    assert_eq!(total["lines"], all, "every line of the crawl is in the dossier of its origin");
}

#[test]
fn it_says_on_one_page_what_was_asked_and_why_and_the_same_each_time() {
    let home = TempDir::new().unwrap();
    for format in ["v1", "v2"] {
        let (one, said) = dossier(&home, FIXTURE, &fixture(format), &format!("{format}-1.zip"), &[]);
        let (two, _) = dossier(&home, FIXTURE, &fixture(format), &format!("{format}-2.zip"), &[]);
        assert!(fs::read(&one).unwrap() == fs::read(two).unwrap(), "the same crawl gives the same bytes");
        assert!(said.contains("5 of 5 records, 1 copy of") && said.contains("12 WARC records"), "{said}");
        let files = files(&one);
        let page = String::from_utf8(files["index.html"].clone()).unwrap();
        let rows = [
            "<code>http://a.test:8099</code>",
            "Disallow: /private/   # &lt;b&gt;not&lt;/b&gt; &amp; never",
            "<span class=\"line decided\">",
            "<td>/private/diary</td><td class=\"outcome refused\">not fetched: robots.disallow</td>",
            "line 7: Disallow: /private/; found on /",
            "<td>ai_train</td><td>denied</td>",
            "default-src 'none'",
        ];
        for row in rows {
            assert!(page.contains(row), "{format}: {row}\n{page}");
        }
        for never in ["<script", "<b>", "src=", "url(", "@import", "<link", "href="] {
            assert!(!page.contains(never), "{never}: {page}");
        }
        assert_eq!(page.contains(KEY), format == "v2", "{page}");
        assert!(String::from_utf8_lossy(&files["README.txt"]).contains("Its last link: "));
        let key: &[&str] = if format == "v2" { &["--key", KEY] } else { &[] };
        if let Some((code, said)) = checked(&one, key) {
            assert!(code == Some(0) && said.contains("5 of 5 lines"), "{said}");
            let (code, said) = checked(&one, &["--key", &KEY.replace("WpH", "WpI")]).unwrap();
            assert!(code == Some(1) && said.contains(if format == "v2" { "signature" } else { "unsealed" }), "{said}");
        }
    }
}

/// A dossier with one file changed by whoever also made the sums fit.
fn tampered(home: &TempDir, from: &Files, name: &str, change: &dyn Fn(&mut Vec<u8>)) -> PathBuf {
    let path = home.path().join("tampered.zip");
    let mut zip = zip::ZipWriter::new(File::create(&path).unwrap());
    let mut changed = from.clone();
    change(changed.get_mut(name).unwrap());
    let sum = |bytes: &[u8]| data_encoding::HEXLOWER.encode(&Sha256::digest(bytes));
    let manifest = String::from_utf8(changed["dossier.json"].clone()).unwrap();
    let stated = |bytes: &[u8]| format!("\"sha256\": \"{}\"", sum(bytes));
    let manifest = manifest.replace(&stated(&from[name]), &stated(&changed[name]));
    changed.insert("dossier.json".to_owned(), manifest.into_bytes());
    for (name, bytes) in changed {
        zip.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(&bytes).unwrap();
    }
    zip.finish().unwrap();
    path
}

fn replaced(from: &'static str, to: &'static str) -> Change {
    Box::new(move |bytes| {
        let text = String::from_utf8(bytes.clone()).unwrap();
        assert!(text.contains(from), "{from}");
        *bytes = text.replacen(from, to, 1).into_bytes();
    })
}

#[test]
fn whatever_is_changed_in_it_is_found_without_our_code() {
    let home = TempDir::new().unwrap();
    let (path, _) = dossier(&home, FIXTURE, &fixture("v2"), "f.zip", &[]);
    let files = files(&path);
    let copy = files.keys().find(|name| name.starts_with("evidence/d1/")).unwrap().clone();
    let flip = |at: usize| -> Change { Box::new(move |bytes| bytes[at] ^= 1) };
    let first_line =
        |bytes: &mut Vec<u8>| *bytes = bytes.split_off(bytes.iter().position(|b| *b == b'\n').unwrap() + 1);
    let rows: [(&str, Change, &str); 10] = [
        ("records.jsonl", replaced("\"reason\":\"robots.disallow\"", "\"reason\":\"robots.disallou\""), "content"),
        ("records.jsonl", replaced("\"seq\":3", "\"seq\":4"), "chain"),
        ("chain.txt", flip(0), "cut"),
        ("chain.txt", Box::new(first_line), "cut"),
        ("chain", replaced("\"seq\":4", "\"seq\":3"), "cut"),
        ("checkpoints.jsonl", replaced("\"at\":\"2026", "\"at\":\"2025"), "checkpoint"),
        ("checkpoints.jsonl", replaced("\"signature\":\"", "\"signature\":\"A"), "signature"),
        (&copy, replaced("Disallow: /private/", "Disallow: /privat/"), "evidence"),
        ("warc/dossier.warc.gz", flip(700), ""),
        ("index.html", Box::new(|bytes| bytes.clear()), "sum"),
    ];
    for (name, change, kind) in rows {
        let changed = tampered(&home, &files, name, &change);
        let Some((code, said)) = checked(&changed, &["--key", KEY]) else { return };
        if kind == "sum" {
            // Nothing but the sums speaks for the pages, which say nothing that the records do not.
            assert_eq!(code, Some(0), "{said}");
            let mut other = files.clone();
            other.remove("index.html");
            let left_out = tampered(&home, &other, "README.txt", &|_| {});
            assert_eq!(checked(&left_out, &[]).unwrap().0, Some(1));
            continue;
        }
        assert!(code == Some(1) && said.contains(&format!("FAULT {kind}")), "{name} {kind}: {said}");
    }
}

/// Members of the WARC are bound to their lines: what somebody put there, with digests that fit it, is found.
#[test]
fn warc_records_that_were_forged_are_found() {
    let home = TempDir::new().unwrap();
    let (path, _) = dossier(&home, FIXTURE, &fixture("v2"), "f.zip", &[]);
    let files = files(&path);
    // By what they hold, so that one of several members alone is changed.
    let rows: [(&str, &str, &str, &str); 7] = [
        ("", "\r\n\r\nabout\n", "\r\n\r\naboot\n", "body"),
        ("WARC-Type: request", "GET /about ", "GET /abuot ", "body"),
        ("WARC-Type: request", "User-Agent: FixtureBot/1.0", "User-Agent: FixtureBot/2.0", "body"),
        ("WARC-Type: response", "HTTP/1.0 200 OK", "HTTP/1.0 404 OK", "body"),
        ("WARC-Type: response", "Content-type: text/html", "Content-type: text/htm1", "body"),
        (
            "WARC-Type: response",
            "WARC-Target-URI: http://a.test:8099/about",
            "WARC-Target-URI: http://a.test:8099/abuot",
            "body",
        ),
        ("WARC-Type: request", "WARC-Record-ID: <urn:uuid:1", "WARC-Record-ID: <urn:uuid:2", "unnamed"),
    ];
    for (of, from, to, kind) in rows {
        let exchanged = |bytes: &mut Vec<u8>| {
            *bytes =
                rewritten(bytes, |whole| if whole.contains(of) { whole.replace(from, to) } else { whole.to_owned() })
        };
        let changed = tampered(&home, &files, "warc/dossier.warc.gz", &exchanged);
        let Some((code, said)) = checked(&changed, &["--key", KEY]) else { return };
        assert!(code == Some(1) && said.contains(&format!("FAULT {kind}")), "{from}: {said}");
    }
    // A copy of a robots.txt that never was.
    let forged = b"User-agent: *\nAllow: /\n";
    let sum = data_encoding::HEXLOWER.encode(&Sha256::digest(forged));
    let name = format!("evidence/{}/{sum}", &sum[..2]);
    let mut more = files.clone();
    more.insert(name.clone(), forged.to_vec());
    let entry = format!("\"files\": [{{\"path\": \"{name}\", \"sha256\": \"{sum}\"}},");
    let manifest = String::from_utf8(more["dossier.json"].clone()).unwrap().replacen("\"files\": [", &entry, 1);
    more.insert("dossier.json".to_owned(), manifest.into_bytes());
    let (code, said) = checked(&tampered(&home, &more, "README.txt", &|_| {}), &["--key", KEY]).unwrap();
    assert!(code == Some(1) && said.contains("FAULT unnamed"), "{said}");
}

/// The members of a gzip file, each changed, with digests that fit.
fn rewritten(bytes: &[u8], change: impl Fn(&str) -> String) -> Vec<u8> {
    let (mut text, mut out) = (String::new(), Vec::new());
    flate2::read::MultiGzDecoder::new(bytes).read_to_string(&mut text).unwrap();
    for part in text.split_inclusive("\r\n\r\nWARC/1.1\r\n") {
        let part = part.strip_suffix("WARC/1.1\r\n").unwrap_or(part);
        let whole = if part.starts_with("WARC/1.1") { part.to_owned() } else { format!("WARC/1.1\r\n{part}") };
        let altered = change(&whole);
        let whole = if altered == whole { whole } else { refit(&altered) };
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(whole.as_bytes()).unwrap();
        out.extend(gzip.finish().unwrap());
    }
    assert_ne!(out, bytes);
    out
}

/// A tdmrep.json that another site serves: its bytes are there, and the other site does not hear whose it was.
#[tokio::test(start_paused = true)]
async fn a_tdmrep_json_that_lies_elsewhere_is_in_it() {
    let home = TempDir::new().unwrap();
    let dir = home.path().join("d");
    let epoch = WallTime::from_unix_millis(START);
    let tdm = r#"[{"location":"/closed","tdm-reservation":1}]"#;
    let a = Site::new()
        .name("a.test")
        .robots("User-agent: *\nAllow: /\n")
        .page("/.well-known/tdmrep.json", Answer::redirect(301, Target::at(1, "/x.json")))
        .page("/", Answer::page([Target::here("/closed")]));
    let c = Site::new()
        .name("c.test")
        .robots("User-agent: *\nAllow: /\n")
        .page("/x.json", Answer::status(200).content("application/json", tdm));
    let (net, _) = Web::builder(1).epoch(epoch).site(a).site(c).build().unwrap().in_memory();
    let crawler = Crawler::builder("DossierBot/1.0 (+https://example.com/bot)")
        .net(Arc::new(net))
        .clock(Arc::new(SystemClock::paused_at(epoch)))
        .random(Arc::new(SeededRandom::new(1)))
        .allow_addresses("10.0.0.0/8")
        .dir(&dir)
        .configure(|file| {
            file.crawl.seeds = Some(vec!["http://a.test/".to_owned()]);
            file.agent.purposes = Some(vec!["tdm".into()]);
            file.archive.min_free = Some(ByteSize(0));
        });
    let summary = crawler.build().unwrap().run().await.unwrap();
    assert_eq!(summary.refusals(), 1, "{summary}");
    let (path, _) = dossier(&home, "http://a.test", &dir, "a.zip", &[]);
    let sum = data_encoding::HEXLOWER.encode(&Sha256::digest(tdm));
    let name = format!("evidence/{}/{sum}", &sum[..2]);
    assert_eq!(files(&path).get(&name).map(Vec::as_slice), Some(tdm.as_bytes()));
    let mut without = files(&path);
    if let Some((code, said)) = checked(&path, &[]) {
        assert!(code == Some(0) && !said.contains("copies are not here"), "{said}");
        // One that is left out is missed.
        let text = String::from_utf8(without.remove("dossier.json").unwrap()).unwrap();
        let mut manifest: Value = serde_json::from_str(&text).unwrap();
        manifest["files"].as_array_mut().unwrap().retain(|one| one["path"] != *name);
        without.insert("dossier.json".to_owned(), serde_json::to_vec(&manifest).unwrap());
        without.remove(&name);
        let (_, said) = checked(&tampered(&home, &without, "README.txt", &|_| {}), &[]).unwrap();
        assert!(said.contains("1 copies are not here"), "{said}");
    }
    // Whose file it was stands in the record of the hop, and is withheld from the site that serves it.
    let (other, _) = dossier(&home, "http://c.test", &dir, "c.zip", &[]);
    assert!(!everything(&other).contains("a.test"));
    let (whole, _) = dossier(&home, "http://c.test", &dir, "whole.zip", &["--with-others"]);
    let asked = records(&whole).into_iter().find(|line| line["body"]["url"] == "http://c.test/x.json").unwrap();
    assert_eq!(asked["body"]["discovery"]["via"], "http://a.test/.well-known/tdmrep.json");
}

/// A record whose block digest fits its block.
fn refit(record: &str) -> String {
    let (head, block) = record.split_once("\r\n\r\n").unwrap();
    let block = block.strip_suffix("\r\n\r\n").unwrap();
    let digest = ring::digest::digest(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY, block.as_bytes());
    let digest = format!("WARC-Block-Digest: sha1:{}", data_encoding::BASE32.encode(digest.as_ref()));
    let fields = head.split("\r\n").map(|field| if field.starts_with("WARC-Block-Digest") { &digest } else { field });
    format!("{}\r\n\r\n{block}\r\n\r\n", fields.collect::<Vec<_>>().join("\r\n"))
}

#[test]
fn of_a_changed_directory_none_is_made_and_nothing_is_written_over() {
    let home = TempDir::new().unwrap();
    let dir = home.path().join("d");
    copy_tree(&fixture("v2"), &dir);
    let out = home.path().join("o.zip");
    let ask = |origin: &str, dir: &Path| {
        let ran =
            comity(home.path(), &["dossier", origin, "--dir", dir.to_str().unwrap(), "--out", out.to_str().unwrap()]);
        (ran.status.code(), stderr(&ran))
    };
    let rows =
        [("http://b.test", "no record of http://b.test"), ("https://a.test:8099", "no record"), ("a.test", "https://")];
    for (origin, said) in rows {
        let (code, told) = ask(origin, &dir);
        assert!(code == Some(2) && told.contains(said) && told.contains("hint"), "{told}");
    }
    change_records(&dir, "\"status\":200", "\"status\":201");
    let (code, told) = ask(FIXTURE, &dir);
    assert!(code == Some(5) && told.contains("not what was committed to") && told.contains("comity verify"), "{told}");
    let copy = fs::read_dir(fixture("v2").join("evidence/d1")).unwrap().next().unwrap().unwrap().file_name();
    let dir = home.path().join("e");
    copy_tree(&fixture("v2"), &dir);
    fs::write(dir.join("evidence/d1").join(copy), "User-agent: *\n").unwrap();
    assert_eq!(ask(FIXTURE, &dir).0, Some(5));
    assert_eq!(fs::read_dir(home.path()).unwrap().filter(|one| one.as_ref().unwrap().path().is_file()).count(), 0);
    fs::write(&out, "mine").unwrap();
    assert_eq!(ask(FIXTURE, &fixture("v2")).0, Some(2));
    assert_eq!(fs::read_to_string(&out).unwrap(), "mine");
}
