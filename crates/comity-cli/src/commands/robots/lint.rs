use comity_robots::{Finding, Lint, Severity};
use serde_json::{Map, Value, json};

use super::{input, sarif};
use crate::args::LintArgs;
use crate::commands::print;
use crate::exit::{Exit, Failure};

/// `comity robots lint`: exit 1 when there is an error or a warning; what is only worth knowing does not fail a build.
pub(super) fn run(args: &LintArgs) -> Result<Exit, Failure> {
    let origin = args.origin.as_deref().map(input::parse_origin).transpose()?;
    let robots = comity_robots::Robots::parse(&input::read(&args.robots)?);
    let host = origin.as_ref().map(|origin| origin.host().to_owned());
    let found = comity_robots::lint(&robots, host.as_deref());
    let name = args.robots.display().to_string();
    print(&match (args.json, args.sarif) {
        (true, _) => json_report(&found).to_string(),
        (_, true) => sarif::report(&found, robots.text(), &name).to_string(),
        _ => text(&found, &name),
    })?;
    Ok(if found.worst().is_some_and(|worst| worst > Severity::Info) { Exit::Findings } else { Exit::Done })
}

/// The shape of design §8; `omitted` counts what is beyond the bound of its code.
pub(super) fn json_report(found: &Lint) -> Value {
    let findings: Vec<Value> = found.findings.iter().map(json_finding).collect();
    json!({"findings": findings, "omitted": found.omitted})
}

fn json_finding(finding: &Finding) -> Value {
    let mut entry = Map::new();
    entry.insert("code".to_owned(), finding.code.as_str().into());
    entry.insert("severity".to_owned(), finding.severity.as_str().into());
    entry.insert("line".to_owned(), finding.line.into());
    entry.insert("column".to_owned(), finding.column.into());
    entry.insert("message".to_owned(), finding.message.as_str().into());
    if let Some(fix) = &finding.fix {
        entry.insert("fix".to_owned(), fix.as_str().into());
    }
    Value::Object(entry)
}

fn text(found: &Lint, name: &str) -> String {
    let mut lines = Vec::new();
    for finding in &found.findings {
        let (code, severity) = (finding.code, finding.severity.as_str());
        let place = format!("{name}:{}:{}", finding.line, finding.column);
        lines.push(format!("{place}: {severity}[{code} {}] {}", code.name(), finding.message));
        lines.extend(finding.fix.as_ref().map(|fix| format!("    fix: {fix}")));
    }
    lines.push(summary(found));
    lines.join("\n")
}

/// `1 error, 2 warnings, 0 worth knowing`.
pub(super) fn summary(found: &Lint) -> String {
    let count = |severity| found.findings.iter().filter(|finding| finding.severity == severity).count();
    let more = if found.omitted > 0 { format!(", {} more not listed", found.omitted) } else { String::new() };
    format!(
        "{}, {}, {} worth knowing{more}",
        plural(count(Severity::Error), "error"),
        plural(count(Severity::Warning), "warning"),
        count(Severity::Info)
    )
}

fn plural(count: usize, word: &str) -> String {
    let end = if count == 1 { "" } else { "s" };
    format!("{count} {word}{end}")
}
