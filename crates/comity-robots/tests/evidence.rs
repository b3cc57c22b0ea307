//! Every verdict tells what it rests on.

use comity_robots::{Basis, Dialect, Evidence, Robots, RuleKind, RuleSet, RuleVia, TokenError, TokenNote, token_note};
use comity_robots::{ProductToken, request_target};

fn rules(text: &str, dialect: Dialect) -> RuleSet {
    Robots::parse(text.as_bytes()).rules(&["FooBot"], dialect)
}

#[test]
fn the_rule_that_decided() {
    let text =
        "User-agent: *\nAllow: /a\nDisallow: /a*%c3%A9 # why\nDisallow: /B\nAllow: /d/index.html\nDisallow: /d/\n";
    let rows = [
        ("/ax", Some((RuleKind::Allow, "/a", 2, 2, RuleVia::Pattern))),
        ("/ab%C3%A9", Some((RuleKind::Disallow, "/a*%c3%A9", 3, 9, RuleVia::Pattern))),
        ("/d/", Some((RuleKind::Allow, "/d/index.html", 5, 4, RuleVia::IndexHtml))),
        ("/d/x", Some((RuleKind::Disallow, "/d/", 6, 3, RuleVia::Pattern))),
        ("/d/index.html", Some((RuleKind::Allow, "/d/index.html", 5, 13, RuleVia::Pattern))),
        ("/x", None),
    ];
    for dialect in [Dialect::Standard, Dialect::Google] {
        let rules = rules(text, dialect);
        for (path, wanted) in rows {
            let verdict = rules.verdict(path.as_bytes());
            let found = verdict.rule.as_ref().map(|r| (r.kind, r.pattern.as_str(), r.line, r.priority, r.via));
            assert_eq!(found, wanted, "{path}");
            assert_eq!(verdict.basis, if wanted.is_some() { Basis::Rule } else { Basis::NoRule }, "{path}");
            assert_eq!(verdict.allowed, wanted.is_none_or(|rule| rule.0 == RuleKind::Allow), "{path}");
            assert_eq!(rules.evidence(path.as_bytes()).to_verdict(), verdict, "{path}");
        }
    }
}

#[test]
fn the_first_line_of_equal_rules_is_named() {
    let rules = rules("User-agent: *\nDisallow: /a*\nDisallow: /*a\nDisallow: /*a\nDisallow: /a*\n", Dialect::Google);
    let rule = rules.verdict(b"/aa").rule.unwrap();
    assert_eq!((rule.pattern.as_str(), rule.line), ("/a*", 2));
    assert_eq!(rules.rule_count(), 2);
}

#[test]
fn robots_txt_is_its_own_reason() {
    let standard = rules("User-agent: *\nDisallow: /\n", Dialect::Standard);
    assert!(matches!(standard.evidence(b"/robots.txt"), Evidence::RobotsTxt));
    assert_eq!(standard.verdict(b"/robots.txt?a").basis, Basis::RobotsTxt);
    assert_eq!(standard.verdict(b"/robots.txt").rule, None);
    let google = rules("User-agent: *\nDisallow: /\n", Dialect::Google);
    assert_eq!(google.verdict(b"/robots.txt").basis, Basis::Rule);
}

#[test]
fn bytes_that_are_no_text() {
    let set = Robots::parse(b"User-agent: *\nDisallow: /\xE9\n").rules(&["FooBot"], Dialect::Standard);
    let Evidence::Rule(rule) = set.evidence(b"/%e9x") else { panic!("no rule") };
    assert_eq!(
        (rule.pattern_bytes().as_ref(), rule.pattern().as_ref(), rule.priority()),
        (&b"/\xE9"[..], "/\u{fffd}", 4)
    );
    assert!(!set.allows(b"/\xE9"));
}

#[test]
fn odd_targets() {
    let set = rules("User-agent: *\nDisallow: /?q\nDisallow: /x\n", Dialect::Standard);
    for (target, allowed) in [("", true), ("?q", false), ("x", false), ("*", true), ("/", true)] {
        assert_eq!(set.allows(target.as_bytes()), allowed, "{target}");
    }
}

#[test]
fn tokens() {
    for good in ["FooBot", "a", "_", "-", "Googlebot-Image"] {
        assert_eq!(ProductToken::new(good).unwrap().as_str(), good);
        assert_eq!(token_note(good), None);
    }
    let at = |at, found| Some(TokenNote::Unnameable { at, found });
    let rows = [("", Some(TokenNote::Empty)), ("AI2Bot", at(2, '2')), ("*", at(0, '*')), ("Böt", at(1, 'ö'))];
    for (bad, note) in rows {
        assert_eq!(token_note(bad), note, "{bad}");
        assert_eq!(ProductToken::new(bad).unwrap_err(), note.unwrap().into(), "{bad}");
    }
    let cut = [("BOT/2.0", Some("BOT")), ("AI2Bot", Some("AI")), ("Bö", Some("B")), ("2x", None), ("", None)];
    for (text, wanted) in cut {
        let token = ProductToken::cut(text).ok();
        assert_eq!(token.as_ref().map(ProductToken::as_str), wanted, "{text}");
    }
    assert_eq!(ProductToken::new("FOO").unwrap(), ProductToken::new("foo").unwrap());
    assert_eq!(TokenError::Empty.to_string(), "product token is empty");
    let error = ProductToken::new("AI2Bot").unwrap_err().to_string();
    assert_eq!(error, "product token holds '2' at byte 2; only letters, '-' and '_' can be named");
}

#[test]
fn equal_files_give_equal_sets() {
    let one = rules("User-agent: *\nDisallow: /a\nCrawl-delay: 2\n", Dialect::Standard);
    let two = rules("User-agent: *\r\nDisallow:/a#x\r\nCrawl-delay: 2.0\r\n", Dialect::Standard);
    let other = rules("User-agent: *\nDisallow: /b\nCrawl-delay: 2\n", Dialect::Standard);
    assert_eq!(one, two);
    assert_ne!(one, other);
    let hash = |set: &RuleSet| {
        std::hash::BuildHasher::hash_one(
            &std::hash::BuildHasherDefault::<std::collections::hash_map::DefaultHasher>::default(),
            set,
        )
    };
    assert_eq!(hash(&one), hash(&two));
    assert!(one.heap_bytes() > 100 && one.heap_bytes() < 1000, "{}", one.heap_bytes());
}

#[test]
fn sets_go_between_threads() {
    fn shareable<T: Send + Sync + Clone + 'static>(_: &T) {}
    shareable(&rules("", Dialect::Standard));
    shareable(&Robots::parse(b""));
    assert_eq!(request_target("https://e.test?a#b").as_ref(), b"/?a");
}
