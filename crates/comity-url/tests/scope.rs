//! Tables: scope kinds, include and exclude patterns, and what a pattern may be.

use comity_url::{CrawlUrl, MAX_PATTERN_BYTES, Scope, ScopeKind, ScopeMiss, UrlPattern};

fn url(text: &str) -> CrawlUrl {
    CrawlUrl::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn scope(kind: ScopeKind, seeds: &[&str]) -> Scope {
    let mut scope = Scope::new(kind, Vec::new(), Vec::new());
    seeds.iter().for_each(|seed| scope.add_seed(&url(seed)));
    scope
}

/// Kind, seeds, URLs inside, URLs outside.
type KindRow = (ScopeKind, &'static [&'static str], &'static [&'static str], &'static [&'static str]);

const KINDS: &[KindRow] = &[
    (
        ScopeKind::Origins,
        &["https://a.test/x", "http://b.test:81/"],
        &["https://a.test/", "https://A.test:443/y?q", "https://a.test./", "http://b.test:81/z"],
        &["http://a.test/", "https://a.test:8443/", "https://www.a.test/", "http://b.test/"],
    ),
    (
        ScopeKind::Hosts,
        &["https://a.test/x", "http://127.0.0.1:8080/"],
        &["http://a.test/", "https://a.test:8443/", "https://127.1/", "http://0x7f000001:9/"],
        &["https://www.a.test/", "https://test/", "http://127.0.0.2/"],
    ),
    (
        ScopeKind::Domains,
        &[
            "https://www.example.co.uk/",
            "https://me.github.io/",
            "http://127.0.0.1/",
            "http://localhost/",
            "http://[::1]/",
        ],
        &[
            "http://example.co.uk:81/",
            "https://a.b.example.co.uk/",
            "https://x.me.github.io/",
            "http://127.0.0.1:9/",
            "http://localhost:1/",
            "http://[0::1]/",
        ],
        &[
            "https://other.co.uk/",
            "https://co.uk/",
            "https://you.github.io/",
            "https://github.io/",
            "http://0.127.0.1/",
            "http://x.localhost/",
        ],
    ),
    (
        ScopeKind::Prefix,
        &["https://a.test/docs/intro?x=/y/", "https://a.test/docs/v2/", "https://b.test/%7euser/a", "https://c.test"],
        &[
            "https://a.test/docs/",
            "https://a.test/docs/other",
            "https://a.test/docs/v2/x?q",
            "https://a.test/%64ocs/",
            "https://b.test/~user/",
            "https://c.test/x/y",
        ],
        &[
            "https://a.test/",
            "https://a.test/docs",
            "https://a.test/docs-old/",
            "https://a.test/Docs/",
            "http://a.test/docs/",
            "https://a.test:8443/docs/",
            "https://b.test/",
            "https://a.test/docs%2F/",
        ],
    ),
    (ScopeKind::Any, &[], &["https://a.test/", "http://[::1]/"], &[]),
    (ScopeKind::Origins, &[], &[], &["https://a.test/"]),
    (ScopeKind::Prefix, &[], &[], &["https://a.test/"]),
];

#[test]
fn kinds_reach_as_far_as_they_say() {
    for &(kind, seeds, inside, outside) in KINDS {
        let scope = scope(kind, seeds);
        assert_eq!(scope.kind(), kind);
        for text in inside {
            assert_eq!(scope.admits(&url(text)), Ok(()), "{kind} of {seeds:?}: {text}");
        }
        for text in outside {
            let why = scope.admits(&url(text)).expect_err(text);
            assert_eq!((why.kind, &why.why, why.code()), (kind, &ScopeMiss::Kind, "url.scope"), "{kind}: {text}");
        }
        for text in inside.iter().chain(outside).filter(|_| scope.goes_by_origin()) {
            let (whole, url) = (scope.admits(&url(text)).is_ok(), url(text));
            assert_eq!(scope.reaches(url.origin()) && scope.admits_by_patterns(&url).is_ok(), whole, "{kind}: {text}");
        }
        for seed in seeds {
            assert_eq!(scope.admits(&url(seed)), Ok(()), "{kind}: seed {seed}");
        }
    }
}

#[test]
fn kinds_have_the_names_of_the_configuration() {
    for kind in ScopeKind::ALL {
        assert_eq!(kind.as_str().parse(), Ok(kind));
        assert_eq!(kind.to_string(), kind.as_str());
    }
    let error = "Origins".parse::<ScopeKind>().unwrap_err();
    assert_eq!(error, "scope \"Origins\": it must be origins, hosts, domains, prefix or any");
}

#[test]
fn a_scope_grows_with_its_seeds() {
    let mut scope = scope(ScopeKind::Origins, &["http://a.test/"]);
    assert!(scope.admits(&url("https://www.a.test/")).is_err());
    scope.add_seed(&url("https://www.a.test/home"));
    assert_eq!(scope.admits(&url("https://www.a.test/")), Ok(()));
    assert_eq!(scope.admits(&url("http://a.test/")), Ok(()));
}

/// Whatever the order in which nested folders come, and however many stand between in the sort order.
#[test]
fn nested_prefixes_come_in_any_order() {
    let seeds = ["http://h/a/b/c/", "http://h/a/", "http://h/a-b/", "http://h/a/b/", "http://h/b/"];
    for first in 0..seeds.len() {
        let mut order = seeds;
        order.rotate_left(first);
        let scope = scope(ScopeKind::Prefix, &order);
        for inside in ["http://h/a/z", "http://h/a/b/z", "http://h/a/b/c/z", "http://h/a-b/z", "http://h/b/z"] {
            assert_eq!(scope.admits(&url(inside)), Ok(()), "{inside} with {order:?}");
        }
        for outside in ["http://h/", "http://h/a", "http://h/a-", "http://h/c/", "http://h/a!/z"] {
            assert!(scope.admits(&url(outside)).is_err(), "{outside} with {order:?}");
        }
    }
}

#[test]
fn exclude_wins_over_include_and_is_named() {
    let patterns = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<UrlPattern>>();
    let mut scope = Scope::new(ScopeKind::Hosts, patterns(&["/docs/", "*.pdf$"]), patterns(&["*?print", "/docs/old"]));
    scope.add_seed(&url("https://h/"));
    let rows = [
        ("https://h/docs/a", Ok(())),
        ("https://h/x.pdf", Ok(())),
        ("https://h/docs/a?print=1", Err("scope: excluded by \"*?print\"")),
        ("https://h/docs/old/?print=1", Err("scope: excluded by \"*?print\"")),
        ("https://h/docs/old/a.pdf", Err("scope: excluded by \"/docs/old\"")),
        ("https://h/", Err("scope: no include pattern matches")),
        ("https://other/docs/old", Err("scope \"hosts\": no seed is near enough")),
    ];
    for (text, expected) in rows {
        let found = scope.admits(&url(text)).map_err(|out| out.to_string());
        assert_eq!(found, expected.map_err(str::to_owned), "row {text}");
    }
    let why = scope.admits(&url("https://h/docs/old")).unwrap_err().why;
    assert_eq!(why, ScopeMiss::Exclude("/docs/old".parse().unwrap()));
}

/// Pattern, URL, whether it matches.
const PATTERNS: &[(&str, &str, bool)] = &[
    ("*", "http://h/", true),
    ("/", "http://h/x", true),
    ("/$", "http://h/", true),
    ("/$", "http://h/?", true),
    ("/$", "http://h/x", false),
    ("/a", "http://h/ab", true),
    ("/a", "http://h/b/a", false),
    ("/a/*/c", "http://h/a/b/b/c?x", true),
    ("/*?sort=", "http://h/a?sort=1", true),
    ("/*?sort=", "http://h/a?x&sort=1", false),
    ("*.pdf$", "http://h/a.pdf", true),
    ("*.pdf$", "http://h/a.pdf?x", false),
    ("*.pdf$", "http://h/a.pdf.pdf", true),
    ("/A", "http://h/a", false),
    ("/a$b", "http://h/a$b", true),
    // The whole URL.
    ("http://h/a", "http://h/ab", true),
    ("http://h/a", "https://h/ab", false),
    ("http*://h/a", "https://h/ab", true),
    ("*://h/", "https://h/ab", true),
    ("HTTP://H:80/A", "http://h/A", true),
    ("http://h", "http://h/x", true),
    ("http://h", "http://h.other/", false),
    ("http://h$", "http://h/", true),
    ("http://h?x", "http://h/?xy", true),
    ("https://h.:443/", "https://h/", true),
    ("https://h:8443/", "https://h:8443/", true),
    ("http://bücher.test/", "http://xn--bcher-kva.test/x", true),
    ("*://bücher.test", "https://xn--bcher-kva.test/x", true),
    ("https://*.Example.com/", "https://a.example.com/x", true),
    ("https://*.example.com/", "https://example.com/x", false),
    ("http://127.1/", "http://127.0.0.1/x", true),
    ("*/http://x/", "http://h/a/http://x/y", true),
    // Canonical form on both sides.
    ("/admin", "http://h/%61dmin", true),
    ("/%61dmin", "http://h/admin", true),
    ("/ü", "http://h/%c3%bc", true),
    ("/%c3%bc", "http://h/%C3%BC", true),
    ("/a b", "http://h/a%20b", true),
    ("/a{b}", "http://h/a{b}", true),
    ("/?{b}'", "http://h/?{b}'", true),
    ("/'", "http://h/'", true),
    ("/%2f", "http://h/%2F", true),
    ("/%2f", "http://h//", false),
    ("/%2A", "http://h/x", false),
];

#[test]
fn patterns_match_as_robots_rules_do() {
    for &(pattern, text, expected) in PATTERNS {
        let parsed = UrlPattern::parse(pattern).unwrap_or_else(|error| panic!("row {pattern}: {error}"));
        assert_eq!(parsed.matches(&url(text)), expected, "row {pattern} on {text}");
        assert_eq!(parsed.to_string(), pattern, "the pattern as written");
    }
}

#[test]
fn patterns_that_could_never_match_are_refused() {
    let rows = [
        ("", "pattern: it is empty; `*` matches every URL"),
        ("a", "pattern \"a\": it must begin with `/`, `*`, `http://` or `https://`, or no URL matches"),
        (
            "example.com/*",
            "pattern \"example.com/*\": it must begin with `/`, `*`, `http://` or `https://`, or no URL matches",
        ),
        ("http", "pattern \"http\": it must begin with `/`, `*`, `http://` or `https://`, or no URL matches"),
        ("ftp://h/", "pattern \"ftp://h/\": it must begin with `/`, `*`, `http://` or `https://`, or no URL matches"),
        ("$", "pattern \"$\": it must begin with `/`, `*`, `http://` or `https://`, or no URL matches"),
        ("/a#b", "pattern \"/a#b\": it has a `#`, and crawled URLs have no fragment"),
        ("http:///a", "pattern \"http:///a\": URL: the host is empty"),
        ("http://a b/", "pattern \"http://a b/\": URL: the host is no valid domain name"),
        (
            "http://*.bücher.test/",
            "pattern \"http://*.bücher.test/\": URL: a host with `*` must be written in ASCII, with xn-- labels",
        ),
    ];
    for (text, expected) in rows {
        let error = UrlPattern::parse(text).expect_err(text);
        assert_eq!(error.to_string(), expected, "row {text:?}");
    }
    let longest = format!("/{}", "a".repeat(MAX_PATTERN_BYTES - 1));
    assert!(UrlPattern::parse(&longest).is_ok());
    let error = UrlPattern::parse(&format!("{longest}a")).unwrap_err();
    assert_eq!(error.to_string(), "pattern: 4097 bytes, at most 4096 are taken");
}
