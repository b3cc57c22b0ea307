//! A week of a large crawl: every page again each day, robots.txt again each day, Crawl-delays of up to five minutes.
//!
//! The engine is the real one, with its policies of revisits and their conditional requests; in place of servers stands a network
//! that answers at once (docs/decisions/0039). `cargo xtask sim --week` plays it whole; the ordinary suite plays small ones.

mod crawl;
mod net;
mod page;
mod steps;
mod watch;

use std::time::Duration;

use comity::End;
use comity::config::{Intervals, RevisitPolicy};

use watch::Watch;

/// How large a crawl, and for how long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) origins: u32,
    /// Pages of each that may be fetched; one more may not.
    pub(crate) pages: u32,
    pub(crate) lasts: Duration,
    /// When a page is visited anew: after a day at the latest.
    pub(crate) policy: RevisitPolicy,
    /// The clients' clock is not right all the time.
    pub(crate) is_lenient: bool,
}

const DAY: Duration = Duration::from_secs(86_400);
const DAILY: RevisitPolicy = RevisitPolicy::Fixed(DAY);
const ADAPTIVE: RevisitPolicy =
    RevisitPolicy::Adaptive(Intervals { min: Duration::from_secs(6 * 3600), max: DAY, start: DAY });

/// What `cargo xtask sim --week` plays.
const WEEK: Size = Size { origins: 10_000, pages: 40, lasts: Duration::from_secs(7 * 86_400), ..THREE_DAYS };
/// What the ordinary suite plays.
const THREE_DAYS: Size =
    Size { origins: 60, pages: 8, lasts: Duration::from_secs(3 * 86_400), policy: DAILY, is_lenient: false };

impl Size {
    /// The shortest time from one visit of a page to the next.
    pub(crate) fn least(self) -> Duration {
        match self.policy {
            RevisitPolicy::Fixed(interval) => interval,
            RevisitPolicy::Adaptive(bounds) | RevisitPolicy::Sitemap(bounds) => bounds.min,
            RevisitPolicy::Never => self.lasts,
        }
    }
}

fn play(size: Size) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let watch = Watch::new(size);
    let summary = runtime.block_on(crawl::crawl(size, &watch));
    drop(runtime);
    eprintln!("{size:?}: {watch}\n{summary}");
    assert_eq!(watch.broken(), Vec::<String>::new());
    assert_eq!(summary.end, End::Limit("max_duration"));
    // Every page once a day, but for the hours that its turn was late: a day's pages take up to three hours and a half.
    let days = u32::try_from(size.lasts.as_secs() / DAY.as_secs()).unwrap();
    assert_eq!(watch.visited_less_than(days), 0, "pages that were not fetched every day");
    assert_eq!(summary.failed.values().sum::<u64>(), 0);
    assert_eq!(summary.refusals(), u64::from(size.origins), "the page that robots.txt refuses, once of each origin");
    assert_eq!(watch.pages(), summary.pages(), "seen and counted");
    let known = u64::from(size.origins) * u64::from(size.pages);
    assert_eq!(summary.left + summary.scheduled, known, "every page comes again, none is lost");
    assert_eq!(summary.revisits, summary.pages() - known);
    // Of four kinds of pages one changes; one of the others has no validator, and is compared.
    assert!(summary.unchanged > summary.revisits / 2, "{} of {} unchanged", summary.unchanged, summary.revisits);
    assert!(watch.not_modified() > summary.revisits / 3, "{} answers 304", watch.not_modified());
}

#[test]
fn every_page_is_fetched_every_day_in_its_turn() {
    play(THREE_DAYS);
}

#[test]
fn pages_that_change_come_sooner_and_none_later_than_a_day() {
    play(Size { policy: ADAPTIVE, ..THREE_DAYS });
}

#[test]
#[ignore = "minutes long: cargo xtask sim --week"]
fn a_week_of_ten_thousand_origins() {
    play(WEEK);
}
