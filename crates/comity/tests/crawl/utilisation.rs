//! How much of what sites offer is used: slots from an origin's first page to its last queued URL.

use std::collections::BTreeMap;
use std::time::Duration;

use comity_testweb::{Auditor, Generated, Observer, Site, Web};

use crate::support::{START, crawler, run};

const PAGES: u32 = 12;

/// A thousand with `COMITY_TEST_SIZE=all`, a quarter of them with the same delays otherwise.
fn origins() -> u32 {
    if std::env::var("COMITY_TEST_SIZE").is_ok_and(|size| size == "all") { 1000 } else { 250 }
}

/// What one origin offered and got: from its first page request to its last.
struct Visited {
    delay: f64,
    pages: f64,
    seconds: f64,
}

impl Visited {
    /// The part of its time that the delays between its pages fill: 1 is a page at every slot.
    fn used(&self) -> f64 {
        (self.pages - 1.0) * self.delay / self.seconds
    }
}

/// Per cent of the slots used, every slot counting alike.
fn per_cent<'a>(origins: impl Iterator<Item = &'a Visited>) -> f64 {
    let (used, slots) = origins.fold((0.0, 0.0), |(used, slots), origin| {
        (used + (origin.pages - 1.0) * origin.used(), slots + origin.pages - 1.0)
    });
    100.0 * used / slots
}

#[expect(clippy::cast_precision_loss, reason = "microseconds of some hours")]
fn visited(observer: &Observer) -> Vec<Visited> {
    let mut pages: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
    for seen in observer.log().iter().filter(|seen| !seen.request.is_robots_txt()) {
        pages.entry(seen.site.unwrap()).or_default().push(seen.arrived_us);
    }
    let row = |(site, at): (usize, Vec<u64>)| Visited {
        delay: delay(u32::try_from(site).unwrap()),
        pages: at.len() as f64,
        seconds: (at[at.len() - 1] - at[0]) as f64 / 1e6,
    };
    pages.into_iter().map(row).collect()
}

/// 0.2 s to 30 s, evenly, in whole milliseconds.
fn delay(n: u32) -> f64 {
    ((200.0 + 29_800.0 * f64::from(n) / f64::from(origins() - 1)).round()) / 1000.0
}

#[tokio::test(start_paused = true)]
async fn many_origins_use_nearly_every_slot_and_none_is_asked_early() {
    let site = |n: u32| {
        let pages = Generated::new(PAGES, 2 * PAGES).bytes(1000).off_origin_percent(0);
        let rules = format!("User-agent: *\nCrawl-delay: {:.3}\n", delay(n));
        Site::new().robots(rules).latency(Duration::from_millis(20)).generated(pages)
    };
    let web = (0..origins()).fold(Web::builder(1).epoch(START), |web, n| web.site(site(n))).build().unwrap();
    let (net, observer) = web.in_memory();
    let seeds = observer.seeds();
    let seeds: Vec<&str> = seeds.iter().map(String::as_str).collect();
    let summary = run(crawler(&net, &seeds).delay(Duration::from_millis(100))).await;
    assert_eq!((summary.pages(), summary.left), (u64::from(origins() * PAGES), 0));

    let audit = Auditor::new().floor(Duration::from_millis(100)).examine(&observer);
    assert!(audit.is_clean(), "early by no microsecond: {audit}");
    let origins = visited(&observer);
    let all = per_cent(origins.iter());
    let long = per_cent(origins.iter().filter(|origin| origin.delay >= 2.0));
    let least = origins.iter().map(Visited::used).fold(1.0, f64::min);
    eprintln!(
        "slots used: {all:.2} % of {} origins, {long:.2} % where the delay is 2 s or more, {:.2} % at the least",
        origins.len(),
        100.0 * least
    );
    eprintln!("by the auditor's count: {} of {}", audit.slots_used, audit.slots_offered);
    assert!(all >= 95.0 && long >= 99.0, "{all} {long}");
    assert!(audit.slots_used * 100 >= audit.slots_offered * 95);
}
