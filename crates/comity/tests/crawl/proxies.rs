//! Through proxies: the same requests, the same gaps, whatever the exit.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use comity::config::ProxySection;
use comity::policy::Reason;
use comity::{CrawlerBuilder, Summary};
use comity_gate::StateDir;
use comity_testweb::{Auditor, ExitFault, ExitNet, Generated, MemoryNet, Observer, Site};
use comity_url::CrawlUrl;

use crate::support::{START, arrivals, asked, assert_clean, crawler, requests, run, web};

fn exit(n: u8) -> SocketAddr {
    SocketAddr::from(([172, 16, 0, n], 3128))
}

/// The web behind `exits` proxies, which log everything.
fn behind(net: &MemoryNet, exits: u8) -> ExitNet {
    (1..=exits).fold(ExitNet::new(Arc::new(net.clone())), |net, n| net.exit(exit(n), None))
}

fn section(scheme: &str, n: u8, country: &str) -> ProxySection {
    let url = Some(format!("{scheme}://{}", exit(n)));
    ProxySection { url, country: Some(country.to_owned()), ..ProxySection::default() }
}

fn through(net: &MemoryNet, exits: &ExitNet, proxies: Vec<ProxySection>) -> CrawlerBuilder {
    let seeds: Vec<String> = (0..SITES).map(|n| format!("http://s{n}.test/")).collect();
    crawler(net, &seeds.iter().map(String::as_str).collect::<Vec<_>>())
        .net(Arc::new(exits.clone()))
        .configure(|file| file.fetch.proxy = Some(proxies))
}

const SITES: usize = 12;
const PAGES: u32 = 6;

fn sites() -> (MemoryNet, Observer) {
    web((0..SITES).map(|n| {
        let pages = Generated::new(PAGES, 4).off_origin_percent(0);
        Site::new()
            .name(format!("s{n}.test"))
            .robots("User-agent: *\nCrawl-delay: 3\nDisallow: /private")
            .generated(pages)
    }))
}

fn assert_whole(summary: &Summary, observer: &Observer, robots_each: usize) {
    assert_clean(observer);
    assert_eq!((summary.pages(), summary.left), (SITES as u64 * u64::from(PAGES), 0));
    for n in 0..SITES {
        assert_eq!(asked(observer, &format!("http://s{n}.test/robots.txt")), robots_each, "s{n}");
    }
}

/// The gaps between the arrivals of one site, in microseconds.
fn gaps(observer: &Observer, site: usize) -> Vec<u64> {
    let prefix = format!("http://s{site}.test/");
    let at: Vec<u64> =
        arrivals(observer).into_iter().filter(|(url, _)| url.starts_with(&prefix)).map(|(_, at)| at).collect();
    at.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

#[tokio::test(start_paused = true)]
async fn more_exits_never_mean_more_requests() {
    let mut seen = Vec::new();
    for (scheme, count) in [("http", 1), ("http", 8), ("socks5h", 8), ("socks5", 8)] {
        let (net, observer) = sites();
        let exits = behind(&net, count);
        let summary = run(through(&net, &exits, (1..=count).map(|n| section(scheme, n, "DE")).collect())).await;
        assert_whole(&summary, &observer, 1);
        assert!(exits.around().is_empty(), "nothing goes around the exits");
        let asked: Vec<usize> = (1..=count).map(|n| exits.asked(exit(n)).len()).collect();
        let used = asked.iter().filter(|asked| **asked > 0).count();
        assert!(used >= usize::from(count.min(4)), "{asked:?}");
        for site in 0..SITES {
            let least = gaps(&observer, site).into_iter().min().unwrap();
            assert!(least >= 3_000_000, "{scheme} {count}: {least} µs at s{site}");
        }
        let mut urls = requests(&observer);
        urls.sort();
        seen.push(urls);
    }
    assert!(seen.windows(2).all(|pair| pair[0] == pair[1]), "the same requests whatever the exits");
}

#[tokio::test(start_paused = true)]
async fn robots_txt_is_read_once_for_each_country_that_an_origin_is_asked_from() {
    let (net, observer) = sites();
    let exits = behind(&net, 2);
    let crawler = through(&net, &exits, vec![section("http", 1, "DE"), section("http", 2, "US")]).build().unwrap();
    // Half of the origins change their country in the middle.
    let watched = exits.clone();
    let cut = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(9)).await;
        watched.set_fault(exit(1), Some(ExitFault::Down));
    });
    let summary = crawler.run().await.unwrap();
    cut.await.unwrap();
    let audit = Auditor::new().floor(Duration::from_secs(1)).examine(&observer);
    assert_eq!(audit.violation_count(), audit.count("robots_again"), "the web knows of no vantages: {audit}");
    assert_eq!(summary.pages(), SITES as u64 * u64::from(PAGES), "{summary}");
    assert!(summary.elapsed < Duration::from_secs(60), "nobody waits for the exit that is out: {summary}");
    let robots: Vec<usize> = (0..SITES).map(|n| asked(&observer, &format!("http://s{n}.test/robots.txt"))).collect();
    let (stayed, moved) = (robots.iter().filter(|n| **n == 1).count(), robots.iter().filter(|n| **n == 2).count());
    assert!(stayed > 0 && moved > 0 && stayed + moved == SITES, "once per vantage: {robots:?}");
    for n in 0..SITES {
        let at = |exit: SocketAddr, what: &str| exits.asked(exit).iter().filter(|asked| asked.what == what).count();
        let file = format!("GET http://s{n}.test/robots.txt");
        assert!(at(exit(1), &file) <= 1 && at(exit(2), &file) <= 1, "s{n}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_exit_that_dies_gives_its_origins_away_and_no_gap_is_broken() {
    for fault in [ExitFault::Down, ExitFault::Says(b"\xffno proxy\r\n\r\n".to_vec())] {
        let (net, observer) = sites();
        let exits = behind(&net, 4);
        let crawler = through(&net, &exits, (1..=4).map(|n| section("socks5h", n, "DE")).collect()).build().unwrap();
        let watched = exits.clone();
        let cut = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(7)).await;
            watched.set_fault(exit(2), Some(fault));
        });
        let summary = crawler.run().await.unwrap();
        cut.await.unwrap();
        assert_whole(&summary, &observer, 1);
        assert!(summary.failed.is_empty(), "{summary}");
        for site in 0..SITES {
            assert!(gaps(&observer, site).into_iter().all(|gap| gap >= 3_000_000), "s{site}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn without_an_exit_left_urls_wait_and_no_site_is_charged() {
    let (net, observer) = sites();
    let exits = behind(&net, 2);
    (1..=2).for_each(|n| exits.set_fault(exit(n), Some(ExitFault::Down)));
    let crawler = through(&net, &exits, (1..=2).map(|n| section("http", n, "DE")).collect()).build().unwrap();
    let watched = exits.clone();
    let back = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(100)).await;
        watched.set_fault(exit(2), None);
    });
    let summary = crawler.run().await.unwrap();
    back.await.unwrap();
    assert_whole(&summary, &observer, 1);
    assert!(summary.failed.is_empty() && summary.elapsed > Duration::from_secs(100), "{summary}");
    assert!(exits.around().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_crawl_without_any_exit_ends_and_says_why() {
    let (net, observer) = sites();
    let exits = behind(&net, 1);
    exits.set_fault(exit(1), Some(ExitFault::Down));
    let builder = through(&net, &exits, vec![section("http", 1, "DE")]);
    let summary = run(builder).await;
    assert!(summary.elapsed < Duration::from_secs(3600), "{summary}");
    assert_eq!((summary.pages(), summary.left), (0, SITES as u64));
    assert!(requests(&observer).is_empty() && exits.around().is_empty());
    assert!(summary.to_string().contains(Reason::FetchProxyNone.text()), "{summary}");
}

#[tokio::test(start_paused = true)]
async fn a_proxys_own_refusal_opens_no_site() {
    let (net, observer) = sites();
    let exits = behind(&net, 1);
    exits.set_fault(exit(1), Some(ExitFault::Says(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n".to_vec())));
    let summary = run(through(&net, &exits, vec![section("http", 1, "DE")])).await;
    assert_eq!((summary.pages(), summary.left), (0, SITES as u64), "closed, as any robots.txt that cannot be read");
    assert!(requests(&observer).is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_was_read_through_an_exit_is_remembered_for_its_country() {
    let (net, observer) = sites();
    let exits = behind(&net, 2);
    let dir = tempfile::TempDir::new().unwrap();
    // A second crawl from the same country asks no robots.txt again, one from another country asks all.
    for (n, country, asked_again) in [(1, "DE", 1), (1, "DE", 1), (2, "US", 2)] {
        let state = dir.path().to_owned();
        let builder = through(&net, &exits, vec![section("http", n, country)]);
        let summary = run(builder.configure(|file| file.state.dir = Some(state))).await;
        assert_eq!(summary.pages(), SITES as u64 * u64::from(PAGES), "{country}");
        assert_eq!(asked(&observer, "http://s0.test/robots.txt"), asked_again, "{country}");
    }
    let state = StateDir::open(&dir.path().join("gate"), START).unwrap();
    let origin = CrawlUrl::parse("http://s0.test/").unwrap().origin().clone();
    assert!(state.look_up(&origin).unwrap().unwrap().life.known.is_some());
}
