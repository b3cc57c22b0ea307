use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use comity::UrlEnding;
use comity::policy::Reason;
use comity_testweb::Sighting;

use crate::faults::Fault;
use crate::life::LifeEnd;
use crate::run::Run;

/// What the seeds met: a simulation that meets nothing proves nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Coverage {
    met: BTreeMap<&'static str, u64>,
    crawled: Duration,
}

/// What has to be met at least once.
const EVERYTHING: [&str; 59] = [
    "pages",
    "redirects",
    "retries",
    "requests",
    "robots requests",
    "robots answered 503",
    "robots answered 429",
    "robots cut or unanswered",
    "robots asked again later",
    "pages answered 429",
    "pages answered 503",
    "pages answered 5xx",
    "heads cut or never sent",
    "bodies cut",
    "refused by robots",
    "refused by name resolution",
    "failed: reset",
    "failed: connection refused",
    "failed: no head in time",
    "failed: no HTTP",
    "waited for Crawl-delay",
    "waited for own floor",
    "waited for back-off",
    "waited for the address",
    "waited for Visit-time",
    "left: robots unreachable",
    "left: parked",
    "failed: head too large",
    "refused: inner address",
    "cut: too large",
    "cut: inflates",
    "cut: slow",
    "cut: no HTTP",
    "cut: reset",
    "coding broken",
    "coding broken: withheld",
    "hostile sites asked",
    "hostile sites asked by HTTP/2",
    "hostile pages ended",
    "processes",
    "killed",
    "killed while requests were under way",
    "power cuts",
    "commits lost by power cuts",
    "writes to the archive lost by power cuts",
    "robots.txt answers forgotten by power cuts",
    "drained",
    "stopped at once",
    "stopped: the queue's disk is full",
    "stopped: the archive's disk is full",
    "went on and fetched pages",
    "went on with robots.txt remembered",
    "went on in a pause",
    "clock set ahead",
    "clock set back",
    "next process in the past",
    "handlers panicked",
    "visits panicked",
    "panics",
];

impl Coverage {
    pub(crate) fn of(run: &Run) -> Self {
        let mut coverage = Self::default();
        coverage.requests(run);
        coverage.ends(run);
        let Some(summary) = run.summary() else { return coverage };
        coverage.crawled = summary.elapsed;
        coverage.met("pages", summary.pages());
        coverage.met("redirects", summary.redirects);
        coverage.met("retries", summary.retries);
        let refused = |reason| summary.refused.get(&reason).copied().unwrap_or(0);
        coverage.met("refused by robots", refused(Reason::RobotsDisallow));
        coverage.met("refused by name resolution", refused(Reason::FetchDns) + refused(Reason::FetchDnsTimeout));
        let failed = |reason| summary.failed.get(&reason).copied().unwrap_or(0);
        coverage.met("failed: reset", failed(Reason::FetchReset));
        coverage.met("failed: connection refused", failed(Reason::FetchRefused));
        coverage.met("failed: no head in time", failed(Reason::FetchTimeoutHead));
        coverage.met("failed: no HTTP", failed(Reason::FetchProtocol));
        coverage.met("failed: head too large", failed(Reason::FetchHeaders));
        coverage.met("refused: inner address", refused(Reason::AddressPrivate));
        coverage.hostile(run);
        let waited = |reason| summary.waited.get(&reason).map_or(0, |waited| waited.0);
        coverage.met("waited for Crawl-delay", waited(Reason::RateCrawlDelay));
        coverage.met("waited for own floor", waited(Reason::RateOrigin));
        coverage.met("waited for back-off", waited(Reason::RateBackoff));
        coverage.met("waited for the address", waited(Reason::RateAddress) + waited(Reason::ConcAddress));
        coverage.met("waited for Visit-time", waited(Reason::RateVisitTime));
        let left =
            |reason: &str| summary.waiting.iter().filter(|waiting| waiting.why.to_string() == reason).count() as u64;
        coverage.met("left: robots unreachable", left("park.robots"));
        coverage.met("left: parked", left("park.crawl_delay") + left("park.retry_after"));
        coverage
    }

    /// Ends of processes, and what came after.
    fn ends(&mut self, run: &Run) {
        let log = run.observer.log();
        self.met("processes", run.lives.len() as u64);
        for (number, life) in run.lives.iter().enumerate() {
            let planned = |fault: Fault| u64::from(life.planned == Some(fault));
            let (killed, stopped) = (u64::from(matches!(life.end, LifeEnd::Killed)), u64::from(life.stopped()));
            let full = u64::from(matches!(life.end, LifeEnd::Storage(_)));
            self.met("killed", killed * planned(Fault::Kill));
            let is_open =
                |end: u64, seen: &&Sighting| seen.arrived_us <= end && seen.ended_us.is_none_or(|at| at >= end);
            let open = log.iter().filter(|seen| is_open(life.ended_us, seen)).count() as u64;
            self.met("killed while requests were under way", killed * open);
            self.met("power cuts", killed * planned(Fault::PowerCut));
            self.met("commits lost by power cuts", life.cut.commits);
            self.met("writes to the archive lost by power cuts", life.cut.archived);
            self.met("robots.txt answers forgotten by power cuts", life.cut.robots);
            self.met("drained", stopped * planned(Fault::Drain));
            self.met("stopped at once", stopped * planned(Fault::Stop));
            self.met("stopped: the queue's disk is full", full * planned(Fault::StoreFull));
            self.met("stopped: the archive's disk is full", full * (1 - planned(Fault::StoreFull)));
            let told = run.outcomes.iter().filter(|told| told.life == number && number > 0);
            let fetched = told.filter(|told| matches!(told.ending, UrlEnding::Fetched(_)));
            self.met("went on and fetched pages", fetched.count() as u64);
            let own = log.iter().filter(|seen| (life.began_us..=life.ended_us).contains(&seen.arrived_us));
            let (robots, pages): (Vec<_>, Vec<_>) = own.partition(|seen| seen.request.is_robots_txt());
            let asked: BTreeSet<_> = robots.iter().map(|seen| seen.site).collect();
            let remembered = pages.iter().filter(|seen| number > 0 && !asked.contains(&seen.site));
            self.met("went on with robots.txt remembered", remembered.count() as u64);
            let LifeEnd::Ended(summary) = &life.end else { continue };
            let waited = summary.waited.get(&Reason::RateBackoff).map_or(0, |waited| waited.0);
            self.met("went on in a pause", waited * u64::from(number > 0));
        }
        let mut before = 0;
        for (at, ahead) in &run.clock_errors {
            let next = run.lives.iter().any(|life| life.ended_us == *at);
            self.met("clock set ahead", u64::from(*ahead > before));
            self.met("clock set back", u64::from(*ahead < before));
            self.met("next process in the past", u64::from(*ahead < before && next));
            before = *ahead;
        }
        let failed =
            |reason| run.outcomes.iter().filter(|told| told.ending == UrlEnding::Failed(reason)).count() as u64;
        self.met("handlers panicked", failed(Reason::CrawlHandler));
        self.met("visits panicked", failed(Reason::CrawlPanic));
        self.met("panics", run.ordered_panics);
    }

    fn hostile(&mut self, run: &Run) {
        let faults = |reason| run.pages.values().filter(|fault| **fault == Some(reason)).count() as u64;
        self.met("cut: too large", faults(Reason::FetchTooLarge));
        self.met("cut: inflates", faults(Reason::FetchRatio));
        self.met("cut: slow", faults(Reason::FetchSlow));
        self.met("cut: no HTTP", faults(Reason::FetchProtocol));
        self.met("cut: reset", faults(Reason::FetchReset));
        self.met("coding broken", faults(Reason::FetchCoding));
        let hidden = UrlEnding::Withheld(Reason::FetchCoding);
        self.met("coding broken: withheld", run.outcomes.iter().filter(|told| told.ending == hidden).count() as u64);
        self.met("hostile sites asked", run.asked.len() as u64);
        let by_frames = run.asked.iter().filter(|asked| run.asked_by_frames(asked.scenario)).count();
        self.met("hostile sites asked by HTTP/2", by_frames as u64);
        let ended = run.outcomes.iter().filter(|told| told.url.contains(".hostile.test")).count();
        self.met("hostile pages ended", ended as u64);
    }

    fn requests(&mut self, run: &Run) {
        let mut asked: BTreeMap<usize, u64> = BTreeMap::new();
        for seen in run.observer.log() {
            self.met("requests", 1);
            let answered = |statuses: &[u16]| u64::from(seen.status.is_some_and(|status| statuses.contains(&status)));
            let silent = u64::from(seen.status.is_none() || seen.cut);
            if seen.request.is_robots_txt() {
                self.met("robots requests", 1);
                self.met("robots answered 503", answered(&[503]));
                self.met("robots answered 429", answered(&[429]));
                self.met("robots cut or unanswered", silent);
                *asked.entry(seen.site.unwrap_or_default()).or_default() += 1;
            } else {
                self.met("pages answered 429", answered(&[429]));
                self.met("pages answered 503", answered(&[503]));
                self.met("pages answered 5xx", answered(&[500, 502, 504]));
                self.met("heads cut or never sent", u64::from(seen.head_sent_us.is_none()));
                self.met("bodies cut", u64::from(seen.cut && seen.status.is_some()));
            }
        }
        self.met("robots asked again later", asked.values().filter(|times| **times > 1).count() as u64);
    }

    fn met(&mut self, what: &'static str, times: u64) {
        assert!(EVERYTHING.contains(&what), "{what} is not listed");
        *self.met.entry(what).or_default() += times;
    }

    pub(crate) fn add(&mut self, other: &Self) {
        other.met.iter().for_each(|(what, times)| self.met(what, *times));
        self.crawled += other.crawled;
    }

    /// What nobody met.
    pub(crate) fn missing(&self) -> Vec<&'static str> {
        EVERYTHING.into_iter().filter(|what| self.met.get(what).copied().unwrap_or(0) == 0).collect()
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} hours of crawling", self.crawled.as_secs_f64() / 3600.0)?;
        for (what, times) in &self.met {
            write!(f, "\n  {times:>8} {what}")?;
        }
        Ok(())
    }
}
