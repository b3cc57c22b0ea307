//! Everything in one call.

use alloc::vec::Vec;

use crate::{Dialect, RuleSet, Signal, Verdict};

/// The answer of [`check`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Whether the path may be fetched.
    pub allowed: bool,
    /// What decided: the rule as written, its line, the line of its group.
    pub evidence: Verdict,
    /// What the file says about the use of pages: the signal lines of the agent's groups, then those before the first
    /// group, uninterpreted.
    pub signals: Vec<Signal>,
}

/// Whether a file lets the crawler of this product token fetch a path, in the standard dialect. `path` is path and query as
/// they are sent; [`crate::request_target`] cuts them out of a URL.
///
/// Reads the file for every question: keep a [`RuleSet`] to ask more than once.
///
/// ```
/// let check = comity_robots::check(b"User-agent: *\nDisallow: /private\n", "ExampleBot", "/private/x");
/// assert!(!check.allowed);
/// assert_eq!(check.evidence.rule.expect("a rule decided").line, 2);
/// ```
#[must_use]
pub fn check<P: AsRef<[u8]> + ?Sized>(body: &[u8], token: &str, path: &P) -> Check {
    let set = RuleSet::parse(body, &[token], Dialect::Standard);
    let evidence = set.verdict(path.as_ref());
    let signals = set.signals().iter().chain(set.file_signals()).cloned().collect();
    Check { allowed: evidence.allowed, evidence, signals }
}
