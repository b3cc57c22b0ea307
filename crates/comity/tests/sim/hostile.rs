//! Hostile answers on the sites of the web, and hostile sites beside it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

use comity::UrlEnding;
use comity::policy::Reason;
use comity_testweb::hostile::{Asked, AskedFor, Hostile, Scenario};
use comity_testweb::{Answer, Coding};

use crate::ends;
use crate::plan::{Dice, Plan};
use crate::run::Run;
use crate::stage::Told;

/// Certificates are made once; each run has servers with a log of their own.
static SERVERS: LazyLock<Hostile> = LazyLock::new(|| Hostile::new().unwrap());

/// Servers that misbehave to whoever comes for a page.
pub(crate) fn servers() -> Hostile {
    SERVERS.without_robots()
}

/// The root that signed their certificates, in a file.
pub(crate) fn root() -> PathBuf {
    static FILE: LazyLock<tempfile::NamedTempFile> = LazyLock::new(|| {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), SERVERS.root_pem()).unwrap();
        file
    });
    FILE.path().to_owned()
}

/// None, or some sites of the hostile web.
pub(crate) fn drawn(dice: &Dice) -> Vec<Scenario> {
    let mut drawn: Vec<Scenario> = (0..dice.below(5)).map(|_| dice.pick(Scenario::ALL)).collect();
    drawn.sort_unstable();
    drawn.dedup();
    drawn
}

/// Two pages of each: the first is no reason to treat the second otherwise.
pub(crate) fn seeds(scenario: Scenario) -> [String; 2] {
    let page = ends::url(scenario, "");
    let next = page.replace("/page", "/next");
    [page, next]
}

/// Largest body of the simulated crawls: smaller than what is sent here without end.
pub(crate) const MAX_BODY: u64 = 1 << 20;

/// One answer of a kind that a fetcher has to survive.
pub(crate) fn answer(dice: &Dice) -> Answer {
    const OK: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n";
    let raw = |rest: String| Answer::raw(format!("{OK}{rest}"));
    match dice.below(19) {
        0 => raw("Content-Length: 9\r\n\r\nhello".to_owned()),
        1 => raw("Content-Length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil".to_owned()),
        2 => raw("Content-Length: 5\r\nContent-Length: 9\r\n\r\nhello".to_owned()),
        3 => raw("Content-Length: -5\r\n\r\nhello".to_owned()),
        4 => raw("Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nsurprise\r\n".to_owned()),
        5 => raw("Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n100000000000000000\r\nx".to_owned()),
        6 => raw("Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n".to_owned()),
        7 => raw(format!("{}\r\n", "X-Field: value\r\n".repeat(2000))),
        8 => raw(format!("X-Field: {}\r\n\r\n", "v".repeat(100_000))),
        9 => raw("Content-Length: 5\r\n\r\nhello".to_owned()).trickle(1, dice.millis(500, 3000)),
        10 => raw("X-Field: one\r\n two\r\nContent-Length: 5\r\n\r\nhello".to_owned()),
        11 => raw("X-Field: a\r\rSet-Cookie: b\0c\r\nContent-Length: 5\r\n\r\nhello".to_owned()),
        12 => Answer::text("slow".repeat(200)).trickle(1, dice.millis(300, 3000)),
        13 => Answer::text("plain").field("Content-Encoding", dice.pick(&["gzip", "br", "zstd", "enigma"])),
        14 => bomb(dice.pick(&[Coding::Gzip, Coding::Deflate, Coding::Zstd])),
        15 => Answer::page([""; 0]).bytes(3 << 20).chunked(),
        16 => Answer::text("y".repeat(20_000)).cut_after(dice.between(200, 15_000)).delay(Duration::from_secs(2)),
        _ => Answer::redirect(dice.pick(&[301, 302, 303, 307, 308]), dice.pick(&INSIDE)),
    }
}

/// Where no redirect may lead.
const INSIDE: [&str; 10] = [
    "http://127.0.0.1/",
    "http://2130706433/admin",
    "http://0x7f.0.0.01:8080/",
    "http://0177.0.0.1/",
    "http://127.1/",
    "http://[::1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://169.254.169.254/latest/meta-data/",
    "file:///etc/passwd",
    "javascript:alert(1)",
];

/// 8 MiB of nothing, small on the wire.
fn bomb(coding: Coding) -> Answer {
    static BOMBS: LazyLock<BTreeMap<&str, Vec<u8>>> = LazyLock::new(|| {
        let coded = |coding: Coding| (coding.token().unwrap(), coding.encode(&vec![0; 8 << 20]).unwrap().to_vec());
        [Coding::Gzip, Coding::Deflate, Coding::Zstd].map(coded).into()
    });
    let token = coding.token().unwrap();
    Answer::text("").content("text/html", BOMBS[token].clone()).field("Content-Encoding", token)
}

/// The laws that hostile sites break, or lead the crawl to break.
pub(crate) fn broken(run: &Run) -> Vec<String> {
    let mut broken = early(run);
    if run.inside > 0 {
        broken.push(format!("{} connections into the own network", run.inside));
    }
    let told = run.outcomes.iter().filter_map(|told| wrong(run, told).map(|what| format!("{}: {what}", told.url)));
    broken.extend(told);
    broken
}

/// Hostile sites have their delays as any site, and are asked for robots.txt first.
fn early(run: &Run) -> Vec<String> {
    let mut broken = Vec::new();
    let mut last: BTreeMap<(Scenario, &str), &Asked> = BTreeMap::new();
    for asked in &run.asked {
        let (name, request) = (asked.scenario.name(), asked.request.as_ref());
        let (target, host) = (request.map(|asked| asked.target.as_str()), request.map_or("", |asked| &asked.host));
        match last.insert((asked.scenario, host), asked) {
            None if target.is_some_and(|target| target != "/robots.txt") => {
                broken.push(format!("{name}: asked for {target:?} before robots.txt"));
            }
            Some(before) if asked.at - before.at < run.settings.delay => {
                broken.push(format!("{name}: {target:?} came {:?} after the last request", asked.at - before.at));
            }
            _ => {}
        }
    }
    broken
}

/// What is wrong with an outcome of a hostile site, or of a place to which one has led.
fn wrong(run: &Run, told: &Told) -> Option<String> {
    let Told { url, ending, attempt, .. } = told;
    let host = url.split('/').nth(2).unwrap_or_default();
    let inner = host.starts_with(|c: char| c.is_ascii_digit() || c == '[') || host.starts_with("inside.");
    if inner {
        let refused = *ending == UrlEnding::Refused(Reason::AddressPrivate);
        return (!refused).then(|| format!("{ending} at an inner address"));
    }
    let scenario = Scenario::ALL.iter().copied().find(|scenario| scenario.host() == host)?;
    let end = ends::expected(scenario);
    let right = match (end.status, end.fault) {
        (Some(302), _) => *ending == UrlEnding::Redirected(302),
        // Nobody saw what the page says of its use: it is kept only where no page could refuse it.
        (Some(_), Some(Reason::FetchCoding)) if run.settings.purpose != "search" => {
            *ending == UrlEnding::Withheld(Reason::FetchCoding) && !run.pages.contains_key(url)
        }
        (Some(status), fault) => *ending == UrlEnding::Fetched(status) && run.pages.get(url) == Some(&fault),
        (None, Some(fault)) => *ending == UrlEnding::Failed(fault),
        (None, None) => false,
    } || (run.ordered_panics > 0
        && matches!(ending, UrlEnding::Failed(Reason::CrawlHandler | Reason::CrawlPanic)));
    let path = format!("/{}", url.splitn(4, '/').nth(3).unwrap_or_default());
    let is_it = |asked: &AskedFor| asked.host == host && asked.target == path;
    let of_it = run.asked.iter().filter(|asked| asked.scenario == scenario);
    // By HTTP/2 the paths are not known: both pages may be meant.
    let times = of_it.filter(|asked| asked.request.as_ref().is_none_or(is_it)).count();
    // Requests in vain: broken off, or a panic where the answer was read.
    let breaks = run.breaks().count();
    let asked_in_order = (times >= 1 || run.ordered_panics > 0)
        && (run.asked_by_frames(scenario) || times <= *attempt as usize + breaks);
    (!right || !asked_in_order).then(|| {
        format!("told {ending} at attempt {attempt}, fault {:?}, asked {times} times; {end:?}", run.pages.get(url))
    })
}

#[test]
fn every_hostile_site_ends_as_it_should_in_a_crawl() {
    for purpose in ["search", "ai_input"] {
        let mut plan = Plan::of_hostile_sites(Scenario::ALL);
        plan.settings.purpose = purpose;
        ends_as_it_should(&plan);
    }
}

fn ends_as_it_should(plan: &Plan) {
    let run = Run::of(plan);
    let summary = run.summary().unwrap();
    eprintln!("{summary}");
    assert_eq!(crate::laws::broken(&run), Vec::<String>::new());
    // Whoever can be asked for robots.txt is asked for both pages; the others are left, their robots.txt unreachable.
    let told: Vec<&str> = run.outcomes.iter().map(|told| told.url.as_str()).collect();
    for &scenario in Scenario::ALL {
        let ended = seeds(scenario).iter().filter(|url| told.contains(&url.as_str())).count();
        assert_eq!(ended, if scenario.is_before_request() { 0 } else { 2 }, "{}", scenario.name());
    }
}
