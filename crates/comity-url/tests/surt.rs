//! Tables: SURT keys. Every row but those of [`texts_that_are_no_uri_are_our_choice`] was measured with the `surt`
//! package 0.3.1 (Python), which pywb and cdxj-indexer use, on the crawl URL that the text becomes; so were the 600
//! rows of `data/surt.jsonl`, made by a generator of odd URLs.

use comity_url::{CrawlUrl, SURT_RULES_VERSION, Surt};

const ID: &str = "0123456789ABCDEFabcdef0123456789";

const ROWS: &[(&str, &str)] = &[
    ("http://www.Example.COM:80/", "com,example)/"),
    ("https://example.com:443/", "com,example)/"),
    ("https://example.com:8443/a", "com,example:8443)/a"),
    ("https://example.com:80/a", "com,example:80)/a"),
    ("http://www2.example.com/", "com,example)/"),
    ("http://www12.example.com/", "com,example)/"),
    ("http://wwwx.example.com/", "com,example,wwwx)/"),
    ("http://www.com/", "com)/"),
    ("http://www/", "www)/"),
    ("http://www.www.example.com/", "com,example,www)/"),
    ("http://example.com/?b=2&a=1&A=0", "com,example)/?a=0&a=1&b=2"),
    ("http://example.com/?b&a=&a&a=1", "com,example)/?a&a=&a=1&b"),
    ("http://example.com/a/../b/./c", "com,example)/b/c"),
    ("http://example.com/a/%252e%252e/b", "com,example)/b"),
    ("http://example.com/%252e%252e/b", "com,example)/../b"),
    ("http://example.com/%7Euser/%e2%82%ac", "com,example)/~user/%e2%82%ac"),
    ("http://example.com/%25%32%35", "com,example)/%25"),
    ("http://example.com/%2525252541", "com,example)/a"),
    ("http://example.com/%%34%31", "com,example)/a"),
    ("http://example.com/%zz%20%23%3F", "com,example)/%25zz%20%23?"),
    ("http://example.com/?", "com,example)/"),
    ("http://user:pw@example.com./x?#frag", "com,example)/x"),
    ("http://example.com/a//b", "com,example)/a/b"),
    ("http://example.com/a%2F%2Fb", "com,example)/a/b"),
    ("http://example.com/x/", "com,example)/x"),
    ("http://example.com/x//", "com,example)/x"),
    ("http://example.com//", "com,example)/"),
    ("http://example.com/a/?q", "com,example)/a?q"),
    ("http://192.0.2.1/x", "1,2,0,192)/x"),
    ("http://0x7f.1:8080/x", "1,0,0,127:8080)/x"),
    ("http://[2001:db8::1]/x", "2001:db8::1)/x"),
    ("http://[2001:db8::1]:8080/x", "2001:db8::1:8080)/x"),
    ("http://bücher.example/ü", "example,xn--bcher-kva)/%c3%bc"),
    ("http://h/UPPER?UPPER", "h)/upper?upper"),
    ("http://h/a?utm_source=x&utm_medium=y", "h)/a?utm_medium=y&utm_source=x"),
    ("http://h/?z=%2F&y=", "h)/?y=&z=/"),
    ("http://h/?a=%26b", "h)/?a=&b"),
    ("http://h:0/", "h)/"),
];

#[test]
fn crawl_urls_have_the_key_of_the_archive_tools() {
    for &(text, expected) in ROWS {
        check(text, expected);
    }
}

#[test]
fn session_ids_are_cut_as_the_archive_tools_cut_them() {
    let asp = "ASPSESSIONIDabcdEFGH=abcdefghijklMNOPQRSTUVWX";
    let path = "0123456789abcdefghijklmn";
    let lower = ID.to_ascii_lowercase();
    let rows = [
        (format!("?sid={ID}&x=1"), "?x=1".to_owned()),
        (format!("?sid={ID}"), String::new()),
        (format!("?x=1&sid={ID}"), "?&x=1".to_owned()),
        (format!("?jsessionid={ID}&x"), "?x".to_owned()),
        (format!("?JSESSIONID={ID}&x"), "?x".to_owned()),
        (format!("?PHPSESSID={ID}&x"), "?x".to_owned()),
        (format!("?mysid={ID}&x"), "?myx".to_owned()),
        (format!("?sid={ID}0&x"), format!("?sid={lower}0&x")),
        ("?sid=1&x".to_owned(), "?sid=1&x".to_owned()),
        (format!("?sid={ID}&sid={ID}"), format!("?&sid={lower}")),
        (format!("?{asp}&x"), "?x".to_owned()),
        (format!("?{asp}a&x"), format!("?{}a&x", asp.to_ascii_lowercase())),
        ("?cfid=1&cftoken=2&x".to_owned(), "?x".to_owned()),
        ("?CFID=1&CFTOKEN=2".to_owned(), String::new()),
        ("?x&cfid=1&cftoken=2&y".to_owned(), "?x&y".to_owned()),
        ("?cfid=1&x&cftoken=2".to_owned(), "?cfid=1&cftoken=2&x".to_owned()),
        ("?cfid=&cftoken=2".to_owned(), "?cfid=&cftoken=2".to_owned()),
        (format!("a.html;jsessionid={ID}"), format!("a.html;jsessionid={lower}")),
        (format!("(S({path}))/page.aspx"), "page.aspx".to_owned()),
        (format!("a/(S({path})F({path}))/page.aspx?x"), "a/page.aspx?x".to_owned()),
        (format!("a/({path})/page.ASPX"), "a/page.aspx".to_owned()),
        (format!("(S({path}))/page.html"), format!("(s({path}))/page.html")),
        (format!("(S({path}0))/page.aspx"), format!("(s({path}0))/page.aspx")),
        (format!("(S({path}))/.aspx"), format!("(s({path}))/.aspx")),
        (format!("({path})/({path})/p.aspx"), format!("({path})/p.aspx")),
        (format!("({path})/a%3Fb.aspx"), format!("({path})/a?b.aspx")),
    ];
    for (text, expected) in rows {
        check(&format!("http://h/{text}"), &format!("h)/{expected}"));
    }
}

#[test]
fn generated_rows_agree_with_the_archive_tools() {
    let rows: Vec<serde_json::Value> =
        include_str!("data/surt.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 600);
    for row in rows {
        check(row["url"].as_str().unwrap(), row["surt"].as_str().unwrap());
    }
}

#[test]
fn other_texts_keep_their_scheme() {
    let rows = [
        ("", "-"),
        ("dns:example.com", "dns:example.com"),
        ("dns:www.Example.com", "dns:www.example.com"),
        ("urn:X-wpull:Log", "urn:x-wpull:log"),
        ("urn:pageinfo:https://Example.com/A b", "urn:pageinfo:https://example.com/a%20b"),
        ("urn:x?b&a#f", "urn:x?a&b"),
        ("whois:x", "whois:x"),
        ("filedesc:Foo.arc", "filedesc:Foo.arc"),
        ("ftp://www.Example.com/A/", "com,example)/a"),
        ("ftp://[2001:db8::1]:2121/a", "2001:db8::1:2121)/a"),
        ("http://www.example.com/?b&a", "com,example)/?a&b"),
    ];
    for (text, expected) in rows {
        assert_eq!(Surt::of_text(text).as_str(), expected, "row {text:?}");
    }
    assert_eq!(SURT_RULES_VERSION, 1);
}

/// The package takes the first for a host, and fails on the second.
#[test]
fn texts_that_are_no_uri_are_our_choice() {
    let rows = [("no URI\tat all", "no%20URI%09at%20all"), (" \u{e}urn:x\u{e}y\t ", "urn:x%0ey")];
    for (text, expected) in rows {
        assert_eq!(Surt::of_text(text).as_str(), expected, "row {text:?}");
    }
}

/// Texts that make repeated unescaping, or a search from every candidate, quadratic: minutes, not milliseconds.
#[test]
fn hostile_texts_take_linear_time() {
    let session = "(0123456789abcdefghijklmn)/".repeat(2_000);
    let percent = "%".repeat(20_000);
    let rows = [
        (format!("%{}", "25".repeat(30_000)), "h)/%25".to_owned()),
        (format!("?%{}", "25".repeat(30_000)), "h)/?%25".to_owned()),
        (session.clone(), format!("h)/{}", session.trim_end_matches('/'))),
        (format!("?{}&cftoken", "cfid=".repeat(12_000)), format!("h)/?{}&cftoken", "cfid=".repeat(12_000))),
        (percent.clone(), format!("h)/{}", percent.replace('%', "%25"))),
    ];
    for (text, expected) in rows {
        let key = Surt::of(&CrawlUrl::parse(&format!("http://h/{text}")).unwrap());
        assert!(key.as_str() == expected, "{}…", &text[..20]);
    }
}

fn check(text: &str, expected: &str) {
    let url = CrawlUrl::parse(text).unwrap_or_else(|error| panic!("row {text}: {error}"));
    assert_eq!(Surt::of(&url).as_str(), expected, "row {text}");
    assert_eq!(Surt::of_text(text).to_string(), expected, "row {text} as text");
}
