use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::breach::{Violation, seconds};

/// Violations kept with their evidence; all are counted.
pub const MAX_VIOLATIONS: usize = 1_000;

/// What an auditor found.
///
/// Serialises to JSON as it stands ([`Audit::to_json`]); `Display` is for people.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Audit {
    /// Requests looked at.
    pub requests: u64,
    /// Requests for robots.txt, redirect targets of one included.
    pub robots_requests: u64,
    /// All other requests.
    pub page_requests: u64,
    /// Page requests answered 2xx.
    pub pages: u64,
    /// Different targets among those.
    pub distinct_pages: u64,
    /// Page requests for a target that had been answered for good before: by anything but 429 and 5xx.
    pub repeats: u64,
    /// Requests for targets that robots.txt refuses. Must be 0.
    pub refused_targets: u64,
    /// Requests that the log had no room for. An audit that missed some is not clean.
    pub lost: u64,
    /// Turns used by page requests, over all origins.
    pub slots_used: u64,
    /// Turns that the origins' delays offered between their first and their last page request.
    pub slots_offered: u64,
    /// How many violations of each kind; kinds without any are left out.
    pub counts: BTreeMap<&'static str, u64>,
    /// The first [`MAX_VIOLATIONS`] of them, in order of arrival.
    pub violations: Vec<Violation>,
    /// A row for each origin that was asked anything, and client.
    pub origins: Vec<OriginAudit>,
}

/// How one client treated one origin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OriginAudit {
    /// The origin.
    pub origin: String,
    /// The client: its User-Agent.
    pub user_agent: String,
    /// All requests.
    pub requests: u64,
    /// Requests for robots.txt or a redirect target of one.
    pub robots_requests: u64,
    /// Page requests answered 2xx.
    pub pages: u64,
    /// The largest delay that the origin announced, in microseconds.
    pub delay_us: u64,
    /// Length of a turn, in microseconds: the largest of that delay, the floor, and the address gap times the origins
    /// active on the address (design §12). 0: no bound, every request has its turn.
    pub slot_us: u64,
    /// Turns used: page requests.
    pub slots_used: u64,
    /// Turns offered from the first to the last page request.
    pub slots_offered: u64,
    /// The shortest gap seen, in microseconds: from the later of the previous head and arrival.
    pub tightest_gap_us: Option<u64>,
}

impl Audit {
    /// True when nothing was found and nothing was missed.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.counts.is_empty() && self.lost == 0
    }

    /// All violations counted together.
    #[must_use]
    pub fn violation_count(&self) -> u64 {
        self.counts.values().sum()
    }

    /// How many violations there are of a kind ([`super::Breach::kind`]).
    #[must_use]
    pub fn count(&self, kind: &str) -> u64 {
        self.counts.get(kind).copied().unwrap_or(0)
    }

    /// One JSON object, without line breaks.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Strings, numbers and string keys only: nothing that serde_json could refuse.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl fmt::Display for Audit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { requests, robots_requests, page_requests, pages, distinct_pages, repeats, .. } = self;
        match self.violation_count() {
            0 if self.lost == 0 => writeln!(f, "audit: clean, no violations")?,
            1 => writeln!(f, "audit: 1 violation")?,
            count => writeln!(f, "audit: {count} violations")?,
        }
        if self.lost > 0 {
            writeln!(f, "  {} requests were not logged: the audit is incomplete", self.lost)?;
        }
        writeln!(f, "  {requests} requests: {robots_requests} for robots.txt, {page_requests} for pages")?;
        writeln!(f, "  {pages} pages, {distinct_pages} different, {repeats} requests repeated")?;
        writeln!(f, "  {} refused targets asked for", self.refused_targets)?;
        writeln!(f, "  {} of {} slots used on {} origins", self.slots_used, self.slots_offered, self.origins.len())?;
        let gaps = self.origins.iter().filter(|origin| origin.delay_us > 0);
        let tightest = gaps.filter_map(|origin| Some((origin.tightest_gap_us?, origin)));
        if let Some((gap, origin)) = tightest.min_by_key(|(gap, origin)| gap.saturating_mul(1_000) / origin.delay_us) {
            let (gap, delay) = (seconds(gap), seconds(origin.delay_us));
            writeln!(f, "  tightest gap {gap:.6} s where {delay} s were asked, {}", origin.origin)?;
        }
        for (kind, count) in &self.counts {
            writeln!(f, "  {kind}: {count}")?;
            let found = self.violations.iter().filter(|violation| violation.breach.kind() == *kind);
            for violation in found.take(3) {
                writeln!(f, "    {violation}")?;
            }
        }
        Ok(())
    }
}
