//! The crawl of the week: the engine itself, on a clock and a network of its own.

use std::sync::Arc;

use comity::config::Span;
use comity::policy::{SeededRandom, WallTime};
use comity::{Crawler, CrawlerBuilder, Summary};
use comity_fetch::SystemClock;

use super::Size;
use super::net::{WeekNet, url};
use super::watch::Watch;

/// Visits under way at once.
const TOTAL: u32 = 64;
pub(crate) const START: WallTime = WallTime::from_unix_millis(1_795_996_800_000);

/// Crawls for as long as the size says.
pub(crate) async fn crawl(size: Size, watch: &Watch) -> Summary {
    let process = process(size, watch, Arc::new(SystemClock::paused_at(START)), (0, 0));
    process.build().unwrap().run().await.unwrap()
}

/// A process of the crawl: the `number`th, which begins at that moment. The front pages are the seeds; they lead to all others.
pub(crate) fn process(size: Size, watch: &Watch, clock: Arc<SystemClock>, process: (usize, u64)) -> CrawlerBuilder {
    let net = WeekNet { watch: watch.clone(), clock: clock.clone(), process, size };
    let builder = Crawler::builder("WeekBot/1.0 (+https://example.com/bot)")
        .net(Arc::new(net))
        .clock(clock)
        .random(Arc::new(SeededRandom::new(7)))
        .revisit(size.policy)
        .configure(|file| {
            file.politeness.total = Some(TOTAL);
            // Nothing is due for most of a day.
            file.crawl.linger = Some(Span(size.lasts));
            file.crawl.max_duration = Some(Span(size.lasts));
        });
    let fronts = (0..size.origins).map(|origin| url(origin, 0, size.pages));
    fronts.fold(builder, |builder, front| builder.seed(&front))
}
