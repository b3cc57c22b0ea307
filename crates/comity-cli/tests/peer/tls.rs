//! A real nginx over TLS, by HTTP/2 and by HTTP/1.1: what its log says was asked for, and what the archive holds.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::nginx::{self, Nginx};
use crate::warc;

/// Names whose targets a careless client would alter.
const ODD: [&str; 6] = ["a|b", "[x]", "a'b", "~;=,@!$&()*+", "%C3%BC", "%5Bx%5D%7C"];

#[test]
fn nginx_is_crawled_over_tls_by_http2_and_by_http1() {
    let Some(program) = nginx::installed() else {
        eprintln!("left out: nginx is not installed (cargo xtask test --install)");
        return;
    };
    for (http, logged, protocol) in [("auto", "HTTP/2.0", "h2"), ("1.1", "HTTP/1.1", "http/1.1")] {
        let home = TempDir::new().unwrap();
        let docs = home.path().join("docs");
        let pages = write_site(&docs);
        certify(&home.path().join("nginx"));
        let nginx = Nginx::start_tls(program.clone(), home.path(), &docs, "User-agent: *\nDisallow: /secret\n");
        let seed = format!("https://peer.test:{}/index.html", nginx.port);
        let dir = home.path().join("crawl");
        crawl(home.path(), &seed, &dir, http);
        // A request line of another version would end the test: all were asked for by this one.
        let asked = nginx.stop_all(logged);
        let unique: BTreeSet<String> = asked.iter().cloned().collect();
        assert_eq!(unique, pages, "{http}: byte for byte, and nothing refused");
        assert_eq!(asked.len(), unique.len(), "{http}: each once");
        check_records(home.path(), &dir, protocol, pages.len());
        warc::check(&dir, pages.len());
        check_warc(&dir, protocol, pages.len());
    }
}

/// A small site; gives every target that a polite crawl asks for.
fn write_site(docs: &Path) -> BTreeSet<String> {
    fs::create_dir(docs).unwrap();
    let mut pages = BTreeSet::from(["/robots.txt".to_owned(), "/index.html".to_owned()]);
    let mut index = String::from("<a href=/secret.html>no</a>");
    for n in 0..30 {
        fs::write(docs.join(format!("p{n}.html")), format!("<p>{n}</p>").repeat(n * 100 + 1)).unwrap();
        index += &format!("<a href=/p{n}.html>{n}</a>");
        pages.insert(format!("/p{n}.html"));
    }
    for odd in ODD {
        // They do not exist: a 404 is an answer, and its target stands in the log.
        index += &format!("<a href=\"/p0.html?q={odd}\">odd</a>");
        pages.insert(format!("/p0.html?q={}", odd.replace('\'', "%27")));
    }
    fs::write(docs.join("secret.html"), "secret").unwrap();
    fs::write(docs.join("index.html"), index).unwrap();
    pages
}

pub(crate) fn certify(folder: &Path) {
    fs::create_dir(folder).unwrap();
    let params = rcgen::CertificateParams::new(vec!["peer.test".into()]).unwrap();
    let key = rcgen::KeyPair::generate().unwrap();
    fs::write(folder.join("certificate.pem"), params.self_signed(&key).unwrap().pem()).unwrap();
    fs::write(folder.join("key.pem"), key.serialize_pem()).unwrap();
}

fn crawl(home: &Path, seed: &str, dir: &Path, http: &str) {
    let config = home.join("c.toml");
    let roots = home.join("nginx/certificate.pem");
    let text = format!(
        "[agent]\nname = \"PeerBot/1.0\"\ncontact = \"a@example.com\"\n[politeness]\ndelay = \"0s\"\nadaptive = false\n\
         [fetch]\nhttp = {http:?}\nroots = [{roots:?}]\nallow_addresses = [\"127.0.0.0/8\"]\n\
         resolve = {{ \"peer.test\" = \"127.0.0.1\" }}\n[archive]\nmin_free = \"10MB\"\n"
    );
    fs::write(&config, text).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_comity"));
    command.arg("crawl").arg(seed).arg("--config").arg(&config).arg("--dir").arg(dir);
    let output = command.env("HOME", home).env_remove("XDG_CONFIG_HOME").output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{said}");
}

fn check_records(home: &Path, dir: &Path, protocol: &str, exchanges: usize) {
    let output = Command::new(env!("CARGO_BIN_EXE_comity")).arg("records").arg(dir).env("HOME", home).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let records: Vec<Value> =
        text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["body"].take()).collect();
    let fetched: Vec<&Value> = records.iter().filter(|record| record["vantage"]["protocol"].is_string()).collect();
    assert_eq!(fetched.len(), exchanges);
    for record in fetched {
        let vantage = &record["vantage"];
        assert_eq!(vantage["protocol"], protocol, "{record}");
        assert_eq!(vantage["tls"]["version"], "tls/1.3", "{record}");
        assert_eq!(vantage["tls"]["certificate_sha256"].as_str().unwrap().len(), 64, "{record}");
    }
}

/// Both halves of every exchange name the protocol, and no status line reads other than HTTP/1.1.
fn check_warc(dir: &Path, protocol: &str, exchanges: usize) {
    let text = warc::text(dir);
    assert_eq!(text.matches(&format!("WARC-Protocol: {protocol}\r\n")).count(), 2 * exchanges);
    assert_eq!(text.matches("WARC-Protocol: tls/1.3\r\n").count(), 2 * exchanges);
    assert_eq!(text.matches(" HTTP/1.1\r\n").count(), exchanges, "request lines");
    assert_eq!(text.matches("\r\nHTTP/1.1 200 ").count(), exchanges, "status lines");
    assert!(!text.contains("HTTP/2"));
}
