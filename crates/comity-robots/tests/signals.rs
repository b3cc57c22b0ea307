//! Signal lines: which are kept, how they are cut, whose they are.

use comity_robots::{Dialect, ExtensionKind, MAX_SIGNALS, Robots, RuleSet};

fn rules(text: &str) -> RuleSet {
    Robots::parse(text.as_bytes()).rules(&["FooBot"], Dialect::Standard)
}

/// Line, key, path and value of each signal.
fn kept(signals: &[comity_robots::Signal]) -> Vec<String> {
    let show = |signal: &comity_robots::Signal| {
        format!("{} {} {} | {}", signal.line, signal.key(), signal.path.as_deref().unwrap_or("-"), signal.value)
    };
    signals.iter().map(show).collect()
}

#[test]
fn how_lines_are_cut() {
    let rows = [
        ("Content-Signal: ai-train=no, search=yes", "2 content-signal - | ai-train=no, search=yes"),
        ("content-signals:search=yes # ok", "2 content-signal - | search=yes"),
        ("Content-Usage: /a/*\ttrain-ai=n", "2 content-usage /a/* | train-ai=n"),
        ("Content-Usage: /a", "2 content-usage /a | "),
        ("Content-Usage: a/b x", "2 content-usage - | a/b x"),
        ("Content-Usage:", "2 content-usage - | "),
        ("License: https://e.test/l.xml", "2 license - | https://e.test/l.xml"),
        ("License: /l.xml x", "2 license - | /l.xml x"),
        ("DisallowAITraining: /x", "2 disallowaitraining - | /x"),
        ("AllowAITraining: /x", "2 allowaitraining - | /x"),
        ("LLM-Policy: /p.txt", "2 llm-policy - | /p.txt"),
    ];
    for (line, wanted) in rows {
        let rules = rules(&format!("User-agent: FooBot\n{line}\nDisallow: /y\n"));
        assert_eq!(kept(rules.signals()), [wanted], "{line}");
    }
    for other in ["Noindex: /", "Host: e.test", "Crawl-delay: 1", "Content-Signal-x: a", "xContent-Usage: a"] {
        assert!(rules(&format!("User-agent: FooBot\n{other}\n")).signals().is_empty(), "{other}");
    }
}

#[test]
fn whose_they_are() {
    let rows: [(&str, &str, &[&str]); 9] = [
        ("own_group", "User-agent: FooBot\nContent-Usage: a=n\nDisallow: /\n", &["2 content-usage - | a=n"]),
        ("star_is_hidden", "User-agent: *\nContent-Usage: a=n\n\nUser-agent: FooBot\nAllow: /\n", &[]),
        ("star", "User-agent: *\nContent-Usage: a=n\n", &["2 content-usage - | a=n"]),
        (
            "merged_groups",
            "User-agent: *\nContent-Signal: a=no\nAllow: /\n\nUser-agent: *\nContent-Signal: a=yes\nDisallow: /p\n",
            &["2 content-signal - | a=no", "6 content-signal - | a=yes"],
        ),
        (
            "usage_line_ends_the_list",
            "User-agent: A\nContent-Signal: a=no\nUser-agent: FooBot\nContent-Signal: b=no\nDisallow: /\n",
            &["4 content-signal - | b=no"],
        ),
        ("crawl_delay_ends_it_too", "User-agent: FooBot\nCrawl-delay: 1\nUser-agent: B\nContent-Usage: a=n\n", &[]),
        (
            "sitemap_does_not",
            "User-agent: FooBot\nSitemap: x\nUser-agent: B\nContent-Usage: a=n\n",
            &["4 content-usage - | a=n"],
        ),
        ("before_a_list_is_complete", "User-agent: A\nLLM-Policy: x\nUser-agent: FooBot\nAllow: /\n", &[]),
        ("before_any_group", "Content-Signal: a=no\nUser-agent: FooBot\nAllow: /\n", &[]),
    ];
    for (name, text, wanted) in rows {
        assert_eq!(kept(rules(text).signals()), wanted, "{name}");
    }
    let outside = rules("Content-Signal: a=no\nLicense: x\nCrawl-delay: 3\nUser-agent: FooBot\nAllow: /\n");
    assert_eq!(kept(outside.file_signals()), ["1 content-signal - | a=no", "2 license - | x"]);
}

#[test]
fn an_ambiguous_file_is_told_and_access_stays_exact() {
    let text = "User-agent: FooBot\nContent-Signal: ai-train=no\n\nUser-agent: GPTBot\nDisallow: /\n";
    let set = rules(text);
    assert!(!set.allows(b"/page"), "for access the signal ends nothing");
    assert!(set.usage_verdict(b"/page").allowed, "for usage it does");
    let clear = rules("User-agent: FooBot\nContent-Signal: ai-train=no\nAllow: /\n\nUser-agent: GPTBot\nDisallow: /\n");
    assert!(clear.allows(b"/page") && clear.usage_verdict(b"/page").allowed);
}

#[test]
fn training_lines_are_rules_by_prefix_as_well() {
    let set = rules("User-agent: *\nDisallowAITraining: /x\n");
    assert!(!set.allows(b"/x"));
    assert_eq!(set.signals()[0].kind, ExtensionKind::DisallowAiTraining);
}

#[test]
fn too_many_are_counted() {
    let text = format!("User-agent: *\n{}", "License: x\n".repeat(MAX_SIGNALS + 7));
    let set = rules(&text);
    assert_eq!((set.signals().len(), set.signals_omitted()), (MAX_SIGNALS, 7));
    let text = "License: x\n".repeat(MAX_SIGNALS + 5);
    assert_eq!((rules(&text).file_signals().len(), rules(&text).signals_omitted()), (MAX_SIGNALS, 5));
}
