#![doc = include_str!("../README.md")]
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod bytes;
mod chain;
mod check;
mod compile;
mod compiler;
mod dialect;
mod draft;
mod explain;
mod known;
mod lines;
mod lint;
mod normal;
mod order;
mod pacing;
mod pack;
mod pattern;
mod reach;
mod read;
mod record;
mod robots;
mod ruleset;
mod scan;
mod search;
mod sieve;
mod signal;
mod skip;
mod stored;
mod table;
mod target;
mod token;
mod varint;
mod verdict;
mod view;
mod window;

pub use chain::Chain;
pub use check::{Check, check};
pub use compile::{MAX_GROUP_TOKENS, MAX_NOTES};
pub use compiler::Compiler;
pub use dialect::Dialect;
pub use explain::{Explanation, Reading, SelectedGroup, Why};
pub use known::{AgentUse, Claim, KnownAgent, Oddity};
pub use lines::MAX_LINE_BYTES;
pub use lint::{Finding, Lint, LintCode, MAX_FINDINGS, Severity, lint};
pub use pacing::{RequestRate, VisitTime};
pub use pattern::Pattern;
pub use reach::AnyQuery;
pub use record::ExtensionKind;
pub use robots::{MAX_BYTES, Robots};
pub use ruleset::{Note, RuleSet, Selected};
pub use signal::{MAX_SIGNALS, Signal};
pub use stored::{MAX_STORED_BYTES, StoredError};
pub use target::request_target;
pub use token::{ProductToken, TokenError, TokenNote, token_note};
pub use verdict::{Basis, Evidence, MatchedRule, RuleKind, RuleRef, RuleVia, Verdict};
pub use view::{AgentLine, Extension, Group, RuleLine};
