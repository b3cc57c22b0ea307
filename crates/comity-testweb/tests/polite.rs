//! A small polite crawler, made by hand from the rules alone: the auditor has nothing to say about it, and it finds
//! exactly what the description makes one expect.
#![allow(clippy::unwrap_used, reason = "in tests a panic is the message, also in their helpers")]
#![allow(clippy::disallowed_methods, reason = "a client with a clock of its own")]

mod shared;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use comity_robots::{Dialect, Robots, RuleSet};
use comity_testweb::{Answer, Auditor, Coding, ConnectFault, Generated, MemoryNet, Observer, Site, Target, Web};
use comity_url::{CrawlUrl, Origin};
use shared::{Client, Response, host};
use tokio::time::{Instant, sleep, sleep_until};

const FLOOR: Duration = Duration::from_secs(1);
const TOKEN: &str = "HandBot";

/// Crawls one request at a time: whatever is due first comes next.
struct Crawler<'a> {
    net: &'a MemoryNet,
    origins: BTreeMap<Origin, House>,
    seen: BTreeSet<String>,
    refused: BTreeSet<String>,
    fetched: BTreeSet<String>,
}

struct House {
    rules: Option<RuleSet>,
    due: Instant,
    delay: Duration,
    queue: VecDeque<CrawlUrl>,
    tries: u32,
}

impl Crawler<'_> {
    fn offer(&mut self, url: CrawlUrl) {
        if self.seen.insert(url.as_str().to_owned()) {
            let new = || House { rules: None, due: Instant::now(), delay: FLOOR, queue: VecDeque::new(), tries: 0 };
            self.origins.entry(url.origin().clone()).or_insert_with(new).queue.push_back(url);
        }
    }

    async fn run(mut self) -> Self {
        loop {
            let waiting = self.origins.iter().filter(|(_, house)| !house.queue.is_empty() && house.tries < 4);
            let Some(origin) = waiting.min_by_key(|(_, house)| house.due).map(|(origin, _)| origin.clone()) else {
                return self;
            };
            if self.origins[&origin].rules.is_none() {
                self.ask_robots(&origin).await;
            } else {
                self.next_page(&origin).await;
            }
        }
    }

    async fn ask_robots(&mut self, origin: &Origin) {
        let mut url = origin.robots_url();
        // A chain that never ends counts as absent.
        let mut body = Some(Vec::new());
        for _ in 0..6 {
            let Some(answer) = self.fetch(&url).await else {
                body = None;
                break;
            };
            match answer.status {
                301 | 302 => url = url.join(answer.field("location").unwrap()).unwrap(),
                200 => body = Some(plain(&answer)),
                400..=428 | 430..=499 => body = Some(Vec::new()),
                _ => body = None,
            }
            if !matches!(answer.status, 301 | 302) {
                break;
            }
        }
        let house = self.origins.get_mut(origin).unwrap();
        house.tries += 1;
        match body {
            Some(body) => {
                let rules = Robots::parse(&body).rules(&[TOKEN], Dialect::Standard);
                house.delay = FLOOR.max(rules.crawl_delay().unwrap_or_default());
                house.due += house.delay - FLOOR;
                (house.rules, house.tries) = (Some(rules), 0);
            }
            None => house.due += Duration::from_secs(60),
        }
    }

    async fn next_page(&mut self, origin: &Origin) {
        let house = self.origins.get_mut(origin).unwrap();
        let url = house.queue.pop_front().unwrap();
        if !house.rules.as_ref().unwrap().allows(url.request_target().as_bytes()) {
            self.refused.insert(url.as_str().to_owned());
            return;
        }
        let answer = self.fetch(&url).await;
        if answer.as_ref().is_some_and(|answer| answer.status == 429) {
            self.origins.get_mut(origin).unwrap().queue.push_front(url);
            return;
        }
        self.fetched.insert(url.as_str().to_owned());
        for link in answer.iter().flat_map(links) {
            if let Ok(link) = url.join(&link) {
                self.offer(link);
            }
        }
    }

    /// One request, in its turn.
    async fn fetch(&mut self, url: &CrawlUrl) -> Option<Response> {
        let new = || House { rules: None, due: Instant::now(), delay: FLOOR, queue: VecDeque::new(), tries: 0 };
        let house = self.origins.entry(url.origin().clone()).or_insert_with(new);
        sleep_until(house.due).await;
        let authority = url.origin().authority();
        let answer = match self.net_client(url).await {
            Some(mut client) => client.get(authority, url.request_target()).await.ok(),
            None => None,
        };
        let asked =
            answer.as_ref().and_then(|answer| answer.field("retry-after")).map_or(0, |text| text.parse().unwrap());
        let house = self.origins.get_mut(url.origin()).unwrap();
        house.due = Instant::now() + house.delay.max(Duration::from_secs(asked));
        answer
    }

    async fn net_client(&self, url: &CrawlUrl) -> Option<Client> {
        let origin = url.origin().as_str();
        comity_fetch::Net::resolve(self.net, host(origin)).await.ok()?;
        Client::try_memory(self.net, origin).await
    }
}

fn links(answer: &Response) -> Vec<String> {
    if let Some(location) = answer.field("location") {
        return vec![location.to_owned()];
    }
    let text = String::from_utf8(plain(answer)).unwrap();
    text.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap().replace("&amp;", "&")).collect()
}

fn plain(answer: &Response) -> Vec<u8> {
    use std::io::Read;
    let mut plain = Vec::new();
    let coded = answer.body.as_slice();
    match answer.field("content-encoding") {
        None => plain.extend_from_slice(coded),
        Some("gzip") => drop(flate2::read::GzDecoder::new(coded).read_to_end(&mut plain).unwrap()),
        Some("deflate") => drop(flate2::read::ZlibDecoder::new(coded).read_to_end(&mut plain).unwrap()),
        Some("br") => drop(brotli_decompressor::Decompressor::new(coded, 4096).read_to_end(&mut plain).unwrap()),
        Some("zstd") => drop(zstd::Decoder::new(coded).unwrap().read_to_end(&mut plain).unwrap()),
        Some(other) => panic!("coding {other}"),
    }
    plain
}

async fn crawl<'a>(net: &'a MemoryNet, seeds: &[String]) -> Crawler<'a> {
    let none = || BTreeSet::new();
    let mut crawler = Crawler { net, origins: BTreeMap::new(), seen: none(), refused: none(), fetched: none() };
    for seed in seeds {
        crawler.offer(CrawlUrl::parse(seed).unwrap());
    }
    crawler.run().await
}

/// Crawls all of it and holds what was found against what was to be expected.
async fn check(web: &Web) -> (Observer, usize, usize) {
    let (net, observer) = web.in_memory();
    let crawler = crawl(&net, &observer.seeds()).await;
    let expected = observer.expected(&[TOKEN], &observer.seeds());
    assert_eq!(crawler.fetched, expected.allowed);
    assert_eq!(crawler.refused, expected.refused);
    let audit = Auditor::new().token(TOKEN).floor(FLOOR).examine(&observer);
    assert!(audit.is_clean(), "{audit}");
    assert!(audit.slots_used <= audit.slots_offered, "{audit}");
    assert_eq!(audit.repeats, 0);
    (observer, expected.allowed.len(), expected.refused.len())
}

#[tokio::test(start_paused = true)]
async fn the_demo_is_crawled_whole_and_politely() {
    for seed in [1, 2] {
        let (observer, allowed, refused) = check(&Web::demo(seed)).await;
        let origins = observer.origins().len();
        println!(
            "demo {seed}: {origins} origins, {allowed} allowed, {refused} refused, {} requests",
            observer.log().len()
        );
        assert!(origins >= 50 && allowed > 500 && refused > 50);
    }
}

#[tokio::test(start_paused = true)]
async fn the_plain_web_is_complete() {
    let (_, allowed, refused) = check(&Web::plain(8, 40, 10)).await;
    assert_eq!((allowed, refused), (320, 0));
}

#[tokio::test(start_paused = true)]
async fn a_troubled_web_is_crawled_as_far_as_it_goes() {
    let sick = |answer| Site::new().robots_answer(answer).generated(Generated::new(4, 2));
    let all = |site: Site| {
        (0..9).fold(site, |site, other| {
            site.page(
                "/",
                Answer::page((0..9).filter(|to| *to != other).map(|to| Target::at(to, "/")).collect::<Vec<_>>()),
            )
        })
    };
    let flapping = [Answer::status(503), Answer::text("User-agent: *\nDisallow: /p/2\n").coding(Coding::Brotli)];
    let web = Web::builder(5)
        .site(all(Site::new().robots("\u{feff}user-agent:*\ndisallow:/no")))
        .site(sick(Answer::status(500)))
        .site(sick(Answer::reset()))
        .site(sick(Answer::text("User-agent: *\n").cut_after(125)))
        .site(sick(Answer::redirect(302, Target::at(6, "/elsewhere"))))
        .site(Site::new().robots_cycle(flapping).generated(Generated::new(6, 4)))
        .site(
            Site::new()
                .page("/elsewhere", Answer::text("User-agent: handbot\nDisallow: /p/3\n"))
                .generated(Generated::new(4, 2)),
        )
        .site(Site::new().connect_fault(ConnectFault::Refused).generated(Generated::new(4, 2)))
        .site(sick(Answer::redirect(301, "/robots.txt")))
        .build()
        .unwrap();
    let (observer, allowed, refused) = check(&web).await;
    let expected = observer.expected(&[TOKEN], &observer.seeds());
    assert!(expected.closed.contains("http://o1.demo.test/") && expected.closed.contains("http://o7.demo.test/"));
    assert!(expected.refused.contains("http://o4.demo.test/p/3"), "{expected:?}");
    assert!(expected.outside.is_empty() && expected.complete);
    println!("troubled: {allowed} allowed, {refused} refused, {} closed", expected.closed.len());
    assert!(allowed > 15 && refused >= 2);
}

#[tokio::test(start_paused = true)]
async fn scope_bounds_what_is_expected() {
    let web = Web::plain(4, 20, 10);
    let (_net, observer) = web.in_memory();
    let home = Origin::parse("http://o0.demo.test").unwrap();
    let expected = observer.expected_within(&[TOKEN], &["http://o0.demo.test/"], &|url| *url.origin() == home);
    assert_eq!(expected.allowed.len(), 20);
    assert!(!expected.outside.is_empty() && expected.outside.iter().all(|url| !url.starts_with("http://o0.")));
    assert_eq!(web.expected(&[TOKEN], &web.seeds()), observer.expected(&[TOKEN], &observer.seeds()));
}

#[tokio::test]
async fn a_client_that_counts_from_the_head_is_never_early_on_loopback() {
    let site = || Site::new().robots("User-agent: *\nCrawl-delay: 0.05\n").latency(Duration::from_millis(3));
    let served =
        Web::builder(0).site(site()).site(site()).site(site()).build().unwrap().serve_loopback().await.unwrap();
    let clients = served.origins().into_iter().map(|origin| {
        tokio::spawn(async move {
            let mut client = Client::tcp(host(&origin).parse().unwrap()).await;
            for number in 0..12 {
                let target = if number == 0 { "/robots.txt".to_owned() } else { format!("/{number}") };
                client.get(host(&origin), &target).await.unwrap();
                sleep(Duration::from_millis(50)).await;
            }
        })
    });
    for client in clients.collect::<Vec<_>>() {
        client.await.unwrap();
    }
    let audit = served.audit();
    assert!(audit.is_clean() && audit.requests == 36, "{audit}");
}
