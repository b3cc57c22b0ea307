//! A real browser: headless Chromium, scripts off, asked for its links.
//!
//! Runs with `COMITY_TEST_SIZE=all` where Chromium is installed; html5ever decides otherwise.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use comity_extract::{CharsetSource, LinkTag};
use serde_json::Value;
use url::Url;

use crate::{cases, docs, is_long, read, tree};

/// Opens every page in a frame that may not run scripts, and sends home what it has.
const HARNESS: &str = "<!doctype html><body><script>(async () => {
    const found = [];
    for (const path of await (await fetch('/list')).json()) {
        const frame = document.createElement('iframe');
        frame.sandbox = 'allow-same-origin';
        await new Promise(done => { frame.onload = done; frame.src = path; document.body.append(frame); });
        const page = frame.contentDocument;
        const links = [...page.links].map(link => link.href);
        for (const link of page.getElementsByTagNameNS('http://www.w3.org/2000/svg', 'a')) {
            const named = link.hasAttribute('href') || link.hasAttributeNS('http://www.w3.org/1999/xlink', 'href');
            if (named) links.push(new URL(link.href.baseVal, page.baseURI).href);
        }
        found.push({ path, links, charset: page.characterSet, title: page.title, base: page.baseURI });
        frame.remove();
    }
    await fetch('/found', { method: 'POST', body: JSON.stringify(found) });
})()</script>";

/// Pages by path, with their Content-Type.
type Pages = HashMap<String, (&'static str, Vec<u8>)>;

#[test]
fn a_browser_finds_the_same_links() {
    if !is_long() {
        return;
    }
    if !Command::new("chromium").arg("--version").output().is_ok_and(|output| output.status.success()) {
        eprintln!("left out: chromium is not installed");
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let pages = Arc::new(pages(&origin));
    let found = ask(&origin, listener, &pages);
    assert_eq!(found.len(), pages.len());
    let unlike: Vec<String> = found.iter().filter_map(|found| difference(&origin, &pages, found)).collect();
    eprintln!("{} pages", found.len());
    assert!(unlike.is_empty(), "{}:\n{}", unlike.len(), unlike.join("\n"));
}

fn pages(origin: &str) -> Pages {
    // What goes elsewhere by itself cannot be looked at in a frame. A base that is no URL leaves Chromium without any, where
    // the standard, html5ever and we fall back to the page's own.
    let moves = |html: &str| ["http-equiv", "<frame", "http://['><base"].iter().any(|part| html.contains(part));
    let cases = cases::CASES.iter().enumerate().filter(|(_, html)| !moves(html));
    let case = |(number, html): (usize, &&str)| {
        (format!("/case/{number}/c"), ("text/html;charset=utf-8", html.as_bytes().to_vec()))
    };
    let sample = docs::pages(origin, 12)
        .into_iter()
        .filter(|file| !moves(&String::from_utf8_lossy(&file.bytes).replace("http-equiv=\"Content", "")));
    let page = |file: docs::File| (file.url[origin.len()..].to_owned(), ("text/html", file.bytes));
    cases.map(case).chain(sample.map(page)).collect()
}

/// Serves the pages, lets the browser loose on them, and waits for what it found.
fn ask(origin: &str, listener: TcpListener, pages: &Arc<Pages>) -> Vec<Value> {
    let (sender, receiver) = mpsc::channel();
    let served = Arc::clone(pages);
    std::thread::spawn(move || {
        for stream in listener.incoming().filter_map(Result::ok) {
            let (served, sender) = (Arc::clone(&served), sender.clone());
            std::thread::spawn(move || serve(stream, &served, &sender));
        }
    });
    let profile = tempfile::tempdir().unwrap();
    let mut browser = Browser(
        Command::new("chromium")
            .args([
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
                "--disable-background-networking",
            ])
            // Nobody outside this machine is asked for anything.
            .arg("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg(format!("{origin}/run"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap(),
    );
    let found = receiver.recv_timeout(Duration::from_secs(240)).unwrap();
    browser.end();
    serde_json::from_slice(&found).unwrap()
}

/// Ended with the test, also when it fails.
struct Browser(Child);

impl Browser {
    fn end(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.end();
    }
}

fn serve(mut stream: TcpStream, pages: &Pages, sender: &mpsc::Sender<Vec<u8>>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut len = 0;
    while line.trim() != "" {
        line.clear();
        reader.read_line(&mut line).ok()?;
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            len = value.trim().parse().ok()?;
        }
    }
    let (content_type, body) = match path.as_str() {
        "/run" => ("text/html", HARNESS.into()),
        "/list" => ("application/json", serde_json::to_vec(&pages.keys().collect::<Vec<_>>()).ok()?),
        "/found" => {
            let mut found = vec![0; len];
            reader.read_exact(&mut found).ok()?;
            sender.send(found).ok()?;
            ("text/plain", Vec::new())
        }
        path => pages.get(path).cloned().unwrap_or(("text/css", Vec::new())),
    };
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(&body).ok()
}

/// What the browser has and we have not, or the other way round.
fn difference(origin: &str, pages: &Pages, found: &Value) -> Option<String> {
    let path = found["path"].as_str().unwrap();
    let (content_type, bytes) = &pages[path];
    let page = read_as(&format!("{origin}{path}"), content_type, bytes);
    let is_link = |link: &&comity_extract::Link| matches!(link.tag, LinkTag::A | LinkTag::Area);
    let ours = sorted(page.links.iter().filter(is_link).map(|link| link.url.to_string()));
    let hrefs = found["links"].as_array().unwrap().iter().filter_map(|href| Url::parse(href.as_str()?).ok());
    let theirs = sorted(hrefs.filter_map(tree::crawl_form).map(String::from));
    let is_declared =
        page.charset.is_some_and(|charset| !matches!(charset.source, CharsetSource::Assumed | CharsetSource::Detector));
    let charset = page.charset.map_or("", |charset| charset.name);
    let title = page.head.title.clone().unwrap_or_default();
    let base = Url::parse(found["base"].as_str().unwrap()).unwrap();
    let base = tree::crawl_form(base.clone()).unwrap_or(base);
    let alike = ours == theirs
        && title == found["title"].as_str().unwrap()
        && page.base == base.as_str()
        && (!is_declared || charset == found["charset"].as_str().unwrap());
    let html = String::from_utf8_lossy(bytes).chars().take(200).collect::<String>();
    (!alike).then(|| {
        format!("{path} {html:?}\n  ours {ours:?} {title:?} {charset} {}\n  browser {theirs:?} {found}", page.base)
    })
}

fn read_as(url: &str, content_type: &str, bytes: &[u8]) -> comity_extract::Page {
    match content_type.contains("charset") {
        true => read(url, &[b"\xef\xbb\xbf", bytes].concat()),
        false => read(url, bytes),
    }
}

fn sorted(urls: impl Iterator<Item = String>) -> Vec<String> {
    let mut urls: Vec<String> = urls.collect();
    urls.sort();
    urls.dedup();
    urls
}
