//! Laws that hold for every text: generated URLs, generated junk, and the `http` and `url` crates as judges.

use std::str::FromStr;

use comity_url::{
    BaseUrl, CrawlUrl, HostKind, KeyHasher, MAX_CRAWL_URL_BYTES, Origin, Scope, ScopeKind, Surt, TrapLimits, UrlError,
    UrlPattern, canonical, looks_suspicious,
};
use http::Uri;
use http::uri::PathAndQuery;
use proptest::prelude::*;

/// Texts near URLs: pieces that parsers treat in a way of their own, in any order.
fn url_like() -> impl Strategy<Value = String> {
    let scheme = prop::sample::select(vec!["http://", "https://", "HTTP:\\\\", "http:", "https:///", " http://", ""]);
    let odd = prop::collection::vec(prop_oneof![select_host(), any::<char>().prop_map(String::from)], 0..4);
    let plain = prop::sample::select(vec!["h", "a.example.com:8080", "u:p@bücher.test.", "127.1", "[::1]:81"]);
    let host = prop_oneof![odd.prop_map(|parts| parts.concat()), plain.prop_map(str::to_owned)];
    let rest =
        prop::collection::vec(prop_oneof![4 => select_piece(), 1 => any::<char>().prop_map(String::from)], 0..12);
    (scheme, host, rest).prop_map(|(scheme, host, rest)| format!("{scheme}{host}/{}", rest.concat()))
}

fn select_host() -> impl Strategy<Value = String> {
    let hosts = [
        "h",
        "example.com",
        "www.",
        ".",
        "..",
        "127.1",
        "0x7f",
        "[::1]",
        ":80",
        ":443",
        ":8080",
        "u:p@",
        "ü",
        "xn--",
        "ß",
        "１",
        "。",
        "\"",
        "`",
        "{",
        "}",
        "%41",
        "%25",
        "-",
        "_",
        "!$&'()*+,;=~",
    ];
    prop::sample::select(hosts.map(str::to_owned).to_vec())
}

fn select_piece() -> impl Strategy<Value = String> {
    let pieces = [
        "/",
        "//",
        ".",
        "..",
        "%2e",
        "%2E%2e",
        "?",
        "??",
        "#",
        "&",
        "=",
        "%",
        "%%",
        "%4",
        "%41",
        "%34",
        "%31",
        "%7e",
        "%2f",
        "%c3%bc",
        "ü",
        " ",
        "\t",
        "\n",
        "\\",
        "|",
        "^",
        "[",
        "]",
        "'",
        "\"",
        "<",
        ">",
        "`",
        "{",
        "}",
        "a",
        "A",
        "1",
        "f",
        ";",
        ":",
        "@",
        "*",
        "$",
        "\u{7f}",
        "\u{0}",
        "\u{a0}",
        "(S(",
        ".aspx",
        "sid=",
        "cfid=",
        "&cftoken=",
        "http://",
        "1.",
    ];
    prop::sample::select(pieces.map(str::to_owned).to_vec())
}

/// References of the shapes that pages have, each of them easily a little off.
fn common_reference() -> impl Strategy<Value = String> {
    const STARTS: &str = "/ ./ ../ ../../ ? # // http:// https:// https://docs.test http://docs.test https: //docs.test:8080 \
        http://127.0.0.1 https://a.test.:80 https://xn--a.test HTTPS://A.test mailto: \\";
    const PIECES: &str = "a B 0 x.html index.html en / / / // . .. /. /.. /../ %2e %2E %20 % - _ ~ ! $ & ' ( * + , ; = : @ | ^ [ ? \
        ?q=1&r=2 # #top \\ { < \" ` é .test example.com :80 :443 :8080 :0 :08 127.1 0x7f xn-- a_b --";
    let starts: Vec<&str> = STARTS.split_ascii_whitespace().chain(["", " /"]).collect();
    let pieces: Vec<&str> = PIECES.split_ascii_whitespace().chain([" ", "\t"]).collect();
    let rest = prop::collection::vec(prop::sample::select(pieces), 0..7);
    (prop::sample::select(starts), rest).prop_map(|(start, rest)| format!("{start}{}", rest.concat()))
}

fn base() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "https://docs.test/",
        "http://docs.test/a/b/c.html?q",
        "https://docs.test:8080/a//b/",
        "http://127.0.0.1/x/?",
        "https://[::1]:81/x/y",
        "https://xn--bcher-kva.test/%2fa/b|c/d",
    ])
}

/// `///h` is `//h` by the URL standard; the `url` crate has it otherwise.
fn two_slashes(reference: &str) -> String {
    let trimmed = reference.trim_start_matches(|c: char| c <= ' ');
    let slashes = trimmed.len() - trimmed.trim_start_matches(['/', '\\']).len();
    if slashes > 2 && trimmed.starts_with("//") { format!("//{}", &trimmed[slashes..]) } else { reference.to_owned() }
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![4 => url_like(), 1 => any::<String>()]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_crawl_url_is_its_own_text(text in any_text()) {
        if let Ok(url) = CrawlUrl::parse(&text) {
            prop_assert_eq!(CrawlUrl::parse(url.as_str()), Ok(url.clone()));
            prop_assert!(url.as_str().is_ascii() && url.as_str().len() <= MAX_CRAWL_URL_BYTES);
            let target = url.path().to_owned() + &url.query().map_or(String::new(), |query| format!("?{query}"));
            prop_assert_eq!(url.request_target(), &target);
            prop_assert!(target.starts_with('/'));
            let whole = format!("{}{target}", url.origin());
            prop_assert_eq!(url.as_str(), &whole);
            prop_assert_eq!(Origin::parse(url.origin().as_str()), Ok(url.origin().clone()));
        }
    }

    #[test]
    fn what_is_accepted_is_sent_unaltered(text in any_text()) {
        if let Ok(url) = CrawlUrl::parse(&text) {
            let uri = Uri::from_str(url.as_str()).unwrap();
            prop_assert_eq!(uri.to_string(), url.as_str());
            prop_assert_eq!(uri.path_and_query().unwrap().as_str(), url.request_target());
            prop_assert_eq!(uri.authority().unwrap().as_str(), url.origin().authority());
            prop_assert_eq!(uri.host(), Some(url.origin().host()));
            prop_assert_eq!(uri.scheme_str(), Some(url.origin().scheme().as_str()));
            prop_assert_eq!(uri.port_u16().unwrap_or(url.origin().scheme().default_port()), url.origin().port());
            prop_assert_eq!(Uri::from_str(url.request_target()).unwrap().to_string(), url.request_target());
            let target = PathAndQuery::from_str(url.request_target()).unwrap();
            prop_assert_eq!(target.as_str(), url.request_target());
        }
    }

    #[test]
    fn what_is_refused_as_unsendable_would_be_altered_or_refused(text in any_text()) {
        if let Err(UrlError::Unsendable { byte, position }) = CrawlUrl::parse(&text) {
            let serialised = plain(&text).unwrap().to_string();
            prop_assert_eq!(serialised.as_bytes().get(position), Some(&byte));
            let carried = Uri::from_str(&serialised).map(|uri| uri.to_string());
            prop_assert_ne!(carried.ok(), Some(serialised));
        }
    }

    #[test]
    fn join_is_that_of_the_url_crate(base in any_text(), reference in any_text()) {
        if let Ok(base) = CrawlUrl::parse(&base) {
            let joined = url::Url::parse(base.as_str()).unwrap().join(&two_slashes(&reference));
            let expected = match joined {
                Ok(joined) => CrawlUrl::parse(joined.as_str()),
                Err(error) => Err(error.into()),
            };
            let found = base.join(&reference);
            // The position of an unsendable byte moves when user info is dropped only after a second parse.
            prop_assert_eq!(found.as_ref().map_err(UrlError::code), expected.as_ref().map_err(UrlError::code));
            if let (Ok(found), Ok(expected)) = (&found, &expected) {
                prop_assert_eq!(found.origin(), expected.origin());
            }
        }
    }

    #[test]
    fn common_shapes_are_read_as_the_url_crate_reads_them(base in base(), references in prop::collection::vec(common_reference(), 1..6)) {
        let mut shared = BaseUrl::new(CrawlUrl::parse(base).unwrap());
        for reference in &references {
            let joined = url::Url::parse(base).unwrap().join(&two_slashes(reference));
            reads_alike(shared.join(reference), joined.clone().ok().as_ref(), reference)?;
            reads_alike(shared.url().join(reference), joined.ok().as_ref(), reference)?;
            reads_alike(CrawlUrl::parse(reference), url::Url::parse(reference).ok().as_ref(), reference)?;
        }
    }

    #[test]
    fn canonical_is_stable_and_keeps_the_key(text in any_text(), key in any::<[u8; 16]>()) {
        if let Ok(url) = CrawlUrl::parse(&text) {
            let form = canonical(&url);
            let again = CrawlUrl::parse(&form).unwrap();
            prop_assert_eq!(again.as_str(), &form);
            prop_assert_eq!(canonical(&again), form);
            let hasher = KeyHasher::new(key);
            prop_assert_eq!(hasher.key(&again), hasher.key(&url));
            prop_assert_eq!(url.origin(), again.origin());
            let slashes = |url: &CrawlUrl| url.as_str().matches('/').count();
            prop_assert_eq!(slashes(&again), slashes(&url));
        }
    }

    #[test]
    fn a_surt_is_one_field_and_forgets_what_it_should(text in any_text()) {
        prop_assert!(!Surt::of_text(&text).as_str().contains(|c: char| c.is_ascii_whitespace() || c.is_ascii_control()));
        if let Ok(url) = CrawlUrl::parse(&text) {
            let surt = Surt::of(&url);
            prop_assert!(surt.as_str().bytes().all(|byte| byte.is_ascii_graphic() && !byte.is_ascii_uppercase()));
            prop_assert_eq!(&Surt::of_text(url.as_str()), &surt);
            let canonical = CrawlUrl::parse(&canonical(&url)).unwrap();
            prop_assert_eq!(Surt::of(&canonical), surt);
        }
    }

    #[test]
    fn guards_take_any_text(text in any_text(), pattern in any_text(), segments in 0..25_usize, repeats in 0..5_usize) {
        let _ = looks_suspicious(&text);
        let pattern = UrlPattern::parse(&pattern);
        if let Ok(url) = CrawlUrl::parse(&text) {
            let _ = url.origin().registrable_domain().map(|domain| assert!(url.origin().host().ends_with(domain)));
            let limits = TrapLimits { max_path_segments: segments, max_repeated_segments: repeats, ..TrapLimits::default() };
            let _ = limits.check(&url);
            for kind in ScopeKind::ALL {
                let mut scope = Scope::new(kind, Vec::new(), pattern.iter().cloned().collect());
                scope.add_seed(&url);
                let excluded = pattern.as_ref().is_ok_and(|pattern| pattern.matches(&url));
                prop_assert_eq!(scope.admits(&url).is_err(), excluded, "a seed is near to itself");
            }
        }
    }

    #[test]
    fn a_pattern_made_of_a_url_matches_it(text in url_like(), more in "[g-z]{1,3}") {
        if let Ok(url) = CrawlUrl::parse(&text) {
            let form = canonical(&url);
            for written in [&form[..], &form[url.origin().as_str().len()..]] {
                let exact = UrlPattern::parse(&format!("{written}$")).unwrap();
                prop_assert!(exact.matches(&url), "{} on {}", exact, url);
                let starred = UrlPattern::parse(&format!("{written}*")).unwrap();
                prop_assert!(starred.matches(&url.join(&format!("{form}{more}")).unwrap()), "{} on {} and more", starred, url);
            }
        }
    }
}

/// Against the `url` crate alone: nothing of ours has parsed `expected`.
fn reads_alike(found: Result<CrawlUrl, UrlError>, whole: Option<&url::Url>, text: &str) -> Result<(), TestCaseError> {
    let expected = whole.and_then(|url| plain(url.as_str())).filter(|url| matches!(url.scheme(), "http" | "https"));
    match found {
        Ok(found) => {
            let expected = expected.ok_or_else(|| TestCaseError::fail(format!("{text:?} became {found}")))?;
            prop_assert_eq!(found.as_str(), expected.as_str(), "{:?}", text);
            prop_assert_eq!(found.path(), expected.path());
            prop_assert_eq!(found.query(), expected.query());
            prop_assert_eq!(found.request_target(), &expected[url::Position::BeforePath..]);
            let origin = found.origin();
            prop_assert_eq!(origin.as_str(), &expected[..url::Position::AfterPort]);
            prop_assert_eq!(origin.authority(), &expected[url::Position::BeforeHost..url::Position::AfterPort]);
            prop_assert_eq!(Some(origin.host()), expected.host_str());
            prop_assert_eq!(Some(origin.port()), expected.port_or_known_default());
            prop_assert_eq!(origin.scheme().as_str(), expected.scheme());
            let kind = match expected.host() {
                Some(url::Host::Ipv4(address)) => HostKind::V4(address),
                Some(url::Host::Ipv6(address)) => HostKind::V6(address),
                _ => HostKind::Domain(origin.host()),
            };
            prop_assert_eq!(origin.host_kind(), kind);
        }
        Err(error) if error.code() == "url.syntax" => {
            // Ours alone: a name that ends in an empty label is refused.
            let refused = |host: &str| host.is_empty() || host == "." || host.ends_with("..");
            let is_ours = whole.and_then(url::Url::host_str).is_none_or(refused);
            prop_assert!(expected.is_none() || is_ours, "{:?}: {}", text, error);
        }
        Err(error) => prop_assert_eq!(error.code(), "url.unsendable", "{:?}", text),
    }
    Ok(())
}

#[test]
fn lengths_are_those_http_takes() {
    let fits = format!("http://h/{}", "a".repeat(MAX_CRAWL_URL_BYTES - 9));
    assert!(CrawlUrl::parse(&fits).is_ok() && Uri::from_str(&fits).is_ok());
    let over = format!("{fits}a");
    assert!(CrawlUrl::parse(&over).is_err() && Uri::from_str(&over).is_err());
}

/// Every byte in every part: accepted and carried, or refused by both.
#[test]
fn every_ascii_byte_is_carried_or_refused() {
    let mut unsendable = Vec::new();
    for byte in 0..=127_u8 {
        let c = char::from(byte);
        for text in [format!("http://a{c}b/"), format!("http://h/a{c}b"), format!("http://h/?a{c}b")] {
            match CrawlUrl::parse(&text) {
                Ok(url) => assert_eq!(Uri::from_str(url.as_str()).unwrap().to_string(), url.as_str(), "{text:?}"),
                Err(UrlError::Unsendable { byte, .. }) => unsendable.push(char::from(byte)),
                Err(error) => assert_eq!(error.code(), "url.syntax", "{text:?}: {error}"),
            }
        }
    }
    assert_eq!(unsendable, ['"', '`', '{', '}'], "host bytes that WHATWG takes and http does not");
}

/// What the crawl form drops, dropped by the `url` crate alone.
fn plain(text: &str) -> Option<url::Url> {
    let mut url = url::Url::parse(text).ok()?;
    url.set_fragment(None);
    url.set_username("").ok()?;
    url.set_password(None).ok()?;
    let dotless = url.host_str().and_then(|host| host.strip_suffix('.')).map(str::to_owned);
    if let Some(host) = dotless {
        url.set_host(Some(&host)).ok()?;
    }
    Some(url)
}
