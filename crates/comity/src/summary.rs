use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use comity_frontier::Waiting;
use comity_policy::{Override, Reason, WallTime};
use comity_signals::Purpose;

use crate::count::Count;
use crate::progress::RobotsFault;

/// What a crawl did: every URL that was looked at stands in exactly one count.
#[non_exhaustive]
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Every override and what it lifted: said first of all.
    pub overrides: Vec<OverrideUse>,
    /// Answers that were no redirect, by status.
    pub fetched: BTreeMap<u16, u64>,
    /// Redirect answers.
    pub redirects: u64,
    /// URLs not requested, by reason.
    pub refused: BTreeMap<Reason, u64>,
    /// Answers of whose bodies nothing was kept, by reason: what they say refuses every declared purpose. Not those of sitemaps,
    /// nor those that come again or were given up (429, 5xx): their URLs are retried or failed.
    pub withheld: BTreeMap<Reason, u64>,
    /// URLs that deny a use, in robots.txt, fields, metas or site files, by use: of all that were decided on, whatever was declared.
    pub denied: BTreeMap<Purpose, u64>,
    /// Requests without an answer after all retries, by reason.
    pub failed: BTreeMap<Reason, u64>,
    /// Sitemaps: answers that were no redirect, those among them that were withheld. They are no pages.
    pub sitemaps: u64,
    /// Entries that sitemaps and feeds listed.
    pub listed: u64,
    /// Sitemaps that could not be read whole, or were none.
    pub sitemaps_damaged: u64,
    /// URLs that were not queued, since the key rules take another spelling for the same page.
    pub merged: u64,
    /// Requests that were tried again later.
    pub retries: u64,
    /// Pages and sitemaps that were visited before and answered again: each is among those fetched, or the sitemaps.
    pub revisits: u64,
    /// Of these, those that had not changed: 304, or the same body once more.
    pub unchanged: u64,
    /// robots.txt requests, redirects among them.
    pub robots: u64,
    /// Links that were found but not queued, by reason: out of scope, too deep, traps.
    pub links_left: BTreeMap<Reason, u64>,
    /// Links with `rel=nofollow`, or on pages that say `nofollow`.
    pub links_nofollow: u64,
    /// Turns that a clock held back, and for how long in all, by clock.
    pub waited: BTreeMap<Reason, (u64, Duration)>,
    /// The same for the clocks of addresses, by address: those that were met first, 4,096 at most.
    pub(crate) waited_at: BTreeMap<IpAddr, (u64, Duration)>,
    /// Body bytes received, in their content coding.
    pub bytes: u64,
    /// Origins that were queued.
    pub origins: u64,
    /// URLs that this run found queued or queued itself, each once per visit: each is among the fetched, withheld, redirected, refused and failed ones,
    /// the sitemaps, or left.
    pub queued: u64,
    /// URLs that were not reached.
    pub left: u64,
    /// Pages that are to be visited anew, and not yet due.
    pub scheduled: u64,
    /// When the first of them is due, from the end of the run.
    pub next_visit: Option<Duration>,
    /// Why, for the origins that wait longest.
    pub waiting: Vec<Waiting>,
    /// Why the robots.txt of those among them that wait for it cannot be had.
    pub unreachable: Vec<RobotsFault>,
    /// Files written.
    pub files: Vec<PathBuf>,
    /// How long it took.
    pub elapsed: Duration,
    /// How it ended.
    pub end: End,
    /// Settings that were raised, purposes declared: said before anything else.
    pub notes: Vec<String>,
    /// Monotonic time at the end, to tell how long `waiting` still waits.
    pub(crate) now: comity_policy::Instant,
}

/// An override, and what it did in a crawl.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct OverrideUse {
    /// The override.
    pub by: Arc<Override>,
    /// URLs that were requested under it.
    pub urls: u64,
    /// What it lifted for them, by the reason that would have refused, held or delayed them.
    pub lifted: BTreeMap<Reason, u64>,
    /// Whether it ran out before the crawl ended.
    pub ran_out: bool,
}

impl OverrideUse {
    pub(crate) const fn new(by: Arc<Override>) -> Self {
        Self { by, urls: 0, lifted: BTreeMap::new(), ran_out: false }
    }
}

/// Two lines: the override itself, and what it lifted.
impl fmt::Display for OverrideUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lifted: Vec<String> = self.lifted.iter().map(|(reason, n)| format!("{n} {reason}")).collect();
        let end = if self.ran_out { "; it ran out during the crawl" } else { "" };
        writeln!(f, "override   {}", self.by)?;
        write!(f, "           for {} it lifted: {}{end}", Count(self.urls, "URL"), or_none(&lifted.join(", ")))
    }
}

/// How a crawl ended.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum End {
    /// Nothing was left, or nothing could become due within the linger time.
    #[default]
    Finished,
    /// A limit of `[crawl]` was reached: its key.
    Limit(&'static str),
    /// It was asked to stop.
    Stopped,
}

impl Summary {
    /// Pages: answers that were no redirect, those among them of which nothing was kept.
    #[must_use]
    pub fn pages(&self) -> u64 {
        self.fetched.values().sum::<u64>() + self.withheld.values().sum::<u64>()
    }

    /// The addresses that were waited for longest, `most` of them: turns, and for how long in all.
    #[must_use]
    pub fn waited_most(&self, most: usize) -> Vec<(IpAddr, u64, Duration)> {
        let mut all: Vec<_> = self.waited_at.iter().map(|(address, (turns, held))| (*address, *turns, *held)).collect();
        all.sort_by_key(|(address, _, held)| (std::cmp::Reverse(*held), *address));
        all.truncate(most);
        all
    }

    /// URLs that were not requested.
    #[must_use]
    pub fn refusals(&self) -> u64 {
        self.refused.values().sum()
    }

    /// The exit code of the command line: 0 nothing left, 3 limit, 4 something waits or interrupted.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self.end {
            End::Limit(_) => 3,
            End::Stopped => 4,
            End::Finished if self.left > 0 || self.scheduled > 0 => 4,
            End::Finished => 0,
        }
    }

    /// With no page fetched: the reason, where one can be named.
    #[must_use]
    pub fn nothing_for(&self) -> Option<Reason> {
        let most = |counts: &BTreeMap<Reason, u64>| counts.iter().max_by_key(|(_, n)| **n).map(|(reason, _)| *reason);
        match (self.pages(), self.waiting.first(), self.unreachable.first()) {
            (1.., ..) => None,
            (_, Some(_), fault) => fault.map(|fault| fault.cause),
            (_, None, _) => most(&self.refused).or_else(|| most(&self.failed)),
        }
    }

    /// With no page fetched: why, in one line.
    #[must_use]
    pub fn why_nothing(&self) -> Option<String> {
        if self.pages() > 0 {
            return None;
        }
        let why = if let End::Limit(key @ ("max_pages" | "max_bytes")) = self.end {
            // What waits would not be asked for in any case.
            format!("the limit {key} was reached before the first page of this run")
        } else if let Some(waiting) = self.waiting.first() {
            format!("{}: {}", waiting.origin, self.describe(waiting))
        } else if let Some(reason) = self.nothing_for() {
            format!("{} ({reason})", reason.text())
        } else if let End::Limit(key) = self.end {
            format!("the limit {key} was reached first")
        } else if self.end == End::Stopped {
            "stopped before the first page".to_owned()
        } else if self.redirects > 0 && self.links_left.contains_key(&Reason::UrlRedirects) {
            "redirects lead to redirects, more of them than [crawl] max_redirects".to_owned()
        } else if self.redirects > 0 {
            "every answer was a redirect out of scope; add the target as a seed, or widen [crawl] scope".to_owned()
        } else {
            "nothing was queued: what this crawl was given it has decided on before; begin another, in a directory of its own".to_owned()
        };
        Some(format!("0 pages: {why}"))
    }

    /// The origins that wait still, each with what it waits for, in words.
    pub fn waits(&self) -> impl Iterator<Item = (&Waiting, String)> {
        self.waiting.iter().map(|waiting| (waiting, self.describe(waiting)))
    }

    pub(crate) fn end_overrides(&mut self, now: WallTime) {
        self.overrides.iter_mut().for_each(|one| one.ran_out = one.by.expires() <= now);
    }

    fn describe(&self, waiting: &Waiting) -> String {
        crate::progress::describe(waiting, self.now, &self.unreachable)
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for one in &self.overrides {
            writeln!(f, "{one}")?;
        }
        for note in &self.notes {
            writeln!(f, "note       {note}")?;
        }
        let statuses: Vec<String> = self.fetched.iter().map(|(status, n)| format!("{status}: {n}")).collect();
        let kept: u64 = self.fetched.values().sum();
        writeln!(f, "fetched    {} ({})", Count(kept, "page"), or_none(&statuses.join(", ")))?;
        writeln!(
            f,
            "also       {}, {}, {}",
            Count(self.redirects, "redirect"),
            Count(self.robots, "robots.txt request"),
            Count(self.retries, "retry")
        )?;
        if self.revisits > 0 {
            writeln!(
                f,
                "revisits   {} of known pages, {} of them unchanged",
                Count(self.revisits, "visit"),
                self.unchanged
            )?;
        }
        if self.sitemaps > 0 || self.listed > 0 {
            let damaged = self.sitemaps_damaged;
            writeln!(
                f,
                "sitemaps   {}, and feeds, listed {}; {damaged} damaged or none",
                self.sitemaps,
                Count(self.listed, "URL")
            )?;
        }
        self.fmt_left_out(f)?;
        self.fmt_waited(f)?;
        writeln!(
            f,
            "bytes      {} of bodies in {:.1} s, {}",
            self.bytes,
            self.elapsed.as_secs_f64(),
            Count(self.origins, "origin")
        )?;
        for file in &self.files {
            writeln!(f, "file       {}", file.display())?;
        }
        self.fmt_left(f)?;
        if let Some(why) = self.why_nothing() {
            writeln!(f, "{why}")?;
        }
        Ok(())
    }
}

impl Summary {
    /// What was not fetched, not kept or not queued, and why.
    fn fmt_left_out(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        reasons(f, "refused", &self.refused)?;
        reasons(f, "withheld", &self.withheld)?;
        if !self.denied.is_empty() {
            let denied: Vec<String> = self.denied.iter().map(|(purpose, n)| format!("{purpose}: {n}")).collect();
            writeln!(f, "denied     URLs that deny a use, wanted here or not: {}", denied.join(", "))?;
        }
        reasons(f, "failed", &self.failed)?;
        reasons(f, "not queued", &self.links_left)?;
        if self.merged > 0 {
            writeln!(f, "merged     {}, other spellings of queued ones by [keys]", Count(self.merged, "URL"))?;
        }
        if self.links_nofollow > 0 {
            writeln!(f, "nofollow   {} not followed", Count(self.links_nofollow, "link"))?;
        }
        Ok(())
    }

    /// Clocks, then the addresses that were waited for: those that cost most first.
    fn fmt_waited(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut waited: Vec<_> = self.waited.iter().collect();
        waited.sort_by_key(|(_, (_, held))| std::cmp::Reverse(*held));
        for (clock, (turns, held)) in waited {
            writeln!(f, "waited     {}, {:.1} s in all: {}", Count(*turns, "turn"), held.as_secs_f64(), clock.text())?;
        }
        for (address, turns, held) in self.waited_most(3) {
            writeln!(
                f,
                "waited     {}, {:.1} s in all, for the address {address}",
                Count(turns, "turn"),
                held.as_secs_f64()
            )?;
        }
        Ok(())
    }

    fn fmt_left(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = match self.end {
            End::Finished => return self.fmt_waiting(f),
            End::Limit(key) => format!("the limit {key} was reached"),
            End::Stopped => "stopped on request".to_owned(),
        };
        writeln!(f, "ended      {end}, {} not reached", Count(self.left, "URL"))?;
        self.fmt_waiting(f)
    }

    fn fmt_waiting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.end == End::Finished && self.left > 0 {
            writeln!(f, "left       {} to be fetched after longer than this crawl lingers", Count(self.left, "URL"))?;
        }
        if let Some(next) = self.next_visit.filter(|_| self.scheduled > 0) {
            let (hours, count) = (next.as_secs_f64() / 3600.0, self.scheduled);
            writeln!(
                f,
                "again      {} to be visited anew, the first in {hours:.1} h: run the crawl again then",
                Count(count, "page")
            )?;
        }
        for waiting in self.waiting.iter().take(10) {
            writeln!(
                f,
                "waits      {} ({}): {}",
                waiting.origin,
                Count(waiting.queued, "URL"),
                self.describe(waiting)
            )?;
        }
        Ok(())
    }
}

fn reasons(f: &mut fmt::Formatter<'_>, label: &str, counts: &BTreeMap<Reason, u64>) -> fmt::Result {
    for (reason, n) in counts {
        writeln!(f, "{label:10} {n} {reason}: {}", reason.text())?;
    }
    Ok(())
}

const fn or_none(text: &str) -> &str {
    if text.is_empty() { "none" } else { text }
}
