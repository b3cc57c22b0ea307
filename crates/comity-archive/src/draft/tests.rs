use std::borrow::Cow;
use std::path::Path;

use comity_policy::Digest;

use crate::fault_tests::common::{self, capture, config, lines, page, robots_txt, warc_records};
use crate::prepare::Prepared;
use crate::{Archive, ArchiveConfig, ConfigFacts, Event, Record};

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n";

fn prepared<'a>(archive: &Archive, event: &'a Event) -> Prepared<'a> {
    archive.preparer.prepare(Cow::Borrowed(event), common::SeededEntropy::boxed(7).as_mut()).unwrap()
}

fn store(archive: &mut Archive, prepared: &Prepared<'_>) {
    archive.append_all(&[prepared]).pop().unwrap().unwrap();
}

/// Each record; the chain and what the WARC says of it hold.
fn records(dir: &Path) -> Vec<Record> {
    for record in warc_records(dir) {
        record.check_digests().unwrap();
    }
    let lines = lines(dir);
    let mut chain = crate::ChainVerifier::default();
    for line in &lines {
        chain.step(line).unwrap();
        let said = format!("comity-record: sha256:{}\r\n", line.commitment);
        let tied = warc_records(dir).iter().any(|record| String::from_utf8_lossy(&record.block).contains(&said));
        assert!(tied, "{}", line.commitment);
    }
    lines.iter().map(|line| line.record().unwrap().unwrap()).collect()
}

#[test]
fn what_changed_before_its_turn_is_in_the_record() {
    let dir = tempfile::tempdir().unwrap();
    let mut archive = common::open(dir.path(), config(), 1);
    let event = page(capture("https://a.test/page", HEAD, b"hello"));
    let (early, robots) = (prepared(&archive, &event), capture("https://a.test/robots.txt", HEAD, b"User-agent: *\n"));
    archive.append(&robots_txt("https://a.test", robots, Some(Digest::from_bytes([7; 32])))).unwrap();
    store(&mut archive, &early);
    let (late, crawl) = (prepared(&archive, &event), common::crawl_facts());
    let digest = Some(Digest::from_bytes([5; 32]));
    archive
        .reconfigure(ConfigFacts { config_digest: digest, robots: crawl.robots, overrides: crawl.overrides })
        .unwrap();
    store(&mut archive, &late);
    archive.close().unwrap();
    let records = records(dir.path());
    let robots_id = records[0].warc.as_ref().and_then(|places| places.response.as_ref()).map(|place| place.id.clone());
    assert!(robots_id.is_some());
    for record in &records[1..] {
        assert_eq!(record.robots.as_ref().unwrap().record, robots_id, "it was learnt before the turn");
        assert!(!record.absent.contains_key("robots.record"));
    }
    let before = common::crawl_facts().config_digest.map(|digest| digest.to_string());
    assert_eq!(records[1].agent.config_digest, before);
    assert_eq!(records[2].agent.config_digest, digest.map(|digest| digest.to_string()));
}

/// Both were prepared before either was stored: the second points at the first.
#[test]
fn what_repeats_another_is_known_in_its_turn() {
    let (dir, body) = (tempfile::tempdir().unwrap(), b"the same again ".repeat(60));
    let mut archive = common::open(dir.path(), ArchiveConfig { dedup: true, ..config() }, 1);
    let [one, other] = ["https://a.test/1", "https://a.test/2"].map(|url| page(capture(url, HEAD, &body)));
    let both = [&one, &other].map(|event| prepared(&archive, event));
    both.iter().for_each(|event| store(&mut archive, event));
    archive.close().unwrap();
    let records = records(dir.path());
    let repeats = |record: &Record| record.response.as_ref().unwrap().repeats.clone();
    assert!(repeats(&records[0]).is_none());
    assert_eq!(repeats(&records[1]).unwrap().url, "https://a.test/1");
    assert!(warc_records(dir.path()).iter().any(|record| record.kind() == "revisit"));
    common::check_index(dir.path());
}

/// Of each kind of exchange, with WARC files and without: what is committed to is the record in its one written form.
#[test]
fn the_places_come_last() {
    let mut failed = capture("https://a.test/none", b"", b"");
    (failed.status, failed.request_head) = (None, bytes::Bytes::new());
    for warc in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        let mut archive = common::open(dir.path(), ArchiveConfig { warc, ..config() }, 1);
        for event in [page(capture("https://a.test/", HEAD, b"hello")), page(failed.clone())] {
            archive.append(&event).unwrap();
        }
        archive.close().unwrap();
        for line in lines(dir.path()) {
            let crate::Content::Kept { body, .. } = &line.content else { panic!("{line:?}") };
            let record = line.record().unwrap().unwrap();
            assert_eq!(&serde_json::to_string(&record).unwrap(), body);
            assert_eq!(record.warc.is_some(), warc);
        }
    }
}
