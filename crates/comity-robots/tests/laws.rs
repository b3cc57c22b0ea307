//! What holds for every file.

mod shared;

use std::collections::BTreeSet;

use comity_robots::{Dialect, Evidence, MAX_BYTES, Pattern, Robots, RuleSet, request_target, token_note};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

/// A rule line: allow or not, and the pattern.
type Rule = (bool, String);

fn pattern() -> impl Strategy<Value = String> {
    "(/|\\*|)[ab/*$é%?]{0,6}(%61|%2f|/index\\.html|\\$|)"
}

fn rules() -> impl Strategy<Value = Vec<Rule>> {
    prop::collection::vec((any::<bool>(), pattern()), 0..8)
}

fn target() -> impl Strategy<Value = String> {
    "/[ab/$é%?*]{0,8}(%61|%2F|/index\\.html|/|)"
}

fn dialect() -> impl Strategy<Value = Dialect> {
    prop_oneof![Just(Dialect::Standard), Just(Dialect::Google)]
}

fn line((allow, pattern): &Rule) -> String {
    format!("{}: {pattern}", if *allow { "Allow" } else { "Disallow" })
}

fn file(rules: &[Rule]) -> Vec<String> {
    ["User-agent: FooBot".to_owned()].into_iter().chain(rules.iter().map(line)).collect()
}

fn set(text: &str, dialect: Dialect) -> RuleSet {
    Robots::parse(text.as_bytes()).rules(&["FooBot"], dialect)
}

fn allows(lines: &[String], target: &str, dialect: Dialect) -> bool {
    set(&lines.join("\n"), dialect).allows(target.as_bytes())
}

/// The obvious matcher: all that is left of the pattern against all that is left of the path.
fn slow_match(pattern: &[u8], path: &[u8]) -> bool {
    match pattern {
        [] => true,
        b"$" => path.is_empty(),
        [b'*', rest @ ..] => (0..=path.len()).any(|skip| slow_match(rest, &path[skip..])),
        [first, rest @ ..] => path.first() == Some(first) && slow_match(rest, &path[1..]),
    }
}

/// The obvious judge: every rule is asked, the longest wins. Pattern and path are in the form in which they are compared.
fn slow_allows(rules: &[Rule], target: &str, dialect: Dialect) -> bool {
    let normal = |text: &str| Pattern::new(text.as_bytes(), dialect).as_bytes().to_vec();
    let path = if dialect == Dialect::Standard { normal(target) } else { target.as_bytes().to_vec() };
    let (mut allow, mut disallow) = (0, 0);
    for (allows, pattern) in rules {
        let pattern = normal(pattern);
        let best = if *allows { &mut allow } else { &mut disallow };
        if slow_match(&pattern, &path) {
            *best = (*best).max(pattern.len());
        } else if let (true, Some(slash)) = (*allows, pattern.iter().rposition(|byte| *byte == b'/')) {
            let directory = [&pattern[..=slash], b"$"].concat();
            if pattern[slash..].starts_with(b"/index.htm") && slow_match(&directory, &path) {
                *best = (*best).max(directory.len());
            }
        }
    }
    disallow <= allow
}

/// What once failed is kept beside this file and tried first.
fn config() -> ProptestConfig {
    let kept = FileFailurePersistence::Direct("tests/laws.proptest-regressions");
    ProptestConfig { cases: 512, failure_persistence: Some(Box::new(kept)), ..ProptestConfig::default() }
}

/// Rules and a path so short that all queries that tell anything have at most five bytes.
fn short_rules() -> impl Strategy<Value = Vec<Rule>> {
    let pattern = "(/|\\*)[ab?=*]{0,3}(\\$|)";
    prop::collection::vec((any::<bool>(), pattern), 0..6)
}

/// Every query of at most five of these bytes; `z` stands in no rule.
fn short_queries() -> Vec<String> {
    let mut all = vec![String::new()];
    let mut last = all.clone();
    for _ in 0..5 {
        last = last.iter().flat_map(|query| ["a", "b", "?", "=", "z"].map(|next| format!("{query}{next}"))).collect();
        all.extend_from_slice(&last);
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..config() })]

    /// What decides for some query is what decides for one of very many.
    #[test]
    fn any_query_is_every_query(rules in short_rules(), path in "/[ab]{0,2}", dialect in dialect()) {
        let set = set(&file(&rules).join("\n"), dialect);
        let line = |evidence: &Evidence<'_>| match evidence {
            Evidence::Rule(rule) => rule.line(),
            Evidence::NoRule | Evidence::RobotsTxt => 0,
        };
        let every: BTreeSet<u32> =
            short_queries().iter().map(|query| line(&set.evidence(format!("{path}?{query}").as_bytes()))).collect();
        let any = set.with_any_query(path.as_bytes());
        let found: BTreeSet<u32> = any.deciding().unwrap().iter().map(|(evidence, _)| line(evidence)).collect();
        prop_assert_eq!(found, every);
        for (_, pattern) in &rules {
            let pattern = Pattern::new(pattern.as_bytes(), dialect);
            let every: BTreeSet<bool> =
                short_queries().iter().map(|query| pattern.matches(format!("{path}?{query}").as_bytes())).collect();
            let found = pattern.with_any_query(path.as_bytes());
            prop_assert_eq!(found, if every.len() == 1 { every.first().copied() } else { None }, "{:?}", pattern);
        }
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_verdict_is_that_of_the_obvious_judge(rules in rules(), target in target(), dialect in dialect()) {
        prop_assert_eq!(allows(&file(&rules), &target, dialect), slow_allows(&rules, &target, dialect));
    }

    #[test]
    fn a_match_is_that_of_the_obvious_matcher(pattern in "/[ab*]{0,8}\\$?", path in "/[ab]{0,10}") {
        let answer = Pattern::new(pattern.as_bytes(), Dialect::Google).matches(path.as_bytes());
        prop_assert_eq!(answer, slow_match(pattern.as_bytes(), path.as_bytes()));
    }

    #[test]
    fn line_ends_change_nothing(rules in rules(), target in target(), dialect in dialect()) {
        let lines = file(&rules);
        let wanted = set(&lines.join("\n"), dialect);
        for end in ["\r", "\r\n"] {
            let other = set(&lines.join(end), dialect);
            prop_assert_eq!(&other, &wanted);
            prop_assert_eq!(other.verdict(target.as_bytes()), wanted.verdict(target.as_bytes()));
        }
    }

    #[test]
    fn comments_change_nothing(rules in rules(), comment in "[ -~é]{0,12}", dialect in dialect()) {
        let lines = file(&rules);
        let glued: Vec<_> = lines.iter().map(|line| format!("  {line} # {comment}")).collect();
        prop_assert_eq!(set(&glued.join("\n"), dialect), set(&lines.join("\n"), dialect));
    }

    #[test]
    fn splitting_a_group_changes_no_verdict(
        rules in rules(), at in 0_usize..8, target in target(), dialect in dialect(), foreign in rules(),
    ) {
        let lines = file(&rules);
        let mut split = lines.clone();
        let between = ["User-agent: Other".to_owned()].into_iter().chain(foreign.iter().map(line));
        let between = between.chain(["Disallow:".to_owned(), "User-agent: FOOBOT".to_owned()]);
        let at = (at + 1).min(split.len());
        // Without a rule of ours before it the foreign agent would join our list.
        split.splice(at..at, ["Disallow:".to_owned()].into_iter().chain(between));
        prop_assert_eq!(allows(&split, &target, dialect), allows(&lines, &target, dialect));
    }

    #[test]
    fn the_order_of_rules_changes_no_verdict(rules in rules(), target in target(), dialect in dialect()) {
        let reversed: Vec<Rule> = rules.iter().rev().cloned().collect();
        prop_assert_eq!(allows(&file(&reversed), &target, dialect), allows(&file(&rules), &target, dialect));
    }

    #[test]
    fn other_records_change_no_verdict(rules in rules(), at in 0_usize..8, target in target(), dialect in dialect()) {
        let lines = file(&rules);
        let mut more = lines.clone();
        let records = ["Sitemap: /s", "Crawl-delay: 3", "Content-Usage: /a train-ai=n", "junk", "Host: x", ""];
        let at = at.min(more.len());
        more.splice(at..at, records.map(str::to_owned));
        prop_assert_eq!(allows(&more, &target, dialect), allows(&lines, &target, dialect));
    }

    #[test]
    fn an_allow_rule_never_forbids(rules in rules(), added in pattern(), target in target(), dialect in dialect()) {
        let before = allows(&file(&rules), &target, dialect);
        let with = |allow| allows(&file(&[rules.clone(), vec![(allow, added.clone())]].concat()), &target, dialect);
        prop_assert!(with(true) || !before, "an allow rule forbade");
        prop_assert!(!with(false) || before, "a disallow rule allowed");
    }

    #[test]
    fn evidence_is_a_line_of_the_file(rules in rules(), target in target(), dialect in dialect()) {
        let verdict = set(&file(&rules).join("\n"), dialect).verdict(target.as_bytes());
        if let Some(rule) = verdict.rule {
            let (allow, pattern) = &rules[rule.line as usize - 2];
            prop_assert_eq!(pattern.trim(), &rule.pattern);
            prop_assert_eq!(*allow, verdict.allowed);
            prop_assert_eq!(rule.group_line, 1);
        } else {
            prop_assert!(verdict.allowed);
        }
    }

    #[test]
    fn any_bytes_are_a_file(body in prop::collection::vec(any::<u8>(), 0..400), dialect in dialect()) {
        look_at_all(&body, dialect);
    }

    #[test]
    fn any_words_are_a_file(
        words in prop::collection::vec(prop::sample::select(WORDS), 0..60), token in "[a*]{0,2}", dialect in dialect(),
    ) {
        let body = words.concat();
        look_at_all(&body, dialect);
        let robots = Robots::parse(&body);
        prop_assert_eq!(token_note(&token).is_some(), token.is_empty() || token.contains('*'));
        prop_assert!(!robots.rules(&[&token], dialect).group_tokens().iter().any(|found| found.is_empty()));
    }

    #[test]
    fn any_bytes_are_a_target(target in prop::collection::vec(any::<u8>(), 0..40), rules in rules(), dialect in dialect()) {
        let set = set(&file(&rules).join("\n"), dialect);
        let cut = request_target(&target);
        prop_assert!(cut.starts_with(b"/"));
        prop_assert_eq!(set.verdict(&target).allowed, set.allows(&target));
        prop_assert_eq!(set.verdict(&cut).allowed, set.allows(&cut));
    }
}

/// Pieces of which almost every line means something.
const WORDS: &[&[u8]] = &[
    b"user-agent",
    b"disallow",
    b"allow",
    b"sitemap",
    b"crawl-delay",
    b"content-usage",
    b"visit-time",
    b"request-rate",
    b"license",
    b":",
    b" ",
    b"\t",
    b"\n",
    b"\r",
    b"#",
    b"\0",
    b"*",
    b"/",
    b"$",
    b"%",
    b"%6",
    b"a",
    b"1",
    b"1/5",
    b".",
    b"0400-0845",
    b"\xEF\xBB\xBF",
    b"\xFF",
    b"/index.html",
];

/// Reads everything that a file has to say.
fn look_at_all(body: &[u8], dialect: Dialect) {
    let robots = Robots::parse(body);
    assert!(!robots.truncated() && robots.text() == body && body.len() < MAX_BYTES);
    let last_line = u32::try_from(body.len()).map_or(u32::MAX, |bytes| bytes + 1);
    for group in robots.groups() {
        assert!(group.agents().count() > 0);
        assert!(group.rules().all(|rule| rule.line() <= last_line && rule.value_column() >= 1));
    }
    let known = robots.extensions().map(|e| e.access_agents().count().max(e.usage_agents().count())).max();
    assert!(known.unwrap_or(0) <= body.len());
    assert!(robots.sitemaps().all(|(_, line)| line <= last_line));
    for token in ["a", "FooBot", "*", ""] {
        let set = robots.rules(&[token], dialect);
        let verdict = set.verdict(b"/a");
        assert_eq!(verdict.allowed, set.allows(b"/a"));
        assert!(set.heap_bytes() > 0 && set.signals().len() <= body.len() && set.notes().len() <= body.len());
    }
}
