//! Spaces without end: each is left by the name of its guard, and nothing else is.

use comity::policy::Reason;
use comity::{CrawlerBuilder, Summary};
use comity_testweb::{Answer, Observer, Request, Site, Target};

use crate::support::{asked, assert_clean, crawler, requests, run, web};

fn left(summary: &Summary, reason: Reason) -> u64 {
    summary.links_left.get(&reason).copied().unwrap_or(0)
}

fn path(request: &Request) -> String {
    String::from_utf8_lossy(request.target()).into_owned()
}

/// Deep enough that the depth of links ends nothing.
fn deep(builder: CrawlerBuilder) -> CrawlerBuilder {
    builder.configure(|file| file.crawl.max_depth = Some(100_000))
}

fn below(observer: &Observer, start: &str) -> usize {
    requests(observer).iter().filter(|url| url.starts_with(start)).count()
}

/// A day, with links to the next day, month and year.
fn day(target: &str) -> Option<Answer> {
    let mut numbers = target.strip_prefix("/cal/")?.split('/').map(|part| part.parse::<u32>().unwrap_or(1));
    let (year, month, day) = (numbers.next()?, numbers.next()?, numbers.next()?);
    let links = [(year, month, day % 28 + 1), (year, month % 12 + 1, day), (year + 1, month, day)];
    Some(Answer::page(links.map(|(y, m, d)| Target::here(format!("/cal/{y}/{m}/{d}")))))
}

#[tokio::test(start_paused = true)]
async fn a_calendar_is_left_and_the_rest_of_the_site_is_not() {
    let pages: Vec<Target> = (0..60).map(|n| Target::here(format!("/article/{n}"))).collect();
    let front = Answer::page(pages).link("/cal/2026/11/30");
    let (net, observer) = web([Site::new()
        .name("a.test")
        .page("/", front)
        .otherwise(|request| day(&path(request)).unwrap_or_else(|| Answer::text("x")))]);
    let summary = run(deep(crawler(&net, &["http://a.test/"])).configure(|file| file.traps.calendar = Some(40))).await;
    let days = below(&observer, "http://a.test/cal/");
    // A page's links are counted once they are queued: the last page may add all of its own.
    assert!((40..=42).contains(&days), "{days} days");
    assert_eq!(below(&observer, "http://a.test/article/"), 60);
    assert!(left(&summary, Reason::UrlTrapPattern) > 0);
    assert_clean(&observer);
}

#[tokio::test(start_paused = true)]
async fn numbers_without_end_are_left_unless_a_sitemap_lists_them() {
    let next = |request: &Request| {
        let n: u32 = path(request).rsplit(['/', '=']).next().and_then(|n| n.parse().ok()).unwrap_or(0);
        Answer::page([Target::here(format!("/p/{}", n * 2 + 1)), Target::here(format!("/p/{}", n * 2 + 2))])
    };
    let listed: String = (1000..1100).map(|n| format!("http://a.test/p/{n}00000\n")).collect();
    let (net, observer) = web([Site::new()
        .name("a.test")
        .robots("Sitemap: /list.txt\n")
        .page("/list.txt", Answer::text(listed))
        .otherwise(next)]);
    let small = |file: &mut comity::config::ConfigFile| file.traps.numbers = Some(50);
    let summary = run(deep(crawler(&net, &["http://a.test/p/0"])).configure(small)).await;
    let pages = below(&observer, "http://a.test/p/");
    assert!((150..=152).contains(&pages), "{pages} pages");
    assert!(left(&summary, Reason::UrlTrapPattern) > 0);
    assert_clean(&observer);
}

#[tokio::test(start_paused = true)]
async fn minted_hosts_are_left() {
    let host = |n: usize| {
        let links: Vec<Target> = (0..30).map(|n| Target::at(n, "/")).collect();
        Site::new()
            .name(format!("h{n}.a.test"))
            .page("/", Answer::page(links).link("/more"))
            .page("/more", Answer::text("x"))
    };
    let (net, observer) = web((0..30).map(host));
    let summary = run(crawler(&net, &["http://h0.a.test/", "http://h1.a.test/"]).configure(|file| {
        file.crawl.scope = Some("any".into());
        file.traps.hosts = Some(5);
    }))
    .await;
    let asked_hosts = (0..30).filter(|n| asked(&observer, &format!("http://h{n}.a.test/more")) == 1).count();
    assert_eq!(asked_hosts, 7, "two seeds and five");
    assert!(left(&summary, Reason::UrlTrapHosts) > 0);
    assert_clean(&observer);
}

/// Letters for a number, so that no guard against numbers takes part.
fn letters(mut n: u64) -> String {
    let mut out = String::new();
    loop {
        out.push(char::from(b'a' + u8::try_from(n % 26).unwrap()));
        n /= 26;
        if n == 0 {
            return out;
        }
    }
}

fn number(text: &str) -> u64 {
    text.bytes().rev().fold(0, |n, letter| n * 26 + u64::from(letter.saturating_sub(b'a')))
}

/// One page under names without end, each with links to two more of them.
fn copy(request: &Request) -> Answer {
    let target = path(request);
    let Some(name) = target.strip_prefix("/copy/") else { return Answer::text("x") };
    let text: String = (0..200).map(|n| format!("{} ", letters(n * 7919 + 1))).collect();
    let next = number(name) * 2;
    let links = format!("<a href=/copy/{}>next</a><a href=/copy/{}>more</a>", letters(next + 1), letters(next + 2));
    Answer::status(200).content("text/html", format!("<html>{links}<p>{text}</p>{name}</html>"))
}

#[tokio::test(start_paused = true)]
async fn one_page_under_names_without_end_is_left() {
    let front = Answer::page((0..30).map(|n| Target::here(format!("/other/{}", letters(n))))).link("/copy/b");
    let (net, observer) = web([Site::new().name("a.test").page("/", front).otherwise(copy)]);
    let summary =
        run(deep(crawler(&net, &["http://a.test/"])).configure(|file| file.traps.duplicates = Some(80))).await;
    let copies = below(&observer, "http://a.test/copy/");
    // All links of 80 pages count, of the next 70 fewer and fewer; what they added is fetched and adds no more.
    assert!((80..=400).contains(&copies), "{copies} copies");
    assert_eq!(below(&observer, "http://a.test/other/"), 30);
    assert!(left(&summary, Reason::UrlTrapDuplicates) > 0);
    assert_eq!(summary.left, 0);
    assert_clean(&observer);
}

#[tokio::test(start_paused = true)]
async fn guards_can_be_turned_off() {
    let (net, observer) = web([Site::new().name("a.test").otherwise(|request| {
        let target = path(request);
        let next = format!("{}/a", target.trim_end_matches('/'));
        if target.len() > 60 { Answer::text("x") } else { Answer::page([Target::here(next)]) }
    })]);
    let summary = run(crawler(&net, &["http://a.test/"])).await;
    assert_eq!((summary.pages(), left(&summary, Reason::UrlTrapRepeated)), (3, 1));
    let off = |file: &mut comity::config::ConfigFile| {
        file.traps.path_segments = Some(0);
        file.traps.repeated_segments = Some(0);
        file.crawl.max_depth = Some(1000);
    };
    let (pages, before) =
        (run(crawler(&net, &["http://a.test/"]).configure(off)).await.pages(), requests(&observer).len());
    assert_eq!(pages, 32, "{before}");
}

#[tokio::test(start_paused = true)]
async fn a_page_that_refreshes_to_itself_is_fetched_once() {
    let again = "<meta content='0; url=/r' http-equiv=refresh><a href='?&amp;p=2'>x</a>";
    let (net, observer) =
        web([Site::new().name("a.test").otherwise(move |_| Answer::status(200).content("text/html", again))]);
    run(crawler(&net, &["http://a.test/r"])).await;
    assert_eq!(requests(&observer), ["http://a.test/robots.txt", "http://a.test/r", "http://a.test/r?&p=2"]);
}

/// Cut off at any await as by a kill, again and again: a trap gets its budget once, and not once a start.
#[tokio::test(start_paused = true)]
async fn counts_go_on_where_a_kill_ended_the_crawl() {
    let dir = tempfile::tempdir().unwrap();
    let front = Answer::page([Target::here("/cal/2026/11/30")]);
    let (net, observer) = web([Site::new()
        .name("a.test")
        .page("/", front)
        .otherwise(|request| day(&path(request)).unwrap_or_else(|| Answer::text("x")))]);
    let built = || {
        let builder = deep(crawler(&net, &["http://a.test/"])).configure(|file| file.traps.calendar = Some(40));
        builder.dir(dir.path()).build().unwrap()
    };
    let (mut kills, mut left_out) = (0, 0);
    for _ in 0..8 {
        let crawl = built();
        match tokio::time::timeout(std::time::Duration::from_secs(12), crawl.run()).await {
            Ok(ended) => left_out += left(&ended.unwrap(), Reason::UrlTrapPattern),
            Err(_) => kills += 1,
        }
    }
    assert!(kills >= 3, "{kills} kills: none of them matters otherwise");
    left_out += left(&built().run().await.unwrap(), Reason::UrlTrapPattern);
    let days: std::collections::BTreeSet<String> =
        requests(&observer).into_iter().filter(|url| url.starts_with("http://a.test/cal/")).collect();
    // A page's links are counted once they are queued, and those of a settlement under way are not counted at a kill.
    assert!((40..=42 + 3 * kills).contains(&days.len()), "{} days, {kills} kills", days.len());
    assert!(left_out > 0, "{kills} kills");
}

/// The same for one page under names without end: what its copies have spent is not given to it again by each start.
#[tokio::test(start_paused = true)]
async fn near_duplicates_count_on_where_a_kill_ended_the_crawl() {
    let dir = tempfile::tempdir().unwrap();
    let front = Answer::page([Target::here("/copy/b")]);
    let (net, observer) = web([Site::new().name("a.test").page("/", front).otherwise(copy)]);
    let built = || {
        let builder = deep(crawler(&net, &["http://a.test/"])).configure(|file| file.traps.duplicates = Some(40));
        builder.dir(dir.path()).build().unwrap()
    };
    let (mut kills, mut left_out) = (0, 0);
    for _ in 0..8 {
        // Less than half of the budget, beyond which pages are looked at: a process alone would never find any copy.
        match tokio::time::timeout(std::time::Duration::from_secs(16), built().run()).await {
            Ok(ended) => left_out += left(&ended.unwrap(), Reason::UrlTrapDuplicates),
            Err(_) => kills += 1,
        }
    }
    assert!(kills >= 3, "{kills} kills: none of them matters otherwise");
    left_out += left(&built().run().await.unwrap(), Reason::UrlTrapDuplicates);
    let copies = below(&observer, "http://a.test/copy/");
    // As in one process: two links of each of some 70 pages. Were each start given its budget anew, it would be twice as many.
    assert!((80..=200).contains(&copies), "{copies} copies, {kills} kills");
    assert!(left_out > 0, "{kills} kills");
}
