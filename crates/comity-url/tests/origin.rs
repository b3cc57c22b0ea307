//! Tables: origins, their parts and their registrable domains.

use std::collections::{BTreeSet, HashSet};

use comity_url::{CrawlUrl, HostKind, Origin, Scheme};

/// Text, origin, host, port, authority.
const ORIGINS: &[(&str, &str, &str, u16, &str)] = &[
    ("https://Example.COM", "https://example.com", "example.com", 443, "example.com"),
    ("https://example.com/", "https://example.com", "example.com", 443, "example.com"),
    ("https://example.com:443", "https://example.com", "example.com", 443, "example.com"),
    ("http://example.com:80/", "http://example.com", "example.com", 80, "example.com"),
    ("http://example.com:443", "http://example.com:443", "example.com", 443, "example.com:443"),
    ("https://example.com.", "https://example.com", "example.com", 443, "example.com"),
    ("https://u:p@example.com:8443", "https://example.com:8443", "example.com", 8443, "example.com:8443"),
    ("http://müller.example", "http://xn--mller-kva.example", "xn--mller-kva.example", 80, "xn--mller-kva.example"),
    ("http://[2001:DB8::0:1]:8080", "http://[2001:db8::1]:8080", "[2001:db8::1]", 8080, "[2001:db8::1]:8080"),
    ("http://[::1]/", "http://[::1]", "[::1]", 80, "[::1]"),
    ("http://127.1:81", "http://127.0.0.1:81", "127.0.0.1", 81, "127.0.0.1:81"),
];

#[test]
fn origins_have_one_text() {
    for &(text, expected, host, port, authority) in ORIGINS {
        let origin = Origin::parse(text).unwrap_or_else(|error| panic!("row {text}: {error}"));
        let found = (origin.as_str(), origin.host(), origin.port(), origin.authority());
        assert_eq!(found, (expected, host, port, authority), "row {text}");
        assert_eq!(origin.to_string(), expected, "row {text}");
        assert_eq!(Origin::parse(expected), Ok(origin.clone()), "row {text} parsed again");
        let page = CrawlUrl::parse(&format!("{expected}/a?b")).unwrap();
        assert_eq!(page.origin(), &origin, "row {text}: a page's origin");
        let robots = origin.robots_url();
        assert_eq!(robots.as_str(), format!("{expected}/robots.txt"), "row {text}");
        assert_eq!(robots.origin(), &origin, "row {text}: the origin of robots.txt");
        assert!(robots.is_robots_txt(), "row {text}");
        assert_eq!(CrawlUrl::parse(robots.as_str()), Ok(robots), "row {text}");
    }
}

#[test]
fn what_goes_beyond_an_origin_is_refused() {
    for text in ["https://h/a", "https://h/?", "https://h/?q", "https://h/#", "https://h#f", "https://h//"] {
        let error = Origin::parse(text).expect_err(text);
        assert_eq!(error.to_string(), "URL: an origin has no path, query or fragment", "row {text}");
    }
    for text in ["", "h", "ftp://h", "https://", "https://a\"b"] {
        assert!(Origin::parse(text).is_err(), "row {text:?}");
    }
}

#[test]
fn origins_differ_by_scheme_host_and_port_only() {
    let texts = ["http://h", "https://h", "http://h:8080", "http://www.h", "http://h.", "http://H:80", "http://u@h"];
    let origins: Vec<Origin> = texts.iter().map(|text| text.parse().unwrap()).collect();
    let hashed: HashSet<_> = origins.iter().collect();
    let sorted: BTreeSet<_> = origins.iter().map(Origin::as_str).collect();
    assert_eq!((hashed.len(), sorted.len()), (4, 4));
    assert_eq!(origins[0].scheme(), Scheme::Http);
    assert_eq!((origins[1].scheme(), origins[1].scheme().to_string().as_str()), (Scheme::Https, "https"));
    assert_eq!(format!("{:?}", origins[0]), "Origin(http://h)");
}

#[test]
fn hosts_are_told_apart_by_kind() {
    let rows = [
        ("http://example.com", HostKind::Domain("example.com")),
        ("http://192.0.2.1", HostKind::V4([192, 0, 2, 1].into())),
        ("http://[2001:db8::1]", HostKind::V6("2001:db8::1".parse().unwrap())),
    ];
    for (text, kind) in rows {
        assert_eq!(Origin::parse(text).unwrap().host_kind(), kind, "row {text}");
    }
}

/// Origin, registrable domain. The rows include every trap of the public suffix list's crate.
const DOMAINS: &[(&str, Option<&str>)] = &[
    ("https://example.com", Some("example.com")),
    ("https://a.b.example.com", Some("example.com")),
    ("https://WWW.EXAMPLE.Co.UK.", Some("example.co.uk")),
    ("https://a.github.io", Some("a.github.io")),
    ("https://b.a.github.io", Some("a.github.io")),
    ("https://github.io", None),
    ("https://x.pages.dev", Some("x.pages.dev")),
    ("https://bucket.s3.amazonaws.com", Some("bucket.s3.amazonaws.com")),
    ("https://www.city.kawasaki.jp", Some("city.kawasaki.jp")),
    ("https://com", None),
    ("http://localhost", None),
    ("http://o1.demo.test", Some("demo.test")),
    ("http://a.b.unknown-suffix", Some("b.unknown-suffix")),
    ("http://bücher.example.de", Some("example.de")),
    ("http://www.食狮.公司.cn", Some("xn--85x722f.xn--55qx5d.cn")),
    ("http://192.0.2.1", None),
    ("http://[2001:db8::1]", None),
    ("http://a..b", None),
    ("http://.b", None),
    ("http://a..b.test", Some("b.test")),
];

#[test]
fn registrable_domains_follow_the_public_suffix_list() {
    for &(text, expected) in DOMAINS {
        assert_eq!(Origin::parse(text).unwrap().registrable_domain(), expected, "row {text}");
    }
}
