//! What a sink acknowledges, breaks, or takes its time for.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use comity::frontier::BoxFuture;
use comity::{HandlerResult, Page, Sink, UrlEnding, UrlOutcome};
use comity_testweb::{Answer, Site};

use super::hooks::{list, secs};
use super::support::{asked, assert_clean, crawler, run, web};

/// Acknowledges late, and not at all once it is broken.
#[derive(Default)]
struct Ledger {
    pages: Mutex<Vec<String>>,
    outcomes: Mutex<Vec<String>>,
    at_once: AtomicUsize,
    broken: AtomicBool,
}

impl Sink for Ledger {
    fn page<'a>(&'a self, page: &'a Page) -> BoxFuture<'a, HandlerResult> {
        Box::pin(async move {
            self.at_once.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(secs(2)).await;
            self.at_once.fetch_sub(1, Ordering::Relaxed);
            if self.broken.load(Ordering::Relaxed) && page.url().path() == "/1" {
                return Err("no room".into());
            }
            self.pages.lock().unwrap().push(page.url().path().to_owned());
            Ok(())
        })
    }

    fn outcome<'a>(&'a self, outcome: UrlOutcome<'a>) -> BoxFuture<'a, HandlerResult> {
        Box::pin(async move {
            self.outcomes.lock().unwrap().push(format!("{} {}", outcome.url.path(), outcome.ending));
            Ok(())
        })
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_sink_does_not_acknowledge_stays_in_the_queue_and_comes_again() {
    let dir = tempfile::tempdir().unwrap();
    let (net, observer) = web([list(3)]);
    let ledger = Arc::new(Ledger::default());
    ledger.broken.store(true, Ordering::Relaxed);
    let build = || {
        crawler(&net, &["http://a.test/"])
            .dir(dir.path())
            .configure(|file| file.archive.min_free = Some(comity::config::ByteSize(0)))
            .sink(ledger.clone())
    };
    let error = build().build().unwrap().run().await.unwrap_err();
    assert!(error.is_storage(), "{error}");
    assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "no room");
    assert_eq!(*ledger.outcomes.lock().unwrap(), ["/ fetched 200", "/0 fetched 200"]);
    tokio::time::sleep(secs(1)).await;
    ledger.broken.store(false, Ordering::Relaxed);
    let summary = run(build()).await;
    assert_eq!((summary.pages(), summary.left), (2, 0));
    assert_eq!(*ledger.pages.lock().unwrap(), ["/", "/0", "/1", "/2"]);
    assert_eq!(asked(&observer, "http://a.test/1"), 2, "at least once");
    // Nothing is acknowledged in time.
    let slow = crawler(&net, &["http://a.test/"]).handler_time(secs(1)).sink(Arc::new(Ledger::default()));
    let error = slow.build().unwrap().run().await.unwrap_err();
    assert!(std::error::Error::source(&error).unwrap().to_string().contains("within 1 s"), "{error}");
}

/// Panics as it is told to: at a call, or after an await.
struct Broken {
    way: &'static str,
    is_broken: AtomicBool,
}

impl Broken {
    fn answer(&self, what: &str) -> BoxFuture<'_, HandlerResult> {
        let breaks = |when| self.is_broken.load(Ordering::Relaxed) && self.way == format!("{what} {when}");
        assert!(!breaks("at once"), "at the call");
        let late = breaks("late");
        Box::pin(async move {
            tokio::task::yield_now().await;
            assert!(!late, "after an await");
            Ok(())
        })
    }
}

impl Sink for Broken {
    fn page<'a>(&'a self, page: &'a Page) -> BoxFuture<'a, HandlerResult> {
        if page.is_seed() { Box::pin(async { Ok(()) }) } else { self.answer("page") }
    }

    fn outcome<'a>(&'a self, outcome: UrlOutcome<'a>) -> BoxFuture<'a, HandlerResult> {
        match (outcome.url.path(), outcome.ending) {
            ("/", _) => Box::pin(async { Ok(()) }),
            (_, UrlEnding::Refused(_)) => self.answer("refusal"),
            _ => self.answer("outcome"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_sink_that_panics_has_acknowledged_nothing_and_nobody_is_asked_for_that() {
    for way in ["page at once", "page late", "outcome at once", "outcome late", "refusal at once", "refusal late"] {
        let dir = tempfile::tempdir().unwrap();
        let (net, observer) = web([Site::new()
            .name("a.test")
            .robots("User-agent: *\nDisallow: /no")
            .page("/", Answer::page(["/x", "/no"]))
            .page("/x", Answer::text("x"))]);
        let sink = Arc::new(Broken { way, is_broken: AtomicBool::new(true) });
        let build = || {
            crawler(&net, &["http://a.test/"])
                .dir(dir.path())
                .configure(|file| file.archive.min_free = Some(comity::config::ByteSize(0)))
                .sink(sink.clone())
        };
        let error = build().build().unwrap().run().await.unwrap_err();
        assert!(error.is_storage(), "{way}: {error}");
        assert!(std::error::Error::source(&error).unwrap().to_string().contains("panicked"), "{way}");
        assert!(asked(&observer, "http://a.test/x") <= 1, "{way}: one fault of ours is no reason to ask again");
        tokio::time::sleep(secs(1)).await;
        sink.is_broken.store(false, Ordering::Relaxed);
        let summary = run(build()).await;
        assert_eq!((summary.left, summary.failed.len()), (0, 0), "{way}");
        let (pages, refused) = (u64::from(!way.starts_with("refusal")), summary.refused.values().sum::<u64>());
        assert!(
            summary.pages() >= pages && summary.pages() + refused >= 1,
            "{way}: it is still queued, and comes again"
        );
    }
}

/// Takes much longer than a lease lasts by itself, for pages, for outcomes, or for both in turn.
struct Slow {
    page: Duration,
    outcome: Duration,
    told: Mutex<Vec<String>>,
}

impl Sink for Slow {
    fn page<'a>(&'a self, _: &'a Page) -> BoxFuture<'a, HandlerResult> {
        Box::pin(async {
            tokio::time::sleep(self.page).await;
            Ok(())
        })
    }

    fn outcome<'a>(&'a self, outcome: UrlOutcome<'a>) -> BoxFuture<'a, HandlerResult> {
        Box::pin(async move {
            tokio::time::sleep(self.outcome).await;
            self.told.lock().unwrap().push(outcome.url.path().to_owned());
            Ok(())
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_held_for_as_long_as_its_sink_and_its_handler_take() {
    // Seconds for the page, its handler, and its outcome. Each of the last row's ends right before its own first renewal would come.
    for (page, handler, outcome) in [(0, 0, 300), (300, 0, 0), (150, 150, 150), (0, 0, 121), (19, 19, 110)] {
        let site = Site::new()
            .name("a.test")
            .robots("User-agent: *\nDisallow: /no")
            .page("/", Answer::page(["/no", "/gone", "/moved", "/x"]))
            .page("/gone", Answer::status(404))
            .page("/moved", Answer::redirect(302, "/x"))
            // Most of the time that an exchange may take.
            .page("/x", Answer::text("x").delay(secs(50)));
        let (net, observer) = web([site]);
        let sink = Arc::new(Slow { page: secs(page), outcome: secs(outcome), told: Mutex::default() });
        let builder = crawler(&net, &["http://a.test/"])
            .configure(|file| file.fetch.head_timeout = Some(comity::config::Span(secs(55))))
            .handler_time(secs(600))
            .sink(sink.clone())
            .on_page(move |_, _| tokio::time::sleep(secs(handler)));
        let summary = run(builder).await;
        let row = (page, handler, outcome);
        assert_eq!((summary.left, summary.failed.len(), summary.retries), (0, 0, 0), "{row:?}");
        let mut told = sink.told.lock().unwrap().clone();
        told.sort();
        assert_eq!(told, ["/", "/gone", "/moved", "/no", "/x"], "{row:?}: each once");
        for path in ["/", "/gone", "/moved", "/x"] {
            assert_eq!(asked(&observer, &format!("http://a.test{path}")), 1, "{row:?} {path}: asked for once");
        }
        assert_clean(&observer);
    }
}

#[tokio::test(start_paused = true)]
async fn a_second_sink_is_refused() {
    let (net, _) = web([list(1)]);
    let sinks = crawler(&net, &["http://a.test/"]).sink(Arc::new(Ledger::default())).sink(Arc::new(Ledger::default()));
    let error = sinks.build().unwrap_err();
    assert!(error.is_config() && error.to_string().contains("two sinks"), "{error}");
}
