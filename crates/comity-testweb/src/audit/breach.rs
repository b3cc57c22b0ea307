use std::fmt;

use serde::Serialize;

/// One thing that a polite crawler does not do, with its evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// The request: its number in the log.
    pub request: u64,
    /// When it arrived, in microseconds since the web was put up.
    pub at_us: u64,
    /// The origin it went to; `None` when its Host named none.
    pub origin: Option<String>,
    /// The target as received; bytes that are not UTF-8 replaced.
    pub target: String,
    /// What was wrong.
    #[serde(flatten)]
    pub breach: Breach,
}

/// What was wrong with a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Breach {
    /// The robots.txt in force refuses the target (RFC 9309 §2.2.2).
    RefusedTarget {
        /// The pattern as written.
        rule: String,
        /// Its line in the file.
        line: u32,
        /// The request that was answered with that file.
        robots_request: u64,
    },
    /// A page was asked for although no robots.txt was in force (RFC 9309 §2.3.1.4, §2.4).
    PageWithoutRobots {
        /// Why none was.
        because: NoRobots,
        /// The last request for it that was answered.
        robots_request: Option<u64>,
    },
    /// The request came sooner than asked after the one before it.
    TooSoon {
        /// Whose wish that was.
        clock: DelayClock,
        /// The request before.
        after_request: u64,
        /// From where it was measured.
        since: Since,
        /// What was measured, in microseconds; 0 while the answer was outstanding.
        gap_us: u64,
        /// What was asked, in microseconds.
        asked_us: u64,
    },
    /// A page was asked for outside the hours in which robots.txt wants visits (Visit-time, UTC).
    OutsideVisitTime {
        /// The first minute of the window, `04:00`.
        first: String,
        /// Its last minute.
        last: String,
        /// When the request came, by the web's clock.
        at: String,
    },
    /// robots.txt was asked for again within the life of a good answer (RFC 9309 §2.4), its last tenth excepted.
    RobotsAgain {
        /// The good answer's request.
        first_request: u64,
        /// Its age, in microseconds.
        age_us: u64,
        /// Its life, in microseconds.
        life_us: u64,
    },
    /// The request came during a pause that a Retry-After had asked for (RFC 9110 §10.2.3).
    DuringPause {
        /// The request that was answered so.
        after_request: u64,
        /// The pause asked for, in seconds, at most a day.
        asked_s: u64,
        /// What was left of it, in microseconds.
        left_us: u64,
    },
    /// The request is none that a crawler should write.
    OddRequest {
        /// What is odd.
        oddity: Oddity,
    },
    /// The User-Agent is missing or names neither a URL nor an e-mail address. Once for each User-Agent.
    NoContact {
        /// The User-Agent.
        user_agent: Option<String>,
    },
    /// The gap to the request before it on the same address is too short.
    AddressTooSoon {
        /// The request before.
        after_request: u64,
        /// What was measured from arrival to arrival, in microseconds.
        gap_us: u64,
        /// What was asked, in microseconds.
        asked_us: u64,
    },
    /// More requests were open on one address than allowed.
    AddressCrowded {
        /// Requests open, this one included.
        open: usize,
        /// The limit.
        limit: usize,
    },
}

/// Why no robots.txt was in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NoRobots {
    /// It had not been answered.
    NotAnswered,
    /// It was unreachable: 429, 5xx, a broken answer.
    Unreachable,
    /// Its life was over.
    Expired,
}

/// Whose delay was not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DelayClock {
    /// The origin's: Crawl-delay or Request-rate.
    CrawlDelay,
    /// The floor that the auditor was told.
    Floor,
}

/// From where a gap was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Since {
    /// The previous response's head.
    Head,
    /// The previous request's arrival.
    Arrival,
    /// The previous response's head was still to come.
    Outstanding,
}

/// What is odd about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Oddity {
    /// The target holds a fragment (RFC 9110 §7.1: never sent).
    Fragment,
    /// The target holds user information (RFC 9110 §4.2.4).
    UserInfo,
    /// The target is a whole URL, as for a proxy (RFC 9112 §3.2.2).
    AbsoluteForm,
    /// The target does not start with `/`.
    NoPath,
    /// The target holds a blank, a control or a byte outside ASCII (RFC 3986 §2).
    RawByte,
    /// The target holds `.` or `..` as a segment.
    DotSegment,
    /// The target is longer than 2,083 bytes.
    Long,
    /// No Host field, or one that no site at this address has.
    UnknownHost,
    /// A method other than GET and HEAD.
    Method,
}

impl Breach {
    /// The stable name of its kind, as in JSON.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::RefusedTarget { .. } => "refused_target",
            Self::PageWithoutRobots { .. } => "page_without_robots",
            Self::TooSoon { .. } => "too_soon",
            Self::OutsideVisitTime { .. } => "outside_visit_time",
            Self::RobotsAgain { .. } => "robots_again",
            Self::DuringPause { .. } => "during_pause",
            Self::OddRequest { .. } => "odd_request",
            Self::NoContact { .. } => "no_contact",
            Self::AddressTooSoon { .. } => "address_too_soon",
            Self::AddressCrowded { .. } => "address_crowded",
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let origin = self.origin.as_deref().unwrap_or("unknown host ");
        write!(f, "{:.6} s, request {}, {origin}{}: {}", seconds(self.at_us), self.request, self.target, self.breach)
    }
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RefusedTarget { rule, line, robots_request } => {
                write!(f, "refused by robots.txt (request {robots_request}), line {line}: Disallow: {rule}")
            }
            Self::PageWithoutRobots { because, .. } => f.write_str(match because {
                NoRobots::NotAnswered => "robots.txt had not been answered",
                NoRobots::Unreachable => "robots.txt was unreachable",
                NoRobots::Expired => "the life of robots.txt was over",
            }),
            Self::TooSoon { clock, after_request, since, gap_us, asked_us } => {
                let clock = if *clock == DelayClock::Floor { "floor" } else { "Crawl-delay" };
                let (gap, asked) = (seconds(*gap_us), seconds(*asked_us));
                match since {
                    Since::Outstanding => write!(f, "request {after_request} was unanswered, {clock} {asked} s"),
                    Since::Head => write!(f, "{gap:.6} s after the head of {after_request}, {clock} {asked} s"),
                    Since::Arrival => write!(f, "{gap:.6} s after request {after_request}, {clock} {asked} s"),
                }
            }
            Self::OutsideVisitTime { first, last, at } => write!(f, "came at {at}, Visit-time is {first} to {last}"),
            Self::RobotsAgain { first_request, age_us, life_us } => {
                let (age, life) = (seconds(*age_us), seconds(*life_us));
                write!(f, "request {first_request} had been answered {age:.3} s before and lives {life} s")
            }
            Self::DuringPause { after_request, asked_s, left_us } => {
                let left = seconds(*left_us);
                write!(f, "request {after_request} was told to wait {asked_s} s, {left:.6} s were left")
            }
            Self::OddRequest { oddity } => write!(f, "odd request: {oddity:?}"),
            Self::NoContact { user_agent: Some(agent) } => write!(f, "User-Agent {agent:?} names no contact"),
            Self::NoContact { user_agent: None } => f.write_str("no User-Agent"),
            Self::AddressTooSoon { after_request, gap_us, asked_us } => {
                let (gap, asked) = (seconds(*gap_us), seconds(*asked_us));
                write!(f, "{gap:.6} s after request {after_request} on this address, asked {asked} s")
            }
            Self::AddressCrowded { open, limit } => write!(f, "{open} requests open on this address, at most {limit}"),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "for people: microseconds of a century fit 53 bits")]
pub(super) fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}
