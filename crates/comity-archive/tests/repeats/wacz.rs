//! A crawl as one file.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use comity_archive::{ArchiveConfig, ArchiveError, Event, WaczReport, WaczSettings, WarcFormat, write_wacz};
use comity_policy::WallTime;
use serde_json::Value;

use crate::common::*;
use crate::{dedup, store, whole};

fn settings() -> WaczSettings {
    WaczSettings { title: None, created: WallTime::from_unix_millis(START) }
}

fn seed(target: &str) -> Event {
    let Event::Fetched(mut event) = page(whole(target)) else { panic!("a page is fetched") };
    event.context.seed = true;
    Event::Fetched(event)
}

/// Name and bytes of every file of a ZIP, all stored as they are.
fn unpack(path: &Path) -> Vec<(String, Vec<u8>)> {
    let mut zip = zip::ZipArchive::new(File::open(path).unwrap()).unwrap();
    let mut all = Vec::new();
    for at in 0..zip.len() {
        let mut file = zip.by_index(at).unwrap();
        let name = file.name().unwrap().into_owned();
        assert_eq!(file.compression(), zip::CompressionMethod::Stored, "{name}");
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).unwrap();
        all.push((name, bytes));
    }
    all
}

/// A seed, pages that it leads to, and what is no page.
fn events() -> Vec<Event> {
    let mut events = vec![seed("https://a.test/")];
    events.extend((0..1300).map(|n| page(whole(&format!("https://a.test/{n}")))));
    events.push(refused("https://a.test/private", "/private"));
    events.push(page(capture(
        "https://a.test/gone",
        b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n\r\n",
        b"no",
    )));
    events.push(page(capture("https://a.test/x.css", b"HTTP/1.1 200 OK\r\nContent-Type: text/css\r\n\r\n", b"p{}")));
    events
}

#[test]
fn it_holds_the_warc_files_one_index_the_pages_and_a_digest_of_each() {
    let dir = tempfile::tempdir().unwrap();
    let config = ArchiveConfig { rollover: 120_000, ..dedup() };
    store(dir.path(), config, &events());
    let out = dir.path().join("crawl.wacz");
    let report = write_wacz(dir.path(), &out, &settings()).unwrap();
    let warcs = files(dir.path(), "warc");
    let bytes = out.metadata().unwrap().len();
    assert_eq!(report, WaczReport { warcs: warcs.len() as u64, captures: 1303, pages: 1301, bytes });
    assert!(warcs.len() > 3);

    let all = unpack(&out);
    let find = |name: &str| &all.iter().find(|(path, _)| path == name).unwrap_or_else(|| panic!("{name}")).1;
    for warc in &warcs {
        let name = warc.file_name().unwrap().to_str().unwrap();
        assert_eq!(find(&format!("archive/{name}")), &std::fs::read(warc).unwrap());
    }
    // Everything is listed by its digest.
    let package: Value = serde_json::from_slice(find("datapackage.json")).unwrap();
    assert_eq!((&package["wacz_version"], &package["mainPageUrl"]), (&"1.1.1".into(), &"https://a.test/".into()));
    let resources = package["resources"].as_array().unwrap();
    assert_eq!(resources.len() + 2, all.len());
    for resource in resources {
        let bytes = find(resource["path"].as_str().unwrap());
        assert_eq!(
            (resource["hash"].as_str().unwrap(), resource["bytes"].as_u64().unwrap()),
            (&*sha256(bytes), bytes.len() as u64)
        );
    }
    let digest: Value = serde_json::from_slice(find("datapackage-digest.json")).unwrap();
    assert_eq!(digest["hash"].as_str().unwrap(), sha256(find("datapackage.json")));
    check_index_of(dir.path(), find("indexes/index.cdx.gz"), find("indexes/index.idx"));
    // Pages: seeds in one list, the others in the other.
    let list = |name: &str| {
        std::str::from_utf8(find(name))
            .unwrap()
            .lines()
            .skip(1)
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .collect::<Vec<_>>()
    };
    let (seeds, others) = (list("pages/pages.jsonl"), list("pages/extraPages.jsonl"));
    assert_eq!((seeds.len(), others.len()), (1, 1300));
    assert_eq!((&seeds[0]["url"], &seeds[0]["ts"]), (&"https://a.test/".into(), &"2026-11-30T09:15:01.250Z".into()));
}

/// Every line of every index once, in order, found by its block.
fn check_index_of(dir: &Path, blocks: &[u8], secondary: &[u8]) {
    let mut lines: Vec<String> = indexes(dir)
        .iter()
        .flat_map(|file| std::fs::read_to_string(file).unwrap().lines().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    lines.sort();
    let secondary = std::str::from_utf8(secondary).unwrap();
    let mut read = Vec::new();
    for line in secondary.lines().skip(1) {
        let (key, place) = line.split_once(" {").unwrap();
        let place: Value = serde_json::from_str(&format!("{{{place}")).unwrap();
        let at = |name: &str| usize::try_from(place[name].as_u64().unwrap()).unwrap();
        let block = &blocks[at("offset")..at("offset") + at("length")];
        assert_eq!(place["digest"].as_str().unwrap(), sha256(block));
        let mut text = String::new();
        flate2::read::GzDecoder::new(block).read_to_string(&mut text).unwrap();
        assert!(text.starts_with(key));
        read.extend(text.lines().map(str::to_owned));
    }
    assert_eq!(read, lines);
}

#[test]
fn what_cannot_be_replayed_is_refused_and_leaves_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("crawl.wacz");
    let refused = |why: &str| {
        let error = write_wacz(dir.path(), &out, &settings()).unwrap_err();
        assert!(matches!(error, ArchiveError::Export { .. }) && error.to_string().contains(why), "{error}");
        assert!(!dir.path().join("crawl.wacz.tmp").exists());
    };
    let mut archive = open(dir.path(), ArchiveConfig { format: WarcFormat::Zstd, ..config() }, 1);
    refused("no WARC file");
    archive.append(&page(whole("https://a.test/"))).unwrap();
    refused("still open");
    archive.close().unwrap();
    refused("gzip only");
    std::fs::write(&out, "something of somebody's").unwrap();
    store(dir.path(), config(), &[page(whole("https://a.test/"))]);
    std::fs::remove_file(
        files(dir.path(), "warc").into_iter().find(|file| file.extension().unwrap() == "zst").unwrap(),
    )
    .unwrap();
    refused("exists already");
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "something of somebody's");
}

fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest as _;
    format!("sha256:{}", data_encoding::HEXLOWER.encode(&sha2::Sha256::digest(bytes)))
}

#[test]
fn an_index_that_is_missing_is_made_outside_the_crawl() {
    let (dir, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    store(dir.path(), ArchiveConfig { rollover: 6000, ..dedup() }, &events()[..40]);
    let export = |name: &str| {
        let file = out.path().join(name);
        write_wacz(dir.path(), &file, &settings()).unwrap();
        unpack(&file)
    };
    let with_all = export("all.wacz");
    for index in indexes(dir.path()).into_iter().step_by(2) {
        std::fs::remove_file(index).unwrap();
    }
    let before = (indexes(dir.path()), files(dir.path(), "warc"));
    assert!(before.0.len() < before.1.len());
    assert_eq!(export("some.wacz"), with_all);
    assert_eq!((indexes(dir.path()), files(dir.path(), "warc")), before, "nothing came to the crawl");
}
