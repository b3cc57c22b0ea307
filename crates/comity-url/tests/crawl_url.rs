//! Tables: what a text becomes as a crawl URL. WHATWG oddities, the measured list of the `url` crate and
//! the faults other crawlers had with hrefs.

use comity_url::{CrawlUrl, HostKind, MAX_CRAWL_URL_BYTES, MAX_HOST_BYTES, UrlError};

/// Text, and the crawl URL it must become.
const PARSED: &[(&str, &str)] = &[
    // Case, ports, dots, user info, fragment.
    ("HTTP://EXAMPLE.com", "http://example.com/"),
    ("https://example.com:443/", "https://example.com/"),
    ("http://example.com:80/", "http://example.com/"),
    ("http://example.com:443/", "http://example.com:443/"),
    ("https://example.com:8443/a", "https://example.com:8443/a"),
    ("https://example.com:08443/", "https://example.com:8443/"),
    ("https://example.com:/", "https://example.com/"),
    ("https://example.com./x", "https://example.com/x"),
    ("https://example.com.:8443/x", "https://example.com:8443/x"),
    ("https://user:pw@example.com/x", "https://example.com/x"),
    ("https://a:b@c:d@example.com/x", "https://example.com/x"),
    ("https://user@example.com./x#f", "https://example.com/x"),
    ("https://example.com/x#", "https://example.com/x"),
    ("https://example.com/?#f", "https://example.com/?"),
    ("https://example.com?a=b", "https://example.com/?a=b"),
    ("https://example.com#f", "https://example.com/"),
    ("https://example.com/a?b?c#d?e", "https://example.com/a?b?c"),
    // Dot segments, slashes, backslashes.
    ("https://e.test/a/../b/./c", "https://e.test/b/c"),
    ("https://e.test/a/%2e%2E/b/%2e/c", "https://e.test/b/c"),
    ("https://e.test/a/.%2e/b", "https://e.test/b"),
    ("https://e.test/../../x", "https://e.test/x"),
    ("https://e.test/a/..", "https://e.test/"),
    ("https://e.test/.", "https://e.test/"),
    ("https://e.test/a//b///c/", "https://e.test/a//b///c/"),
    ("https://e.test//", "https://e.test//"),
    ("https://e.test//x.test/y", "https://e.test//x.test/y"),
    ("https:\\\\e.test\\a\\b", "https://e.test/a/b"),
    ("https://e.test/a?b\\c", "https://e.test/a?b\\c"),
    ("https://e.test/x", "https://e.test/x"),
    ("https://e.test/x/", "https://e.test/x/"),
    // Forms the parser takes as absolute.
    ("http:e.test/x", "http://e.test/x"),
    ("http:/e.test/x", "http://e.test/x"),
    ("http:///e.test/x", "http://e.test/x"),
    ("http:////////e.test/x", "http://e.test/x"),
    // Blanks, tabs, line breaks.
    (" \n http://h/x \n", "http://h/x"),
    ("ht\ttp://h/y", "http://h/y"),
    ("http://h/a\r\nb", "http://h/ab"),
    ("\u{0}\u{1f}http://h/\u{1f}\u{0}", "http://h/"),
    ("http://h/a b", "http://h/a%20b"),
    ("http://h/\u{a0}", "http://h/%C2%A0"),
    // Escapes stay as written; only what may not stand raw is escaped.
    ("http://h/%7euser/%e2%82%ac", "http://h/%7euser/%e2%82%ac"),
    ("http://h/%7Euser", "http://h/%7Euser"),
    ("http://h/%zz%", "http://h/%zz%"),
    ("http://h/90%+x", "http://h/90%+x"),
    ("http://h/a%3d%3d", "http://h/a%3d%3d"),
    ("http://h/caf%e9", "http://h/caf%e9"),
    ("http://h/a%2fb", "http://h/a%2fb"),
    ("http://h/ü?ü", "http://h/%C3%BC?%C3%BC"),
    ("http://h/a|b^c[d]e'f", "http://h/a|b^c[d]e'f"),
    ("http://h/\"<>`{}", "http://h/%22%3C%3E%60%7B%7D"),
    ("http://h/?\"<>'`{}|^[]", "http://h/?%22%3C%3E%27`{}|^[]"),
    ("http://h/\u{7f}?\u{7f}", "http://h/%7F?%7F"),
    ("http://h/;a=1?&&b=;", "http://h/;a=1?&&b=;"),
    ("http://h/?&p=2", "http://h/?&p=2"),
    // Hosts.
    ("http://bücher.test/", "http://xn--bcher-kva.test/"),
    ("http://xn--bcher-kva.test/", "http://xn--bcher-kva.test/"),
    ("http://XN--BCHER-KVA.TEST./", "http://xn--bcher-kva.test/"),
    ("http://BÜCHER.test:80/", "http://xn--bcher-kva.test/"),
    ("http://b%C3%BCcher.test/", "http://xn--bcher-kva.test/"),
    ("https://faß.de/", "https://xn--fa-hia.de/"),
    ("http://ｅｘａｍｐｌｅ。com/", "http://example.com/"),
    ("http://a_b.example/", "http://a_b.example/"),
    ("http://-a.example/", "http://-a.example/"),
    ("http://a..b/", "http://a..b/"),
    ("http://%65xample.com/", "http://example.com/"),
    ("http://[2001:DB8:0:0:0:0:0:1]:8080/", "http://[2001:db8::1]:8080/"),
    ("http://192.0.2.1./", "http://192.0.2.1/"),
    ("http://o'hara.test/", "http://o'hara.test/"),
];

#[test]
fn texts_become_crawl_urls() {
    for &(text, expected) in PARSED {
        let url = CrawlUrl::parse(text).unwrap_or_else(|error| panic!("row {text:?}: {error}"));
        assert_eq!(url.as_str(), expected, "row {text:?}");
        assert_eq!(url.to_string(), expected, "row {text:?}");
        assert_eq!(CrawlUrl::parse(expected).as_ref(), Ok(&url), "row {text:?} parsed again");
    }
}

/// Base, reference, result.
const JOINED: &[(&str, &str, &str)] = &[
    ("http://h/a/b/c", "x", "http://h/a/b/x"),
    ("http://h/a/b/c", "../x", "http://h/a/x"),
    ("http://h/a/b/c", "/f/x", "http://h/f/x"),
    ("http://h/a/b/c", "/f/", "http://h/f/"),
    ("http://h/a/b/c?q", "?p=2", "http://h/a/b/c?p=2"),
    ("http://h/a/b/c?q", "?&p=2", "http://h/a/b/c?&p=2"),
    ("http://h/a/b/c?q", "", "http://h/a/b/c?q"),
    ("http://h/a/b/c?q", "#f", "http://h/a/b/c?q"),
    ("http://h/a", "//cdn.test/", "http://cdn.test/"),
    ("https://h/a", "//cdn.test:443/", "https://cdn.test/"),
    ("http://h/a", "\\\\h2\\z", "http://h2/z"),
    ("http://h/a", "///h2/z", "http://h2/z"),
    ("https://h/a", " //\\//h2?\\z", "https://h2/?\\z"),
    ("http://h/a", " \n http://h/x \n", "http://h/x"),
    ("http://h/a", "ht\ttp://h/y", "http://h/y"),
    ("http://h/a/b", "http:g", "http://h/a/g"),
    ("https://h/a/b", "http:g", "http://g/"),
    ("http://h/b/", "t.html", "http://h/b/t.html"),
    ("http://h/", "http://u:p@h./#x", "http://h/"),
    ("http://h/a", "1.\thttps://other/", "http://h/1.https://other/"),
];

#[test]
fn references_are_resolved() {
    for &(base, reference, expected) in JOINED {
        let base = CrawlUrl::parse(base).unwrap();
        let url = base.join(reference).unwrap_or_else(|error| panic!("row {reference:?}: {error}"));
        assert_eq!(url.as_str(), expected, "row {base} + {reference:?}");
        assert_eq!(url.origin(), CrawlUrl::parse(expected).unwrap().origin(), "row {base} + {reference:?}");
    }
}

/// Text, code, and what people read.
const REFUSED: &[(&str, &str, &str)] = &[
    ("", "url.syntax", "URL: the scheme is missing"),
    ("example.com/x", "url.syntax", "URL: the scheme is missing"),
    ("//example.com/x", "url.syntax", "URL: the scheme is missing"),
    ("http://", "url.syntax", "URL: the host is empty"),
    ("http:", "url.syntax", "URL: the host is empty"),
    ("http://./", "url.syntax", "URL: the host ends in an empty label"),
    ("http://a../", "url.syntax", "URL: the host ends in an empty label"),
    ("http://example.com:65536/", "url.syntax", "URL: the port is not a number from 0 to 65535"),
    ("http://example.com:x/", "url.syntax", "URL: the port is not a number from 0 to 65535"),
    ("http://256.0.0.1/", "url.syntax", "URL: the host is no valid IPv4 address"),
    ("http://[::1/", "url.syntax", "URL: the host is no valid IPv6 address"),
    ("http://xn--a.com/", "url.syntax", "URL: the host is no valid domain name"),
    ("http://a b/", "url.syntax", "URL: the host is no valid domain name"),
    ("http://a%25b/", "url.syntax", "URL: the host is no valid domain name"),
    ("ftp://example.com/", "url.syntax", "URL: scheme \"ftp\" is neither http nor https"),
    ("mailto:a@example.com", "url.syntax", "URL: scheme \"mailto\" is neither http nor https"),
    ("javascript:void(0)", "url.syntax", "URL: scheme \"javascript\" is neither http nor https"),
    ("data:text/html,x", "url.syntax", "URL: scheme \"data\" is neither http nor https"),
    ("file:///etc/passwd", "url.syntax", "URL: scheme \"file\" is neither http nor https"),
    ("example.com:80", "url.syntax", "URL: scheme \"example.com\" is neither http nor https"),
    ("http://a\"b/", "url.unsendable", "URL, byte 8: '\"' (0x22) cannot be sent in a request"),
    ("https://a`b.test:8443/", "url.unsendable", "URL, byte 9: '`' (0x60) cannot be sent in a request"),
    ("http://u:p@{x}.test/", "url.unsendable", "URL, byte 7: '{' (0x7b) cannot be sent in a request"),
];

#[test]
fn what_is_no_crawl_url_is_refused_with_a_code() {
    for &(text, code, message) in REFUSED {
        let error = CrawlUrl::parse(text).expect_err(text);
        assert_eq!((error.code(), error.to_string().as_str()), (code, message), "row {text:?}");
    }
}

#[test]
fn lengths_are_bounded_at_the_byte() {
    let longest = format!("http://h/{}", "a".repeat(MAX_CRAWL_URL_BYTES - 9));
    assert_eq!(CrawlUrl::parse(&longest).map(|url| url.as_str().len()), Ok(MAX_CRAWL_URL_BYTES));
    let too_long = UrlError::Length { len: MAX_CRAWL_URL_BYTES + 1, max: MAX_CRAWL_URL_BYTES };
    assert_eq!(CrawlUrl::parse(&format!("{longest}a")), Err(too_long.clone()));
    assert_eq!(too_long.to_string(), "URL: 65535 bytes, at most 65534 are taken");
    // Escaping makes the text longer than what was passed in.
    let grown = CrawlUrl::parse(&format!("http://h/{}", "ü".repeat(11_000)));
    assert_eq!(grown, Err(UrlError::Length { len: 9 + 66_000, max: MAX_CRAWL_URL_BYTES }));

    let host = "a".repeat(MAX_HOST_BYTES);
    assert!(CrawlUrl::parse(&format!("http://{host}./")).is_ok());
    assert_eq!(CrawlUrl::parse(&format!("http://{host}a/")).unwrap_err().code(), "url.syntax");
    let scheme = format!("{}:x", "s".repeat(500));
    assert_eq!(CrawlUrl::parse(&scheme), Err(UrlError::Scheme("s".repeat(32))));
}

#[test]
fn parts_are_those_of_the_request_line() {
    let rows = [
        ("http://h", "/", "/", None),
        ("http://h/?", "/?", "/", Some("")),
        ("http://h//a?b?c", "//a?b?c", "//a", Some("b?c")),
        ("http://h/robots.txt?x#y", "/robots.txt?x", "/robots.txt", Some("x")),
    ];
    for (text, target, path, query) in rows {
        let url = CrawlUrl::parse(text).unwrap();
        assert_eq!((url.request_target(), url.path(), url.query()), (target, path, query), "row {text}");
    }
}

#[test]
fn robots_txt_is_known_by_its_exact_path() {
    let rows = [
        ("http://h/robots.txt", true),
        ("http://h/robots.txt?x", true),
        ("http://h/Robots.txt", false),
        ("http://h/robots%2Etxt", false),
        ("http://h/a/robots.txt", false),
        ("http://h//robots.txt", false),
    ];
    for (text, expected) in rows {
        assert_eq!(CrawlUrl::parse(text).unwrap().is_robots_txt(), expected, "row {text}");
    }
}

/// Hosts whose text hides an address (SSRF forms): the parsed host is what guards must see.
#[test]
fn hidden_addresses_are_addresses() {
    let v4 = [
        "127.0.0.1",
        "127.1",
        "0x7f.1",
        "2130706433",
        "0177.0.0.1",
        "0x7f000001",
        "127.0.0.1.",
        "１２７.０.０.１",
        "127。0。0。1",
        "%31%32%37.1",
    ];
    for host in v4 {
        let url = CrawlUrl::parse(&format!("http://{host}/")).unwrap_or_else(|error| panic!("row {host}: {error}"));
        assert_eq!(url.origin().host_kind(), HostKind::V4([127, 0, 0, 1].into()), "row {host}");
        assert_eq!(url.as_str(), "http://127.0.0.1/", "row {host}");
    }
    let mapped = CrawlUrl::parse("http://[::ffff:127.0.0.1]/").unwrap();
    assert_eq!(mapped.as_str(), "http://[::ffff:7f00:1]/");
    let HostKind::V6(address) = mapped.origin().host_kind() else { panic!("{mapped} is IPv6") };
    assert_eq!(address.to_ipv4_mapped(), Some([127, 0, 0, 1].into()));
}
