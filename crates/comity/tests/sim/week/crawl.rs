//! The crawl of the week: the engine itself, on a clock and a network of its own.

use std::sync::Arc;

use comity::config::Span;
use comity::policy::{SeededRandom, WallTime};
use comity::{Crawler, Summary};
use comity_fetch::SystemClock;

use super::Size;
use super::net::{WeekNet, url};
use super::watch::Watch;

/// Visits under way at once.
const TOTAL: u32 = 64;
const START: WallTime = WallTime::from_unix_millis(1_795_996_800_000);

/// Crawls for as long as the size says. The front pages are the seeds; they lead to all others.
pub(crate) async fn crawl(size: Size, watch: &Watch) -> Summary {
    let clock = Arc::new(SystemClock::paused_at(START));
    let net = WeekNet { watch: watch.clone(), clock: clock.clone(), size };
    let builder = Crawler::builder("WeekBot/1.0", "https://example.com/bot")
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
    fronts.fold(builder, |builder, front| builder.seed(&front)).build().unwrap().run().await.unwrap()
}
