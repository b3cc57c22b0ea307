//! Counts over the whole crawl.

use std::collections::BTreeMap;

use comity::policy::WallTime;
use serde::Serialize;

use super::entry::Entry;
use super::series::{Moment, Powers, Timeline};

/// Different names that one table counts; what comes after is counted under [`OTHERS`].
const MOST_NAMES: usize = 512;
/// Depths that are told apart.
const MOST_DEPTH: u32 = 64;
pub(super) const OTHERS: &str = "(others)";
/// Bytes of a URL that is shown as an example.
const EXAMPLE: usize = 400;

/// A count, and the first URL that it counts.
#[derive(Debug, Default, Serialize)]
pub(super) struct Example {
    pub(super) count: u64,
    pub(super) url: String,
}

#[derive(Debug, Default)]
pub(super) struct Totals {
    /// Name of the crawl, who asked, contact, purposes: as the first record has them.
    pub(super) crawl: String,
    pub(super) agents: BTreeMap<String, u64>,
    pub(super) contact: String,
    pub(super) purposes: Vec<String>,
    pub(super) records: u64,
    pub(super) erasures: u64,
    /// Exchanges that were begun, by errand.
    pub(super) requests: BTreeMap<String, u64>,
    /// Pages by what became of them: each visit counts, a retry too.
    pub(super) pages: Pages,
    pub(super) statuses: BTreeMap<u16, u64>,
    pub(super) skipped: BTreeMap<String, Example>,
    pub(super) withheld: BTreeMap<String, Example>,
    pub(super) failed: BTreeMap<String, Example>,
    pub(super) depths: BTreeMap<u32, u64>,
    pub(super) sizes: Powers,
    pub(super) latencies: Powers,
    pub(super) timeline: Timeline,
    /// By carrier, purpose and verdict: records in which it takes part.
    pub(super) signals: BTreeMap<(String, String, String), u64>,
    /// By purpose: proceed, refuse, and of both those where nobody had said anything.
    pub(super) purposes_decided: BTreeMap<String, [u64; 3]>,
    pub(super) robots: BTreeMap<String, u64>,
    pub(super) span: Option<(i64, i64)>,
}

/// Visits of pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Pages {
    /// Answered, and no redirect; `not_modified` and `withheld` among them.
    pub(super) answered: u64,
    pub(super) redirects: u64,
    /// Found as before: 304, or the same bytes.
    pub(super) unchanged: u64,
    pub(super) withheld: u64,
    pub(super) failed: u64,
    pub(super) skipped: u64,
    pub(super) retries: u64,
    /// Body bytes received.
    pub(super) bytes: u64,
}

/// What became of a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Answered,
    Redirect,
    Failed,
    Skipped,
}

impl Fate {
    pub(super) fn of(entry: &Entry<'_>) -> Self {
        match (&*entry.outcome, &entry.response) {
            ("not_fetched", _) => Self::Skipped,
            ("fetched" | "withheld", Some(response)) if matches!(response.status, 301 | 302 | 303 | 307 | 308) => {
                Self::Redirect
            }
            ("fetched" | "withheld" | "not_modified", _) => Self::Answered,
            _ => Self::Failed,
        }
    }
}

impl Pages {
    pub(super) fn take(&mut self, entry: &Entry<'_>, fate: Fate) {
        match fate {
            Fate::Answered => self.answered += 1,
            Fate::Redirect => self.redirects += 1,
            Fate::Failed => self.failed += 1,
            Fate::Skipped => self.skipped += 1,
        }
        let response = entry.response.as_ref();
        let repeats = response.is_some_and(|response| response.repeats.is_some());
        self.unchanged += u64::from(entry.outcome == "not_modified" || repeats);
        self.withheld += u64::from(entry.outcome == "withheld");
        self.retries += u64::from(entry.discovery.attempt > 1);
        self.bytes += response.map_or(0, |response| response.body_length);
    }
}

impl Totals {
    pub(super) fn take(&mut self, entry: &Entry<'_>) {
        self.records += 1;
        if entry.errand == "erasure" {
            self.erasures += 1;
            return;
        }
        self.who(entry);
        if entry.is_sent() {
            *named(&mut self.requests, &entry.errand) += 1;
            self.asked(entry);
        }
        if entry.errand == "page" {
            self.page(entry);
        }
    }

    fn who(&mut self, entry: &Entry<'_>) {
        if self.crawl.is_empty() {
            self.crawl = entry.crawl.clone().into_owned();
            self.contact = entry.agent.contact.clone().into_owned();
            self.purposes = entry.agent.purposes.iter().map(|purpose| purpose.clone().into_owned()).collect();
        }
        *named(&mut self.agents, &entry.agent.user_agent) += u64::from(entry.is_sent());
    }

    fn asked(&mut self, entry: &Entry<'_>) {
        if let Some(ms) = entry.time.head_ms {
            self.latencies.add(ms);
        }
        let Some(at) = moment(&entry.time.started) else { return };
        let end = moment(&entry.time.ended).unwrap_or(at).max(at);
        let (first, last) = self.span.unwrap_or((at, end));
        self.span = Some((first.min(at), last.max(end)));
    }

    fn page(&mut self, entry: &Entry<'_>) {
        let fate = Fate::of(entry);
        self.pages.take(entry, fate);
        let bytes = entry.response.as_ref().map_or(0, |response| response.body_length);
        if let Some(response) = &entry.response {
            *self.statuses.entry(response.status).or_default() += 1;
            self.sizes.add(bytes);
            *self.depths.entry(entry.discovery.depth.min(MOST_DEPTH)).or_default() += 1;
        }
        let list = match (fate, &*entry.outcome) {
            (Fate::Skipped, _) => Some(&mut self.skipped),
            (Fate::Failed, _) => Some(&mut self.failed),
            (_, "withheld") => Some(&mut self.withheld),
            _ => None,
        };
        if let Some(list) = list {
            let example = named(list, &entry.reason);
            example.count += 1;
            if example.url.is_empty() {
                example.url = cut(&entry.url);
            }
        }
        if let Some(at) = moment(&entry.time.started) {
            let one = |is: bool| u64::from(is);
            let moment = Moment {
                answered: one(matches!(fate, Fate::Answered | Fate::Redirect)),
                failed: one(fate == Fate::Failed),
                skipped: one(fate == Fate::Skipped),
                bytes,
            };
            self.timeline.add(at, moment);
        }
        self.said(entry);
    }

    fn said(&mut self, entry: &Entry<'_>) {
        for signal in &entry.signals {
            let key = (signal.source.to_string(), signal.purpose.to_string(), signal.verdict.to_string());
            let known = self.signals.contains_key(&key) || self.signals.len() < MOST_NAMES;
            let others = || (OTHERS.to_owned(), OTHERS.to_owned(), OTHERS.to_owned());
            *self.signals.entry(if known { key } else { others() }).or_default() += 1;
        }
        for (purpose, one) in entry.decision.iter().flat_map(|decision| &decision.purposes) {
            let [proceed, refuse, unspecified] = named(&mut self.purposes_decided, purpose);
            *(if one.decision == "proceed" { proceed } else { refuse }) += 1;
            *unspecified += u64::from(one.verdict == "unspecified");
        }
        if let Some(robots) = &entry.robots {
            *named(&mut self.robots, &robots.state) += 1;
        }
    }
}

/// The place of a name, as long as there is room for another one.
pub(super) fn named<'a, T: Default>(counts: &'a mut BTreeMap<String, T>, name: &str) -> &'a mut T {
    let has_room = counts.len() < MOST_NAMES || counts.contains_key(name);
    counts.entry(if has_room { name } else { OTHERS }.to_owned()).or_default()
}

/// Milliseconds since the epoch.
pub(super) fn moment(text: &str) -> Option<i64> {
    text.parse::<WallTime>().ok().map(WallTime::unix_millis)
}

/// At most [`EXAMPLE`] bytes, cut between characters.
pub(super) fn cut(text: &str) -> String {
    let mut end = text.len().min(EXAMPLE);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let more = if end < text.len() { "…" } else { "" };
    format!("{}{more}", text.get(..end).unwrap_or_default())
}
