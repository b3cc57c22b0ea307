//! Usage lines of robots.txt: a row per case.

use crate::support::Case;
use comity_signals::{LegacyLabels, Place, Profile, Purpose, SignalOptions, Source, UseCeiling};

/// Verdicts in the order search, ai_input, ai_train, tdm; and the diagnostics in order.
type Row<'a> = (&'a str, &'a str, &'a str, &'a str, &'a [&'a str]);

fn check(rows: &[Row<'_>], options: SignalOptions) {
    for (name, robots, path, verdicts, codes) in rows {
        let url = format!("https://example.com{path}");
        let outcome = Case { robots: Some(robots), url: &url, options, ..Case::default() }.read();
        assert_eq!(outcome.verdicts(), *verdicts, "{name}");
        assert_eq!(outcome.codes(), *codes, "{name}");
    }
}

const CONTENT_USAGE: [Row<'static>; 16] = [
    ("no path", "User-agent: *\nContent-Usage: train-ai=n\n", "/x", "--d-", &[]),
    (
        "longer replaces whole",
        "User-agent: *\nContent-Usage: train-ai=n, search=y\nContent-Usage: /a/ ai-use=n\n",
        "/a/x",
        "-d--",
        &[],
    ),
    (
        "shorter elsewhere",
        "User-agent: *\nContent-Usage: train-ai=n, search=y\nContent-Usage: /a/ ai-use=n\n",
        "/b",
        "a-d-",
        &[],
    ),
    (
        "order is nothing",
        "User-agent: *\nContent-Usage: /a/ ai-use=n\nContent-Usage: train-ai=n\n",
        "/a/x",
        "-d--",
        &[],
    ),
    ("slash beats none", "User-agent: *\nContent-Usage: train-ai=n\nContent-Usage: / train-ai=y\n", "/x", "--a-", &[]),
    (
        "equal is strictest",
        "User-agent: *\nContent-Usage: /a train-ai=n\nContent-Usage: /a train-ai=y\n",
        "/a",
        "--d-",
        &[],
    ),
    ("wildcard and end", "User-agent: *\nContent-Usage: /*.pdf$ train-ai=n\n", "/a.pdf", "--d-", &[]),
    ("end holds", "User-agent: *\nContent-Usage: /*.pdf$ train-ai=n\n", "/a.pdf?x", "----", &[]),
    ("escapes as in rules", "User-agent: *\nContent-Usage: /%7euser/ train-ai=n\n", "/~user/", "--d-", &[]),
    ("empty statement hides", "User-agent: *\nContent-Usage: train-ai=n\nContent-Usage: /a\n", "/a", "----", &[]),
    (
        "broken statement hides",
        "User-agent: *\nContent-Usage: train-ai=n\nContent-Usage: /a Train-AI=n\n",
        "/a",
        "----",
        &["aipref_unparsable"],
    ),
    ("disallowed has none", "User-agent: *\nContent-Usage: train-ai=n\nDisallow: /a\n", "/a", "----", &[]),
    ("tab ends a path", "User-agent: *\nContent-Usage: /a\ttrain-ai=n\n", "/a", "--d-", &[]),
    (
        "outside any group",
        "Content-Usage: train-ai=n\nUser-agent: *\nAllow: /\n",
        "/a",
        "----",
        &["signal_outside_group"],
    ),
    (
        "own group hides *",
        "User-agent: *\nContent-Usage: train-ai=n\nAllow: /\nUser-agent: comitybot\nAllow: /\n",
        "/a",
        "----",
        &[],
    ),
    (
        "retired label",
        "User-agent: *\nContent-Usage: tdm=n, new=y\n",
        "/a",
        "----",
        &["aipref_unknown_label", "aipref_unknown_label", "aipref_legacy_label"],
    ),
];

#[test]
fn content_usage() {
    check(&CONTENT_USAGE, SignalOptions::default());
}

#[test]
fn retired_labels_mapped_deny_and_never_permit() {
    let options = SignalOptions { aipref_legacy: LegacyLabels::Map, ..SignalOptions::default() };
    let rows = [
        ("all=n", "dddd"),
        ("bots=n", "dddd"),
        ("tdm=n", "--dd"),
        ("ai=n", "--d-"),
        ("genai=n", "--d-"),
        ("train-genai=n", "--d-"),
        ("ai-output=n", "-d--"),
        ("inference=n", "-d--"),
        ("all=y", "----"),
        ("all=n, all=y", "----"),
        ("all", "----"),
        ("all=n, train-ai=y", "dddd"),
    ];
    for (value, verdicts) in rows {
        let fields = vec![("Content-Usage".to_owned(), value.to_owned())];
        let outcome = Case { fields, options, ..Case::default() }.read();
        assert_eq!(outcome.verdicts(), verdicts, "{value}");
        assert!(outcome.codes().contains(&"aipref_legacy_label"), "{value}");
    }
}

const CONTENT_SIGNAL: [Row<'static>; 15] = [
    ("plain", "User-agent: *\nContent-Signal: search=yes, ai-train=no\n", "/x", "a-d-", &[]),
    ("plural, no space", "User-agent: *\nContent-Signals: search=yes,ai-input=no\n", "/x", "ad--", &[]),
    ("spaces and case", "User-agent: *\nContent-Signal:  AI-Input = No ,Search= YES\n", "/x", "ad--", &[]),
    ("duplicate is strictest", "User-agent: *\nContent-Signal: ai-train=no, ai-train=yes\n", "/x", "--d-", &[]),
    (
        "longest path replaces",
        "User-agent: *\nContent-Signal: ai-train=no\nContent-Signal: /a/ search=yes\n",
        "/a/b",
        "a---",
        &[],
    ),
    (
        "equal paths",
        "User-agent: *\nContent-Signal: /a search=no\nContent-Signal: /a search=yes, ai-train=yes\n",
        "/a",
        "d-a-",
        &[],
    ),
    (
        "unknown pair only",
        "User-agent: *\nContent-Signal: ai-search=no, ai-train=no, search\n",
        "/x",
        "--d-",
        &["signal_unknown_key", "signal_bad_value"],
    ),
    ("lenient value unread", "User-agent: *\nContent-Signal: ai-train=disallow\n", "/x", "----", &["signal_bad_value"]),
    ("file-wide", "Content-Signal: ai-train=no\nUser-agent: *\nAllow: /\n", "/x", "--d-", &["signal_outside_group"]),
    (
        "file-wide with path",
        "Content-Signal: /a ai-train=no\nUser-agent: *\nAllow: /\n",
        "/x",
        "----",
        &["signal_outside_group"],
    ),
    ("file-wide, no group at all", "Content-Signal: ai-train=no\n", "/x", "--d-", &["signal_outside_group"]),
    (
        "group has one, on another path",
        "Content-Signal: ai-train=no\nUser-agent: *\nContent-Signal: /a search=no\n",
        "/x",
        "----",
        &["signal_outside_group"],
    ),
    ("disallowed", "Content-Signal: ai-train=no\nUser-agent: *\nDisallow: /\n", "/x", "----", &[]),
    (
        "ambiguous, access closed",
        "User-agent: *\nContent-Signal: ai-train=no\nUser-agent: X\nDisallow: /\n",
        "/x",
        "----",
        &["group_ambiguity"],
    ),
    (
        "ambiguous, access open",
        "User-agent: *\nDisallow: /x\n\nUser-agent: *\nContent-Signal: ai-train=no\nUser-agent: X\nAllow: /x\n",
        "/x",
        "--d-",
        &["group_ambiguity"],
    ),
];

#[test]
fn content_signal() {
    check(&CONTENT_SIGNAL, SignalOptions::default());
}

#[test]
fn lenient_values_only_deny() {
    let options = SignalOptions { signal_lenient_values: true, ..SignalOptions::default() };
    let bad: &[&str] = &["signal_bad_value"];
    let rows: [Row<'_>; 5] = [
        ("disallow", "User-agent: *\nContent-Signal: ai-train=Disallow\n", "/x", "--d-", bad),
        ("false", "User-agent: *\nContent-Signal: ai-train=false\n", "/x", "--d-", bad),
        ("0", "User-agent: *\nContent-Signal: ai-train=0\n", "/x", "--d-", bad),
        ("allow", "User-agent: *\nContent-Signal: ai-train=allow\n", "/x", "----", bad),
        ("1", "User-agent: *\nContent-Signal: ai-train=1\n", "/x", "----", bad),
    ];
    check(&rows, options);
}

#[test]
fn disallow_ai_training() {
    let rows: [Row<'_>; 5] = [
        ("denies", "User-agent: *\nAllow: /\nDisallowAITraining: /\n", "/x", "--d-", &[]),
        (
            "longer exemption",
            "User-agent: *\nAllow: /*x\nDisallowAITraining: /\nAllowAITraining: /x\n",
            "/x",
            "----",
            &[],
        ),
        ("tie denies", "User-agent: *\nAllow: /\nDisallowAITraining: /\nAllowAITraining: /\n", "/x", "--d-", &[]),
        ("never a grant", "User-agent: *\nAllowAITraining: /\n", "/x", "----", &[]),
        ("empty has no effect", "User-agent: *\nAllow: /\nDisallowAITraining:\n", "/x", "----", &[]),
    ];
    check(&rows, SignalOptions::default());
    let literal = SignalOptions { profile: Profile::Literal, ..SignalOptions::default() };
    check(&[("literal", rows[0].1, "/x", "----", &[])], literal);
}

#[test]
fn a_statement_carries_its_evidence() {
    let robots = "User-agent: *\nContent-Signal: /a/* ai-train=no, search=yes # why\nAllow: /\n";
    let outcome = Case { robots: Some(robots), url: "https://example.com/a/b", ..Case::default() }.read();
    let denial = outcome.preferences.denial(Purpose::AiTrain).expect("ai-train=no");
    assert_eq!((denial.source, denial.place), (Source::RobotsContentSignal, Place::Line(2)));
    assert_eq!((denial.raw.as_str(), denial.path.as_deref()), ("ai-train=no, search=yes", Some("/a/*")));
    assert!(denial.reservation && !denial.derived, "a no of Content-Signal is an express reservation");
    let grant = &outcome.preferences.statements()[1];
    assert!(!grant.reservation, "a yes reserves nothing");
}

#[test]
fn use_ceilings() {
    let rows = [
        ("use=reference", Some(UseCeiling::Reference)),
        ("use=FULL", Some(UseCeiling::Full)),
        ("use=full, use=immediate", Some(UseCeiling::Immediate)),
        ("use=more", None),
        ("search=yes", None),
    ];
    for (value, ceiling) in rows {
        let robots = format!("User-agent: *\nContent-Signal: {value}\n");
        let outcome = Case { robots: Some(&robots), ..Case::default() }.read();
        assert_eq!(outcome.robots.use_ceiling, ceiling, "{value}");
    }
}

#[test]
fn lines_beyond_the_limit_are_said() {
    let mut robots = String::from("User-agent: *\n");
    for _ in 0..=comity_robots::MAX_SIGNALS {
        robots.push_str("Content-Usage: search=y\n");
    }
    let outcome = Case { robots: Some(&robots), ..Case::default() }.read();
    assert_eq!(outcome.codes(), ["robots_truncated"]);
    assert_eq!(outcome.preferences.statements().len(), 8, "statements that say the same are bounded");
}
