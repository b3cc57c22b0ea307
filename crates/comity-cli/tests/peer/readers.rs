//! Everybody's readers on an archive of a real documentation tree: over TLS by HTTP/2, and by HTTP/1.1 with gzip; crawled twice, so that
//! there are revisits, with bodies that are cut, redirects and refusals. A test of the long size.

#![expect(
    clippy::disallowed_methods,
    reason = "crawls of a real server, and foreign processes, are in real time, bounded"
)]

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::nginx::{self, Nginx};
use crate::tls::certify;
use crate::{tree, warc};

const ROBOTS: &str = "User-agent: *\nDisallow: /whatsnew/\nDisallow: /library/asyncio\nAllow: /library/asyncio.html\nDisallow: /*.txt$\n";
/// Bodies are cut here: a few dozen pages of the tree are longer.
const MAX_BODY: u64 = 150_000;
/// Pages are visited anew after this time, and it is longer than a crawl of the tree takes.
const REVISIT: Duration = Duration::from_secs(60);

#[test]
fn everybody_reads_an_archive_of_a_real_tree_with_revisits_and_cut_bodies() {
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
    for (scheme, http) in [("https", "auto"), ("http", "1.1")] {
        let home = TempDir::new().unwrap();
        let folder = home.path().join("nginx");
        certify(&folder);
        fs::write(folder.join("robots.txt"), ROBOTS).unwrap();
        let port = nginx::free_port();
        let nginx = Nginx::run(program.clone(), &folder, port, &served(&folder, &docs, port, scheme));
        let site = format!("{scheme}://peer.test:{port}");
        let dir = home.path().join("crawl");
        let started = Instant::now();
        crawl(home.path(), &site, &dir, http);
        let took = started.elapsed();
        wait(REVISIT.saturating_sub(started.elapsed()) + Duration::from_secs(2));
        crawl(home.path(), &site, &dir, http);
        drop(nginx);
        let found = Found::of(home.path(), &dir);
        eprintln!("{scheme}, {http}: the first crawl took {:.1} s: {found:?}", took.as_secs_f64());
        assert!(found.full > 400 && found.not_modified > 400 && found.identical > 0, "{found:?}");
        assert!(found.truncated > 20 && found.redirects > 2 && found.refused > 10, "{found:?}");
        ours(home.path(), &dir);
        theirs(home.path(), &dir, &found);
        replayed(home.path(), &dir, &docs, &site);
    }
}

/// The tree, with an old address of everything, a second one of a page, and the redirects of folders that nginx makes itself.
fn served(folder: &Path, docs: &Path, port: u16, scheme: &str) -> String {
    let (own, docs) = (folder.display(), docs.display());
    let listen = if scheme == "https" {
        format!("{port} ssl http2; ssl_certificate {own}/certificate.pem; ssl_certificate_key {own}/key.pem;")
    } else {
        format!("{port}; gzip on;")
    };
    let server = format!(
        "server {{\n    listen 127.0.0.1:{listen}\n    root {docs};\n    location = /robots.txt {{ root {own}; }}\n\
         location = /again.html {{ alias {docs}/license.html; }}\n    rewrite ^/old/(.*)$ /$1 permanent;\n  }}\n"
    );
    nginx::whole(folder, "$request", &server)
}

fn crawl(home: &Path, site: &str, dir: &Path, http: &str) {
    let config = home.join("c.toml");
    let roots = home.join("nginx/certificate.pem");
    let text = format!(
        "[agent]\nname = \"PeerBot/1.0\"\ncontact = \"a@example.com\"\n[crawl]\nrevisit = \"{}s\"\nlinger = \"1s\"\nmax_duration = \"5m\"\n\
         [politeness]\ndelay = \"0s\"\nper_origin = 8\nadaptive = false\n\
         [fetch]\nhttp = {http:?}\nroots = [{roots:?}]\nallow_addresses = [\"127.0.0.0/8\"]\nmax_body = \"{MAX_BODY}B\"\n\
         resolve = {{ \"peer.test\" = \"127.0.0.1\" }}\n[archive]\nmin_free = \"10MB\"\ndedup = true\n",
        REVISIT.as_secs()
    );
    fs::write(&config, text).unwrap();
    let seeds =
        ["/index.html", "/license.html", "/again.html", "/library", "/old/tutorial/index.html", "/old/library/os.html"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_comity"));
    command
        .arg("crawl")
        .args(seeds.map(|path| format!("{site}{path}")))
        .arg("--config")
        .arg(&config)
        .arg("--dir")
        .arg(dir);
    let output = command.env("HOME", home).env_remove("XDG_CONFIG_HOME").output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    // Pages wait for their next visit: exit 4.
    assert_eq!(output.status.code(), Some(4), "{said}");
}

fn wait(time: Duration) {
    std::thread::sleep(time);
}

/// What the records say that there is.
#[derive(Debug, Default)]
struct Found {
    exchanges: usize,
    full: usize,
    not_modified: usize,
    identical: usize,
    truncated: usize,
    redirects: usize,
    refused: usize,
}

impl Found {
    fn of(home: &Path, dir: &Path) -> Self {
        let mut found = Self::default();
        for line in comity(home, &["records", dir.to_str().unwrap()]).lines() {
            let record = serde_json::from_str::<Value>(line).unwrap()["body"].take();
            let response = &record["response"];
            found.exchanges += usize::from(response.is_object());
            match response["repeats"]["profile"].as_str() {
                Some("server-not-modified") => found.not_modified += 1,
                Some(_) => found.identical += 1,
                None => found.full += usize::from(response["status"] == 200),
            }
            found.truncated += usize::from(response["truncated"] == "length");
            found.redirects += usize::from(response["status"] == 301);
            found.refused += usize::from(record["reason"] == "robots.disallow");
        }
        found
    }
}

fn comity(home: &Path, arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_comity")).args(arguments).env("HOME", home).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {said}{}", String::from_utf8_lossy(&output.stderr));
    said
}

/// Our own commands, and the script that shares no code with them.
fn ours(home: &Path, dir: &Path) {
    let path = dir.to_str().unwrap();
    let said = comity(home, &["verify", path]);
    assert!(said.contains("everything holds"), "{said}");
    let said = comity(home, &["audit", path]);
    assert!(said.ends_with("no violation\n"), "{said}");
    let script: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", "..", "docs", "verify.py"].iter().collect();
    let ran = Command::new("python3").arg(script).arg(dir).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(
        ran.status.success() && said.contains("everything holds"),
        "{said}{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    eprintln!("comity verify, comity audit, verify.py hold: {}", said.lines().next().unwrap());
}

/// warcio, FastWARC, cdxj-indexer, py-wacz and warcio.js.
fn theirs(home: &Path, dir: &Path, found: &Found) {
    warc::check(dir, found.exchanges);
    let Some(tools) = warc::tools() else { return };
    let (mut lines, mut captures) = (0, BTreeMap::new());
    for file in warc::files(dir) {
        let theirs = warc::run(&tools.join("cdxj-indexer"), &["--sort"], &file);
        let own = file.with_extension("").with_extension("cdxj");
        let ours = fs::read_to_string(&own).unwrap();
        for (theirs, ours) in theirs.lines().zip(ours.lines()) {
            assert_eq!(theirs, ours, "{}", own.display());
        }
        assert_eq!(theirs.lines().count(), ours.lines().count());
        lines += ours.lines().count();
        for line in ours.lines() {
            let json: Value = serde_json::from_str(&line[line.find('{').unwrap()..]).unwrap();
            *captures.entry(json["mime"].as_str().unwrap_or_default().to_owned()).or_insert(0) += 1;
        }
        if let Some(node) = node() {
            let said = warc::run(&node, &["cdx-index"], &file);
            assert_eq!(said.lines().count(), ours.lines().count(), "warcio.js finds the same captures");
        }
    }
    let out = home.join("crawl.wacz");
    comity(home, &["wacz", dir.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    let said = warc::run(&tools.join("wacz"), &["validate", "-f"], &out);
    for bad in ["invalid", "missing", "not listed", "mismatch", "does not match", "rror"] {
        assert!(!said.contains(bad), "wacz validate: {bad}: {said}");
    }
    eprintln!(
        "cdxj-indexer: {lines} lines, the same ({captures:?}); wacz validate: {}",
        said.lines().last().unwrap_or_default()
    );
}

fn node() -> Option<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers/node");
    let node = std::env::var_os("COMITY_PEERS_NODE").map_or(own, PathBuf::from).join("node_modules/.bin/warcio");
    node.is_file().then_some(node)
}

/// pywb, and Chromium in front of it: a page, its copy that is a revisit, and a redirect.
fn replayed(home: &Path, dir: &Path, docs: &Path, site: &str) {
    let Some(pywb) = Wayback::start(home, dir) else {
        eprintln!("left out: pywb is not installed (cargo xtask test --install)");
        return;
    };
    // The first capture: `2000` is before anything, and pywb takes the nearest.
    for path in ["/license.html", "/again.html"] {
        let (status, body) = pywb.raw(&format!("{site}{path}"));
        assert!(status.contains(" 200 "), "{path}: {status}");
        assert!(body == fs::read(docs.join("license.html")).unwrap(), "{path}: byte for byte");
    }
    assert!(pywb.raw(&format!("{site}/old/library/os.html")).0.contains(" 301 "));
    let page = |path: &str| format!("http://127.0.0.1:{}/c/2000mp_/{site}{path}", pywb.port);
    for path in ["/license.html", "/again.html", "/old/tutorial/index.html"] {
        let mut chromium = Command::new("chromium");
        chromium.args(["--headless", "--no-sandbox", "--disable-gpu", "--timeout=20000", "--dump-dom", &page(path)]);
        let Ok(output) = chromium.output() else {
            eprintln!("left out: chromium is not installed");
            return;
        };
        let dom = String::from_utf8_lossy(&output.stdout);
        let title = if path.contains("tutorial") { "The Python Tutorial" } else { "History and License" };
        assert!(dom.contains(title), "{path}: {}", dom.chars().take(2_000).collect::<String>());
    }
    eprintln!("pywb replays a page, a revisit and a redirect, byte for byte and in Chromium");
}

/// A pywb over one collection `c`, on a port of loopback; ended when dropped.
struct Wayback {
    port: u16,
    child: Child,
}

impl Wayback {
    fn start(home: &Path, dir: &Path) -> Option<Self> {
        let program = warc::tools()?.join("wayback");
        let collection = home.join("collections/c");
        for (folder, end) in [("archive", ".warc.gz"), ("indexes", ".cdxj")] {
            fs::create_dir_all(collection.join(folder)).unwrap();
            for entry in fs::read_dir(dir.join("warc")).unwrap() {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap().to_str().unwrap();
                if name.ends_with(end) {
                    fs::copy(&path, collection.join(folder).join(name)).unwrap();
                }
            }
        }
        fs::write(home.join("config.yaml"), "framed_replay: false\n").unwrap();
        let port = nginx::free_port();
        let mut command = Command::new(program);
        command.args(["-b", "127.0.0.1", "-p", &port.to_string()]).current_dir(home);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
        let server = Self { port, child };
        let start = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(start.elapsed() < Duration::from_secs(90), "pywb did not come up");
            wait(Duration::from_millis(100));
        }
        Some(server)
    }

    /// Status line and body of the first capture, as it was stored and decoded.
    fn raw(&self, url: &str) -> (String, Vec<u8>) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        write!(stream, "GET /c/2000id_/{url} HTTP/1.0\r\nHost: 127.0.0.1:{}\r\n\r\n", self.port).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let end = answer.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
        let status = String::from_utf8_lossy(&answer).lines().next().unwrap().to_owned();
        (status, answer.split_off(end + 4))
    }
}

impl Drop for Wayback {
    fn drop(&mut self) {
        let _ended = self.child.kill().and_then(|()| self.child.wait());
    }
}
