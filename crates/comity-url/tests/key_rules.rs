//! Key rules: what is one page to the operator who says so.

#![expect(clippy::unwrap_used, reason = "the URLs of the tests are constants")]

use comity_url::{CleanParams, CrawlUrl, KeyHasher, KeyRules};
use proptest::prelude::{prop_assert_eq, proptest};

const ALL: KeyRules = KeyRules { tracking: true, sessions: true, clean_param: true };

fn reduced(rules: KeyRules, text: &str) -> Option<String> {
    let clean = CleanParams::of(["ref&src /a", "sort", "x /forum*/showthread", "&& /", ""]);
    rules.reduce(&CrawlUrl::parse(text).unwrap(), Some(&clean))
}

#[test]
fn what_each_rule_leaves_out() {
    let tracking = KeyRules { tracking: true, ..KeyRules::default() };
    let sessions = KeyRules { sessions: true, ..KeyRules::default() };
    let clean = KeyRules { clean_param: true, ..KeyRules::default() };
    let rows = [
        (tracking, "http://h/a?utm_source=x", Some("http://h/a")),
        (tracking, "http://h/a?UTM_Whatever=x&id=1&gclid=2", Some("http://h/a?id=1")),
        (tracking, "http://h/a?fbclid", Some("http://h/a")),
        (tracking, "http://h/a?id=1&ref=2", None),
        (tracking, "http://h/a?utm=1&xgclid=2&gclid2=3&gcli=1", None),
        (tracking, "http://h/a;jsessionid=1?sid=0123456789abcdef", None),
        (sessions, "http://h/a;jsessionid=1", Some("http://h/a")),
        (sessions, "http://h/a;jsessionid=1;v=2/b", Some("http://h/a;v=2/b")),
        (sessions, "http://h/a?PHPSESSID=x&b=1", Some("http://h/a?b=1")),
        (sessions, "http://h/a?sid=0123456789abcdef0123456789abcdef", Some("http://h/a")),
        (sessions, "http://h/a?sid=12", None),
        (sessions, "http://h/a?sid=some-page-or-other-2", None),
        (sessions, "http://h/(S(lit3py55t21z5v55vlm25s55))/a.aspx", Some("http://h/a.aspx")),
        (sessions, "http://h/(S)/a", None),
        (sessions, "http://h/a?ASPSESSIONIDABCDEFGH=XYZ", Some("http://h/a")),
        (sessions, "http://h/a?utm_source=x", None),
        (clean, "http://h/a/b?ref=1&id=2", Some("http://h/a/b?id=2")),
        (clean, "http://h/b?ref=1", None),
        (clean, "http://h/b?sort=1", Some("http://h/b")),
        (clean, "http://h/forum1/showthread.php?x=1&y=2", Some("http://h/forum1/showthread.php?y=2")),
        (clean, "http://h/forum1/other?x=1", None),
        (ALL, "http://h/%7ea?utm_source=x&b=%c3", Some("http://h/~a?b=%C3")),
        (KeyRules::default(), "http://h/a?utm_source=x", None),
    ];
    for (rules, text, wanted) in rows {
        assert_eq!(reduced(rules, text).as_deref(), wanted, "{text} under {rules}");
    }
    assert_eq!(
        [ALL, tracking, KeyRules::default()].map(|rules| rules.to_string()),
        ["1:tracking+sessions+clean_param", "1:tracking", "none"]
    );
}

#[test]
fn a_reduced_key_is_that_of_the_page_itself() {
    let hasher = KeyHasher::new([3; 16]);
    let page = CrawlUrl::parse("http://h/~a?b=1").unwrap();
    let reduced = reduced(ALL, "http://h/%7Ea?utm_medium=m&b=1").unwrap();
    assert_eq!(hasher.reduced_key(&reduced), hasher.key(&page));
}

#[test]
fn sessions_within_sessions_go_at_once() {
    for path in ["(S(0123456789abcdef));sid=0123456789abcdef", "(S(0123456789abcdef))", ";jsessionid=1"] {
        for (query, left) in [("", "http://h/"), ("?b=1", "http://h/?b=1")] {
            assert_eq!(reduced(ALL, &format!("http://h/{path}{query}")).as_deref(), Some(left), "{path}{query}");
        }
    }
}

proptest! {
    /// What is left is a URL of the same origin, and has nothing more to leave out.
    #[test]
    fn reducing_is_done_once(target in "(/(a|;|sid=0123456789abcdef|jsessionid=1|\\(S\\(0123456789abcdef\\)\\)|%41|utm_x){0,4}){0,4}", query in "(&|=|utm_a|gclid|sort|ref|b|1|%7e){0,8}") {
        let url = CrawlUrl::parse(&format!("http://h.test/{target}?{query}")).unwrap();
        if let Some(text) = reduced(ALL, url.as_str()) {
            let again = CrawlUrl::parse(&text).unwrap();
            prop_assert_eq!(again.origin(), url.origin());
            prop_assert_eq!(reduced(ALL, &text), None, "{}", text);
        }
    }
}
