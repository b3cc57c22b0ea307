//! robots.txt: failure is never permission, and no page leaves before it is known.

use std::time::Duration;

use comity::policy::Reason;
use comity_testweb::{Answer, Site, Target};

use crate::support::{asked, assert_clean, crawler, requests, run, web};

const RULES: &str = "User-agent: *\nDisallow: /p\n";

fn site(name: &str) -> Site {
    Site::new()
        .name(name)
        .page("/", Answer::page(["/p", "/q"]))
        .page("/p", Answer::text("p"))
        .page("/q", Answer::text("q"))
}

#[tokio::test(start_paused = true)]
async fn a_5xx_closes_its_body_is_ignored_and_recovery_brings_the_rules() {
    let busy = || Answer::text("User-agent: *\nAllow: /\n").with_status(503);
    let (net, observer) = web([site("a.test").robots_answers([busy(), busy(), Answer::text(RULES)])]);
    let summary = run(crawler(&net, &["http://a.test/"])).await;
    assert_eq!(requests(&observer)[..3], ["http://a.test/robots.txt"; 3].map(String::from));
    assert_eq!((asked(&observer, "http://a.test/q"), asked(&observer, "http://a.test/p")), (1, 0));
    assert_eq!(summary.refused.get(&Reason::RobotsDisallow), Some(&1));
    assert!(summary.elapsed >= Duration::from_secs(180), "one minute, then two");
    assert_clean(&observer);
}

#[tokio::test(start_paused = true)]
async fn whatever_is_not_an_answer_keeps_every_page_closed() {
    let rows = [
        ("never answers", Answer::silence()),
        ("reset", Answer::reset()),
        ("500", Answer::status(500)),
        ("429", Answer::retry_after(429, 30)),
        ("no HTTP", Answer::raw(&b"SSH-2.0-OpenSSH\r\n"[..])),
        ("cut body", Answer::text("User-agent: *\nAllow: /\n").cut_after(10)),
        ("unknown coding", Answer::text(RULES).field("Content-Encoding", "xyz")),
        ("gzip that is none", Answer::text(RULES).field("Content-Encoding", "gzip")),
        ("206", Answer::text("User-agent: *\nAllow: /\n").with_status(206)),
    ];
    for (name, answer) in rows {
        let (net, observer) = web([site("a.test").robots_answer(answer)]);
        let summary = run(crawler(&net, &["http://a.test/"])).await;
        assert!(requests(&observer).iter().all(|seen| seen.ends_with("/robots.txt")), "{name}");
        assert_eq!((summary.pages(), summary.left, summary.exit_code()), (0, 1, 4), "{name}");
        let why = summary.why_nothing().unwrap();
        assert!(why.contains("robots.txt is unreachable"), "{name}: {why}");
        assert!(summary.robots >= 4, "{name}: tried again within the linger time, {} times", summary.robots);
    }
}

#[tokio::test(start_paused = true)]
async fn absent_files_and_odd_ones_are_read_as_the_rules_say() {
    let rows = [
        ("404", Answer::status(404), 1),
        ("403", Answer::status(403), 1),
        ("410", Answer::status(410), 1),
        ("empty", Answer::text(""), 1),
        ("204", Answer::status(204), 1),
        ("redirect to mail", Answer::status(302).field("Location", "mailto:x@y.z"), 1),
        ("redirect to nowhere", Answer::status(302), 1),
        ("to itself", Answer::redirect(301, "/robots.txt"), 1),
        ("html", Answer::status(200).content("text/html", "<html>User-agent: *\nDisallow: /</html>"), 1),
        ("403 with a broken coding", Answer::text("plain").with_status(403).field("Content-Encoding", "gzip"), 1),
        ("byte-order mark", Answer::text("\u{feff}User-agent: *\nDisallow: /p\n"), 0),
        ("endless", Answer::text(format!("{RULES}{}", "# more\n".repeat(5 << 20))), 0),
    ];
    for (name, answer, fetched) in rows {
        let (net, observer) = web([site("a.test").robots_answer(answer)]);
        let summary = run(crawler(&net, &["http://a.test/"])).await;
        assert_eq!(asked(&observer, "http://a.test/p"), fetched, "{name}");
        assert_eq!(asked(&observer, "http://a.test/q"), 1, "{name}");
        assert_eq!(summary.left, 0, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn five_redirects_of_robots_txt_are_followed_and_the_sixth_means_absent() {
    for (hops, fetched) in [(5_usize, 0), (6, 1)] {
        let hop = |n: usize| (format!("/r{n}"), Answer::redirect(302, Target::here(format!("/r{}", n + 1))));
        let start = site("a.test").robots_answer(Answer::redirect(302, "/r1"));
        let site = (1..hops).map(hop).fold(start, |site, (path, answer)| site.page(path, answer));
        let (net, observer) = web([site.page(format!("/r{hops}"), Answer::text(RULES))]);
        run(crawler(&net, &["http://a.test/"])).await;
        assert_eq!(asked(&observer, "http://a.test/p"), fetched, "{hops} redirects");
        assert!(requests(&observer).iter().filter(|seen| seen.contains("/r")).count() <= 6, "{hops} redirects");
    }
}

#[tokio::test(start_paused = true)]
async fn robots_that_redirects_into_a_private_address_stays_closed() {
    let (net, observer) = web([
        site("a.test")
            .address("203.0.114.7".parse().unwrap())
            .robots_answer(Answer::redirect(302, Target::at(1, "/robots.txt"))),
        site("inside.test").address("192.168.0.1".parse().unwrap()).robots(""),
    ]);
    let summary = run(crawler(&net, &["http://a.test/"])).await;
    assert!(requests(&observer).iter().all(|seen| seen == "http://a.test/robots.txt"));
    assert_eq!((summary.pages(), summary.left), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn schemes_and_ports_share_nothing() {
    let (net, observer) =
        web([site("a.test").robots("User-agent: *\nDisallow: /\n"), site("www.a.test").robots(RULES)]);
    let summary = run(crawler(&net, &["http://a.test/q", "http://www.a.test/q"])).await;
    assert_eq!((asked(&observer, "http://a.test/q"), asked(&observer, "http://www.a.test/q")), (0, 1));
    assert_eq!(summary.robots, 2);
}
