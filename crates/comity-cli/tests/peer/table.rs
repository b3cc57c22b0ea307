//! `comity export --parquet`, read by pyarrow and DuckDB. Long size, and only in a build with the feature `parquet`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::nginx::{self, Nginx};
use crate::{tree, warc};

const ROBOTS: &str = "User-agent: *\nDisallow: /whatsnew/\nCrawl-delay: 0\n";

#[test]
fn pyarrow_and_duckdb_read_the_table_of_a_crawl_and_its_places_lead_to_the_records() {
    if std::env::var("COMITY_TEST_SIZE").is_ok_and(|size| size != "all")
        || std::env::var_os("COMITY_TEST_SIZE").is_none()
    {
        eprintln!("left out: a test of the long size (COMITY_TEST_SIZE=all)");
        return;
    }
    let (Some(docs), Some(program)) = (tree::installed("html", "library/index.html"), nginx::installed()) else {
        eprintln!("left out: python3-doc or nginx is not installed (cargo xtask test --install)");
        return;
    };
    let Some(python) = python() else {
        eprintln!("left out: pyarrow or DuckDB is not installed (cargo xtask test --install)");
        return;
    };
    let home = TempDir::new().unwrap();
    let (home, dir) = (home.path(), home.path().join("crawl"));
    let site = crawled(home, &dir, &docs, program);
    let path = dir.to_str().unwrap();
    let gone = format!("{site}/license.html");
    comity(home, &["erase", path, "--url", &gone, "--records", "--reason", "asked", "--request", "R-1"]);
    let lines = comity(home, &["records", path]);
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for all in [false, true] {
        let file = home.join(format!("{all}.parquet"));
        let mut asked = vec!["export", path, "--parquet", file.to_str().unwrap()];
        asked.extend(all.then_some("--all"));
        eprintln!("{}", comity(home, &asked).trim_end());
        let read = read(&python, &file, &dir);
        eprintln!("pyarrow and DuckDB {}: {} rows", read["versions"], read["rows"].as_array().unwrap().len());
        schema(&read, all);
        rows(&read, &lines, all);
        places(&read, all);
        assert!(!fs::read(&file).unwrap().windows(gone.len()).any(|window| window == gone.as_bytes()));
    }
}

/// The Python of the peers, where both readers are.
fn python() -> Option<PathBuf> {
    let python = warc::tools()?.join("python");
    let ran = Command::new(&python).args(["-c", "import pyarrow, duckdb"]).output().ok()?;
    ran.status.success().then_some(python)
}

/// The Python documentation; what lies in `/faq/` denies both uses, and there is an old address.
fn crawled(home: &Path, dir: &Path, docs: &Path, program: PathBuf) -> String {
    let folder = home.join("nginx");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("robots.txt"), ROBOTS).unwrap();
    let port = nginx::free_port();
    let (own, docs) = (folder.display(), docs.display());
    let server = format!(
        "server {{\n    listen 127.0.0.1:{port};\n    root {docs};\n    location = /robots.txt {{ root {own}; }}\n\
         location /faq/ {{ add_header X-Robots-Tag \"noai, noindex\"; }}\n    rewrite ^/old/(.*)$ /$1 permanent;\n  }}\n"
    );
    let nginx = Nginx::run(program, &folder, port, &nginx::whole(&folder, "$request", &server));
    let config = home.join("c.toml");
    let text = "[agent]\nname = \"PeerBot/1.0\"\ncontact = \"a@example.com\"\npurposes = [\"search\", \"ai_train\"]\n\
         [politeness]\ndelay = \"0s\"\nper_origin = 8\nadaptive = false\n\
         [fetch]\nallow_addresses = [\"127.0.0.0/8\"]\nresolve = { \"www.peer.test\" = \"127.0.0.1\" }\n\
         [archive]\nmin_free = \"10MB\"\n";
    fs::write(&config, text).unwrap();
    let site = format!("http://www.peer.test:{port}");
    let seeds = ["/index.html", "/license.html", "/old/library/os.html?a=1", "/faq/index.html", "/none"];
    let seeds = seeds.map(|path| format!("{site}{path}"));
    let mut arguments = vec!["crawl", "--config", config.to_str().unwrap(), "--dir", dir.to_str().unwrap()];
    arguments.extend(seeds.iter().map(String::as_str));
    comity(home, &arguments);
    drop(nginx);
    site
}

fn comity(home: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_comity"));
    let output = command.args(arguments).env("HOME", home).env_remove("XDG_CONFIG_HOME").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {said}{}", String::from_utf8_lossy(&output.stderr));
    said
}

fn read(python: &Path, file: &Path, dir: &Path) -> Value {
    let script: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests", "peer", "table.py"].iter().collect();
    let output = Command::new(python).arg(script).arg(file).arg(dir.join("warc")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Common Crawl's columns as both readers see them.
fn schema(read: &Value, all: bool) {
    let required = "url_surtkey url url_host_name url_protocol url_path fetch_time fetch_status warc_record_id \
         warc_filename warc_record_offset warc_record_length warc_segment crawl subset";
    let optional_of_all = "url_host_name url_protocol url_path fetch_status warc_record_id warc_filename \
         warc_record_offset warc_record_length subset";
    let has = |list: &str, name: &str| list.split_whitespace().any(|one| one == name);
    let (fields, types) = (read["schema"].as_array().unwrap(), read["types"].as_array().unwrap());
    assert!(fields.len() == types.len() && fields.len() > 33);
    for (field, duck) in fields.iter().zip(types).take(33) {
        let name = field[0].as_str().unwrap();
        let (theirs, in_duckdb) = match name {
            "url_port" | "warc_record_offset" | "warc_record_length" => ("int32", "INTEGER"),
            "fetch_status" => ("int16", "SMALLINT"),
            "fetch_time" => ("timestamp[ms, tz=UTC]", "TIMESTAMP WITH TIME ZONE"),
            "warc_record_id" => ("binary", "BLOB"),
            _ => ("string", "VARCHAR"),
        };
        let nullable = !has(required, name) || (all && has(optional_of_all, name));
        assert_eq!(*field, json!([name, theirs, nullable]));
        assert_eq!(*duck, json!([name, in_duckdb]));
    }
    assert_eq!(read["metadata"]["comity.schema"], "comity-table/1");
}

/// Each record that has to be there is there once, and says the same.
fn rows(read: &Value, lines: &[Value], all: bool) {
    assert_eq!(read["same"], true, "DuckDB reads what pyarrow reads");
    let rows = read["rows"].as_array().unwrap();
    let keys: Vec<&str> = rows.iter().map(|row| row["url_surtkey"].as_str().unwrap()).collect();
    assert!(keys.is_sorted());
    let by_seq: BTreeMap<u64, &Value> = rows.iter().map(|row| (row["comity_seq"].as_u64().unwrap(), row)).collect();
    assert_eq!(by_seq.len(), rows.len());
    let (mut left_out, mut pages) = (BTreeMap::<&str, u64>::new(), 0);
    for line in lines {
        // Of a line that only named the erased page, what stands in its tombstone.
        let body = if line["body"].is_null() { &line["erased"]["body"] } else { &line["body"] };
        let why = match () {
            () if body.is_null() => "erased",
            () if body["errand"] == "erasure" => "erasures",
            () if all => "",
            () if body["outcome"] == "withheld" => "withheld",
            () if body["warc"]["response"].is_null() => "no_capture",
            () => "",
        };
        if !why.is_empty() {
            *left_out.entry(why).or_default() += 1;
            continue;
        }
        let row = by_seq.get(&line["seq"].as_u64().unwrap()).unwrap_or_else(|| panic!("no row of {line}"));
        same(row, body);
        pages += u64::from(row["subset"] == "warc" && row["content_mime_type"] == "text/html");
    }
    assert_eq!(rows.len() as u64 + left_out.values().sum::<u64>(), lines.len() as u64);
    let told: BTreeMap<String, u64> =
        serde_json::from_str(read["metadata"]["comity.left_out"].as_str().unwrap()).unwrap();
    let told: BTreeMap<&str, u64> = told.iter().filter(|(_, n)| **n > 0).map(|(why, n)| (why.as_str(), *n)).collect();
    assert_eq!(told, left_out);
    assert!(pages > 300 && read["pages"] == json!([[null, "www.peer.test", pages]]), "{pages}: {}", read["pages"]);
    let least: &[(&str, u64)] =
        if all { &[("erased", 1), ("erasures", 1)] } else { &[("erased", 1), ("withheld", 2), ("no_capture", 2)] };
    assert!(least.iter().all(|(why, n)| left_out[why] >= *n), "{left_out:?}");
    eprintln!("{} rows, {pages} pages; left out: {left_out:?}", rows.len());
}

#[track_caller]
fn same(row: &Value, body: &Value) {
    let response = &body["response"];
    let pairs = [
        ("url", &body["url"]),
        ("fetch_status", &response["status"]),
        ("content_truncated", &response["truncated"]),
        ("crawl", &body["crawl"]),
        ("comity_record_id", &body["record_id"]),
        ("comity_errand", &body["errand"]),
        ("comity_outcome", &body["outcome"]),
        ("comity_reason", &body["reason"]),
        ("comity_decision", &body["decision"]["reason"]),
        ("comity_decision_search", &body["decision"]["purposes"]["search"]["decision"]),
        ("comity_decision_ai_train", &body["decision"]["purposes"]["ai_train"]["decision"]),
        ("comity_robots_digest", &body["robots"]["digest"]),
        ("comity_robots_state", &body["robots"]["state"]),
        ("comity_rule_line", &body["rule"]["line"]),
        ("comity_payload_sha256", &response["body_digest"]),
        ("comity_payload_length", &response["body_length"]),
        ("comity_via", &body["discovery"]["via"]),
        ("comity_depth", &body["discovery"]["depth"]),
        ("comity_server_ip", &body["vantage"]["server_ip"]),
        ("comity_total_ms", &body["time"]["total_ms"]),
        ("comity_user_agent", &body["agent"]["user_agent"]),
        ("comity_config_digest", &body["agent"]["config_digest"]),
    ];
    for (column, value) in pairs {
        assert_eq!(&row[column], value, "{column} of {}", body["url"]);
    }
    let signals: Value = serde_json::from_str(row["comity_signals"].as_str().unwrap()).unwrap();
    assert_eq!(signals, body["signals"]);
    let rule = body["rule"]
        .as_object()
        .map(|rule| json!(format!("{}: {}", rule["kind"].as_str().unwrap(), rule["pattern"].as_str().unwrap())));
    assert_eq!(row["comity_rule"], rule.unwrap_or_default());
}

/// The bytes at a row's place are the record that it names.
fn places(read: &Value, all: bool) {
    let mut followed = 0;
    for (row, record) in read["rows"].as_array().unwrap().iter().zip(read["records"].as_array().unwrap()) {
        if record.is_null() {
            assert!(all, "{row}");
            continue;
        }
        let id = record["WARC-Record-ID"].as_str().unwrap();
        let hex: String = id.trim_start_matches("<urn:uuid:").chars().filter(char::is_ascii_hexdigit).collect();
        assert_eq!(row["warc_record_id"], json!(hex));
        assert_eq!(row["url"], record["WARC-Target-URI"]);
        let digest = record["WARC-Payload-Digest"].as_str().map(|digest| digest.trim_start_matches("sha1:"));
        assert_eq!(row["content_digest"].as_str(), digest);
        assert!(record["WARC-Type"] == "response" || record["WARC-Type"] == "revisit");
        followed += 1;
    }
    assert!(followed > 300);
    eprintln!("{followed} places lead to their records");
}
