use comity_robots::{Dialect, Explanation, MatchedRule, Reading, RuleVia, Selected, request_target};
use serde_json::{Value, json};

use super::asked::Asked;
use super::check::{json_answer, not_governed};
use super::{answer, input, show};
use crate::args::CheckArgs;
use crate::commands::print;
use crate::exit::{Exit, Failure};

/// Matching rules that are printed for people; `--json` has all.
const SHOWN_MATCHES: usize = 20;

/// `comity robots explain`.
pub(super) fn run(args: &CheckArgs) -> Result<Exit, Failure> {
    let robots = input::robots(&args.robots)?;
    let asked = Asked::of_flags(args)?;
    let rules = asked.rules(&robots, args.dialect);
    let origin = args.origin.as_deref().map(input::parse_origin).transpose()?;
    input::warn_of_notes(&rules);
    for (at, url) in args.urls.iter().enumerate() {
        let explained = asked.chain().explain(&robots, args.dialect.into(), &request_target(url));
        let governed = origin.as_ref().is_none_or(|origin| input::governs(origin, url));
        if args.json {
            let mut answer =
                if governed { json_answer(&robots, &rules, url, &asked) } else { not_governed(url, &asked) };
            if governed {
                answer.extend(explanation(&explained));
            }
            print(&Value::Object(answer).to_string())?;
            continue;
        }
        let gap = if at > 0 { "\n" } else { "" };
        let text = if governed { text(&explained, url, &asked) } else { show::not_governed(url) };
        print(&format!("{gap}{text}"))?;
    }
    Ok(Exit::Done)
}

/// What `explain --json` adds to an answer.
fn explanation(explained: &Explanation) -> Vec<(String, Value)> {
    let reading = |reading: &Reading| json!({"allowed": reading.allowed, "rule": answer::rule(reading.rule.as_ref()), "differs": reading.differs});
    let groups = explained.groups.iter().map(|group| {
        let agents = group.agents.iter().map(|(token, line)| json!({"token": token, "line": line}));
        json!({"line": group.line, "agents": agents.collect::<Vec<_>>(), "rules": group.rules})
    });
    let fields = [
        ("dialect", json!(dialect(explained.dialect))),
        ("groups", groups.collect()),
        ("matches", explained.matches.iter().map(|rule| answer::rule(Some(rule))).collect()),
        ("why", json!({"code": explained.why.as_str(), "text": explained.why.to_string()})),
        (
            "others",
            json!({
                "first_match": reading(&explained.first_match),
                "first_group": reading(&explained.first_group),
                "other_dialect": reading(&explained.other_dialect),
            }),
        ),
    ];
    fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

fn text(explained: &Explanation, url: &str, asked: &Asked) -> String {
    let mut lines = vec![format!("{}  {url}", answer::word(explained.verdict.allowed))];
    let mut say = |label: &str, text: String| lines.push(format!("  {label:9} {text}"));
    let known = asked.known_in_words().unwrap_or_else(|| format!("asked as {}", asked.in_words()));
    say("agent", format!("{}: {known}", asked.typed()));
    say("dialect", dialect(explained.dialect).to_owned());
    say("group", selected(explained));
    for group in &explained.groups {
        let agents: Vec<_> = group.agents.iter().map(|(token, line)| format!("{token} (line {line})")).collect();
        let plural = if group.rules == 1 { "" } else { "s" };
        say("", format!("{}: {} rule{plural}", agents.join(", "), group.rules));
    }
    for (place, matched) in explained.matches.iter().take(SHOWN_MATCHES).enumerate() {
        let decides = place == 0 && explained.verdict.rule.is_some();
        let mark = if decides { "   <- decides" } else { "" };
        say(if place == 0 { "matches" } else { "" }, format!("{}{mark}", rule(matched)));
    }
    match explained.matches.len() {
        0 => say("matches", "none".to_owned()),
        all if all > SHOWN_MATCHES => say("", format!("and {} more", all - SHOWN_MATCHES)),
        _ => {}
    }
    say("because", explained.why.to_string());
    let other = if explained.dialect == Dialect::Standard { "the google dialect" } else { "the standard dialect" };
    say("others", reading("a first-match reader", &explained.first_match));
    say("", reading("the first group listed", &explained.first_group));
    say("", reading(other, &explained.other_dialect));
    lines.join("\n")
}

fn selected(explained: &Explanation) -> String {
    match &explained.selected {
        Selected::Token(token) => format!("{token}, by name"),
        Selected::Global => "*, because no group names the agent".to_owned(),
        Selected::None => "none applies".to_owned(),
    }
}

fn reading(who: &str, reading: &Reading) -> String {
    let by = reading.rule.as_ref().map_or_else(
        || "no rule matches".to_owned(),
        |found| format!("line {}, {}: {}", found.line, found.kind.as_str(), found.pattern),
    );
    let differs = if reading.differs { "   DIFFERS" } else { "" };
    format!("{who:23} {} ({by}){differs}", answer::word(reading.allowed))
}

fn rule(rule: &MatchedRule) -> String {
    let via = if rule.via == RuleVia::IndexHtml { ", by the index.html rule" } else { "" };
    let text = format!("{}: {}", rule.kind.as_str(), rule.pattern);
    let octets = if rule.priority == 1 { "octet" } else { "octets" };
    format!("{text:32} line {}, {} {octets}{via}", rule.line, rule.priority)
}

const fn dialect(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Standard => "standard",
        Dialect::Google => "google",
    }
}
