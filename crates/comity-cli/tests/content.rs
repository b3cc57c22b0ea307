//! `comity extract` and `comity sitemap` as programs meet them, and the faults that other crawlers had with URLs and links.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

#[path = "support/signals.rs"]
mod signals;

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// Runs the real binary with this standard input.
fn comity(args: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_comity"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

fn extract(url: &str, page: &[u8]) -> Value {
    let output = comity(&["extract", "--url", url, "--content-type", "text/html; charset=utf-8", "-"], page);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn links(url: &str, page: &str) -> Vec<String> {
    let answer = extract(url, page.as_bytes());
    let links = answer["links"].as_array().unwrap();
    links.iter().map(|link| format!("{} {}", link["tag"].as_str().unwrap(), link["url"].as_str().unwrap())).collect()
}

/// What `comity url batch` answers to one URL.
fn url(href: &str) -> Value {
    let question = serde_json::json!({ "href": href }).to_string();
    serde_json::from_slice(&comity(&["url", "batch"], question.as_bytes()).stdout).unwrap()
}

#[test]
fn a_page_is_one_object() {
    let page = b"<title>A &amp; B</title><base href=/d/><meta name=robots content='noindex, nofollow'>\
        <a rel='nofollow x ugc' href='?a&amp;b'>1</a><a href=mailto:x>2</a><meta http-equiv=refresh content='5;url=r'><img src=i.png>";
    let wanted = serde_json::json!({
        "charset": "UTF-8",
        "base": "https://h.test/d/",
        "title": "A & B",
        "links": [
            {"url": "https://h.test/d/?a&b", "tag": "a", "rel": "nofollow ugc"},
            {"url": "https://h.test/d/r", "tag": "meta", "rel": ""},
            {"url": "https://h.test/d/i.png", "tag": "img", "rel": ""},
        ],
        "meta": [{"name": "robots", "content": "noindex, nofollow"}],
    });
    assert_eq!(extract("https://h.test/x/y", page), wanted);
}

#[test]
fn any_bytes_are_a_page() {
    let bytes: [&[u8]; 5] = [b"", b"\0\xff\xfe<", &[0xff; 5000], b"%PDF-1.7", b"<a href='http://["];
    for bytes in bytes {
        assert!(extract("http://h.test/", bytes)["links"].as_array().unwrap().is_empty());
    }
    let output = comity(&["extract", "--url", "ftp://h/", "-"], b"");
    assert_eq!(output.status.code(), Some(2));
    let output = comity(&["extract", "--url", "http://h/", "/no/such/file"], b"");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn sitemaps_are_lines_and_damage_is_exit_1() {
    let sound = "<urlset><url><loc>/1?a&amp;b</loc><lastmod>2026-11-30</lastmod><priority>0.8</priority></url><sitemap><loc>http://o.test/s.xml</loc></sitemap></urlset>";
    let lines = "{\"kind\":\"url\",\"lastmod\":\"2026-11-30\",\"loc\":\"http://h.test/1?a&b\",\"priority\":0.8}\n{\"kind\":\"sitemap\",\"loc\":\"http://o.test/s.xml\"}\n";
    let first = lines.lines().next().unwrap().to_owned() + "\n";
    let rows: [(&str, &str, &str, i32, &str); 5] = [
        ("sound", sound, lines, 0, ""),
        ("cut", &sound[..sound.len() - 60], &first, 1, "note: the file ends in the middle"),
        (
            "a bare ampersand",
            "<urlset><url><loc>/1&b</loc></url></urlset>",
            "{\"kind\":\"url\",\"loc\":\"http://h.test/1&b\"}\n",
            0,
            "note: 1 ampersands",
        ),
        ("a page", "<html><a href=/1>", "", 1, "HTML page"),
        ("nothing", "", "", 1, "no sitemap or feed"),
    ];
    for (what, file, printed, code, note) in rows {
        let output = comity(&["sitemap", "--url", "http://h.test/sitemap.xml", "-"], file.as_bytes());
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!((output.status.code(), &*out), (Some(code), printed), "{what}: {err}");
        assert!(if note.is_empty() { err.is_empty() } else { err.contains(note) }, "{what}: {err}");
    }
}

/// Faults of other crawlers on URLs and links (public reports), and what is right.
#[test]
fn links_that_other_crawlers_got_wrong() {
    let rows: [(&str, &str, &[&str]); 11] = [
        ("a relative base", "<base href='/f/'><a href='x'>", &["a http://h.test/f/x"]),
        ("two bases", "<base target=x><base href='/f/'><base href='/g/'><a href='x'>", &["a http://h.test/f/x"]),
        ("a base behind the links", "<a href='x'><base href='/f/'>", &["a http://h.test/f/x"]),
        ("a base without a scheme", "<base href='//cdn.test/'><a href='x'>", &["a http://cdn.test/x"]),
        (
            "white space and backslashes",
            "<a\nhref=\" \n http://h/x \n\"><a href=\"ht\ttp://h/y\"><a href=\"\\\\h\\z\">",
            &["a http://h/x", "a http://h/y", "a http://h/z"],
        ),
        (
            "a refresh under a base, attributes in any order",
            "<base href=/b/><meta content='0; url=t.html' http-equiv=refresh>",
            &["meta http://h.test/b/t.html"],
        ),
        (
            "a refresh within noscript, unquoted",
            "<noscript><meta http-equiv=refresh content=0;url=n></noscript>",
            &["meta http://h.test/a/b/n"],
        ),
        ("a refresh of a page to itself", "<meta http-equiv=refresh content='30'>", &[]),
        ("a refresh after long", "<meta http-equiv=refresh content='900; url=/l'>", &["meta http://h.test/l"]),
        (
            "entities once",
            "<a href=\"?&amp;p=2\"><a href='?&amp;amp;p=3'>",
            &["a http://h.test/a/b/c?&p=2", "a http://h.test/a/b/c?&amp;p=3"],
        ),
        ("a base that is none", "<base href='javascript:x'><a href='x'>", &["a http://h.test/a/b/x"]),
    ];
    for (what, page, wanted) in rows {
        assert_eq!(links("http://h.test/a/b/c", page), wanted, "{what}");
    }
}

#[test]
fn urls_that_other_crawlers_got_wrong() {
    // (as written, as sent, as compared)
    let rows = [
        ("http://h/a%3d%3d", "http://h/a%3d%3d", "http://h/a%3D%3D"),
        ("http://h/90%+x", "http://h/90%+x", "http://h/90%+x"),
        ("http://h/caf%e9", "http://h/caf%e9", "http://h/caf%E9"),
        ("http://h/%7Euser", "http://h/%7Euser", "http://h/~user"),
        ("http://h/a%2fb", "http://h/a%2fb", "http://h/a%2Fb"),
        ("http://h/x", "http://h/x", "http://h/x"),
        ("http://h/x/", "http://h/x/", "http://h/x/"),
    ];
    for (href, sent, key) in rows {
        let answer = url(href);
        assert_eq!((answer["url"].as_str(), answer["key"].as_str()), (Some(sent), Some(key)), "{href}");
        assert_eq!(url(key)["key"].as_str(), Some(key), "a second pass over {href}");
    }
    for host in
        ["http://bücher.test/", "http://xn--bcher-kva.test/", "http://XN--BCHER-KVA.TEST./", "http://bücher.test:80"]
    {
        assert_eq!(url(host)["origin"].as_str(), Some("http://xn--bcher-kva.test"), "{host}");
    }
}
