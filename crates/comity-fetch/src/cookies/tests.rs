use std::time::Duration;

use super::*;

const NOW: WallTime = WallTime::from_unix_millis(1_795_996_800_000); // 2026-11-30T00:00:00Z

fn url(text: &str) -> CrawlUrl {
    CrawlUrl::parse(text).unwrap()
}

fn sent(jar: &Jar, to: &str, after: u64) -> String {
    jar.field(&url(to), NOW.after(Duration::from_secs(after))).unwrap_or_default()
}

/// Who sets what, in order.
type Sets<'a> = &'a [(&'a str, &'a str)];

fn after(sets: Sets<'_>) -> Jar {
    let jar = Jar::default();
    for (from, cookie) in sets {
        jar.take(&url(from), std::iter::once(*cookie), NOW);
    }
    jar
}

/// Set by, the cookie, asked for, sent.
const PLACES: &[(&str, &str, &str, &str)] = &[
    ("http://a.test/", "x=1", "http://a.test/", "x=1"),
    ("http://a.test/", "x=1", "http://a.test:8080/", "x=1"), // RFC 6265bis §8.5: ports are not kept apart
    ("http://a.test/", "x=1", "https://a.test/", "x=1"),
    ("http://a.test/", "x=1", "http://b.test/", ""),
    ("http://a.test/", "x=1", "http://sub.a.test/", ""),
    ("http://sub.a.test/", "x=1", "http://a.test/", ""),
    // Domain
    ("http://sub.a.test/", "x=1; Domain=a.test", "http://a.test/", "x=1"),
    ("http://sub.a.test/", "x=1; Domain=.A.Test", "http://other.a.test/", "x=1"),
    ("http://a.test/", "x=1; Domain=a.test", "http://deep.sub.a.test/", "x=1"),
    ("http://a.test/", "x=1; Domain=a.test", "http://na.test/", ""),
    ("http://a.test/", "x=1; Domain=a.test", "http://a.test.evil.test/", ""),
    ("http://a.test/", "x=1; Domain=sub.a.test", "http://sub.a.test/", ""),
    ("http://a.test/", "x=1; Domain=b.test", "http://b.test/", ""),
    ("http://a.test/", "x=1; Domain=b.test", "http://a.test/", ""),
    ("http://a.test/", "x=1; Domain=", "http://a.test/", "x=1"),
    ("http://a.test/", "x=1; Domain=", "http://sub.a.test/", ""),
    // Public suffixes, of the list and private ones
    ("http://a.test/", "x=1; Domain=test", "http://b.test/", ""),
    ("http://a.test/", "x=1; Domain=test", "http://a.test/", ""),
    ("http://a.co.uk/", "x=1; Domain=co.uk", "http://b.co.uk/", ""),
    ("http://a.co.uk/", "x=1; Domain=a.co.uk", "http://www.a.co.uk/", "x=1"),
    ("http://a.github.io/", "x=1; Domain=github.io", "http://b.github.io/", ""),
    ("http://github.io/", "x=1; Domain=github.io", "http://github.io/", "x=1"),
    ("http://github.io/", "x=1; Domain=github.io", "http://a.github.io/", ""),
    ("http://localhost/", "x=1; Domain=localhost", "http://localhost/", "x=1"),
    ("http://localhost/", "x=1; Domain=localhost", "http://a.localhost/", ""),
    // Addresses
    ("http://127.0.0.1/", "x=1", "http://127.0.0.1/", "x=1"),
    ("http://127.0.0.1/", "x=1; Domain=127.0.0.1", "http://127.0.0.1:81/", "x=1"),
    ("http://127.0.0.1/", "x=1; Domain=0.0.1", "http://127.0.0.1/", ""),
    ("http://127.0.0.1/", "x=1; Domain=0.0.1", "http://9.0.0.1/", ""),
    ("http://[::1]/", "x=1; Domain=::1", "http://[::1]/", "x=1"),
    // Path
    ("http://a.test/docs/one", "x=1", "http://a.test/docs/two", "x=1"),
    ("http://a.test/docs/one", "x=1", "http://a.test/docs", "x=1"),
    ("http://a.test/docs/one", "x=1", "http://a.test/docsother", ""),
    ("http://a.test/docs/one", "x=1", "http://a.test/", ""),
    ("http://a.test/one", "x=1", "http://a.test/two", "x=1"),
    ("http://a.test/one", "x=1; Path=/sub", "http://a.test/sub/x", "x=1"),
    ("http://a.test/one", "x=1; Path=/sub", "http://a.test/one", ""),
    ("http://a.test/one", "x=1; Path=/sub/", "http://a.test/sub", ""),
    ("http://a.test/d/e", "x=1; Path=no", "http://a.test/d/f", "x=1"),
    ("http://a.test/", "x=1; Path=/a?b", "http://a.test/a?b", ""),
    // Secure
    ("https://a.test/", "x=1; Secure", "https://a.test/", "x=1"),
    ("https://a.test/", "x=1; Secure", "http://a.test/", ""),
    ("http://a.test/", "x=1; Secure", "https://a.test/", ""),
    ("https://a.test/", "__Secure-x=1; Secure", "https://a.test/", "__Secure-x=1"),
    ("https://a.test/", "__Secure-x=1", "https://a.test/", ""),
    ("https://a.test/", "__secure-x=1", "https://a.test/", ""),
    ("https://a.test/", "__Host-x=1; Secure; Path=/", "https://a.test/", "__Host-x=1"),
    ("https://a.test/", "__Host-x=1; Secure; Path=/; Domain=a.test", "https://a.test/", ""),
    ("https://a.test/", "__Host-x=1; Secure", "https://a.test/", ""),
    ("http://a.test/", "__Host-x=1; Secure; Path=/", "https://a.test/", ""),
    // Shape
    ("http://a.test/", " x = 1 ; unknown ; HttpOnly; SameSite=Strict", "http://a.test/", "x=1"),
    ("http://a.test/", "x=\"1 2\"", "http://a.test/", "x=\"1 2\""),
    ("http://a.test/", "x=", "http://a.test/", "x="),
    ("http://a.test/", "x=a=b", "http://a.test/", "x=a=b"),
    ("http://a.test/", "=1", "http://a.test/", ""),
    ("http://a.test/", "x", "http://a.test/", ""),
    ("http://a.test/", "", "http://a.test/", ""),
    ("http://a.test/", "x=ä", "http://a.test/", ""),
    ("http://a.test/", "x=1\u{1}", "http://a.test/", ""),
];

#[test]
fn a_cookie_goes_where_the_rules_send_it_and_nowhere_else() {
    for &(from, cookie, to, expected) in PLACES {
        assert_eq!(sent(&after(&[(from, cookie)]), to, 0), expected, "{from} sets {cookie:?}, asked for {to}");
    }
}

#[test]
fn cookies_end_by_the_clock_that_was_passed_in() {
    // The cookie, and seconds after which it is still sent and no more.
    let rows = [
        ("x=1", Some(1_000_000_000), None),
        ("x=1; Max-Age=10", Some(9), Some(10)),
        ("x=1; Max-Age=0", None, Some(0)),
        ("x=1; Max-Age=-5", None, Some(0)),
        ("x=1; Max-Age=ten", Some(1_000_000_000), None),
        ("x=1; Max-Age=99999999999999999999", Some(400 * 86_400 - 1), Some(400 * 86_400)),
        ("x=1; Expires=Mon, 30 Nov 2026 00:00:20 GMT", Some(19), Some(20)),
        ("x=1; Expires=Mon, 30-Nov-2026 00:00:20 GMT", Some(19), Some(20)),
        ("x=1; Expires=Monday, 30-Nov-26 00:00:20 GMT", Some(19), Some(20)),
        ("x=1; Expires=Mon Nov 30 00:00:20 2026", Some(19), Some(20)),
        ("x=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT", None, Some(0)),
        ("x=1; Expires=Fri, 31 Dec 9999 23:59:59 GMT", Some(400 * 86_400 - 1), Some(400 * 86_400)),
        ("x=1; Expires=some day", Some(1_000_000_000), None),
        ("x=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=10", Some(9), Some(10)),
    ];
    for (cookie, still, no_more) in rows {
        let jar = after(&[("http://a.test/", cookie)]);
        assert!(still.is_none_or(|at| sent(&jar, "http://a.test/", at) == "x=1"), "{cookie} at {still:?}");
        assert!(no_more.is_none_or(|at| sent(&jar, "http://a.test/", at).is_empty()), "{cookie} at {no_more:?}");
    }
}

#[test]
fn later_cookies_replace_earlier_ones_of_the_same_name_place_and_path() {
    let rows: [(Sets<'_>, &str, &str); 8] = [
        (&[("http://a.test/", "x=1"), ("http://a.test/", "x=2")], "http://a.test/", "x=2"),
        (&[("http://a.test/", "x=1"), ("http://a.test/", "x=2; Max-Age=0")], "http://a.test/", ""),
        (&[("http://a.test/", "x=1"), ("http://b.test/", "x=2; Max-Age=0")], "http://a.test/", "x=1"),
        (
            &[("http://a.test/", "x=1"), ("http://a.test/", "y=2"), ("http://a.test/", "x=3")],
            "http://a.test/",
            "x=3; y=2",
        ),
        (&[("http://a.test/", "x=1"), ("http://a.test/", "x=2; Path=/d")], "http://a.test/d", "x=2; x=1"),
        (&[("http://a.test/", "x=1"), ("http://a.test/", "x=2; Domain=a.test")], "http://a.test/", "x=1; x=2"),
        (&[("https://a.test/", "x=1; Secure"), ("http://a.test/", "x=2")], "https://a.test/", "x=1"),
        (&[("https://a.test/", "x=1; Secure; Path=/d"), ("http://a.test/", "x=2")], "https://a.test/d", "x=1; x=2"),
    ];
    for (sets, to, expected) in rows {
        assert_eq!(sent(&after(sets), to, 0), expected, "{sets:?}");
    }
}

#[test]
fn a_site_cannot_fill_the_jar() {
    let jar = Jar::default();
    let from = url("https://a.test/");
    jar.take(&from, std::iter::once("first=1; Secure"), NOW);
    for n in 0..500 {
        let cookie = format!("c{n}={}", "v".repeat(100));
        jar.take(&from, std::iter::once(cookie.as_str()), NOW);
    }
    assert_eq!(jar.with(|store| store.sites["a.test"].cookies.len()), MOST_OF_A_SITE);
    let field = sent(&jar, "https://a.test/", 0);
    assert!(field.starts_with("first=1; c451="), "secure ones stay, then the latest: {}", &field[..40]);
    let large = format!("x={}", "v".repeat(4096));
    jar.take(&url("http://b.test/"), [large.as_str(), &large[..4097]].into_iter(), NOW);
    assert_eq!(sent(&jar, "http://b.test/", 0).len(), 4097, "4,096 bytes of name and value");
    for n in 0..4 {
        let cookie = format!("c{n}={}", "v".repeat(4000));
        jar.take(&url("http://b.test/"), std::iter::once(cookie.as_str()), NOW);
    }
    assert!(sent(&jar, "http://b.test/", 0).len() <= LONGEST_FIELD);
}

#[test]
fn many_sites_share_a_bound_and_the_least_lately_used_go() {
    let jar = Jar::default();
    let cookie = format!("x={}", "v".repeat(4000));
    let site = |n: usize| url(&format!("http://s{n}.test/"));
    for n in 0..6000 {
        jar.take(&site(n), std::iter::once(cookie.as_str()), NOW);
        jar.field(&site(0), NOW);
        let (bytes, sites, order) = jar.with(|store| (store.bytes, store.sites.len(), store.order.len()));
        assert!(bytes <= MOST_BYTES && sites == order, "{n}: {bytes} bytes, {sites} sites, {order} in order");
    }
    assert!(jar.field(&site(0), NOW).is_some() && jar.field(&site(5999), NOW).is_some());
    assert!(jar.field(&site(1), NOW).is_none());
    let counted = jar.with(|store| {
        let each = |(name, site): (&String, &Site)| site.bytes() + name.len() + OVERHEAD;
        store.sites.iter().map(each).sum::<usize>() == store.bytes
    });
    assert!(counted, "what is counted is what is held");
}

#[test]
fn no_value_shows_in_debug_output() {
    let jar = after(&[("http://a.test/", "x=secret")]);
    let kept = jar.with(|store| format!("{:?}", store.sites["a.test"].cookies));
    assert!(!format!("{jar:?} {kept}").contains("secret"), "{kept}");
}
