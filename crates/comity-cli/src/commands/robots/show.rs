use comity_robots::{Basis, RuleSet, RuleVia, request_target};

/// A verdict for people: one line for the answer, one per piece of evidence.
pub(super) fn verdict_text(rules: &RuleSet, url: &str) -> String {
    let verdict = rules.verdict(&request_target(url));
    let mut lines = vec![format!("{}  {url}", if verdict.allowed { "allowed" } else { "refused" })];
    lines.push(match (&verdict.rule, verdict.basis) {
        (Some(rule), _) => {
            let via = if rule.via == RuleVia::IndexHtml { ", by the index.html rule" } else { "" };
            let (kind, pattern) = (capital(rule.kind.as_str()), &rule.pattern);
            format!("  rule     {kind}: {pattern} (line {}, priority {}{via})", rule.line, rule.priority)
        }
        (None, Basis::RobotsTxt) => "  rule     none: /robots.txt is always allowed (RFC 9309 §2.2.2)".to_owned(),
        (None, _) => "  rule     none matches".to_owned(),
    });
    lines.push(match rules.group_line() {
        Some(line) => format!("  group    {} (line {line})", rules.group_tokens().join(", ")),
        None => "  group    none applies".to_owned(),
    });
    if let Some(delay) = rules.crawl_delay() {
        lines.push(format!("  delay    {} s", delay.as_secs_f64()));
    }
    for signal in rules.signals().iter().chain(rules.file_signals()) {
        let path = signal.path.as_deref().map(|path| format!("{path} ")).unwrap_or_default();
        lines.push(format!("  signal   {}: {path}{} (line {})", signal.key(), signal.value, signal.line));
    }
    lines.join("\n")
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_ascii_uppercase().to_string() + letters.as_str()).unwrap_or_default()
}

/// The answer for a URL of another origin.
pub(super) fn not_governed(url: &str) -> String {
    format!("not governed by this file  {url}")
}
