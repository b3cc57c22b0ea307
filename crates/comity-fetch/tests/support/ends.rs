//! How each hostile scenario has to end: the table that shares whoever meets them, in memory, on sockets, in a crawl, and
//! the page `docs/reference/hostile.md`.
#![allow(dead_code, unreachable_pub, missing_docs, reason = "each test file uses a part of it")]

use std::time::Duration;

use comity_fetch::{Fetched, Limits};
use comity_policy::{Outcome, Reason, Truncation};
use comity_testweb::hostile::{Scenario, Speech};

/// How a scenario must end.
#[derive(Clone, Copy, Debug)]
pub struct End {
    pub fault: Option<Reason>,
    pub status: Option<u16>,
    pub truncated: Option<Truncation>,
    pub limit: Limit,
}

/// What ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// It is answered as it should be, or what is wrong harms nobody.
    Fine,
    /// `Limits::connect`
    Connect,
    /// `Limits::head`
    Head,
    /// `Limits::least_rate` after `Limits::rate_grace`
    Rate,
    /// `Limits::max_head_bytes`
    HeadBytes,
    /// `Limits::max_fields`
    Fields,
    /// `Limits::max_body`
    Body,
    /// `Limits::max_ratio`
    Ratio,
    /// The grammar of HTTP/1.1.
    Grammar,
    /// The rules of HTTP/2, and the bounds on its frames.
    Frames,
    /// The rules of TLS.
    Tls,
    /// What the coding says of itself.
    Coding,
    /// The site itself hangs up.
    HangUp,
}

impl Limit {
    /// How long it takes to be met, for those of time.
    pub fn wait(self, limits: &Limits) -> Duration {
        match self {
            Self::Connect => limits.connect,
            Self::Head => limits.head,
            Self::Rate => limits.rate_grace,
            _ => Duration::ZERO,
        }
    }

    /// The limit with its default, for people.
    pub fn text(self) -> String {
        let limits = Limits::default();
        match self {
            Self::Fine => "none is met".to_owned(),
            Self::Connect => format!("connecting, {} s", limits.connect.as_secs()),
            Self::Head => format!("head, {} s", limits.head.as_secs()),
            Self::Rate => format!("{} bytes a second after {} s", limits.least_rate, limits.rate_grace.as_secs()),
            Self::HeadBytes => format!("head of {} KiB", limits.max_head_bytes >> 10),
            Self::Fields => format!("{} fields", limits.max_fields),
            Self::Body => format!("body of {} MiB", limits.max_body >> 20),
            Self::Ratio => format!("ratio of {}:1", limits.max_ratio),
            Self::Grammar => "the grammar of HTTP/1.1".to_owned(),
            Self::Frames => "the rules of HTTP/2, bounds on frames".to_owned(),
            Self::Tls => "the rules of TLS".to_owned(),
            Self::Coding => "the coding itself".to_owned(),
            Self::HangUp => "the site hangs up".to_owned(),
        }
    }
}

const fn fine(status: u16) -> End {
    End { fault: None, status: Some(status), truncated: None, limit: Limit::Fine }
}

/// No answer.
const fn fails(fault: Reason, limit: Limit) -> End {
    End { fault: Some(fault), status: None, truncated: None, limit }
}

/// An answer with a flaw that is said.
const fn flawed(fault: Reason, limit: Limit) -> End {
    End { fault: Some(fault), status: Some(200), truncated: None, limit }
}

/// An answer whose body ends early.
const fn cut(fault: Reason, truncated: Truncation, limit: Limit) -> End {
    End { fault: Some(fault), status: Some(200), truncated: Some(truncated), limit }
}

pub fn expected(scenario: Scenario) -> End {
    use Reason as R;
    use Scenario as S;
    use Truncation as T;
    match scenario {
        S::Good | S::FoldedField | S::LongBody | S::LengthAndChunks | S::Http2Good => fine(200),
        redirect if (S::RedirectLoop..=S::RedirectRebind).contains(&redirect) => fine(302),
        S::Silent | S::SlowHead | S::Http2Silent | S::Http2SlowHead => fails(R::FetchTimeoutHead, Limit::Head),
        S::HangUp | S::ResetAfterRequest | S::ResetInHead => fails(R::FetchReset, Limit::HangUp),
        S::EndlessHead | S::EndlessLine | S::EndlessInterim | S::HugeField => fails(R::FetchHeaders, Limit::HeadBytes),
        S::ManyFields => fails(R::FetchHeaders, Limit::Fields),
        S::SplitField | S::NotHttp | S::BinaryNoise | S::TwoLengths | S::NegativeLength => {
            fails(R::FetchProtocol, Limit::Grammar)
        }
        S::SlowBody | S::Http2SlowBody => cut(R::FetchSlow, T::Time, Limit::Rate),
        S::EndlessBody | S::EndlessChunks => cut(R::FetchTooLarge, T::Length, Limit::Body),
        S::ResetInBody | S::ShortBody | S::Http2ResetInBody => cut(R::FetchReset, T::Disconnect, Limit::HangUp),
        S::ChunkNoise | S::ChunkOverflow | S::ChunkExtension | S::EndlessTrailers => {
            cut(R::FetchProtocol, T::Unspecified, Limit::Grammar)
        }
        S::FalseCoding | S::CutCoding | S::UnknownCoding | S::StackedCodings => flawed(R::FetchCoding, Limit::Coding),
        bomb if bomb.is_bomb() => cut(R::FetchRatio, T::Length, Limit::Ratio),
        S::TlsExpired | S::TlsWrongName | S::TlsSelfSigned | S::TlsNoise => fails(R::FetchTls, Limit::Tls),
        S::TlsReset => fails(R::FetchTls, Limit::HangUp),
        S::TlsSilent | S::TlsSlow => fails(R::FetchTimeoutConnect, Limit::Connect),
        S::Http2HangUp => fails(R::FetchReset, Limit::HangUp),
        S::Http2RapidReset => fails(R::FetchReset, Limit::Frames),
        S::Http2Oversized | S::Http2EmptyData | S::Http2EndlessBody | S::Http2ShortBody => {
            cut(R::FetchProtocol, T::Unspecified, Limit::Frames)
        }
        _ => fails(R::FetchProtocol, Limit::Frames),
    }
}

/// What is wrong with how it ended, `decoded` bytes handed on.
pub fn complaint(scenario: Scenario, fetched: &Fetched, decoded: usize) -> Option<String> {
    let (name, end, capture) = (scenario.name(), expected(scenario), &fetched.capture);
    let failed = match fetched.outcome {
        Outcome::Failed(reason) => Some(reason),
        Outcome::Answered { .. } => None,
    };
    let found = (capture.fault, capture.status, capture.truncated);
    let right = found == (end.fault, end.status, end.truncated)
        && failed == end.fault.filter(|_| end.status.is_none())
        && capture.detail.is_some() == end.fault.is_some()
        && decoded <= 10 << 20
        && capture.body.len() <= 10 << 20
        && capture.response_head.len() <= 64 << 10;
    let size = (decoded, capture.body.len());
    (!right).then(|| format!("{name}: {found:?} {failed:?}, {size:?} bytes: {:?}", capture.detail))
}

/// Where a scenario is asked; `port` as `:80`, or nothing.
pub fn url(scenario: Scenario, port: &str) -> String {
    let scheme = if scenario.speech() == Speech::Plain { "http" } else { "https" };
    format!("{scheme}://{}{port}/page", scenario.host())
}

/// The scenario's row of `docs/reference/hostile.md`.
pub fn row(scenario: Scenario) -> String {
    let end = expected(scenario);
    let reason = end.fault.map_or_else(
        || format!("answered, {}", end.status.unwrap_or_default()),
        |fault| match end.status {
            Some(status) => format!("`{}`, {status}", fault.code()),
            None => format!("`{}`", fault.code()),
        },
    );
    let cut = end.truncated.map_or("-", Truncation::as_str);
    format!("| `{}` | {} | {} | {reason} | {cut} |", scenario.name(), scenario.text(), end.limit.text())
}
