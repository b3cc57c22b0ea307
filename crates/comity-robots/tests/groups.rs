//! Groups and agents (RFC 9309 §2.2.1, Google's parser).

mod shared;

use comity_robots::{Dialect, Robots, Selected};
use shared::{Row, agent_row, check, row};

const X: &str = "https://e.test/x";

#[test]
fn what_a_line_names() {
    let named = |name, value: &str, agent, is: bool| {
        let robots = format!("User-agent: {value}\nDisallow: /\n").leak();
        agent_row(name, robots, agent, !is)
    };
    check(&[
        named("rfc_2_2_1_case", "fOObOT", "FooBot", true),
        named("google_version", "FooBot/2.1", "FooBot", true),
        named("google_space", "FooBot 2.1", "FooBot", true),
        named("google_comma_first", "FooBot, BarBot", "FooBot", true),
        named("google_comma_second", "FooBot, BarBot", "BarBot", false),
        named("google_star_behind", "FooBot*", "FooBot", true),
        named("google_mozilla", "Mozilla/5.0 (compatible; FooBot)", "Mozilla", true),
        named("google_inside_mozilla", "Mozilla/5.0 (compatible; FooBot)", "FooBot", false),
        named("rfc_2_2_1_prefix", "Foo", "FooBot", false),
        named("rfc_2_2_1_longer", "FooBots", "FooBot", false),
        named("rfc_2_2_1_substring", "bot", "FooBot", false),
        named("rfc_2_2_1_hyphen", "FooBot-News", "FooBot", false),
        named("google_digit_cuts", "MJ12bot", "MJ", true),
        named("google_digits_in_the_token", "MJ12bot", "MJ12bot", false),
        named("google_quotes", "\"FooBot\"", "FooBot", false),
        named("google_empty", "", "FooBot", false),
        named("rfc_2_2_1_star", "*", "FooBot", true),
        named("google_star_and_text", "* all of you", "FooBot", true),
        named("google_star_and_tab", "*\tx", "FooBot", true),
        named("google_star_glued", "*bot", "FooBot", false),
        named("google_star_slash", "*/1.0", "FooBot", false),
        named("google_two_stars", "**", "FooBot", false),
        named("google_digit_token_falls_to_star", "*", "AI2Bot", true),
        named("google_star_token_falls_to_star", "*", "*", true),
    ]);
}

#[test]
fn what_ends_a_list() {
    let between = |name, line: &str, ends: bool| {
        let robots = format!("User-agent: FooBot\n{line}\nUser-agent: BarBot\nDisallow: /\n").leak();
        Row { robots: robots.as_bytes(), ..row(name, "", X, ends) }
    };
    check(&[
        between("rfc_2_2_1_nothing", "", false),
        between("rfc_2_2_blank_line", "\n\n", false),
        between("rfc_2_2_1_allow", "Allow: /y", true),
        between("rfc_2_2_1_disallow", "Disallow: /y", true),
        between("google_empty_disallow", "Disallow:", true),
        between("rfc_2_2_4_sitemap", "Sitemap: https://e.test/s.xml", false),
        between("google_crawl_delay", "Crawl-delay: 5", false),
        between("google_noindex", "Noindex: /y", false),
        between("google_host", "Host: e.test", false),
        between("google_clean_param", "Clean-param: s /", false),
        between("google_content_signal", "Content-Signal: ai-train=no", false),
        between("google_content_usage", "Content-Usage: train-ai=n", false),
        between("google_license", "License: https://e.test/l.xml", false),
        between("google_junk", "junk: x", false),
        between("google_disallow_by_prefix", "DisallowAITraining: /y", true),
    ]);
}

#[test]
fn which_groups_apply() {
    let specific = "User-agent: *\nDisallow: /\n\nUser-agent: FooBot\n";
    let with = |rest: &str| -> &'static str { format!("{specific}{rest}").leak() };
    let merged = "User-agent: FooBot\nDisallow: /a\n\nUser-agent: *\nDisallow: /\n\nUser-agent: foobot\nDisallow: /b\n";
    check(&[
        row("rfc_2_2_1_no_rules_at_all", with(""), X, true),
        row("rfc_2_2_1_empty_rule", with("Disallow:\n"), X, true),
        row("rfc_2_2_1_rules_that_do_not_match", with("Disallow: /y\n"), X, true),
        row("rfc_2_2_1_merge_first", merged, "/a", false),
        row("rfc_2_2_1_merge_second", merged, "/b", false),
        row("rfc_2_2_1_merge_without_star", merged, "/c", true),
        agent_row("rfc_2_2_1_others_get_star", merged, "BarBot", false),
        row("rfc_2_2_1_two_star_groups", "User-agent: *\nDisallow: /y\nUser-agent: *\nDisallow: /x\n", X, false),
        row("rfc_2_2_1_no_group", "User-agent: BarBot\nDisallow: /\n", X, true),
        row("rfc_2_2_2_rules_before_any_group", "Disallow: /\nUser-agent: BarBot\nAllow: /\n", X, true),
        row("rfc_2_2_1_empty_file", "", X, true),
        row("google_list_with_star_is_ours", "User-agent: FooBot\nUser-agent: *\nDisallow: /\n", X, false),
        row(
            "google_list_with_star_hides_other_star",
            "User-agent: FooBot\nUser-agent: *\nDisallow: /y\n\nUser-agent: *\nDisallow: /x\n",
            X,
            true,
        ),
        row("google_nobody_closes_too", "User-agent: .x\nDisallow: /\nUser-agent: FooBot\nAllow: /\n", X, true),
    ]);
}

/// The report behind this: a `bot` group must not catch `mybot` or `bot-news`.
#[test]
fn equality_never_substring() {
    let file = "User-agent: bot\nDisallow: /\n\nUser-agent: *\nAllow: /";
    check(&[
        agent_row("bot", file, "bot", false),
        agent_row("mybot", file, "mybot", true),
        agent_row("bot-news", file, "bot-news", true),
        agent_row("version_taken_as_given", file, "BOT/2.0", true),
    ]);
    let cut = comity_robots::ProductToken::cut("BOT/2.0").unwrap();
    check(&[agent_row("version_cut", file, cut.as_str().to_owned().leak(), false)]);
}

/// Tokens asked for, the path refused, the tokens of the group found, its line.
type Fallback = (&'static [&'static str], &'static str, &'static [&'static str], Option<u32>);

#[test]
fn tokens_are_an_ordered_fallback() {
    let file = b"User-agent: Googlebot\nDisallow: /g\n\nUser-agent: Googlebot-Image\nDisallow: /i\n\nUser-agent: *\nDisallow: /s\n";
    let robots = Robots::parse(file);
    let rows: [Fallback; 7] = [
        (&["Googlebot-Image", "Googlebot"], "/i", &["Googlebot-Image"], Some(4)),
        (&["Googlebot-News", "googlebot"], "/g", &["Googlebot"], Some(1)),
        (&["Nobody", "AI2Bot"], "/s", &["*"], Some(7)),
        (&["*", "Googlebot"], "/g", &["Googlebot"], Some(1)),
        (&["*"], "/s", &["*"], Some(7)),
        (&[""], "/s", &["*"], Some(7)),
        (&[], "/s", &["*"], Some(7)),
    ];
    for dialect in [Dialect::Standard, Dialect::Google] {
        for (tokens, refused, group, line) in rows {
            let rules = robots.rules(tokens, dialect);
            for path in ["/i", "/g", "/s"] {
                assert_eq!(rules.allows(path.as_bytes()), path != refused, "{tokens:?} {path}");
            }
            let found: Vec<&str> = rules.group_tokens().iter().map(AsRef::as_ref).collect();
            assert_eq!((found.as_slice(), rules.group_line()), (group, line), "{tokens:?}");
        }
    }
}

#[test]
fn what_was_selected() {
    let file = b"# head\nUser-agent: Other\nUser-agent: FooBOT/2\nDisallow: /a\n\nUser-agent: foobot\nUser-agent: *\nAllow: /b\n";
    let robots = Robots::parse(file);
    let rules = robots.rules(&["FooBot"], Dialect::Standard);
    assert_eq!(*rules.selected(), Selected::Token("FooBOT".to_owned()));
    let tokens: Vec<&str> = rules.group_tokens().iter().map(AsRef::as_ref).collect();
    assert_eq!(tokens, ["Other", "FooBOT", "*"], "each once, as first written");
    assert_eq!(rules.group_line(), Some(2));
    let rule = rules.verdict(b"/b").rule.unwrap();
    assert_eq!((rule.line, rule.group_line), (8, 6), "the line of the rule's own group");

    let global = robots.rules(&["Nobody"], Dialect::Standard);
    assert_eq!(*global.selected(), Selected::Global);
    assert_eq!(global.group_line(), Some(6));
    assert_eq!(global.group_tokens().len(), 1);

    let none = Robots::parse(b"User-agent: Other\nDisallow: /\n").rules(&["FooBot"], Dialect::Standard);
    assert_eq!(*none.selected(), Selected::None);
    assert_eq!((none.group_line(), none.group_tokens().len(), none.rule_count()), (None, 0, 0));
    assert!(robots.names("FOOBOT") && !robots.names("Foo") && !robots.names("*") && !robots.names(""));
    assert!(robots.has_global_group());
}
