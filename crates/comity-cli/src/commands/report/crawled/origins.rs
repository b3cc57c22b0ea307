//! Counts per origin.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::net::IpAddr;

use serde::Serialize;

use super::entry::Entry;
use super::limits::Limit;
use super::pauses::{Clock, Gaps, Pause, Pauses, Sent, alone_until};
use super::totals::{Fate, Pages, moment};

/// Violations, and longest pauses, that are listed; all are counted.
const MOST_VIOLATIONS: usize = 100;
pub(super) const MOST_PAUSES: usize = 20;

/// One origin.
#[derive(Debug, Default, Serialize)]
pub(super) struct Origin {
    pub(super) origin: String,
    pub(super) requests: u64,
    #[serde(flatten)]
    pub(super) pages: Pages,
    /// The greatest Crawl-delay that a decision rested on.
    pub(super) asked_ms: Option<u64>,
    #[serde(flatten)]
    pub(super) gaps: Gaps,
    /// Standing and digest of robots.txt at the last decision.
    pub(super) robots: Option<String>,
    pub(super) digest: Option<String>,
    /// Where it was reached last.
    pub(super) address: Option<IpAddr>,
}

/// A pause, or a violation, with its place.
#[derive(Debug, Serialize)]
pub(super) struct Placed {
    pub(super) origin: String,
    #[serde(flatten)]
    pub(super) pause: Pause,
    pub(super) address: Option<IpAddr>,
}

/// Every origin, and every address that was asked.
#[derive(Debug, Default)]
pub(super) struct Origins {
    places: HashMap<String, usize>,
    pub(super) all: Vec<Origin>,
    addresses: HashMap<IpAddr, [i64; 2]>,
    pub(super) pauses: Pauses,
    pub(super) longest: Vec<Placed>,
    pub(super) violations: Vec<Placed>,
    /// Pages that were asked for against a rule that no override lifts.
    pub(super) against_rule: u64,
    /// Requests whose own floor nobody knows: their configuration is not kept, or does not say it.
    pub(super) floor_unknown: u64,
}

impl Origins {
    pub(super) fn take(&mut self, seq: u64, entry: &Entry<'_>, limit: &Limit) {
        let Some(name) = entry.origin() else { return };
        let place = self.place(name);
        let sent = entry.is_sent().then(|| self.sent(seq, entry, limit)).flatten();
        let Some(origin) = self.all.get_mut(place) else { return };
        if entry.errand == "page" {
            origin.pages.take(entry, Fate::of(entry));
            if let Some(robots) = entry.robots.as_ref().filter(|robots| robots.for_origin == name) {
                origin.robots = Some(robots.state.to_string());
                origin.digest = robots.digest.as_ref().map(ToString::to_string);
                origin.asked_ms = origin.asked_ms.max(robots.crawl_delay_ms);
            }
        }
        if !entry.is_sent() {
            return;
        }
        origin.requests += 1;
        self.floor_unknown += u64::from(limit.floor_ms.is_none());
        origin.address = entry.vantage.server_ip.as_ref().and_then(|text| text.parse().ok()).or(origin.address);
        self.judged(entry);
        if let Some(sent) = sent
            && let Some(pause) = self.all.get_mut(place).and_then(|origin| origin.gaps.take(sent))
        {
            self.note(place, pause);
        }
    }

    /// What is left in the windows.
    pub(super) fn end(&mut self) {
        for place in 0..self.all.len() {
            let Some(origin) = self.all.get_mut(place) else { continue };
            for pause in origin.gaps.end() {
                self.note(place, pause);
            }
        }
    }

    fn place(&mut self, name: &str) -> usize {
        if let Some(place) = self.places.get(name) {
            return *place;
        }
        let place = self.all.len();
        self.places.insert(name.to_owned(), place);
        self.all.push(Origin { origin: name.to_owned(), ..Origin::default() });
        place
    }

    fn sent(&mut self, seq: u64, entry: &Entry<'_>, limit: &Limit) -> Option<Sent> {
        let at = moment(&entry.time.started)?;
        let millis = |ms: u64| i64::try_from(ms).unwrap_or(i64::MAX);
        let total = entry.time.total_ms.map_or(0, millis);
        let to_head = if entry.response.is_some() { total - entry.time.body_ms.map_or(0, millis) } else { total };
        let head = at.saturating_add(to_head.max(0));
        let latency_ms = entry.time.head_ms.map(millis);
        let address = entry.vantage.server_ip.as_ref().and_then(|text| text.parse::<IpAddr>().ok());
        let written = head.saturating_sub(latency_ms.unwrap_or(0));
        let address = address.and_then(|address| Some((self.asked_before(address, written)?, limit.gap_ms(address))));
        let asked = entry.robots.as_ref().and_then(|robots| robots.crawl_delay_ms);
        Some(Sent {
            at,
            head,
            floor_ms: limit.floor_ms.unwrap_or(0),
            asked_ms: asked.map_or(0, millis),
            adaptive: limit.adaptive,
            is_excepted: entry.is_lifted("rate"),
            latency_ms,
            alone_until: alone_until(entry, head),
            address,
            seq,
        })
    }

    /// When the address was asked last before this instant, as far as the last two requests tell.
    fn asked_before(&mut self, address: IpAddr, at: i64) -> Option<i64> {
        let last = self.addresses.entry(address).or_insert([i64::MIN; 2]);
        let before = last.iter().copied().filter(|one| *one < at && *one != i64::MIN).max();
        if let Some(oldest) = last.iter_mut().min() {
            *oldest = at.max(*oldest);
        }
        before
    }

    /// Whether what was sent may have been, by the record itself.
    fn judged(&mut self, entry: &Entry<'_>) {
        if entry.errand != "page" || entry.is_lifted("robots") {
            return;
        }
        self.against_rule += u64::from(entry.rule.as_ref().is_some_and(|rule| rule.kind == "disallow"));
    }

    fn note(&mut self, place: usize, pause: Pause) {
        self.pauses.add(&pause);
        let Some(origin) = self.all.get(place) else { return };
        let placed = || Placed { origin: origin.origin.clone(), pause, address: origin.address };
        if pause.is_violation && self.violations.len() < MOST_VIOLATIONS {
            self.violations.push(placed());
        }
        let is_long = pause.clock != Clock::Other
            && (self.longest.len() < MOST_PAUSES
                || self.longest.last().is_some_and(|least| least.pause.gap_ms < pause.gap_ms));
        if is_long {
            let at = self.longest.partition_point(|one| one.pause.gap_ms >= pause.gap_ms);
            self.longest.insert(at, placed());
            self.longest.truncate(MOST_PAUSES);
        }
    }

    pub(super) fn violations(&self) -> u64 {
        self.all.iter().map(|origin| origin.gaps.violations).sum()
    }

    /// Origins as a page lists them: those with a violation first, then by requests, by name.
    pub(super) fn sorted(&self) -> Vec<&Origin> {
        let mut all: Vec<&Origin> = self.all.iter().collect();
        let key = |origin: &Origin| Reverse((origin.gaps.violations, origin.requests, origin.pages.skipped));
        all.sort_unstable_by(|a, b| key(a).cmp(&key(b)).then_with(|| a.origin.cmp(&b.origin)));
        all
    }
}
