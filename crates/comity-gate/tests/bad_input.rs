//! What sites really send for robots.txt, over loopback, each with its class, its life, and what it leaves of the site.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use comity_gate::{AskRobots, FetchedRobots, Gate, HopMeaning, NotFollowed, RobotsFetch};
use comity_policy::{Identity, Judge, Judgement, Reason};
use comity_testweb::{Answer, Served, Site, Target, Web};
use comity_url::{CrawlUrl, Origin};
use tokio::task::JoinSet;

const RULES: &str = "User-agent: *\nDisallow: /p\n";

/// One site, and what it must come to.
struct Row {
    name: &'static str,
    site: Site,
    /// Class of the fetch and, behind a blank, the cause of `unreachable`.
    class: &'static str,
    /// What `/p/x` and `/q` get.
    pages: [&'static str; 2],
    also: fn(&FetchedRobots) -> bool,
}

/// The file is there and refuses `/p`.
const RULED: [&str; 2] = ["refused", "open"];
const OPEN: [&str; 2] = ["open"; 2];
const CLOSED: [&str; 2] = ["closed"; 2];
/// The origin is left alone: no page of it is judged.
const PARKED: [&str; 2] = ["parked"; 2];

fn row(name: &'static str, answer: Answer, class: &'static str, pages: [&'static str; 2]) -> Row {
    Row { name, site: Site::new().robots_answer(answer), class, pages, also: |_| true }
}

impl Row {
    fn site(mut self, change: impl FnOnce(Site) -> Site) -> Self {
        self.site = change(self.site);
        self
    }

    fn also(mut self, also: fn(&FetchedRobots) -> bool) -> Self {
        self.also = also;
        self
    }
}

/// Patience in seconds, not minutes: what is measured is which limit ends it.
fn gate() -> Gate {
    let identity = Identity::new("TestBot/1.0", "a@example.com", &[], Vec::new()).unwrap();
    let mut settings = RobotsFetch::new(identity).allow(["127.0.0.0/8".parse().unwrap()]);
    settings.gate.politeness.total = 100;
    settings.gate.politeness.delay = Duration::ZERO;
    settings.fetch.limits.head = Duration::from_secs(2);
    settings.fetch.limits.total = Duration::from_secs(4);
    settings.open().unwrap()
}

/// Puts all sites up at once and asks each.
async fn run(rows: Vec<Row>) {
    let served = rows.iter().fold(Web::builder(1), |web, row| web.site(row.site.clone()));
    let served = Arc::new(served.build().unwrap().serve_loopback().await.unwrap());
    let (gate, mut asked) = (gate(), JoinSet::new());
    for (at, row) in rows.into_iter().enumerate() {
        let (gate, served) = (gate.clone(), served.clone());
        asked.spawn(async move { check(&row, at, &gate, &served).await });
    }
    let wrong: Vec<String> = asked.join_all().await.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// What is not as it has to be, in one line.
async fn check(row: &Row, at: usize, gate: &Gate, served: &Served) -> Option<String> {
    let origin = Origin::parse(&served.origins()[at]).unwrap();
    let found = gate.fetch_robots(&origin, AskRobots::IfDue).await;
    let pages = ["/p/x", "/q"].map(|path| word(gate, &origin, path));
    let class = match found.life.failing() {
        Some(failing) => format!("{} {}", found.class.as_str(), failing.cause),
        None => found.class.as_str().to_owned(),
    };
    let requests = served.log().iter().filter(|seen| seen.site == Some(at)).count();
    let name = row.name;
    (class != row.class || pages != row.pages || requests > 6 || !(row.also)(&found))
        .then(|| format!("{name}: {class} {pages:?}, {requests} requests\n  {:#?}", found.class))
}

/// What a page of the site gets.
fn word(gate: &Gate, origin: &Origin, path: &str) -> &'static str {
    match gate.judge(&CrawlUrl::parse(&format!("{origin}{path}")).unwrap()) {
        Judgement::Allow(_) => "open",
        Judgement::Refuse(refusal) if refusal.decision().reason == Reason::RobotsDisallow => "refused",
        Judgement::Hold(hold) if hold.reason == Reason::ParkCrawlDelay => "parked",
        Judgement::Refuse(_) | Judgement::Hold(_) => "closed",
        Judgement::NeedsRobots(_) => "unknown",
    }
}

fn raw(text: &str) -> Answer {
    Answer::raw(text.replace('\n', "\r\n").into_bytes())
}

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    writer.write_all(plain).unwrap();
    writer.finish().unwrap()
}

/// Comments that do not compress too well to be believed.
fn long_tail(bytes: usize) -> String {
    (0..).map(|n: u64| format!("# {:x}\n", n.wrapping_mul(0x9E37_79B9_7F4A_7C15))).take(bytes / 16).collect()
}

fn last(found: &FetchedRobots) -> &HopMeaning {
    &found.hops.last().unwrap().meaning
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies() {
    let endless = || Answer::page(["/x"]).bytes(u64::MAX / 2).chunked();
    run(vec![
        row("never ends", endless(), "parsed", OPEN).also(|found| {
            let read = found.file.as_ref().unwrap().1.len() == 512_000;
            // What nobody would read is not fetched: 16 KiB beyond, and the connection is closed.
            read && found.life.copy().unwrap().truncated && found.answer().unwrap().body.len() <= 512_000 + (16 << 10)
        }),
        row("longer by a byte", Answer::text(format!("{RULES}{}", "#".repeat(512_001 - RULES.len()))), "parsed", RULED)
            .also(|found| found.life.copy().unwrap().bytes == 512_001 && found.answer().unwrap().fault.is_none()),
        row(
            "inflates beyond",
            Answer::status(200)
                .content("text/plain", gzip(format!("{RULES}{}", long_tail(1 << 20)).as_bytes()))
                .field("Content-Encoding", "gzip"),
            "parsed",
            RULED,
        )
        .also(|found| {
            let copy = found.life.copy().unwrap();
            copy.truncated && copy.bytes <= 512_000 + (16 << 10) && found.file.as_ref().unwrap().1.len() == 512_000
        }),
        row("rules, then never ends", Answer::text(format!("{RULES}{}", "#\n".repeat(8 << 20))), "parsed", RULED),
        row(
            "never ends, slowly",
            endless().trickle(1024, Duration::from_millis(50)),
            "unreachable fetch.timeout.total",
            CLOSED,
        ),
        row(
            "one byte a second",
            Answer::text(RULES).trickle(1, Duration::from_secs(1)),
            "unreachable fetch.timeout.total",
            CLOSED,
        ),
        row("never answers", Answer::silence(), "unreachable fetch.timeout.head", CLOSED),
        row("resets", Answer::reset(), "unreachable fetch.reset", CLOSED),
        row(
            "meta refresh",
            Answer::status(200).content("text/html", "<html><meta http-equiv=refresh content='0; url=/real'>\n</html>"),
            "parsed",
            OPEN,
        )
        .site(|site| site.page("/real", Answer::text("User-agent: *\nDisallow: /\n")))
        .also(|found| found.hops.len() == 1),
        row("empty 200", Answer::text(""), "parsed", OPEN).also(|found| found.file.as_ref().unwrap().1.is_empty()),
        row("byte-order mark", Answer::text(format!("\u{feff}{RULES}")), "parsed", RULED),
        row(
            "UTF-16",
            Answer::status(200)
                .content("text/plain", RULES.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>()),
            "parsed",
            OPEN,
        ),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn codings_and_lengths() {
    let twice = || gzip(&gzip(RULES.as_bytes()));
    run(vec![
        // What is decoded is what is parsed: the inner gzip is bytes without a rule, as in Google's parser.
        row(
            "gzip in gzip, said once",
            Answer::status(200).content("text/plain", twice()).field("Content-Encoding", "gzip"),
            "parsed",
            OPEN,
        ),
        row(
            "gzip in gzip, said twice",
            Answer::status(200).content("text/plain", twice()).field("Content-Encoding", "gzip, gzip"),
            "parsed",
            RULED,
        ),
        row(
            "gzip that is none",
            Answer::text(RULES).field("Content-Encoding", "gzip"),
            "unreachable fetch.coding",
            CLOSED,
        ),
        row("unknown coding", Answer::text(RULES).field("Content-Encoding", "xyz"), "unreachable fetch.coding", CLOSED),
        row(
            "Content-Length too long",
            raw(&format!("HTTP/1.1 200 OK\nContent-Length: 100\n\n{RULES}")),
            "unreachable fetch.reset",
            CLOSED,
        ),
        // A message is as long as it says: what follows belongs to nobody, and the rule is read as far as it came.
        row(
            "Content-Length too short",
            raw(&format!("HTTP/1.1 200 OK\nContent-Length: {}\n\n{RULES}", RULES.replace('\n', "\r\n").len() - 2)),
            "parsed",
            RULED,
        ),
        row(
            "two Content-Lengths",
            raw(&format!("HTTP/1.1 200 OK\nContent-Length: 5\nContent-Length: 30\n\n{RULES}")),
            "unreachable fetch.protocol",
            CLOSED,
        ),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn statuses() {
    let file = |status: u16| Answer::text(RULES).with_status(status);
    run(vec![
        row("1xx only", raw("HTTP/1.1 103 Early Hints\nLink: </x>\n\n"), "unreachable fetch.reset", CLOSED),
        row(
            "600",
            raw(&format!("HTTP/1.1 600 Odd\nContent-Length: 29\n\n{RULES}")),
            "unreachable robots.unreachable",
            CLOSED,
        ),
        row("no HTTP", raw("SSH-2.0-OpenSSH\n"), "unreachable fetch.protocol", CLOSED),
        row("206", file(206), "unreachable robots.unreachable", CLOSED),
        row("204", Answer::status(204), "parsed", OPEN),
        row("203", file(203), "parsed", RULED),
        row("304 that nobody asked for", Answer::status(304), "unreachable robots.unreachable", CLOSED),
        row("400", file(400), "absent", OPEN),
        row("401", file(401), "absent", OPEN),
        row("403", file(403), "absent", OPEN),
        row("404 with rules in it", file(404), "absent", OPEN),
        row("429", file(429), "unreachable robots.unreachable", CLOSED),
        row("451", file(451), "absent", OPEN),
        row("500", file(500), "unreachable robots.unreachable", CLOSED),
        row("503 with rules in it", file(503), "unreachable robots.unreachable", CLOSED),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn redirects() {
    let to = |location: &str| Answer::status(302).field("Location", location);
    /// `/robots.txt` redirects `hops` times, then stands the file.
    fn chain(site: Site, hops: usize) -> Site {
        let hop = |n: usize| (format!("/r{n}"), Answer::redirect(302, Target::here(format!("/r{}", n + 1))));
        let site = (1..hops).map(hop).fold(site, |site, (path, answer)| site.page(path, answer));
        site.page(format!("/r{hops}"), Answer::text(RULES))
    }
    run(vec![
        row("to itself", to("/robots.txt"), "redirect_limit", OPEN)
            .also(|found| found.hops.len() == 1 && *last(found) == HopMeaning::NotFollowed(NotFollowed::Loop)),
        row("to the next one", Answer::redirect(301, Target::at(2, "/robots.txt")), "redirect_limit", OPEN)
            .also(|found| found.hops.len() == 2 && *last(found) == HopMeaning::NotFollowed(NotFollowed::Loop)),
        row("and back", Answer::redirect(301, Target::at(1, "/robots.txt")), "redirect_limit", OPEN),
        row("five hops", to("/r1"), "parsed", RULED).site(|site| chain(site, 5)).also(|found| {
            found.hops.len() == 6 && found.life.copy().unwrap().final_url.as_ref().unwrap().as_str().ends_with("/r5")
        }),
        row("six hops", to("/r1"), "redirect_limit", OPEN)
            .site(|site| chain(site, 6))
            .also(|found| found.hops.len() == 6 && *last(found) == HopMeaning::NotFollowed(NotFollowed::TooMany)),
        row("to file:", to("file:///etc/passwd"), "redirect_limit", OPEN)
            .also(|found| *last(found) == HopMeaning::NotFollowed(NotFollowed::NoTarget)),
        row("to mailto:", to("mailto:x@y.z"), "redirect_limit", OPEN),
        row("to nowhere", Answer::status(302), "redirect_limit", OPEN),
        row("to nonsense", to("http://["), "redirect_limit", OPEN),
        row("300", Answer::text(RULES).with_status(300), "redirect_limit", OPEN),
        row("to a private address", to("http://10.0.0.1/robots.txt"), "unreachable address.private", CLOSED).also(
            |found| matches!(last(found), HopMeaning::NotAsked(refused) if refused.reason == Reason::AddressPrivate),
        ),
        row("to the metadata service", to("http://169.254.169.254/"), "unreachable address.private", CLOSED),
        row("to a name that does not exist", to("http://nothing.invalid/"), "unreachable fetch.dns", CLOSED),
        row("to a 404", to("/gone"), "absent", OPEN),
        row("to a 503", to("/busy"), "unreachable robots.unreachable", CLOSED)
            .site(|site| site.page("/busy", Answer::status(503))),
        row("to the front page", to("/"), "parsed", OPEN).site(|site| site.page("/", Answer::page(["/x"]))),
    ])
    .await;
}

/// How long the answer lives, in seconds.
fn lives(found: &FetchedRobots) -> u64 {
    let (fetched, _, expires) = found.life.fetched().unwrap();
    expires.since(fetched).as_secs()
}

/// How long until the next try, in seconds.
fn waits(found: &FetchedRobots) -> u64 {
    found.life.failing().unwrap().next_try.since(found.at).as_secs() + 1
}

#[tokio::test(flavor = "multi_thread")]
async fn lives_and_waits() {
    const DAY: u64 = 24 * 3600;
    let cached = |control: &str| Answer::text(RULES).field("Cache-Control", control);
    let file = |name, answer, also| row(name, answer, "parsed", RULED).also(also);
    let busy = |name, answer, also| row(name, answer, "unreachable robots.unreachable", CLOSED).also(also);
    let own = |found: &FetchedRobots| (60..=73).contains(&waits(found));
    run(vec![
        file("nothing said", Answer::text(RULES), |found| lives(found) == DAY),
        file("max-age of 10 years", cached("max-age=315360000"), |found| lives(found) == DAY),
        file("max-age of an hour", cached("public, max-age=\"3600\""), |found| lives(found) == 3600),
        file("max-age beyond all numbers", cached("max-age=99999999999999999999999"), |found| lives(found) == DAY),
        file("negative max-age", cached("max-age=-1"), |found| lives(found) == DAY),
        file("garbage max-age", cached("max-age=soon"), |found| lives(found) == DAY),
        file("max-age=0", cached("max-age=0"), |found| lives(found) == 300),
        file("no-store", cached("no-store, max-age=86400"), |found| lives(found) == 300),
        file("Age above max-age", cached("max-age=3600").field("Age", "7200"), |found| {
            lives(found) == 300 && found.max_age == Some(Duration::ZERO)
        }),
        file("Age below max-age", cached("max-age=3600").field("Age", "600"), |found| lives(found) == 3000),
        file("garbage Age", cached("max-age=3600").field("Age", "old"), |found| lives(found) == 3600),
        busy("Retry-After in seconds", Answer::retry_after(503, 120), |found| (119..=121).contains(&waits(found))),
        busy("Retry-After of 10 days", Answer::retry_after(503, 10 * DAY), |found| {
            (DAY - 1..=DAY + 1).contains(&waits(found))
        }),
        busy("Retry-After garbage", Answer::retry_text(503, "abc"), own),
        busy("Retry-After in the past", Answer::retry_text(503, "Sun, 06 Nov 1994 08:49:37 GMT"), own),
        busy("Retry-After as a date", Answer::retry_at(429, Duration::from_secs(200)), |found| {
            (199..=201).contains(&waits(found))
        }),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn crawl_delays() {
    let file = |name, value: &str, pages, also| {
        row(name, Answer::text(format!("{RULES}Crawl-delay: {value}\n")), "parsed", pages).also(also)
    };
    run(vec![
        file("1e309", "1e309", RULED, |found| found.life.asked_pace().delay().is_none()),
        file("-5", "-5", RULED, |found| found.life.asked_pace().delay().is_none()),
        file("0", "0", RULED, |found| found.life.asked_pace().delay() == Some(Duration::ZERO)),
        file("10s", "10s", RULED, |found| found.life.asked_pace().delay() == Some(Duration::from_secs(10))),
        file("300", "300", RULED, |found| found.life.asked_pace().delay() == Some(Duration::from_secs(300))),
        file("4000", "4000", PARKED, |found| found.life.asked_pace().delay() == Some(Duration::from_secs(4000))),
        file("400 digits", &"9".repeat(400), PARKED, |found| {
            found.life.asked_pace().delay() > Some(Duration::from_secs(86_400))
        }),
    ])
    .await;
}
