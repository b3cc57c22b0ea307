use std::collections::BTreeMap;

use comity::policy::WallTime;
use serde::Serialize;

use super::requests::{Request, Wire};
use crate::commands::visible::visible;

/// What a polite crawl does not do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    /// The robots.txt in force refuses what was asked for.
    RefusedTarget,
    /// A page was asked for while no robots.txt was in force.
    PageWithoutRobots,
    /// A request came sooner after the answer before it than the origin, or our own floor, asked.
    TooSoon,
    /// A request came sooner than twice the time that the origin takes for its answers.
    Adaptive,
    /// A request came while the origin had asked to be left alone.
    DuringPause,
    /// A request was written sooner after another to the same address than the configuration says.
    AddressTooSoon,
    /// A page was asked for outside the hours that robots.txt wants visits in.
    OutsideVisitTime,
    /// The copy in the evidence is not the body in the WARC.
    CopyDiffers,
    /// A record's decision is not what its copy of robots.txt says.
    Decision,
}

/// One of these, with its place.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Violation {
    pub(super) kind: Kind,
    pub(super) url: String,
    pub(super) at: String,
    /// The WARC file and the byte where the request lies, or the number of the record line.
    pub(super) place: String,
    pub(super) problem: String,
}

impl Violation {
    pub(super) fn at(kind: Kind, request: &Request, wire: &Wire, problem: String) -> Self {
        let file = wire.files.get(request.file).map_or("", String::as_str);
        let place = format!("{file}:{}", request.offset);
        Self { kind, url: request.url.clone(), at: request.at.to_string(), place, problem }
    }
}

/// Violations that are kept; all are counted.
const MAX_KEPT: usize = 1000;

/// What was examined, and what was found.
#[derive(Debug, Default, Serialize)]
pub(super) struct Audit {
    pub(super) requests: u64,
    pub(super) page_requests: u64,
    pub(super) robots_requests: u64,
    pub(super) origins: u64,
    /// Gaps between two requests to an origin that were measured, and the tightest in milliseconds.
    pub(super) gaps: u64,
    pub(super) tightest_gap_ms: Option<i64>,
    /// Gaps between two requests to an address that were measured.
    pub(super) address_gaps: u64,
    /// Answers that asked to be left alone for a time.
    pub(super) pauses: u64,
    /// Requests that an override, or 30 days without an answer of robots.txt, let through: the rules were not held against them.
    pub(super) excepted: u64,
    /// Requests for pages whose robots.txt was erased: nothing is left to hold them against.
    pub(super) erased: u64,
    /// Records whose decision was made again from the copy that they name.
    pub(super) decisions: u64,
    /// Records whose decision rests on something else than a copy, or on one that was erased.
    pub(super) decisions_skipped: u64,
    /// Requests and records for which the rules give another verdict on the path alone: not recomputable, the query is not there.
    pub(super) queries: u64,
    /// Pages that were kept and were read again, and those that could not be: erased, pruned, cut, too long, or not asked for.
    pub(super) pages_read: u64,
    pub(super) pages_unread: u64,
    /// From when to when requests were sent.
    pub(super) first: Option<String>,
    pub(super) last: Option<String>,
    /// Own floor that was asked for, in milliseconds: the least and the greatest, where the configuration changed.
    pub(super) floor_ms: u64,
    pub(super) floor_most_ms: u64,
    pub(super) counts: BTreeMap<Kind, u64>,
    pub(super) violations: Vec<Violation>,
}

impl Audit {
    pub(super) fn add(&mut self, violation: Violation) {
        *self.counts.entry(violation.kind).or_insert(0) += 1;
        if self.violations.len() < MAX_KEPT {
            self.violations.push(violation);
        }
    }

    pub(super) fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    pub(super) fn span(&mut self, at: WallTime) {
        self.first.get_or_insert_with(|| at.to_string());
        self.last = Some(at.to_string());
    }
}

impl std::fmt::Display for Audit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { requests, page_requests, robots_requests, origins, .. } = self;
        writeln!(
            f,
            "requests     {requests} to {origins} origins: {page_requests} for pages, {robots_requests} for robots.txt"
        )?;
        if let (Some(first), Some(last)) = (&self.first, &self.last) {
            writeln!(f, "time         {first} to {last}")?;
        }
        let tightest = self.tightest_gap_ms.map_or_else(|| "none".to_owned(), |ms| format!("{ms} ms"));
        let floor = match (self.floor_ms, self.floor_most_ms) {
            (least, most) if least == most => format!("{least} ms"),
            (least, most) => format!("{least} to {most} ms, as each file's configuration says"),
        };
        writeln!(f, "gaps         {} measured, the tightest {tightest}; own floor {floor}", self.gaps)?;
        writeln!(f, "addresses    {} gaps measured", self.address_gaps)?;
        writeln!(f, "pauses       {} asked for by Retry-After", self.pauses)?;
        writeln!(
            f,
            "decisions    {} made again; {} had no copy of robots.txt to be held against",
            self.decisions, self.decisions_skipped
        )?;
        writeln!(f, "pages        {} read again, {} not to be had", self.pages_read, self.pages_unread)?;
        if self.queries > 0 {
            writeln!(f, "queries      {} verdicts not recomputable: query dropped, or hashed", self.queries)?;
        }
        if self.excepted > 0 {
            writeln!(
                f,
                "excepted     {} requests under an override, or after 30 days without an answer",
                self.excepted
            )?;
        }
        if self.erased > 0 {
            writeln!(f, "erased       {} requests whose robots.txt was erased", self.erased)?;
        }
        for violation in &self.violations {
            let kind = serde_json::to_value(violation.kind).unwrap_or_default();
            let kind = kind.as_str().unwrap_or_default();
            writeln!(
                f,
                "VIOLATION    {kind}: {} at {} ({}): {}",
                visible(&violation.url),
                violation.at,
                visible(&violation.place),
                visible(&violation.problem)
            )?;
        }
        match self.total() {
            0 => write!(f, "no violation"),
            1 => write!(f, "1 violation"),
            more => write!(f, "{more} violations"),
        }
    }
}
