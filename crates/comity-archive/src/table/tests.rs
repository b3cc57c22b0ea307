//! What a table holds, read back; how it is sorted; what an erasure leaves of it.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;

use comity_policy::Reason;
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::Field;
use serde_json::{Value, json};

use super::sort::Bounds;
use super::{TableReport, TableRows, write_within};
use crate::fault_tests::common::*;
use crate::{ArchiveConfig, ArchiveError, Basis, Depth, Erasure, Event, Named, NotFetched, Target};

/// Common Crawl's flat schema: name, type, whether null is allowed (archive reference §8).
const THEIRS: &str = "url_surtkey string no, url string no, url_host_name string no, url_host_tld string yes, \
    url_host_2nd_last_part string yes, url_host_3rd_last_part string yes, url_host_4th_last_part string yes, \
    url_host_5th_last_part string yes, url_host_registry_suffix string yes, url_host_registered_domain string yes, \
    url_host_private_suffix string yes, url_host_private_domain string yes, url_host_name_reversed string yes, \
    url_protocol string no, url_port integer yes, url_path string no, url_query string yes, fetch_time timestamp no, \
    fetch_status short no, fetch_redirect string yes, content_digest string yes, content_mime_type string yes, \
    content_mime_detected string yes, content_charset string yes, content_languages string yes, \
    content_truncated string yes, warc_record_id binary no, warc_filename string no, warc_record_offset integer no, \
    warc_record_length integer no, warc_segment string no, crawl string no, subset string no";

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n";

/// Forty pages in no order, a redirect, a robots.txt, two refusals, and what is no URL of the web.
fn crawl(dir: &Path) {
    let mut archive = open(dir, ArchiveConfig { rollover: 9_000, ..uncounted() }, 1);
    for n in 0..40_u32 {
        let (host, text) = (n * 7 % 40, format!("content of {n} ").repeat(30));
        let event =
            page(capture(&format!("https://w{host}.example.co.uk:8443/p/{n}?b=2&a={n}"), HEAD, text.as_bytes()));
        archive.append(&event).unwrap();
    }
    let to = b"HTTP/1.1 301 Moved\r\nLocation: ../b\r\nContent-Length: 0\r\n\r\n";
    archive.append(&page(capture("http://a.github.io/x/y", to, b""))).unwrap();
    let robots = capture("http://a.github.io/robots.txt", HEAD, b"User-agent: *\n");
    archive.append(&robots_txt("http://a.github.io", robots, None)).unwrap();
    archive.append(&refused("http://a.github.io/private", "/private")).unwrap();
    archive.append(&refused("http://127.0.0.1:99/private", "/private")).unwrap();
    let target = Target::Text("mailto:some one\t@example.com".to_owned());
    let (at, context) = (comity_policy::WallTime::from_unix_millis(5), crate::Context::default());
    let event =
        NotFetched { target, reason: Reason::UrlSyntax, basis: Basis::Rule, at, until: None, detail: None, context };
    archive.append(&Event::NotFetched(Box::new(event))).unwrap();
    archive.close().unwrap();
}

/// Without the digest of a configuration: no `crawl.toml` is needed then.
fn uncounted() -> ArchiveConfig {
    let mut config = config();
    config.crawl.config_digest = None;
    config
}

fn erase(dir: &Path, named: Named, depth: Depth) {
    let mut archive = open(dir, uncounted(), 1 + lines(dir).len() as u64);
    let (reason, request) = ("asked".to_owned(), "R-1".to_owned());
    archive.erase(&Erasure { named, depth, mentions: false, reason, request }, false).unwrap();
    archive.close().unwrap();
}

fn export(dir: &Path, which: TableRows) -> (TableReport, Vec<Value>) {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("t.parquet");
    let report = write_within(dir, &file, which, Bounds::default()).unwrap();
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1, "nothing else is left there");
    (report, rows(&file))
}

fn rows(file: &Path) -> Vec<Value> {
    let reader = SerializedFileReader::new(File::open(file).unwrap()).unwrap();
    let row = |row: parquet::record::Row| {
        let cell = |(name, field): (&String, &Field)| {
            let value = match field {
                Field::Null => Value::Null,
                Field::Bytes(bytes) => json!(data_encoding::HEXLOWER.encode(bytes.data())),
                Field::Str(text) => json!(text),
                Field::Short(n) => json!(n),
                Field::Int(n) => json!(n),
                Field::Long(n) | Field::TimestampMillis(n) => json!(n),
                other => panic!("{name}: {other:?}"),
            };
            (name.clone(), value)
        };
        Value::Object(row.get_column_iter().map(cell).collect())
    };
    reader.get_row_iter(None).unwrap().map(|found| row(found.unwrap())).collect()
}

#[test]
fn the_first_columns_are_common_crawls_in_name_type_nullability_and_order() {
    let home = tempfile::tempdir().unwrap();
    crawl(home.path());
    for which in [TableRows::Captures, TableRows::All] {
        let file = home.path().join(format!("{which:?}.parquet"));
        write_within(home.path(), &file, which, Bounds::default()).unwrap();
        let reader = SerializedFileReader::new(File::open(&file).unwrap()).unwrap();
        let schema = reader.metadata().file_metadata().schema().clone();
        let expected: Vec<Vec<&str>> = THEIRS.split(", ").map(|one| one.split_whitespace().collect()).collect();
        assert_eq!(expected.len(), 33);
        for (field, expected) in schema.get_fields().iter().zip(&expected) {
            let kind = match (field.get_physical_type(), field.get_basic_info().logical_type_ref()) {
                (Physical::BYTE_ARRAY, Some(LogicalType::String)) => "string",
                (Physical::BYTE_ARRAY, None) => "binary",
                (Physical::INT32, None) => "integer",
                (Physical::INT32, Some(LogicalType::Integer { .. })) => "short",
                (Physical::INT64, Some(LogicalType::Timestamp { .. })) => "timestamp",
                other => panic!("{}: {other:?}", field.name()),
            };
            assert_eq!([field.name(), kind], expected[..2]);
            let is_null = field.get_basic_info().repetition() == Repetition::OPTIONAL;
            // A table of all records allows null in more of them, never in fewer.
            assert!(is_null == (expected[2] == "yes") || (is_null && which == TableRows::All), "{}", field.name());
        }
        assert!(schema.get_fields()[33..].iter().all(|field| field.name().starts_with("comity_")));
    }
}

#[test]
fn rows_say_what_the_records_say() {
    let dir = tempfile::tempdir().unwrap();
    crawl(dir.path());
    let (report, rows) = export(dir.path(), TableRows::Captures);
    assert_eq!(report, TableReport { rows: 42, no_capture: 3, ..TableReport::default() });
    let find = |url: &str| rows.iter().find(|row| row["url"] == url).unwrap();
    let redirect = find("http://a.github.io/x/y");
    assert_eq!(redirect["fetch_redirect"], "http://a.github.io/b");
    assert_eq!((&redirect["fetch_status"], &redirect["subset"]), (&json!(301), &json!("crawldiagnostics")));
    assert_eq!(redirect["url_host_registered_domain"], "github.io");
    assert_eq!(redirect["url_host_private_domain"], "a.github.io");
    assert_eq!(find("http://a.github.io/robots.txt")["subset"], "robotstxt");
    let page = find("https://w21.example.co.uk:8443/p/3?b=2&a=3");
    let expected = json!({
        "url_surtkey": "uk,co,example,w21:8443)/p/3?a=3&b=2", "url_host_tld": "uk", "url_host_2nd_last_part": "co",
        "url_host_5th_last_part": null, "url_host_registry_suffix": "co.uk", "url_port": 8443, "url_query": "b=2&a=3",
        "url_host_name_reversed": "uk.co.example.w21", "fetch_status": 200, "content_mime_type": "text/html",
        "subset": "warc", "comity_seq": 3, "comity_outcome": "fetched", "comity_reason": "ok", "crawl": "test crawl",
    });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&page[name], value, "{name}");
    }
    // Every column that has a counterpart, against the records themselves.
    let records = lines(dir.path());
    for row in &rows {
        let line = &records[usize::try_from(row["comity_seq"].as_u64().unwrap()).unwrap()];
        let record = line.record().unwrap().unwrap();
        let place = record.warc.as_ref().unwrap();
        let response = place.response.as_ref().unwrap();
        assert_eq!(row["url"], json!(record.url));
        assert_eq!(
            (&row["warc_record_offset"], &row["warc_record_length"]),
            (&json!(response.offset), &json!(response.length))
        );
        assert_eq!(row["warc_record_id"], json!(response.id.trim_start_matches("urn:uuid:").replace('-', "")));
        assert_eq!(row["comity_payload_sha256"], json!(record.response.as_ref().unwrap().body_digest));
        let index = fs::read_to_string(dir.path().join("warc").join(place.file.replace(".warc.gz", ".cdxj"))).unwrap();
        let digest = format!("\"sha1:{}\"", row["content_digest"].as_str().unwrap());
        assert!(index.lines().any(|line| line.contains(&digest) && line.contains(&format!("\"{}\"", response.offset))));
    }
}

#[test]
fn all_records_have_rows_and_what_is_no_capture_has_no_subset() {
    let dir = tempfile::tempdir().unwrap();
    crawl(dir.path());
    let (report, rows) = export(dir.path(), TableRows::All);
    assert_eq!(report, TableReport { rows: 45, ..TableReport::default() });
    let left: Vec<&Value> = rows.iter().filter(|row| row["subset"].is_null()).collect();
    assert_eq!(left.len(), 3);
    for row in left {
        assert_eq!(row["comity_outcome"], "not_fetched");
        assert!(row["warc_filename"].is_null() && row["fetch_status"].is_null() && row["content_digest"].is_null());
        let is_url = row["url"].as_str().unwrap().starts_with("http");
        assert_eq!(row["url_host_name"].is_null(), !is_url);
    }
}

#[test]
fn sorting_in_pieces_gives_the_same_bytes_and_leaves_nothing_behind() {
    let (dir, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    crawl(dir.path());
    let mut made = BTreeSet::new();
    for (n, (bytes, runs)) in [(64 << 20, 64), (20_000, 64), (1, 64), (1, 2), (9_000, 3)].into_iter().enumerate() {
        let file = home.path().join(format!("{n}.parquet"));
        write_within(dir.path(), &file, TableRows::All, Bounds { bytes, runs }).unwrap();
        let keys: Vec<String> = rows(&file).iter().map(|row| row["url_surtkey"].as_str().unwrap().to_owned()).collect();
        assert!(keys.is_sorted() && keys.len() == 45, "{keys:?}");
        made.insert(fs::read(&file).unwrap());
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), n + 1);
    }
    assert_eq!(made.len(), 1);
    let again = write_within(dir.path(), &home.path().join("0.parquet"), TableRows::All, Bounds::default());
    assert!(matches!(again, Err(ArchiveError::Export { .. })), "{again:?}");
}

#[test]
fn what_was_erased_is_counted_and_stands_in_no_row() {
    let dir = tempfile::tempdir().unwrap();
    crawl(dir.path());
    erase(dir.path(), Named::Url(url("https://w0.example.co.uk:8443/p/0?b=2&a=0")), Depth::Records);
    erase(dir.path(), Named::Url(url("https://w7.example.co.uk:8443/p/1?b=2&a=1")), Depth::Payload);
    let (report, rows) = export(dir.path(), TableRows::Captures);
    let expected =
        TableReport { rows: 40, no_capture: 3, erased: 1, payload_erased: 1, erasures: 2, ..TableReport::default() };
    assert_eq!(report, expected);
    assert!(rows.iter().all(|row| !["0", "1"].contains(&row["url_path"].as_str().unwrap().trim_start_matches("/p/"))));
    let (report, rows) = export(dir.path(), TableRows::All);
    assert_eq!(report, TableReport { rows: 44, erased: 1, erasures: 2, ..TableReport::default() });
    let bare = rows.iter().find(|row| row["url_path"] == "/p/1").unwrap();
    assert!(bare["warc_filename"].is_null() && bare["subset"].is_null() && bare["content_digest"].is_null());
    assert_eq!(bare["fetch_status"], 200);
}
