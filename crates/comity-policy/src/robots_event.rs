use std::time::Duration;

use comity_robots::RuleSet;
use comity_signals::{AgentGroups, PolicyGroups};
use comity_url::CrawlUrl;

use crate::{Digest, Reason};

/// Whose reading of "unreachable" holds (design §6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnUnreachable {
    /// Disallow all for 30 days, then the last good copy, or nothing while the site answers (RFC 9309 §2.3.1.4).
    #[default]
    Rfc9309,
    /// Disallow all for 12 hours, then the last good copy up to 30 days, then as without one (Google robots spec).
    Google,
}

/// How robots.txt answers are read: the `[robots]` section, resolved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RobotsPolicy {
    /// The dialect of the matcher.
    pub dialect: comity_robots::Dialect,
    /// Whose reading of "unreachable" holds.
    pub on_unreachable: OnUnreachable,
    /// 4xx statuses that mean "disallow all" instead of "no rules"; 429 always counts as unreachable.
    pub strict_4xx: Vec<u16>,
}

/// A robots.txt as it was received: its compiled rules and what a record needs to name it.
#[derive(Clone, Debug)]
pub struct RobotsCopy {
    /// SHA-256 of the decoded bytes, as far as they were read.
    pub digest: Digest,
    /// Decoded bytes read, at most 512,000 parsed; a longer file is cut soon after.
    pub bytes: u64,
    /// True when the file was longer than what is parsed.
    pub truncated: bool,
    /// Where the chain of redirects ended; `None` when the file stood at `/robots.txt` of its own origin.
    pub final_url: Option<CrawlUrl>,
    /// What the answer offers to ask anew with; `None` when it offers nothing.
    pub validators: Option<Box<Validators>>,
    /// Rules per token list, in the order of the lists; the strictest answer wins.
    pub rules: Box<[RuleSet]>,
    /// The groups of policy tokens, which deny uses and change no access; the same for every list.
    pub policies: PolicyGroups,
    /// The groups for the agents of others, where they are looked at: evidence, and denials of uses where the operator says so.
    pub agents: AgentGroups,
}

/// The validators of an answer (RFC 9110 §8.8): with them a copy is asked anew for the price of a 304.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Validators {
    /// `ETag`, as received.
    pub etag: Option<Box<str>>,
    /// `Last-Modified`, as received.
    pub last_modified: Option<Box<str>>,
}

/// How one fetch of robots.txt ended.
#[derive(Clone, Debug)]
pub enum RobotsEvent {
    /// 2xx with a whole body (empty counts).
    Parsed {
        /// HTTP status of the final answer.
        status: u16,
        /// The file.
        copy: RobotsCopy,
        /// `max-age` less `Age`, if the answer said so.
        max_age: Option<Duration>,
    },
    /// 304 to a conditional request: the copy lives on.
    NotModified {
        /// `max-age` less `Age`, if the answer said so.
        max_age: Option<Duration>,
    },
    /// 4xx other than 429: no rules, or disallow all where the operator is strict.
    Absent {
        /// HTTP status of the final answer.
        status: u16,
        /// `max-age` less `Age`, if the answer said so.
        max_age: Option<Duration>,
    },
    /// More than five redirects, a loop, or a target that is no http(s) URL: counts as absent.
    RedirectLimit {
        /// HTTP status of the last redirect.
        status: u16,
    },
    /// 429, 5xx, unknown statuses, network, TLS, name resolution, timeouts, cut or undecodable bodies.
    Unreachable {
        /// What went wrong.
        cause: Reason,
        /// The HTTP status, when there was one.
        status: Option<u16>,
        /// The parsed `Retry-After`, uncapped.
        retry_after: Option<Duration>,
    },
}
