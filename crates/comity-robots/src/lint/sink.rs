//! Collects findings, within bounds.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Finding, Lint, LintCode, MAX_FINDINGS, Severity};

/// Characters of a pattern or value that a message repeats at most.
const SHOWN: usize = 80;

/// Line and column, both from 1.
pub(super) type Place = (u32, u32);

#[derive(Default)]
pub(super) struct Sink {
    findings: Vec<Finding>,
    seen: BTreeSet<(LintCode, Place)>,
    counts: BTreeMap<LintCode, usize>,
    omitted: u32,
}

impl Sink {
    /// Adds a finding of the usual severity. A second one of the same code at the same place is dropped.
    pub(super) fn add(&mut self, code: LintCode, place: Place, message: String, fix: Option<String>) {
        self.add_as(code, code.severity(), place, message, fix);
    }

    pub(super) fn add_as(
        &mut self,
        code: LintCode,
        severity: Severity,
        place: Place,
        message: String,
        fix: Option<String>,
    ) {
        let count = self.counts.entry(code).or_default();
        if *count >= MAX_FINDINGS {
            self.omitted = self.omitted.saturating_add(1);
        } else if self.seen.insert((code, place)) {
            *count += 1;
            self.findings.push(Finding { code, severity, line: place.0, column: place.1, message, fix });
        }
    }

    pub(super) fn finish(mut self) -> Lint {
        self.findings.sort_by_key(|finding| (finding.line, finding.column, finding.code));
        Lint { findings: self.findings, omitted: self.omitted }
    }
}

/// Bytes of the file as a message shows them: control characters escaped, what is not UTF-8 replaced, long ones cut.
pub(super) fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::new();
    for (at, letter) in text.chars().enumerate() {
        if at == SHOWN {
            out.push('…');
            break;
        }
        if letter.is_control() {
            out.extend(letter.escape_default());
        } else {
            out.push(letter);
        }
    }
    out
}

/// The first few of many, and how many more there are.
pub(super) fn listed<S: AsRef<str>>(names: &[S]) -> String {
    const SHOWN_NAMES: usize = 5;
    let first: Vec<&str> = names.iter().take(SHOWN_NAMES).map(AsRef::as_ref).collect();
    match names.len().saturating_sub(SHOWN_NAMES) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}
