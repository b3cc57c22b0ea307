//! Faults of a robots.txt, found without asking anybody.

mod code;
mod file;
mod groups;
mod keys;
mod pairs;
mod paths;
mod rules;
mod sample;
mod signals;
mod sink;
mod values;

use alloc::string::String;
use alloc::vec::Vec;

pub use code::LintCode;

use crate::Robots;
use rules::Lists;
use sink::Sink;

/// Findings of one code that are kept at most; how many more there were, [`Lint::omitted`] tells.
pub const MAX_FINDINGS: usize = 100;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// The file probably does not do what was meant.
    Warning,
    /// A line has no effect, or not the one it states.
    Error,
}

impl Severity {
    /// `error`, `warning` or `info`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// One fault, with its place and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What kind of fault.
    pub code: LintCode,
    /// How bad it is.
    pub severity: Severity,
    /// Line in the file, from 1.
    pub line: u32,
    /// Column in bytes, from 1.
    pub column: u32,
    /// What is wrong, in one sentence.
    pub message: String,
    /// What to write instead, when that can be said.
    pub fix: Option<String>,
}

/// What was found in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lint {
    /// By line, then column, then code.
    pub findings: Vec<Finding>,
    /// Findings beyond [`MAX_FINDINGS`] of their code.
    pub omitted: u32,
}

impl Lint {
    /// The worst severity; `None` for a clean file.
    #[must_use]
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }
}

/// Looks for every fault of [`LintCode`]. `host` is the host that serves the file, in lower case: with it, sitemaps of
/// other hosts are found.
///
/// Never fails; any bytes will do. Work is bounded: what a hostile file would make slow is not examined, and
/// [`LintCode::NotExamined`] says so.
///
/// ```
/// # use comity_robots::{LintCode, Robots, lint};
/// let found = lint(&Robots::parse(b"User-agent: *\nDisallow: private/\n"), None);
/// let finding = &found.findings[0];
/// assert_eq!((finding.code, finding.line, finding.column), (LintCode::NeverMatches, 2, 11));
/// assert_eq!(finding.fix.as_deref(), Some("Disallow: /private/"));
/// ```
#[must_use]
pub fn lint(robots: &Robots, host: Option<&str>) -> Lint {
    let mut sink = Sink::default();
    let form = file::check(robots, &mut sink);
    if form == file::Form::Utf16 {
        return sink.finish();
    }
    keys::check(robots, form, host, &mut sink);
    values::check(robots, &mut sink);
    signals::check_values(robots, &mut sink);
    let mut lists = Lists::of(robots);
    groups::check(robots, &mut lists, &mut sink);
    signals::check_hidden(&mut lists, &mut sink);
    for at in 0..lists.lists.len() {
        paths::check(&mut lists, at, &mut sink);
        pairs::check(&mut lists, at, &mut sink);
    }
    lists.report_limits(&mut sink);
    sink.finish()
}
