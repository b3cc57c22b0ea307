//! Laws that hold for any input.

use crate::support::letters;
use comity_robots::{Dialect, Robots};
use comity_signals::{
    HeadFacts, PageReader, Preferences, Profile, Purpose, RobotsMeta, RobotsReading, SignalOptions, UnixSeconds,
    Verdict, page_signals, robots_preferences,
};
use proptest::collection::vec;
use proptest::prelude::*;

const TOKEN: &str = "ComityBot";

/// A bounded number of cases, and nothing written beside the tests.
fn config() -> ProptestConfig {
    ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() }
}

fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("User-agent: *".to_owned()),
        Just("User-agent: ComityBot".to_owned()),
        Just("User-agent: other".to_owned()),
        "(Allow|Disallow|DisallowAITraining): /[ab*$]{0,3}",
        "Content-Usage: (/[ab*]{0,2} )?(train-ai|search|ai-use|all)=[yn](, ?(search|x)=[yn?])?",
        "Content-Signal: (/[ab*]{0,2} )?(ai-train|search|ai-input)=(yes|no|maybe)(,search=(yes|no))?",
    ]
}

fn robots() -> impl Strategy<Value = String> {
    vec(line(), 0..12).prop_map(|lines| lines.join("\n"))
}

fn rule() -> impl Strategy<Value = String> {
    let words = "no(index|follow|archive|cache|snippet|ai|ml|imageai|imageindex)|none|all|max-snippet:[0-9]";
    prop_oneof![
        8 => words,
        2 => "(otherbot|comitybot|\\*): ?(noindex|noai|nofollow)",
        1 => "unavailable_after: (Friday, 25-Jun-10 15:00:00 UTC|soon)",
    ]
}

fn value() -> impl Strategy<Value = String> {
    vec(rule(), 0..6).prop_map(|rules| rules.join(", "))
}

fn fields() -> impl Strategy<Value = Vec<(String, String)>> {
    let field = prop_oneof![
        4 => value().prop_map(|value| ("X-Robots-Tag".to_owned(), value)),
        1 => "(train-ai|search)=[yn]".prop_map(|value| ("Content-Usage".to_owned(), value)),
        1 => "(ai-train|search)=(yes|no)".prop_map(|value| ("Content-Signal".to_owned(), value)),
    ];
    vec(field, 0..5)
}

fn head(contents: &[String]) -> HeadFacts {
    let meta = |content: &String| RobotsMeta { name: "robots".to_owned(), content: content.clone() };
    HeadFacts { robots: contents.iter().map(meta).collect(), ..HeadFacts::default() }
}

fn denied(preferences: &Preferences) -> Vec<Purpose> {
    Purpose::ALL.into_iter().filter(|p| preferences.verdict(*p) == Verdict::Denied).collect()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn no_bytes_panic(body in vec(any::<u8>(), 0..400), name in "(X-Robots-Tag|robots-tag|Content-(Usage|Signal))") {
        let file = [b"User-agent: *\nContent-Usage: ", &body[..], b"\nContent-Signal: ", &body].concat();
        let rules = Robots::parse(&file).rules(&[TOKEN], Dialect::Standard);
        let _ = RobotsReading::read(&rules, &body, SignalOptions::default());
        let _ = page_signals(&[(name, &body)], &HeadFacts::default(), TOKEN, true);
    }

    #[test]
    fn no_date_panics(text in "[ -~]{0,30}|[0-9:. TZ+-]{0,30}") {
        if let Some(moment) = UnixSeconds::parse(&text) {
            prop_assert_eq!(UnixSeconds::parse(&moment.to_string()), Some(moment));
        }
    }

    #[test]
    fn what_may_not_be_crawled_has_no_preferences(robots in robots(), path in "/[ab]{0,3}") {
        let rules = Robots::parse(robots.as_bytes()).rules(&[TOKEN], Dialect::Standard);
        let preferences = robots_preferences(&rules, path.as_bytes());
        prop_assert!(rules.allows(path.as_bytes()) || preferences == Preferences::none());
    }

    #[test]
    fn the_short_form_is_the_long_form(robots in robots(), path in "/[ab]{0,3}") {
        let rules = Robots::parse(robots.as_bytes()).rules(&[TOKEN], Dialect::Standard);
        let reading = RobotsReading::read(&rules, path.as_bytes(), SignalOptions::default());
        prop_assert_eq!(robots_preferences(&rules, path.as_bytes()), reading.preferences);
    }

    #[test]
    fn a_target_without_slash_is_taken_as_the_access_rules_take_it(robots in robots(), path in "[ab]{0,3}") {
        let rules = Robots::parse(robots.as_bytes()).rules(&[TOKEN], Dialect::Standard);
        let rooted = robots_preferences(&rules, format!("/{path}").as_bytes());
        prop_assert_eq!(robots_preferences(&rules, path.as_bytes()), rooted);
    }

    #[test]
    fn the_cautious_profile_only_adds_denials(fields in fields(), metas in vec(value(), 0..3), image: bool) {
        let read = |profile| {
            let options = SignalOptions { profile, ..SignalOptions::default() };
            let page = PageReader { token: TOKEN, image, options }.read(&fields, &head(&metas));
            page.preferences(Preferences::none(), UnixSeconds(0))
        };
        let (literal, cautious) = (read(Profile::Literal), read(Profile::Cautious));
        for purpose in Purpose::ALL {
            let (said, with_derived) = (literal.verdict(purpose), cautious.verdict(purpose));
            prop_assert!(said == with_derived || with_derived == Verdict::Denied, "{purpose}");
        }
        prop_assert!(cautious.statements().iter().all(|s| !s.derived || s.verdict == Verdict::Denied));
    }

    #[test]
    fn one_more_rule_never_lifts_a_denial(fields in fields(), metas in vec(value(), 0..3), more in value()) {
        let read = |fields: &[(String, String)], metas: &[String]| {
            let page = page_signals(fields, &head(metas), TOKEN, false);
            (page.follow, page.preferences(Preferences::none(), UnixSeconds(0)))
        };
        let (follow, before) = read(&fields, &metas);
        let longer = [&fields[..], &[("x-robots-tag".to_owned(), more.clone())]].concat();
        let with_meta = [&metas[..], &[more]].concat();
        for (still, after) in [read(&longer, &metas), read(&fields, &with_meta)] {
            prop_assert!(!still || follow);
            prop_assert!(denied(&before).iter().all(|purpose| denied(&after).contains(purpose)));
        }
    }

    #[test]
    fn field_lines_do_not_touch_each_other(values in vec(value(), 0..5), turn in 0_usize..5) {
        let read = |values: &[String]| {
            let fields: Vec<_> = values.iter().map(|value| ("X-Robots-Tag", value)).collect();
            let page = page_signals(&fields, &HeadFacts::default(), TOKEN, false);
            let preferences = page.preferences(Preferences::none(), UnixSeconds(0));
            (letters(&preferences), page.follow, page.cache, page.snippet_max, page.unavailable_after)
        };
        let mut turned = values.clone();
        turned.rotate_left(turn.min(values.len()));
        prop_assert_eq!(read(&values), read(&turned));
    }

    #[test]
    fn head_alone_follows_as_the_head_says(metas in vec(value(), 0..4)) {
        let head = head(&metas);
        let page = page_signals::<&str, &str>(&[], &head, TOKEN, false);
        prop_assert_eq!(page.follow, !head.forbids_following(TOKEN));
        let denied = page.statements.iter().any(|s| s.purpose == Purpose::Search);
        prop_assert_eq!(denied, head.forbids_indexing(TOKEN));
    }

    #[test]
    fn the_order_of_carriers_does_not_matter(robots in robots(), fields in fields()) {
        let rules = Robots::parse(robots.as_bytes()).rules(&[TOKEN], Dialect::Standard);
        let known = robots_preferences(&rules, b"/a");
        let page = page_signals(&fields, &HeadFacts::default(), TOKEN, false);
        let one = page.preferences(known.clone(), UnixSeconds(0));
        let other = Preferences::combine(&page.statements).with(known.statements().iter().cloned());
        prop_assert_eq!(letters(&one), letters(&other));
    }
}
