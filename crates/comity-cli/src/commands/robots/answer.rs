use comity_robots::{MatchedRule, Robots, RuleSet, Verdict, request_target};
use serde_json::{Map, Value, json};

/// The answer of `batch`, `check --json` and `explain --json` for one URL (design §8).
pub(super) fn verdict(robots: &Robots, rules: &RuleSet, url: &str) -> Map<String, Value> {
    let verdict = rules.verdict(&request_target(url));
    let group = rules.group_tokens();
    let signals = rules.signals().iter().chain(rules.file_signals()).map(|signal| {
        let mut entry = json!({"key": signal.key(), "value": signal.value, "line": signal.line});
        if let (Some(path), Value::Object(entry)) = (&signal.path, &mut entry) {
            entry.insert("path".to_owned(), path.as_str().into());
        }
        entry
    });
    let mut answer = Map::new();
    answer.insert("allowed".to_owned(), verdict.allowed.into());
    answer.insert("rule".to_owned(), rule(verdict.rule.as_ref()));
    answer.insert("group".to_owned(), if group.is_empty() { Value::Null } else { json!(group) });
    answer.insert("crawl_delay".to_owned(), json!(rules.crawl_delay().map(|delay| delay.as_secs_f64())));
    answer.insert("sitemaps".to_owned(), json!(robots.sitemaps().map(|(value, _)| value).collect::<Vec<_>>()));
    answer.insert("signals".to_owned(), signals.collect());
    answer
}

/// A rule in the words of design §8; null for none.
pub(super) fn rule(rule: Option<&MatchedRule>) -> Value {
    let Some(rule) = rule else { return Value::Null };
    json!({
        "kind": rule.kind.as_str(),
        "pattern": rule.pattern,
        "line": rule.line,
        "group_line": rule.group_line,
        "priority": rule.priority,
    })
}

/// `allowed` or `refused`.
pub(super) const fn word(allowed: bool) -> &'static str {
    if allowed { "allowed" } else { "refused" }
}

/// The line that decided; null for none.
pub(super) fn line(verdict: &Verdict) -> Value {
    json!(verdict.rule.as_ref().map(|rule| rule.line))
}
