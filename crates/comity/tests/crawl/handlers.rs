//! Asynchronous handlers: what they enqueue, what they cost others, how they fail, what a kill leaves of them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use comity::policy::Reason;
use comity::{Context, EnqueueError, HandlerResult, Page, Seed, UrlEnding};
use comity_testweb::{Answer, Site};

use super::support::{arrivals, asked, assert_clean, crawler, requests, run, web};

fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// A page that links to numbered ones.
fn numbered(name: &str, pages: usize) -> Site {
    let links: Vec<String> = (0..pages).map(|n| format!("/{n}")).collect();
    let front = Site::new().name(name).page("/", Answer::page(links.iter().map(String::as_str)));
    links.iter().fold(front, |site, path| site.page(path.as_str(), Answer::text("a page")))
}

#[tokio::test(start_paused = true)]
async fn what_is_enqueued_comes_in_its_order_with_its_data_and_over_redirects() {
    let (net, observer) = web([Site::new()
        .name("a.test")
        .robots("User-agent: *\nDisallow: /no")
        .page("/", Answer::page(["/linked", "/last"]))
        .page("/first", Answer::text("f"))
        .page("/moved", Answer::redirect(302, "/here"))
        .page("/here", Answer::text("h"))
        .page("/last", Answer::text("l"))
        .page("/linked", Answer::text("l"))]);
    type Carried = Option<(u32, String)>;
    let seen: Arc<Mutex<BTreeMap<String, Carried>>> = Arc::default();
    let told = seen.clone();
    let builder = crawler(&net, &["http://a.test/"]).on_page(move |page: Page, ctx: Context| {
        let told = told.clone();
        async move {
            told.lock().unwrap().insert(page.url().path().to_owned(), page.user_data()?);
            if page.is_seed() {
                ctx.enqueue("/last")?.priority(9).user_data(&(1, "last"))?;
                ctx.enqueue("moved")?.priority(2).user_data(&(2, "moved"))?;
                ctx.enqueue("http://a.test/first#here")?.priority(0);
                ctx.enqueue("/no/entry")?;
                ctx.enqueue("http://elsewhere.test/")?;
                assert!(matches!(ctx.enqueue("mailto:me"), Err(EnqueueError::Url(_))));
                let long = "x".repeat(5000);
                assert!(matches!(ctx.enqueue("/linked")?.user_data(&long), Err(EnqueueError::TooLong(_))));
            }
            HandlerResult::Ok(())
        }
    });
    let summary = run(builder).await;
    let paths = ["/robots.txt", "/", "/first", "/linked", "/moved", "/here", "/last"];
    assert_eq!(requests(&observer), paths.map(|path| format!("http://a.test{path}")));
    let data = |n: u32, text: &str| Some((n, text.to_owned()));
    let expected =
        [("/", None), ("/first", None), ("/here", data(2, "moved")), ("/last", data(1, "last")), ("/linked", None)];
    assert_eq!(*seen.lock().unwrap(), expected.map(|(path, data)| (path.to_owned(), data)).into());
    assert_eq!(summary.links_left, [(Reason::UrlScope, 1)].into());
    assert_eq!(summary.refused, [(Reason::RobotsDisallow, 1)].into(), "what is enqueued is judged");
    assert_clean(&observer);
}

#[tokio::test(start_paused = true)]
async fn what_one_page_enqueues_is_bounded_in_number_and_in_bytes() {
    // Bytes of data with each, of the path of each, and how many there is room for.
    for (data, path, most) in [(0, 1, 10_000), (4000, 1, 2088), (0, 4000, 2080)] {
        let (net, _) = web([numbered("a.test", 0)]);
        let counted = Arc::new(AtomicUsize::new(0));
        let count = counted.clone();
        let summary = run(crawler(&net, &["http://a.test/"]).on_page(move |_, ctx| {
            let count = count.clone();
            async move {
                let text = "x".repeat(path);
                for n in 10_000..30_000 {
                    let Ok(enqueued) = ctx.enqueue(format!("http://b.test/{n}{text}")) else { break };
                    if data > 0 && enqueued.user_bytes(vec![1; data]).is_err() {
                        break;
                    }
                    count.fetch_add(1, Ordering::Relaxed);
                }
                assert!(matches!(ctx.enqueue(format!("/{}", "x".repeat(4050))), Err(EnqueueError::Full)));
            }
        }))
        .await;
        assert_eq!(summary.failed.len(), 0);
        let counted = counted.load(Ordering::Relaxed);
        assert!((most - 8..=most + 8).contains(&counted), "{data} {path}: {counted} URLs");
    }
}

#[tokio::test(start_paused = true)]
async fn seeds_have_priorities_and_data_too() {
    let (net, observer) = web([numbered("a.test", 3)]);
    let told = Arc::new(Mutex::new(Vec::new()));
    let seen = told.clone();
    let builder = crawler(&net, &[])
        .seed_with(Seed::new("http://a.test/2").priority(2).user_data("late").unwrap())
        .seed_with(Seed::new("http://a.test/1").user_bytes(*b"\xff").unwrap())
        .seed("http://a.test/0")
        .each_page(move |page| seen.lock().unwrap().push(page.user_bytes().map(<[u8]>::to_vec)));
    run(builder).await;
    assert_eq!(requests(&observer)[1..], [1, 0, 2].map(|n| format!("http://a.test/{n}")));
    assert_eq!(*told.lock().unwrap(), [Some(vec![0xff]), None, Some(b"\"late\"".to_vec())]);
    let wrong = crawler(&net, &[]).seed_with(Seed::new("a.test")).build().unwrap_err();
    assert!(wrong.is_config(), "{wrong}");
}

#[tokio::test(start_paused = true)]
async fn a_slow_handler_holds_up_its_own_origin_and_no_other() {
    let names: Vec<String> = (0..8).map(|n| format!("s{n}.test")).collect();
    let slow = names.iter().map(|name| numbered(name, 3));
    let (net, observer) = web(slow.chain([numbered("quick.test", 40)]));
    let seeds: Vec<String> = names.iter().map(|name| format!("http://{name}/")).collect();
    let most = Arc::new(AtomicUsize::new(0));
    let (at_once, peak) = (Arc::new(AtomicUsize::new(0)), most.clone());
    let builder = crawler(&net, &["http://quick.test/"])
        .seeds(&seeds)
        // Without the desk's own places, two slow handlers would be all that goes on.
        .total(2)
        .handlers_at_once(9)
        .on_page(move |page, _ctx| {
            let (at_once, peak) = (at_once.clone(), peak.clone());
            async move {
                peak.fetch_max(at_once.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
                if page.url().origin().as_str() != "http://quick.test" {
                    tokio::time::sleep(secs(50)).await;
                }
                at_once.fetch_sub(1, Ordering::Relaxed);
            }
        });
    let summary = run(builder).await;
    assert_eq!((summary.pages(), summary.left), (8 * 4 + 41, 0));
    let at = |url: &str| arrivals(&observer).into_iter().find(|seen| seen.0 == url).unwrap().1 / 1_000_000;
    assert!(at("http://quick.test/39") < 60, "{} s: one a second, whatever the others do", at("http://quick.test/39"));
    let (front, next) = (at("http://s0.test/"), at("http://s0.test/0"));
    assert!((50..55).contains(&(next - front)), "its own origin waits: {front} s, {next} s");
    assert!((3..=9).contains(&most.load(Ordering::Relaxed)), "{} at once", most.load(Ordering::Relaxed));
    assert_clean(&observer);
}

#[tokio::test(start_paused = true)]
async fn handlers_are_as_many_as_they_may_be_and_the_crawl_waits_for_them() {
    let names: Vec<String> = (0..6).map(|n| format!("s{n}.test")).collect();
    let (net, observer) = web(names.iter().map(|name| numbered(name, 2)));
    let seeds: Vec<String> = names.iter().map(|name| format!("http://{name}/")).collect();
    let counts = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
    let read = counts.clone();
    let builder = crawler(&net, &[]).seeds(&seeds).handlers_at_once(2).handler_time(secs(600)).on_page(move |_, _| {
        let counts = counts.clone();
        async move {
            let (at_once, peak) = &*counts;
            peak.fetch_max(at_once.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
            // Longer than a lease lasts by itself; and all wait for three times that.
            tokio::time::sleep(secs(300)).await;
            at_once.fetch_sub(1, Ordering::Relaxed);
        }
    });
    let summary = run(builder).await;
    assert_eq!((summary.pages(), summary.left, summary.failed.len()), (18, 0, 0));
    assert_eq!(read.1.load(Ordering::Relaxed), 2);
    let pages = requests(&observer).into_iter().filter(|url| !url.ends_with("/robots.txt")).count();
    assert_eq!(pages, 18, "nothing is asked for again while its page waits for a handler");
    assert!(summary.elapsed >= secs(300 * 9));
    assert_clean(&observer);
}

#[tokio::test(start_paused = true)]
#[expect(clippy::too_many_lines, reason = "all ways in one crawl")]
async fn a_handler_that_fails_in_any_way_fails_its_page_and_keeps_what_it_enqueued() {
    let dir = tempfile::tempdir().unwrap();
    let ways = ["error", "panic", "panic-late", "time"];
    let site =
        Site::new().name("a.test").page("/", Answer::page(ways.map(|way| format!("/{way}")).iter().map(|s| &**s)));
    let site = ways.iter().fold(site, |site, way| {
        site.page(format!("/{way}"), Answer::page([&*format!("/of-{way}")]))
            .page(format!("/of-{way}"), Answer::text("linked"))
            .page(format!("/by-{way}"), Answer::text("enqueued"))
    });
    let (net, observer) = web([site]);
    let endings = Arc::new(Mutex::new(BTreeMap::new()));
    let told = endings.clone();
    let late: Arc<Mutex<Option<Context>>> = Arc::default();
    let kept = late.clone();
    let builder = crawler(&net, &["http://a.test/"])
        .dir(dir.path().join("d"))
        .configure(|file| file.archive.min_free = Some(comity::config::ByteSize(0)))
        .handler_time(secs(5))
        .on_page(move |page, ctx| {
            let (way, kept) = (page.url().path().trim_start_matches('/').to_owned(), kept.clone());
            assert_ne!(way, "panic", "at the call");
            async move {
                if ["error", "panic-late", "time"].contains(&&*way) {
                    ctx.enqueue(format!("/by-{way}"))?;
                }
                tokio::time::sleep(secs(1)).await;
                match &*way {
                    "error" => return Err("the database is gone".into()),
                    "panic-late" => panic!("after an await"),
                    "time" => {
                        *kept.lock().unwrap() = Some(ctx.clone());
                        tokio::time::sleep(secs(60)).await;
                    }
                    _ => {}
                }
                HandlerResult::Ok(())
            }
        })
        .on_outcome(move |outcome| {
            told.lock().unwrap().insert(outcome.url.path().to_owned(), outcome.ending);
        });
    let summary = run(builder).await;
    assert_eq!(summary.failed, [(Reason::CrawlHandler, 4)].into());
    for way in ways {
        assert_eq!(asked(&observer, &format!("http://a.test/{way}")), 1, "{way}: nobody is asked again");
        assert_eq!(endings.lock().unwrap()[&format!("/{way}")], UrlEnding::Failed(Reason::CrawlHandler), "{way}");
        assert_eq!(asked(&observer, &format!("http://a.test/of-{way}")), 1, "{way}: its links are followed");
        let enqueued = usize::from(way != "panic");
        assert_eq!(asked(&observer, &format!("http://a.test/by-{way}")), enqueued, "{way}: what it enqueued stays");
    }
    let late = late.lock().unwrap().take().unwrap();
    assert!(matches!(late.enqueue("/x"), Err(EnqueueError::Settled)), "too late");
    let records = comity_archive::read_records(&dir.path().join("d")).unwrap();
    let words: Vec<String> = records
        .map(|line| line.unwrap().record().unwrap().unwrap())
        .filter(|record| record.reason == "crawl.handler")
        .map(|record| record.detail.unwrap_or_default())
        .collect();
    assert_eq!(words.len(), 4);
    for said in ["failed: the database is gone", "panicked", "took longer than 5 s"] {
        assert!(words.iter().any(|words| words.contains(said)), "{said}: {words:?}");
    }
    assert_clean(&observer);
}

#[tokio::test(start_paused = true)]
async fn the_words_of_a_handler_are_on_record_beside_a_fault_of_the_exchange() {
    let dir = tempfile::tempdir().unwrap();
    let (net, _) = web([Site::new().name("a.test").page("/", Answer::text("x".repeat(5000)))]);
    let builder = crawler(&net, &["http://a.test/"])
        .dir(dir.path().join("d"))
        .configure(|file| {
            file.archive.min_free = Some(comity::config::ByteSize(0));
            file.fetch.max_body = Some(comity::config::ByteSize(1024));
        })
        .on_page(|_, _| async { Err::<(), comity::BoxError>("too short for me".into()) });
    let summary = run(builder).await;
    assert_eq!(summary.failed, [(Reason::CrawlHandler, 1)].into());
    let records = comity_archive::read_records(&dir.path().join("d")).unwrap();
    let records: Vec<_> = records.map(|line| line.unwrap().record().unwrap().unwrap()).collect();
    let page = records.iter().find(|record| record.url == "http://a.test/").unwrap();
    assert_eq!(page.reason, "fetch.too_large", "what the exchange had stays its reason: {page:?}");
    assert!(page.detail.as_ref().is_some_and(|words| words.contains("too short for me")), "{:?}", page.detail);
}

/// Panics wherever it is touched: when it is printed, and, unless that has happened, when it is dropped.
#[derive(Debug)]
struct Trap(Arc<AtomicUsize>);

impl std::fmt::Display for Trap {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        panic!("printed")
    }
}

impl std::error::Error for Trap {}

impl Drop for Trap {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
        assert!(std::thread::panicking(), "dropped");
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_handler_leaves_behind_may_panic_too_and_the_site_is_asked_once() {
    let (net, observer) = web([numbered("a.test", 4)]);
    let sprung = Arc::new(AtomicUsize::new(0));
    let traps = sprung.clone();
    let builder = crawler(&net, &["http://a.test/"])
        .handler_time(secs(5))
        .route_each("/0", {
            let traps = sprung.clone();
            move |_: &Page| Err::<(), _>(Trap(traps.clone()))
        })
        .on_page(move |page, _| {
            let trap = Trap(traps.clone());
            async move {
                match page.url().path() {
                    // Its error cannot be printed.
                    "/1" => return Err(trap.into()),
                    // Its time is over, and what it holds panics as it is dropped.
                    "/2" => std::future::pending::<()>().await,
                    "/3" => panic!("at work"),
                    _ => std::mem::forget(trap),
                }
                HandlerResult::Ok(())
            }
        });
    let summary = run(builder).await;
    assert_eq!((summary.pages(), summary.left), (1, 0));
    assert_eq!(summary.failed, [(Reason::CrawlHandler, 4)].into());
    assert_eq!(sprung.load(Ordering::Relaxed), 4);
    for n in 0..4 {
        assert_eq!(asked(&observer, &format!("http://a.test/{n}")), 1, "/{n}");
    }
    assert_clean(&observer);
}

#[tokio::test(start_paused = true)]
async fn a_page_whose_handler_was_stopped_comes_again_and_what_was_settled_stays() {
    let dir = tempfile::tempdir().unwrap();
    let (net, observer) = web([Site::new()
        .name("a.test")
        .page("/", Answer::text("front"))
        .page("/by", Answer::text("enqueued"))
        .page("/behind", Answer::text("enqueued"))]);
    let begun = Arc::new(Mutex::new(Vec::new()));
    let build = |stuck: bool| {
        let begun = begun.clone();
        crawler(&net, &["http://a.test/"])
            .dir(dir.path())
            .configure(|file| file.archive.min_free = Some(comity::config::ByteSize(0)))
            .on_page(move |page, ctx| {
                let path = page.url().path().to_owned();
                begun.lock().unwrap().push((path.clone(), page.user_data::<u32>().unwrap()));
                async move {
                    match &*path {
                        "/" => _ = ctx.enqueue("/by")?.user_data(&7)?,
                        "/by" => {
                            ctx.enqueue("/behind")?.user_data(&8)?;
                            if stuck {
                                std::future::pending::<()>().await;
                            }
                        }
                        _ => {}
                    }
                    HandlerResult::Ok(())
                }
            })
    };
    let first = build(true).build().unwrap();
    // The process ends while the second page is at its handler.
    assert!(tokio::time::timeout(secs(30), first.run()).await.is_err());
    // Its tasks end at their next turn.
    tokio::time::sleep(secs(1)).await;
    assert_eq!(
        asked(&observer, "http://a.test/behind"),
        0,
        "what a page enqueues enters the queue as the page leaves it"
    );
    let summary = run(build(false)).await;
    assert_eq!((summary.pages(), summary.left), (2, 0));
    let expected = [("/", None), ("/by", Some(7)), ("/by", Some(7)), ("/behind", Some(8))];
    assert_eq!(*begun.lock().unwrap(), expected.map(|(path, data)| (path.to_owned(), data)));
}

#[tokio::test(start_paused = true)]
async fn a_page_is_bytes_text_and_json_in_its_charset() {
    let (net, _) = web([Site::new()
        .name("a.test")
        .page("/", Answer::page(["/latin", "/json", "/marked"]))
        .page("/latin", Answer::status(200).content("text/plain; charset=iso-8859-1", &b"caf\xe9"[..]))
        .page("/marked", Answer::status(200).content("text/plain; charset=iso-8859-1", "\u{feff}café"))
        .page("/json", Answer::status(200).content("application/json", r#"{"name":"x","sizes":[1,2]}"#))]);
    let texts = Arc::new(Mutex::new(BTreeMap::new()));
    let told = texts.clone();
    let builder = crawler(&net, &["http://a.test/"]).each_page(move |page| {
        told.lock().unwrap().insert(page.url().path().to_owned(), page.text().into_owned());
        if page.url().path() == "/json" {
            #[derive(serde::Deserialize)]
            struct Found {
                name: String,
                sizes: Vec<u32>,
            }
            let found: Found = page.json().unwrap();
            assert_eq!((found.name.as_str(), &*found.sizes), ("x", &[1, 2][..]));
            assert!(page.json::<Vec<u32>>().is_err());
            assert_eq!((page.header("Content-Type"), page.via().unwrap().path()), (Some("application/json"), "/"));
        }
    });
    let summary = run(builder).await;
    assert_eq!((summary.pages(), summary.failed.len()), (4, 0));
    let texts = texts.lock().unwrap();
    assert_eq!((texts["/latin"].as_str(), texts["/marked"].as_str()), ("café", "café"));
}
