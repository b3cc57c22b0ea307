//! An auditor that keeps nothing of a request but what the next ones of its origin are measured by.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use super::Size;
use super::page::{day, validator};

/// What the web of the week announces and has seen. Clones are the same.
#[derive(Clone, Debug)]
pub(crate) struct Watch(Arc<Mutex<Seen>>);

#[derive(Debug)]
struct Seen {
    origins: Vec<Row>,
    pages: u64,
    robots: u64,
    /// Answers 304, robots.txt among them.
    not_modified: u64,
    /// Shortest time between two visits of a page, in seconds.
    least: u32,
    /// What the process that runs took for the time when it began.
    epoch_ms: i64,
    /// The clients' clock is wrong at times: lives of a robots.txt are what they take them for.
    lenient: bool,
    /// Requests that nobody should make, the first of them in words.
    breaches: u64,
    first: Vec<String>,
    tightest_us: u64,
}

/// One origin.
#[derive(Debug, Default)]
struct Row {
    /// When it was last asked and, at that very moment, answered; 0: never.
    last_us: u64,
    /// When its robots.txt was last asked for; 0: never.
    robots_us: u64,
    /// How often each page was, and when last, in seconds.
    visits: Vec<(u32, u32)>,
    /// When each was visited last by the client's clock, and in which process.
    civil: Vec<Option<Moment>>,
}

/// When something was asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub(crate) process: usize,
    /// Since the begin of the web.
    pub(crate) now_us: u64,
    /// Since the begin of the process.
    pub(crate) ran_ms: i64,
    /// What the process takes for the time.
    pub(crate) civil_ms: i64,
}

impl Moment {
    /// How long after `earlier` the queue of the client takes it to be: by its own clock within a process; from one to the next by
    /// civil time, as it was when the process began.
    fn after(self, earlier: Self, epoch_ms: i64) -> i64 {
        if self.process == earlier.process {
            self.ran_ms - earlier.ran_ms
        } else {
            epoch_ms + self.ran_ms - earlier.civil_ms
        }
    }
}

const SECOND: u64 = 1_000_000;
const DAY: u64 = 86_400 * SECOND;
/// robots.txt may be asked for again in the last tenth of its life.
const EARLY: u64 = DAY / 10;
/// Grace for a life that began when the answer had been read.
const GRACE: u64 = 60 * SECOND;
const MOST_TOLD: usize = 20;

impl Watch {
    pub(crate) fn new(size: Size) -> Self {
        let row = || Row {
            visits: vec![(0, 0); size.pages as usize],
            civil: vec![None; size.pages as usize],
            ..Row::default()
        };
        let origins = (0..size.origins).map(|_| row()).collect();
        let least = u32::try_from(size.least().as_secs()).unwrap();
        let seen = Seen {
            origins,
            pages: 0,
            robots: 0,
            not_modified: 0,
            least,
            epoch_ms: 0,
            lenient: size.is_lenient,
            breaches: 0,
            first: Vec::new(),
            tightest_us: u64::MAX,
        };
        Self(Arc::new(Mutex::new(seen)))
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap()
    }

    /// Seconds between two requests that an origin asks for: 1 to 300, as many of each.
    pub(crate) const fn delay(origin: u32) -> u64 {
        (origin as u64).wrapping_mul(7919) % 300 + 1
    }

    /// Notes a request for robots.txt.
    pub(crate) fn robots_asked(&self, origin: u32, now_us: u64) {
        let mut seen = self.lock();
        seen.robots += 1;
        let row = &seen.origins[origin as usize];
        let age = now_us.saturating_sub(row.robots_us);
        let again = row.robots_us > 0 && age < DAY - EARLY && !seen.lenient;
        seen.hold(!again, || format!("o{origin}: robots.txt again after {age} µs"));
        seen.arrived(origin, now_us);
        seen.origins[origin as usize].robots_us = now_us;
    }

    /// Notes an answer: whether it is 304.
    pub(crate) fn answered(&self, is_known: bool) -> bool {
        self.lock().not_modified += u64::from(is_known);
        is_known
    }

    /// Notes a request for a page, with its conditions; `None` is the one that robots.txt refuses, or none at all.
    pub(crate) fn page_asked(&self, origin: u32, page: Option<u32>, asked: [Option<&str>; 2], moment: Moment) {
        let now_us = moment.now_us;
        let mut seen = self.lock();
        seen.pages += 1;
        let row = &seen.origins[origin as usize];
        let age = now_us.saturating_sub(row.robots_us);
        let known = row.robots_us > 0 && (age <= DAY + GRACE || seen.lenient);
        let now = u32::try_from(now_us / SECOND).unwrap();
        let visit = page.map(|page| row.visits[page as usize]);
        let before = page.and_then(|page| row.civil[page as usize]);
        let gap = before.map(|before| moment.after(before, seen.epoch_ms));
        seen.hold(known, || format!("o{origin}/{page:?}: robots.txt is {age} µs old"));
        seen.hold(page.is_some(), || format!("o{origin}: a refused page was asked for"));
        let (times, last) = visit.unwrap_or_default();
        // Civil time is told in whole milliseconds.
        let early = gap.is_some_and(|gap| gap + 1 < i64::from(seen.least) * 1000);
        seen.hold(!early, || format!("o{origin}/{page:?}: again after {gap:?} ms, {} s truly", now - last));
        let wanted = page.filter(|_| times > 0).and_then(|page| validator(page, day(u64::from(last) * SECOND)));
        let wanted = match &wanted {
            None => [None, None],
            Some(("ETag", tag)) => [Some(tag.as_str()), None],
            Some((_, date)) => [None, Some(date.as_str())],
        };
        seen.hold(asked == wanted, || format!("o{origin}/{page:?}: asked with {asked:?}, was told {wanted:?}"));
        seen.arrived(origin, now_us);
        if let Some(page) = page {
            seen.origins[origin as usize].visits[page as usize] = (times + 1, now);
            seen.origins[origin as usize].civil[page as usize] = Some(moment);
        }
    }

    /// A process of the client begins, and takes this for the time.
    pub(crate) fn begins(&self, epoch_ms: i64) {
        self.lock().epoch_ms = epoch_ms;
    }

    /// Answers 304 to requests for pages or robots.txt.
    pub(crate) fn not_modified(&self) -> u64 {
        self.lock().not_modified
    }

    /// Requests for pages.
    pub(crate) fn pages(&self) -> u64 {
        self.lock().pages
    }

    /// Pages that were asked for less often.
    pub(crate) fn visited_less_than(&self, times: u32) -> usize {
        self.lock().origins.iter().flat_map(|row| &row.visits).filter(|(visits, _)| *visits < times).count()
    }

    /// What was wrong, the first of it.
    pub(crate) fn broken(&self) -> Vec<String> {
        self.lock().first.clone()
    }
}

impl Seen {
    /// The origin's own delay, from the last answer, which was given at once.
    fn arrived(&mut self, origin: u32, now_us: u64) {
        let row = &mut self.origins[origin as usize];
        let gap = now_us.saturating_sub(row.last_us);
        // Before its robots.txt is known, an origin has asked for nothing.
        let asked = if row.robots_us > 0 { Watch::delay(origin) * SECOND } else { 0 };
        let first = row.last_us == 0;
        row.last_us = now_us;
        if !first {
            self.tightest_us = self.tightest_us.min(gap.saturating_sub(asked));
        }
        self.hold(first || gap >= asked, || format!("o{origin}: {gap} µs after the request before, asked {asked}"));
    }

    fn hold(&mut self, holds: bool, otherwise: impl FnOnce() -> String) {
        if !holds {
            self.breaches += 1;
            if self.first.len() < MOST_TOLD {
                self.first.push(otherwise());
            }
        }
    }
}

impl fmt::Display for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Seen { pages, robots, not_modified, breaches, tightest_us, .. } = &*self.lock();
        write!(
            f,
            "seen {pages} pages and {robots} robots.txt, {not_modified} answered 304, {breaches} breaches, nearest to early {tightest_us} µs"
        )
    }
}
