//! SARIF 2.1.0 (OASIS, 2020): what code-scanning services read.

use comity_robots::{Finding, Lint, LintCode, Severity};
use serde_json::{Value, json};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
const PAGE: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/lints.md");

/// The log of one run over one file.
pub(super) fn report(found: &Lint, text: &[u8], name: &str) -> Value {
    let lines = Lines::of(text);
    let rules: Vec<Value> = LintCode::all().map(rule).collect();
    let results: Vec<Value> = found.findings.iter().map(|finding| result(finding, &lines, name)).collect();
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "comity robots lint",
                "version": env!("CARGO_PKG_VERSION"),
                "informationUri": env!("CARGO_PKG_REPOSITORY"),
                "rules": rules,
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn rule(code: LintCode) -> Value {
    json!({
        "id": code.as_str(),
        "name": code.name(),
        "shortDescription": {"text": code.name().replace('-', " ")},
        "helpUri": format!("{PAGE}#{}-{}-{}", code.as_str().to_ascii_lowercase(), code.name(), code.severity().as_str()),
        "defaultConfiguration": {"level": level(code.severity())},
    })
}

fn result(finding: &Finding, lines: &Lines<'_>, name: &str) -> Value {
    let fix = finding.fix.as_ref().map(|fix| format!(". Fix: {fix}")).unwrap_or_default();
    json!({
        "ruleId": finding.code.as_str(),
        "level": level(finding.severity),
        "message": {"text": format!("{}{fix}", finding.message)},
        "locations": [{"physicalLocation": {
            "artifactLocation": {"uri": uri(name)},
            "region": {"startLine": finding.line, "startColumn": lines.column(finding)},
        }}],
    })
}

/// Where lines start, to count columns in characters: SARIF knows no bytes.
struct Lines<'a> {
    text: &'a [u8],
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn of(text: &'a [u8]) -> Self {
        let mut starts = vec![0];
        for (at, byte) in text.iter().enumerate() {
            let ends = *byte == b'\n' || (*byte == b'\r' && text.get(at + 1) != Some(&b'\n'));
            if ends {
                starts.push(at + 1);
            }
        }
        Self { text, starts }
    }

    /// The column of a finding in characters, from 1; bytes that are not UTF-8 count as one each.
    fn column(&self, finding: &Finding) -> usize {
        let start = self.starts.get(finding.line.saturating_sub(1) as usize).copied().unwrap_or_default();
        let before = self.text.get(start..start + finding.column.saturating_sub(1) as usize).unwrap_or_default();
        String::from_utf8_lossy(before).chars().count() + 1
    }
}

/// SARIF 2.1.0 §3.27.10.
const fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

/// A file name as a relative reference: what a URI cannot hold is escaped.
fn uri(name: &str) -> String {
    let name = if name == "-" { "stdin" } else { name };
    let keep = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    name.bytes().map(|byte| if keep(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}
