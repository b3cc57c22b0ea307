//! A week of a large crawl: every page again each day, robots.txt again each day, Crawl-delays of up to five minutes.
//!
//! Frontier, gate and fetcher are the real ones; in place of the engine stands a loop that asks for every page again a day
//! later, and in place of servers a network that answers at once (docs/decisions/0039). `cargo xtask sim --week` plays it
//! whole; the ordinary suite plays a small one.

mod crawl;
mod net;
mod watch;

use std::time::Duration;

use watch::Watch;

/// How large a crawl, and for how long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) origins: u32,
    /// Pages of each that may be fetched; one more may not.
    pub(crate) pages: u32,
    pub(crate) lasts: Duration,
}

const DAY: Duration = Duration::from_secs(86_400);

/// What `cargo xtask sim --week` plays.
const WEEK: Size = Size { origins: 10_000, pages: 40, lasts: Duration::from_secs(7 * 86_400) };
/// What the ordinary suite plays.
const THREE_DAYS: Size = Size { origins: 60, pages: 8, lasts: Duration::from_secs(3 * 86_400) };

fn play(size: Size) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let watch = Watch::new(size);
    let crawled = runtime.block_on(crawl::crawl(size, &watch));
    drop(runtime);
    eprintln!("{size:?}: {crawled:?}, {watch}");
    assert_eq!(watch.broken(), Vec::<String>::new());
    // Every page once a day, but for the hours that its turn was late: a day's pages take up to three hours and a half.
    let days = u32::try_from(size.lasts.as_secs() / DAY.as_secs()).unwrap();
    assert_eq!(watch.visited_less_than(days), 0, "pages that were not fetched every day");
    assert_eq!(crawled.failed, 0);
    assert_eq!(crawled.refused, u64::from(size.origins), "the page that robots.txt refuses, once of each origin");
    assert_eq!(watch.pages(), crawled.pages, "seen and counted");
}

#[test]
fn every_page_is_fetched_every_day_in_its_turn() {
    play(THREE_DAYS);
}

#[test]
#[ignore = "minutes long: cargo xtask sim --week"]
fn a_week_of_ten_thousand_origins() {
    play(WEEK);
}
