//! Pages that are visited anew: how often, with which conditions, and what a stop, a robots.txt or a sitemap does to it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use comity::config::{ConfigFile, Intervals, RevisitPolicy, Span};
use comity::control::{Control, Op, Prints};
use comity::policy::{Clock as _, Reason, SeededRandom, WallTime};
use comity::{Change, Crawler, CrawlerBuilder, End, Summary};
use comity_fetch::SystemClock;
use comity_testweb::{Answer, MemoryNet, Observer, Request, Site};

use crate::signals_table::embedding;
use crate::support::{START, arrivals, asked, assert_clean, crawler, run, web};

const HOUR: u64 = 3600;
const DAY: u64 = 24 * HOUR;

const fn hours(hours: u64) -> Duration {
    Duration::from_secs(hours * HOUR)
}

/// From an hour to thirty days, a day at first.
fn adaptive() -> RevisitPolicy {
    RevisitPolicy::Adaptive(Intervals::default())
}

/// For so long, and never done before.
fn lasts(days: u64) -> impl FnOnce(&mut ConfigFile) {
    move |file| {
        file.crawl.linger = Some(Span(Duration::from_secs(365 * DAY)));
        file.crawl.max_duration = Some(Span(Duration::from_secs(days * DAY)));
    }
}

/// A page whose text is another one every `period` seconds, with `ETag`, `Last-Modified`, or neither.
fn changing(period: u64, now: Duration, tag: Tag, request: &Request) -> Answer {
    let version = now.as_secs() / period;
    let answer = Answer::text(format!("version {version}"));
    let (ours, asked, name) = match tag {
        Tag::Etag => (format!("W/\"v{version}\""), "if-none-match", "ETag"),
        Tag::Date => {
            let at = START.unix_millis().cast_unsigned() / 1000 + version * period;
            (format!("stamp {at}"), "if-modified-since", "Last-Modified")
        }
        Tag::None => return answer,
    };
    if request.field(asked).as_deref() == Some(ours.as_str()) {
        return Answer::status(304).field(name, ours);
    }
    answer.field(name, ours)
}

#[derive(Clone, Copy)]
enum Tag {
    Etag,
    Date,
    None,
}

/// Two pages that change by the hour, three by the day, five that never do.
fn month() -> (MemoryNet, Observer) {
    let clock = SystemClock::paused_at(START);
    let begun = clock.now();
    let pages = ["/hour/0", "/hour/1", "/day/0", "/day/1", "/day/2"];
    let still: Vec<String> = (0..5).map(|n| format!("/still/{n}")).collect();
    let links: Vec<&str> = pages.into_iter().chain(still.iter().map(String::as_str)).collect();
    let answer = move |request: &Request| {
        let path = request.path();
        let tag = match path.bytes().last() {
            Some(b'0') => Tag::Etag,
            Some(b'1') => Tag::Date,
            _ => Tag::None,
        };
        let period = match path.split('/').nth(1) {
            Some("hour") => HOUR,
            Some("day") => DAY,
            _ => 1000 * DAY,
        };
        changing(period, clock.now().since(begun), tag, request)
    };
    web([Site::new().name("a.test").page("/", Answer::page(links)).otherwise(answer)])
}

/// When a path was asked for, in seconds.
fn visits(observer: &Observer, path: &str) -> Vec<f64> {
    let url = format!("http://a.test{path}");
    arrivals(observer).into_iter().filter(|seen| seen.0 == url).map(|seen| seen.1 as f64 / 1e6).collect()
}

#[tokio::test(start_paused = true)]
async fn over_a_month_each_page_finds_its_interval() {
    let (net, fixed_observer) = month();
    let fixed = RevisitPolicy::Fixed(hours(1));
    let fixed = run(crawler(&net, &["http://a.test/"]).revisit(fixed).configure(lasts(5))).await;
    assert_clean(&fixed_observer);
    let (net, observer) = month();
    let changes: Arc<Mutex<BTreeMap<String, Vec<Change>>>> = Arc::default();
    let told = changes.clone();
    let builder = crawler(&net, &["http://a.test/"]).revisit(adaptive()).configure(lasts(30));
    let builder = builder.each_page(move |page| {
        told.lock().unwrap().entry(page.url().path().to_owned()).or_default().push(page.change());
    });
    let summary = run(builder).await;
    assert_clean(&observer);
    assert_eq!((summary.end, summary.scheduled, summary.left), (End::Limit("max_duration"), 11, 0));

    // Five days are enough for those that come by the hour.
    let (saved, share) = (6 * fixed.revisits / summary.revisits, summary.unchanged * 100 / summary.revisits);
    let not_modified = summary.fetched.get(&304).copied().unwrap_or(0);
    println!(
        "fixed {} visits in five days, {} unchanged; adaptive {} visits, {} unchanged, of them {not_modified} by 304",
        fixed.revisits, fixed.unchanged, summary.revisits, summary.unchanged
    );
    assert!(saved >= 4, "{} visits by the hour, {} adaptive", fixed.revisits, summary.revisits);
    assert!(share < 20 && fixed.unchanged * 100 / fixed.revisits > 75);
    assert!(fixed.fetched[&304] * 10 > fixed.revisits * 3, "four still pages of eleven have validators");

    for path in ["/day/0", "/day/1", "/day/2"] {
        let times = visits(&observer, path);
        let late: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).skip(12).collect();
        let mean = late.iter().sum::<f64>() / late.len() as f64 / 3600.0;
        assert!((6.0..24.0).contains(&mean), "{path}: every {mean} h");
        assert!(late.iter().all(|gap| *gap <= 36.5 * 3600.0), "{path}: {late:?}");
        // Each change is seen at the next visit, which is no further away than the interval then.
        let seen: BTreeSet<u64> = times.iter().map(|at| *at as u64 / DAY).collect();
        assert!(seen.len() >= 27, "{path}: {} of 30 versions seen", seen.len());
    }
    for path in ["/hour/0", "/hour/1"] {
        let gaps: Vec<f64> = visits(&observer, path).windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps[20..].iter().all(|gap| *gap < 1.6 * 3600.0), "{path}: {gaps:?}");
        assert!(gaps.iter().all(|gap| *gap >= 3600.0), "never below min");
    }
    for still in 0..5 {
        let times = visits(&observer, &format!("/still/{still}"));
        assert!((5..=9).contains(&times.len()), "/still/{still}: {times:?}");
    }
    let changes = changes.lock().unwrap();
    let count = |path: &str, wanted| changes[path].iter().filter(|change| **change == wanted).count();
    for (path, told) in changes.iter() {
        assert_eq!(told[0], Change::First, "{path}");
        assert_eq!(count(path, Change::First), 1, "{path}");
    }
    let (versions, visits) = (visits(&observer, "/day/2"), visits(&observer, "/day/2").len());
    let changed = versions.windows(2).filter(|pair| pair[0] as u64 / DAY != pair[1] as u64 / DAY).count();
    assert_eq!(count("/day/2", Change::Changed), changed, "without a validator the body tells");
    assert_eq!(count("/day/2", Change::Unchanged), visits - changed - 1);
    assert_eq!(count("/still/0", Change::Unchanged), 0, "304 is no page");
}

fn urlset(entries: &[(&str, &str)]) -> Answer {
    let entries: String = entries.iter().map(|(loc, more)| format!("<url><loc>{loc}</loc>{more}</url>")).collect();
    Answer::status(200).content("application/xml", format!("<urlset>{entries}</urlset>"))
}

/// A web of one site that knows how late it is.
fn timed(robots: &str, answer: impl Fn(u64, &Request) -> Answer + Send + Sync + 'static) -> (MemoryNet, Observer) {
    let clock = SystemClock::paused_at(START);
    let begun = clock.now();
    let answer = move |request: &Request| answer(clock.now().since(begun).as_secs(), request);
    web([Site::new().name("a.test").robots(robots).otherwise(answer)])
}

#[tokio::test(start_paused = true)]
async fn a_sitemap_that_says_so_brings_a_page_forward() {
    // Two days after 2026-11-30T00:53:20Z one of two pages changes; both are said to change by the month.
    let monthly = "<changefreq>monthly</changefreq>";
    let (net, observer) = timed("Sitemap: /s.xml\n", move |now, request| match request.path().as_ref() {
        "/s.xml" if now < 2 * DAY => urlset(&[("/x", monthly), ("/y", monthly)]),
        "/s.xml" => urlset(&[
            ("/x", "<lastmod>2026-12-02T01:00:00Z</lastmod><changefreq>monthly</changefreq>"),
            ("/y", "<lastmod>2026-11-01</lastmod><changefreq>monthly</changefreq>"),
        ]),
        "/x" => Answer::text(if now < 2 * DAY { "old" } else { "new" }),
        "/" => Answer::page::<&str>([]),
        _ => Answer::text("y"),
    });
    let policy = RevisitPolicy::Sitemap(Intervals { start: hours(12), ..Intervals::default() });
    let summary = run(crawler(&net, &["http://a.test/"]).revisit(policy).configure(lasts(6))).await;
    let maps = visits(&observer, "/s.xml");
    let seen = maps.iter().position(|at| *at > (2 * DAY) as f64).unwrap();
    let pages = visits(&observer, "/x");
    assert_eq!(pages.len(), 2, "{pages:?}");
    assert!(pages[1] > maps[seen] && pages[1] < maps[seen] + 10.0, "at once: {pages:?} {maps:?}");
    assert_eq!(visits(&observer, "/y").len(), 1, "not due for a month");
    assert_eq!(summary.listed, 4, "an unchanged sitemap is not read again");
    assert_clean(&observer);

    // The adaptive policy does not listen, and comes by itself.
    let (net, observer) = timed("Sitemap: /s.xml\n", move |_, request| match request.path().as_ref() {
        "/s.xml" => urlset(&[("/x", monthly)]),
        "/" => Answer::page::<&str>([]),
        _ => Answer::text("x"),
    });
    run(crawler(&net, &["http://a.test/"]).revisit(adaptive()).configure(lasts(2))).await;
    assert_eq!(visits(&observer, "/x").len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_news_watcher_asks_for_the_list_and_for_what_is_new_in_it() {
    // An item every six hours, and always the last four in the list.
    let feed = |now: u64, request: &Request| {
        let newest = now / (6 * HOUR);
        let tag = format!("\"{newest}\"");
        if request.field("if-none-match").as_deref() == Some(tag.as_str()) {
            return Answer::status(304);
        }
        let items: String = (newest.saturating_sub(3)..=newest)
            .map(|n| format!("<item><link>http://a.test/item/{n}</link></item>"))
            .collect();
        Answer::status(200)
            .content("application/rss+xml", format!("<rss><channel>{items}</channel></rss>"))
            .field("ETag", tag)
    };
    let (net, observer) =
        timed("User-agent: *\nDisallow: /item/7\n", move |now, request| match request.path().as_ref() {
            "/" => Answer::page(["/feed"]),
            "/feed" => feed(now, request),
            _ => Answer::text("news"),
        });
    let policy = RevisitPolicy::Adaptive(Intervals { start: hours(1), max: hours(4), ..Intervals::default() });
    let builder = crawler(&net, &["http://a.test/"]).revisit(policy).configure(lasts(5)).configure(|file| {
        file.revisit.pages = Some(false);
    });
    let summary = run(builder).await;
    for item in 0..20 {
        let times = visits(&observer, &format!("/item/{item}"));
        if item == 7 {
            assert_eq!(times, [] as [f64; 0], "judged like any page");
            continue;
        }
        assert_eq!(times.len(), 1, "/item/{item}: once, {times:?}");
        let late = times[0] - (item * 6 * HOUR) as f64;
        assert!((0.0..(4 * HOUR + 60) as f64).contains(&late), "/item/{item} was seen {late} s late");
    }
    let lists = visits(&observer, "/feed");
    assert!((40..=120).contains(&lists.len()), "{}", lists.len());
    assert!(summary.unchanged * 2 > summary.revisits, "{} of {}", summary.unchanged, summary.revisits);
    assert_eq!(summary.scheduled, 2, "the feed and the seed");
    assert_clean(&observer);
}

#[tokio::test(start_paused = true)]
async fn what_is_gone_or_moved_leaves_and_what_fails_stays() {
    let (net, observer) = timed("", |now, request| match (request.path().as_ref(), now) {
        ("/", 0..=60) => Answer::page(["/gone", "/flaky", "/moved", "/away", "/never", "/down"]),
        ("/gone", 0..=60) | ("/moved", 0..=60) | ("/away", 0..=60) | ("/down", 0..=60) => Answer::text("here"),
        // Every other visit.
        ("/flaky", now) if (now + HOUR) / (20 * HOUR) % 2 == 1 => Answer::status(404),
        ("/gone" | "/never", _) => Answer::status(410),
        ("/moved", _) => Answer::redirect(301, "/new"),
        ("/away", _) => Answer::redirect(302, "/maintenance"),
        ("/down", _) => Answer::status(500),
        _ => Answer::text("here"),
    });
    let builder = crawler(&net, &["http://a.test/"]).revisit(RevisitPolicy::Fixed(hours(20))).configure(lasts(6));
    let summary = run(builder).await;
    let count = |path| visits(&observer, path).len();
    assert_eq!(count("/never"), 1, "what was never there is not waited for");
    assert_eq!(count("/gone"), 3, "gone twice in a row");
    assert_eq!(count("/moved"), 2, "moved for good");
    assert_eq!((count("/flaky"), count("/away")), (8, 8), "gone once, and moved for now");
    assert_eq!(count("/new"), 7, "where it moved to is visited instead");
    assert_eq!(count("/down"), 1 + 7 * 3, "each visit has its own retries");
    assert_eq!(summary.scheduled, 6, "seed, flaky, away, maintenance, new, down");
    assert_clean(&observer);
}

#[tokio::test(start_paused = true)]
async fn each_visit_is_judged_by_the_robots_txt_of_its_day() {
    let (open, closed) = (Answer::status(404), Answer::text("User-agent: *\nDisallow: /x\n"));
    let days = [open.clone(), open.clone(), open.clone(), closed.clone(), closed, open];
    let (net, observer) = web([Site::new()
        .name("a.test")
        .robots_answers(days)
        .page("/", Answer::page(["/x"]))
        .page("/x", Answer::text("x"))]);
    let builder = crawler(&net, &["http://a.test/"]).revisit(RevisitPolicy::Fixed(hours(12))).configure(lasts(8));
    let summary = run(builder).await;
    // The auditor knows which robots.txt was in force at each visit.
    assert_clean(&observer);
    let refused = summary.refused[&Reason::RobotsDisallow];
    assert!((2..=6).contains(&refused), "{refused}");
    let (times, fronts) = (visits(&observer, "/x"), visits(&observer, "/"));
    assert_eq!(times.len() as u64 + refused, fronts.len() as u64);
    let last = times.last().unwrap() - fronts.last().unwrap();
    assert!(last.abs() < 60.0, "a refusal does not end its visits: {times:?}");
    assert_eq!((summary.left, summary.scheduled), (0, 2));
}

#[tokio::test(start_paused = true)]
async fn a_304_that_nobody_asked_for_is_a_fault() {
    let (net, observer) = web([Site::new().name("a.test").page("/", Answer::status(304))]);
    let summary = run(crawler(&net, &["http://a.test/"])).await;
    assert_eq!((summary.pages(), summary.failed.get(&Reason::FetchProtocol)), (0, Some(&1)));
    assert_eq!(asked(&observer, "http://a.test/"), 1);
}

#[tokio::test(start_paused = true)]
async fn what_is_sent_back_are_the_bytes_that_came() {
    let long = "x".repeat(4097);
    let rows: [(&str, Option<&str>); 4] =
        [("W/\"a b\"", Some("W/\"a b\"")), ("bare", Some("bare")), ("\"caf\u{e9}\"", None), (&long, None)];
    for (tag, wanted) in rows {
        let answer = Answer::text("x").field("ETag", tag);
        let (net, observer) = web([Site::new().name("a.test").page("/", answer)]);
        let builder = crawler(&net, &["http://a.test/"]).revisit(RevisitPolicy::Fixed(hours(1)));
        run(builder.configure(|file| file.crawl.max_pages = Some(2)).configure(|file| {
            file.crawl.linger = Some(Span(hours(2)));
        }))
        .await;
        let sent: Vec<Option<String>> = (observer.log().iter())
            .filter(|seen| !seen.request.is_robots_txt())
            .map(|seen| seen.request.field("if-none-match").map(|value| value.into_owned()))
            .collect();
        if tag.is_ascii() {
            assert_eq!(sent, [None, wanted.map(ToOwned::to_owned)], "{}", &tag[..tag.len().min(9)]);
        } else {
            assert_eq!(sent.len(), 2);
        }
    }
}

/// A run of a crawl in `dir` that begins `days` after the start.
async fn resumed(net: &MemoryNet, dir: &std::path::Path, days: u64) -> Summary {
    let at = WallTime::from_unix_millis(START.unix_millis() + i64::try_from(days * DAY * 1000).unwrap());
    let builder: CrawlerBuilder = Crawler::builder("TestBot/1.0 (+https://example.com/bot)")
        .net(Arc::new(net.clone()))
        .clock(Arc::new(SystemClock::paused_at(at)))
        .random(Arc::new(SeededRandom::new(1)))
        .allow_addresses("10.0.0.0/8")
        .seed("http://a.test/")
        .dir(dir)
        .revisit(RevisitPolicy::Fixed(hours(36)));
    run(builder).await
}

#[tokio::test(start_paused = true)]
async fn the_schedule_goes_on_in_the_next_run() {
    let dir = tempfile::tempdir().unwrap();
    // Smaller bodies are stored each time.
    let page = Answer::text("x".repeat(600)).field("ETag", "\"1\"");
    let answers = [page.clone(), Answer::status(304), Answer::status(304), page];
    let (net, observer) = web([Site::new().name("a.test").page("/", Answer::page(["/x"])).page_answers("/x", answers)]);
    let first = resumed(&net, dir.path(), 0).await;
    assert_eq!((first.end, first.exit_code(), first.scheduled), (End::Finished, 4, 2));
    let next = first.next_visit.unwrap();
    assert!(next > hours(35) && next <= hours(36), "{next:?}");
    let early = resumed(&net, dir.path(), 1).await;
    assert_eq!((early.pages(), early.revisits, early.scheduled), (0, 0, 2));
    assert!(early.to_string().contains("2 pages to be visited anew, the first in 12.0 h"), "{early}");
    for (days, unchanged) in [(2, 2), (4, 2), (6, 2)] {
        let run = resumed(&net, dir.path(), days).await;
        assert_eq!((run.revisits, run.unchanged, run.scheduled), (2, unchanged, 2), "day {days}");
        assert_eq!(run.queued, run.pages() + run.left, "day {days}");
    }
    assert_eq!(asked(&observer, "http://a.test/x"), 4);
    let sent: Vec<_> = observer.log().iter().filter(|seen| seen.request.path() == "/x").cloned().collect();
    assert!(sent[1..].iter().all(|seen| seen.request.field("if-none-match").as_deref() == Some("\"1\"")));

    // Each later record names the capture of the first run, which holds the body.
    let lines = comity_archive::read_records(dir.path()).unwrap();
    let records: Vec<_> = lines.map(|line| line.unwrap().record().unwrap().unwrap()).collect();
    let of_page: Vec<_> = records.iter().filter(|record| record.url == "http://a.test/x").collect();
    let outcomes: Vec<&str> = of_page.iter().map(|record| &*record.outcome).collect();
    assert_eq!(outcomes, ["fetched", "not_modified", "not_modified", "fetched"]);
    let first = of_page[0].response.as_ref().unwrap();
    assert!(first.repeats.is_none());
    let whole = of_page[0].warc.as_ref().unwrap().response.as_ref().unwrap().id.clone();
    let profiles = ["server-not-modified", "server-not-modified", "identical-payload-digest"];
    for (record, profile) in of_page[1..].iter().zip(profiles) {
        let repeats = record.response.as_ref().unwrap().repeats.as_ref().unwrap();
        assert_eq!((repeats.record.as_deref(), &*repeats.profile), (Some(&*whole), profile));
    }
}

/// A 304 repeats neither fields nor page: where the page spoke of its own use it is asked for whole, so that its words are heard at
/// each visit, and every record of it says what the first one said.
#[tokio::test(start_paused = true)]
async fn what_a_page_says_of_its_use_is_heard_at_each_visit() {
    let page = |head: &str| Answer::status(200).content("text/html", format!("<head>{head}</head><body>words"));
    let of = move |path: &str| match path {
        "/meta" => page("<meta name=robots content=noai>"),
        "/field" => page("").field("X-Robots-Tag", "noai"),
        "/tdm" => page("<meta name=tdm-reservation content=1>"),
        "/link" => page("").field("Link", "<https://lic.test/l.xml>; rel=license; type=application/rsl+xml"),
        "/element" => page("<link rel=license type='application/rsl+xml' href='https://lic.test/l.xml'>"),
        "/within" => page("<script type='application/rsl+xml'><rsl/></script>"),
        "/later" => page("").field("X-Robots-Tag", "unavailable_after: 25 Jun 2090 15:00:00 UTC"),
        "/ceiling" => page("").field("Content-Signal", "use=reference"),
        "/pdf" => embedding("application/pdf", "t:reservation=\"1\""),
        "/image" => embedding("image/png", "p:DataMining=\"DMI-PROHIBITED\""),
        _ => page("<meta name=robots content=index>"),
    };
    let paths =
        ["/meta", "/field", "/tdm", "/link", "/element", "/within", "/later", "/ceiling", "/pdf", "/image", "/silent"];
    let conditions: Arc<Mutex<BTreeSet<String>>> = Arc::default();
    let sent = conditions.clone();
    let answer = move |request: &Request| {
        if request.field("if-none-match").is_some() {
            sent.lock().unwrap().insert(request.path().into_owned());
            return Answer::status(304).field("ETag", "\"1\"");
        }
        of(&request.path()).field("ETag", "\"1\"")
    };
    let (net, observer) = web([Site::new().name("a.test").otherwise(answer)]);
    let dir = tempfile::tempdir().unwrap();
    let seeds = paths.map(|path| format!("http://a.test{path}"));
    let seeds: Vec<&str> = seeds.iter().map(String::as_str).collect();
    let builder = crawler(&net, &seeds).dir(dir.path()).revisit(RevisitPolicy::Fixed(hours(6))).configure(|file| {
        file.agent.purposes = Some(vec!["ai_train".to_owned(), "search".to_owned()]);
    });
    let summary = run(builder.configure(lasts(1))).await;
    assert_clean(&observer);
    assert!(summary.revisits >= 10, "{summary}");
    assert_eq!(*conditions.lock().unwrap(), BTreeSet::from(["/silent".to_owned()]));
    let mut told: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in comity_archive::read_records(dir.path()).unwrap() {
        let record = line.unwrap().record().unwrap().unwrap();
        if let (true, Some(decision)) = (record.errand == "page", &record.decision) {
            told.entry(record.url).or_default().insert(decision.purposes["ai_train"].verdict.clone());
        }
    }
    let wanted = [
        ("meta", "denied"),
        ("field", "denied"),
        ("tdm", "denied"),
        // Nothing is asked for here, but a later run may.
        ("link", "unspecified"),
        ("element", "unspecified"),
        ("within", "unspecified"),
        ("later", "unspecified"),
        ("ceiling", "unspecified"),
        ("pdf", "denied"),
        ("image", "denied"),
        ("silent", "unspecified"),
    ];
    for (path, verdict) in wanted {
        assert_eq!(told[&format!("http://a.test/{path}")], BTreeSet::from([verdict.to_owned()]), "{path}");
    }
}

/// Exported and taken in by another crawl, the schedule goes on there: nothing earlier, nothing later, with the same conditions.
#[tokio::test(start_paused = true)]
async fn the_schedule_moves_to_another_crawl_with_all_that_it_needs() {
    let dir = tempfile::tempdir().unwrap();
    let (one, other) = (dir.path().join("one"), dir.path().join("other"));
    let page = Answer::text("x".repeat(600)).field("ETag", "\"1\"");
    let answers = [page.clone(), Answer::status(304), page];
    let (net, observer) = web([Site::new().name("a.test").page("/", Answer::page(["/x"])).page_answers("/x", answers)]);
    assert_eq!(resumed(&net, &one, 0).await.scheduled, 2);

    let stopped = Control::stopped(&one).unwrap();
    let head = stopped.ask(Op::Head).await.unwrap().about;
    let prints: Prints = serde_json::from_value(head["prints"].clone()).unwrap();
    let (mut lines, mut after) = (Vec::new(), None);
    loop {
        // A page at a time: a row is on one of them.
        let page = stopped.ask(Op::Visits { after, n: Some(1) }).await.unwrap();
        lines.extend(page.rows.iter().map(ToString::to_string));
        after = page.about["next"].as_str().map(str::to_owned);
        if after.is_none() {
            break;
        }
    }
    assert_eq!(lines.len(), 2, "{lines:?}");
    let last = head["last"].as_u64().unwrap();
    lines.extend(stopped.ask(Op::Seen { after: None, last }).await.unwrap().rows.iter().map(ToString::to_string));
    drop(stopped);

    let file = ConfigFile::read(&one.join("crawl.toml")).unwrap();
    let created = Control::create(&other, file, Some(&prints)).unwrap();
    let import = || Op::Import { lines: lines.clone(), first: 2, prints: Some(prints.clone()) };
    let report = created.ask(import()).await.unwrap().about;
    assert_eq!((&report["scheduled"], &report["new"], &report["bad"]), (&2.into(), &0.into(), &0.into()), "{report}");
    let again = created.ask(import()).await.unwrap().about;
    assert_eq!((&again["scheduled"], &again["seen"]), (&0.into(), &2.into()), "{again}");
    // Exported once more it is the same.
    let rows = created.ask(Op::Visits { after: None, n: None }).await.unwrap().rows;
    let said: Vec<String> = rows.iter().map(ToString::to_string).collect();
    assert_eq!(said, lines[..2]);
    drop(created);

    let early = resumed(&net, &other, 1).await;
    assert_eq!((early.pages(), early.revisits, early.scheduled), (0, 0, 2), "{early}");
    let due = resumed(&net, &other, 2).await;
    assert_eq!((due.revisits, due.unchanged, due.scheduled), (2, 2, 2), "{due}");
    let sent: Vec<_> = observer.log().iter().filter(|seen| seen.request.path() == "/x").cloned().collect();
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[1].request.field("if-none-match").as_deref(), Some("\"1\""));
    let verified = comity_archive::verify::verify(&other, &comity_archive::verify::VerifyOptions::default()).unwrap();
    assert!(verified.holds(), "{verified:#?}");
}
