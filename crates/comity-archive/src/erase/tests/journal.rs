//! What an erasure under way may do, and who may say so.

use serde_json::{Value, json};

use super::*;

/// A crawl whose erasure was killed before anything was changed; with the key of `signer`.
fn begun(signer: Option<Arc<dyn CheckpointSigner>>) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    crawl(dir.path(), WarcFormat::Gzip);
    let config = ArchiveConfig { signer, ..settings(WarcFormat::Gzip) };
    let mut archive = open(dir.path(), config, 2);
    let wanted = erasure(origin(GONE), Depth::Records);
    assert!(archive.erase_in(&wanted, false, &mut KilledAt(1, Vec::new())).is_err());
    drop(archive);
    assert!(dir.path().join(JOURNAL).exists());
    dir
}

fn read(dir: &Path) -> Value {
    serde_json::from_slice(&fs::read(dir.join(JOURNAL)).unwrap()).unwrap()
}

fn write(dir: &Path, journal: &Value) {
    fs::write(dir.join(JOURNAL), serde_json::to_vec(journal).unwrap()).unwrap();
}

fn start(dir: &Path, signer: Option<Arc<dyn CheckpointSigner>>) -> Result<(), ArchiveError> {
    let config = ArchiveConfig { signer, ..settings(WarcFormat::Gzip) };
    Archive::create(dir, config, Arc::new(StillClock), SeededEntropy::boxed(9))?.close().map(drop)
}

/// Whoever can write to the directory can put a journal there: a start would carry it out, and sign its record.
#[test]
fn only_what_the_key_signed_is_carried_out() {
    let key = || Some(TestSigner::shared(7));
    let dir = begun(key());
    let good = read(dir.path());
    let without = |journal: &Value, names: &[&str]| {
        let mut journal = journal.clone();
        names.iter().for_each(|name| drop(journal.as_object_mut().unwrap().remove(*name)));
        journal
    };
    let changed = |place: &str, value: Value| {
        let mut journal = good.clone();
        *journal.pointer_mut(place).unwrap() = value;
        journal
    };
    let of_another = read(begun(Some(TestSigner::shared(8))).path());
    let rows = [
        (without(&good, &["key", "signature"]), "unsigned"),
        (without(&good, &["signature"]), "without its signature"),
        (read(begun(None).path()), "of a crawl without a key"),
        (of_another.clone(), "of another key"),
        (changed("/reason", json!("another one")), "with another reason"),
        (changed("/key", of_another["key"].clone()), "with another key's name"),
        (changed("/pairs/0/lines/0/seq", json!(0)), "with another line"),
    ];
    let before = everything(&dir.path().join("records"));
    for (journal, what) in rows {
        write(dir.path(), &journal);
        let error = start(dir.path(), key()).unwrap_err().to_string();
        assert!(error.contains("not signed by the key"), "{what}: {error}");
        assert_eq!(everything(&dir.path().join("records")), before, "{what}");
    }
    write(dir.path(), &good);
    start(dir.path(), key()).unwrap();
    assert_eq!(holds(dir.path()).checked.erasures, 1);
}

/// Without a key it is believed, but it reaches nothing outside of the crawl, and writes no record of its own.
#[test]
fn an_unsigned_one_reaches_nothing_else() {
    let dir = begun(None);
    let good = read(dir.path());
    let outside = tempfile::tempdir().unwrap();
    let victims = [outside.path().join("x"), dir.path().join("x.toml"), dir.path().join("chain")];
    victims[..2].iter().for_each(|path| fs::write(path, b"of somebody else").unwrap());
    let kept: Vec<Vec<u8>> = victims.iter().map(|path| fs::read(path).unwrap()).collect();
    let absolute = victims[0].to_str().unwrap();
    let pair = |journal: &Value| {
        let pairs = journal["pairs"].as_array().unwrap();
        pairs.iter().position(|pair| pair["lines"].as_array().unwrap().iter().any(|l| !l["amended"].is_null())).unwrap()
    };
    let at = pair(&good);
    let line = good["pairs"][at]["lines"].as_array().unwrap().iter().position(|l| !l["amended"].is_null()).unwrap();
    let other = "ab".repeat(32);
    let rows = [
        ("/evidence/copies".to_owned(), json!([absolute]), "is no digest"),
        ("/evidence/copies".to_owned(), json!(["../../chain"]), "is no digest"),
        ("/evidence/named".to_owned(), json!(["x"]), "is no digest"),
        ("/configs".to_owned(), json!(["../x"]), "is no digest"),
        (format!("/pairs/{at}/records"), json!("../chain"), "is no file of a crawl"),
        (format!("/pairs/{at}/records"), json!("../records/x.jsonl.zst"), "is no file of a crawl"),
        (format!("/pairs/{at}/warc"), json!(format!("{absolute}.warc.gz")), "is no file of a crawl"),
        (format!("/pairs/{at}/spans/0/record"), json!("urn:uuid:x\r\nA: b"), "is no id"),
        (format!("/pairs/{at}/spans/0/date"), json!("x\r\nA: b"), "is no date"),
        ("/id".to_owned(), json!("\",\"body\":{}"), "is no id"),
        (format!("/pairs/{at}/lines/{line}/amended/commitment"), json!(other), "not what its commitment says"),
        (format!("/pairs/{at}/lines/{line}/amended"), json!({"salt": "", "commitment": "", "body": "{}"}), "body"),
    ];
    for (place, value, said) in rows {
        let mut journal = good.clone();
        *journal.pointer_mut(&place).unwrap_or_else(|| panic!("{place}")) = value;
        write(dir.path(), &journal);
        let error = start(dir.path(), None).unwrap_err().to_string();
        assert!(error.contains(said), "{place}: {error}");
        for (path, bytes) in victims.iter().zip(&kept) {
            assert_eq!(&fs::read(path).unwrap(), bytes, "{place}: {}", path.display());
        }
    }
    write(dir.path(), &good);
    start(dir.path(), None).unwrap();
    assert_eq!(verify(dir.path(), &VerifyOptions::default()).unwrap().checked.erasures, 1);
}

/// An erasure of a hub amends millions of lines: what is to be done of one takes no more than its number and its hash.
#[test]
fn a_journal_is_bounded_and_holds_no_record() {
    let dir = begun(Some(TestSigner::shared(7)));
    let text = String::from_utf8(fs::read(dir.path().join(JOURNAL)).unwrap()).unwrap();
    assert!(text.contains("\"amended\":{") && !text.contains("origin18.test/page0"), "{text}");
    let mut journal = super::super::journal::Journal::load(dir.path(), None).unwrap().unwrap();
    fs::remove_file(dir.path().join(JOURNAL)).unwrap();
    let length = text.len() as u64;
    for most in [length - 1, length] {
        let error = journal.store_within(dir.path(), Some(&*TestSigner::shared(7)), most).unwrap_err().to_string();
        assert!(error.contains("nothing was changed") && !dir.path().join(JOURNAL).exists(), "{error}");
    }
    journal.store_within(dir.path(), Some(&*TestSigner::shared(7)), length + 1).unwrap();
    assert_eq!(fs::read(dir.path().join(JOURNAL)).unwrap(), text.as_bytes());
}
