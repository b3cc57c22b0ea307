//! Settings that bound a crawl: each acts where it says, from the configuration to the wire.

use std::sync::{Arc, Mutex};

use comity::config::{ByteSize, ConfigFile};
use comity::policy::{Reason, Truncation};
use comity_testweb::{Answer, Site};

use crate::support::{asked, assert_clean, crawler, run, web};

type Set = fn(&mut ConfigFile);

#[tokio::test(start_paused = true)]
async fn retries_and_redirects_are_as_many_as_are_set() {
    let rows: [(Set, usize, usize); 3] = [
        (|_| {}, 3, 1),
        (|file| file.crawl.retries = Some(0), 1, 1),
        (|file| file.crawl.max_redirects = Some(1), 3, 0),
    ];
    for (at, (set, tries, second)) in rows.into_iter().enumerate() {
        let (net, observer) = web([Site::new()
            .name("a.test")
            .page("/busy", Answer::text("later").with_status(503))
            .page("/from", Answer::redirect(302, "/over"))
            .page("/over", Answer::redirect(302, "/there"))
            .page("/there", Answer::text("there"))]);
        run(crawler(&net, &["http://a.test/busy", "http://a.test/from"]).configure(set)).await;
        assert_eq!(asked(&observer, "http://a.test/busy"), tries, "row {at}");
        assert_eq!((asked(&observer, "http://a.test/over"), asked(&observer, "http://a.test/there")), (1, second));
        assert_clean(&observer);
    }
}

#[tokio::test(start_paused = true)]
async fn links_are_held_to_the_shape_that_is_set() {
    let rows: [(Set, &str, Reason); 7] = [
        (|file| file.traps.path_segments = Some(2), "/a/b/c", Reason::UrlTrapSegments),
        (|file| file.traps.url_bytes = Some(25), "/longer-than-that", Reason::UrlLength),
        (|file| file.traps.repeated_segments = Some(1), "/a/b/a/b", Reason::UrlTrapRepeated),
        (|file| file.crawl.max_pages_per_origin = Some(1), "/second", Reason::UrlBudgetPages),
        (|file| file.crawl.max_bytes_per_origin = Some(ByteSize(1)), "/second", Reason::UrlBudgetBytes),
        (|file| file.crawl.max_pages_per_domain = Some(1), "/second", Reason::UrlBudgetDomain),
        // The page that links there is itself queued until its links are.
        (|file| file.crawl.max_pending_per_domain = Some(1), "/second", Reason::UrlBudgetPending),
    ];
    for (set, link, reason) in rows {
        for (is_set, expected) in [(false, (1, None)), (true, (0, Some(1)))] {
            let (net, observer) =
                web([Site::new().name("a.test").page("/", Answer::page([link])).page(link, Answer::text("x"))]);
            let builder = crawler(&net, &["http://a.test/"]);
            let summary = run(if is_set { builder.configure(set) } else { builder }).await;
            let found = (asked(&observer, &format!("http://a.test{link}")), summary.links_left.get(&reason).copied());
            assert_eq!(found, expected, "{link}, set: {is_set}");
            assert_clean(&observer);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn forms_and_urls_in_text_are_links_where_that_is_set() {
    let rows: [(Set, usize, usize); 3] = [
        (|_| {}, 0, 0),
        (|file| file.crawl.forms = Some(true), 1, 0),
        (|file| file.crawl.text_urls = Some(true), 0, 1),
    ];
    let html = "<form action=/find><input name=q></form><form method=post action=/no></form>\
        <p>All of it: http://a.test/all. Not http://a.test/closed, says robots.txt.";
    for (at, (set, form, text)) in rows.into_iter().enumerate() {
        let (net, observer) = web([Site::new()
            .name("a.test")
            .robots("User-agent: *\nDisallow: /closed")
            .page("/", Answer::text("").content("text/html", html))
            .page("/find", Answer::text("found"))
            .page("/all", Answer::text("all"))
            .page("/closed", Answer::text("closed"))
            .page("/no", Answer::text("no"))]);
        run(crawler(&net, &["http://a.test/"]).configure(set)).await;
        let seen = ["find", "all", "closed", "no"].map(|path| asked(&observer, &format!("http://a.test/{path}")));
        assert_eq!(seen, [form, text, 0, 0], "row {at}");
        assert_clean(&observer);
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_is_cut_where_it_is_set_and_robots_txt_is_not() {
    let rules = format!("User-agent: *\nDisallow: /no\n{}", "# more\n".repeat(1000));
    let (net, observer) = web([Site::new()
        .name("a.test")
        .robots(rules)
        .page("/", Answer::page(["/no"]).bytes(5000))
        .page("/no", Answer::text("no"))]);
    let cut = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&cut);
    let builder = crawler(&net, &["http://a.test/"])
        .configure(|file| file.fetch.max_body = Some(ByteSize(2000)))
        .each_page(move |page| seen.lock().unwrap().push((page.capture().truncated, page.capture().body.len())));
    let summary = run(builder).await;
    assert_eq!(*cut.lock().unwrap(), [(Some(Truncation::Length), 2000)]);
    assert_eq!((summary.refused.get(&Reason::RobotsDisallow), summary.pages()), (Some(&1), 1));
    assert_clean(&observer);
}

#[tokio::test(start_paused = true)]
async fn cookies_in_memory_go_back_to_their_site_and_their_values_into_no_request_that_is_written() {
    for (setting, expected) in [("off", None), ("memory", Some("s=secret-value"))] {
        let (net, observer) = web([Site::new()
            .name("a.test")
            .robots_answer(Answer::text("").field("Set-Cookie", "r=robots-value"))
            .page("/", Answer::page(["/next"]).field("Set-Cookie", "s=secret-value"))
            .page("/next", Answer::text("next"))]);
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("crawl");
        let builder = crawler(&net, &["http://a.test/"])
            .configure(|file| {
                file.fetch.cookies = Some(setting.to_owned());
                file.archive.min_free = Some(ByteSize(0));
            })
            .dir(&dir);
        run(builder).await;
        let sent = |path: &str| {
            let log = observer.log();
            let seen = log.iter().find(|seen| seen.request.target_text() == path).unwrap();
            seen.request.field("cookie").map(std::borrow::Cow::into_owned)
        };
        assert_eq!((sent("/robots.txt"), sent("/")), (None, None));
        assert_eq!(sent("/next").as_deref(), expected, "{setting}");
        let lines = comity_archive::read_records(&dir).unwrap().map(|line| line.unwrap().record().unwrap().unwrap());
        let requests: Vec<String> = lines.filter_map(|record| Some(format!("{:?}", record.request?.head))).collect();
        assert_eq!(requests.len(), 3, "{requests:?}");
        assert!(!requests.concat().contains("-value"), "{requests:?}");
        let withheld = requests.concat().matches("Cookie: (withheld)").count();
        assert_eq!(withheld, usize::from(expected.is_some()), "{requests:?}");
    }
}
