//! Sitemaps and feeds: found, judged like pages, read, and obeyed only where they may speak.

use std::io::Write as _;

use comity::policy::Reason;
use comity_testweb::{Answer, Site, Target};

use crate::support::{asked, assert_clean, crawler, requests, run, web};

fn xml(body: impl Into<String>) -> Answer {
    Answer::status(200).content("application/xml", body.into())
}

fn urlset(urls: &[&str]) -> Answer {
    let entries: String = urls.iter().map(|url| format!("<url><loc>{url}</loc></url>")).collect();
    xml(format!("<urlset>{entries}</urlset>"))
}

fn index(sitemaps: &[&str]) -> Answer {
    let entries: String = sitemaps.iter().map(|url| format!("<sitemap><loc>{url}</loc></sitemap>")).collect();
    xml(format!("<sitemapindex>{entries}</sitemapindex>"))
}

/// A site with a front page that links nowhere, and this robots.txt.
fn site(name: &str, robots: &str) -> Site {
    Site::new().name(name).robots(robots).page("/", Answer::page::<&str>([]))
}

fn targets(observer: &comity_testweb::Observer) -> Vec<String> {
    requests(observer).into_iter().map(|url| url.replace("http://a.test", "")).collect()
}

#[tokio::test(start_paused = true)]
async fn what_robots_txt_names_is_fetched_with_a_permit_and_what_it_refuses_is_not_asked() {
    let robots =
        "User-agent: *\nCrawl-delay: 2\nDisallow: /private/\nSitemap: http://a.test/1.xml\nSitemap: /private/2.xml\n";
    let (net, observer) = web([site("a.test", robots)
        .page("/1.xml", urlset(&["http://a.test/x", "/private/y", "http://a.test/"]))
        .page("/private/2.xml", urlset(&["http://a.test/no"]))
        .page("/x", Answer::text("x"))]);
    let summary = run(crawler(&net, &["http://a.test/"])).await;
    assert_eq!(targets(&observer), ["/robots.txt", "/", "/1.xml", "/x"]);
    assert_eq!(summary.refused.get(&Reason::RobotsDisallow), Some(&2), "the sitemap and the page, recorded");
    assert_eq!((summary.pages(), summary.sitemaps, summary.listed), (2, 1, 3));
    assert_eq!(summary.queued, summary.pages() + summary.sitemaps + summary.refusals());
    assert_eq!(summary.left, 0);
    assert_clean(&observer);
}

#[tokio::test(start_paused = true)]
async fn a_withheld_sitemap_is_no_page() {
    let (net, observer) = web([site("a.test", "User-agent: *\nAllow: /\nSitemap: /s.xml\n")
        .page("/s.xml", urlset(&["http://a.test/x"]).field("X-Robots-Tag", "noai"))
        .page("/x", Answer::text("x"))]);
    let train = |file: &mut comity::config::ConfigFile| file.agent.purposes = Some(vec!["ai_train".to_owned()]);
    let summary = run(crawler(&net, &["http://a.test/"]).configure(train)).await;
    assert_eq!(asked(&observer, "http://a.test/s.xml"), 1);
    assert_eq!(asked(&observer, "http://a.test/x"), 0, "nothing of it is read");
    assert_eq!((summary.pages(), summary.sitemaps, summary.withheld.len()), (1, 1, 0));
    assert_eq!(summary.sitemaps_damaged, 1, "said to have listed nothing");
    assert_eq!(summary.queued, summary.pages() + summary.sitemaps);
}

#[tokio::test(start_paused = true)]
async fn a_sitemap_speaks_for_its_own_host_and_those_that_name_it() {
    let (net, observer) = web([
        site("a.test", "Sitemap: http://cdn.test/a.xml\n").page("/x", Answer::text("x")),
        site("b.test", "").page("/y", Answer::text("y")),
        site("cdn.test", "User-agent: *\nDisallow: /closed\nSitemap: http://cdn.test/own.xml\n").page(
            "/a.xml",
            urlset(&["http://a.test/x", "http://b.test/y", "http://cdn.test/z", "http://cdn.test/closed"]),
        ),
    ]);
    let summary = run(crawler(&net, &["http://a.test/"])).await;
    assert_eq!(asked(&observer, "http://a.test/x"), 1);
    assert_eq!(asked(&observer, "http://cdn.test/robots.txt"), 1, "the sitemap's host is asked first");
    let unasked = ["http://cdn.test/own.xml", "http://cdn.test/z", "http://b.test/y", "http://b.test/robots.txt"];
    for url in unasked {
        assert_eq!(asked(&observer, url), 0, "{url}");
    }
    let left = |reason| summary.links_left.get(&reason).copied().unwrap_or(0);
    assert_eq!((left(Reason::UrlSitemapHost), left(Reason::UrlScope)), (1, 2));
    assert_clean(&observer);

    let any = |file: &mut comity::config::ConfigFile| file.crawl.scope = Some("any".into());
    let (net, observer) = web([
        site("a.test", "Sitemap: http://b.test/a.xml\n").page("/x", Answer::text("x")),
        site("b.test", "User-agent: *\nDisallow: /a.xml\n").page("/a.xml", urlset(&["http://a.test/x"])),
    ]);
    run(crawler(&net, &["http://a.test/"]).configure(any)).await;
    assert_eq!((asked(&observer, "http://b.test/a.xml"), asked(&observer, "http://a.test/x")), (0, 0));
    assert_clean(&observer);
}

#[tokio::test(start_paused = true)]
async fn loops_of_indexes_end_and_depth_is_bounded() {
    let (net, observer) = web([site("a.test", "Sitemap: /0.xml\n")
        .page("/0.xml", index(&["/0.xml", "/1.xml", "/1.xml"]))
        .page("/1.xml", index(&["/0.xml", "/2.xml"]))
        .page("/2.xml", index(&["/1.xml", "/3.xml"]))
        .page("/3.xml", index(&["/4.xml", "/2.xml"]))
        .page("/4.xml", urlset(&["/too-deep"]))]);
    let summary = run(crawler(&net, &["http://a.test/"])).await;
    assert_eq!(targets(&observer), ["/robots.txt", "/", "/0.xml", "/1.xml", "/2.xml", "/3.xml"]);
    assert!(summary.links_left.contains_key(&Reason::UrlSitemapDepth));
    assert_clean(&observer);
}

#[tokio::test(start_paused = true)]
async fn a_sitemap_that_comes_damaged_is_read_at_another_try() {
    let whole = "<urlset><url><loc>/x</loc></url><url><loc>/y</loc></url></urlset>";
    let (net, observer) = web([site("a.test", "Sitemap: /s.xml\n")
        .page_answers("/s.xml", [xml(&whole[..50]), xml(whole)])
        .page("/x", Answer::text("x"))
        .page("/y", Answer::text("y"))]);
    let summary = run(crawler(&net, &["http://a.test/"])).await;
    assert_eq!(targets(&observer), ["/robots.txt", "/", "/s.xml", "/s.xml", "/x", "/y"]);
    assert_eq!((summary.retries, summary.sitemaps, summary.sitemaps_damaged), (1, 1, 0));
    assert_clean(&observer);

    let (net, observer) =
        web([site("a.test", "Sitemap: /s.xml\n").page("/s.xml", xml(&whole[..50])).page("/x", Answer::text("x"))]);
    let summary = run(crawler(&net, &["http://a.test/"])).await;
    assert_eq!((asked(&observer, "http://a.test/s.xml"), asked(&observer, "http://a.test/x")), (3, 1));
    assert_eq!((summary.sitemaps, summary.sitemaps_damaged), (1, 1));
    assert_clean(&observer);
}

#[tokio::test(start_paused = true)]
async fn the_usual_place_is_an_option_and_off_asks_for_nothing() {
    let rows = [
        ("robots", "Sitemap: /s.xml\n", vec!["/s.xml"]),
        ("robots", "", vec![]),
        ("robots+default", "Sitemap: /s.xml\n", vec!["/s.xml"]),
        ("robots+default", "", vec!["/sitemap.xml"]),
        ("off", "Sitemap: /s.xml\n", vec![]),
    ];
    for (mode, robots, wanted) in rows {
        let (net, observer) =
            web([site("a.test", robots).page("/s.xml", urlset(&[])).page("/sitemap.xml", urlset(&[]))]);
        run(crawler(&net, &["http://a.test/"]).configure(|file| file.crawl.sitemaps = Some(mode.into()))).await;
        let wanted = [vec!["/robots.txt", "/"], wanted].concat();
        assert_eq!(targets(&observer), wanted, "{mode} {robots:?}");
    }
    // Without a robots.txt, too.
    let (net, observer) =
        web([Site::new().name("a.test").page("/", Answer::text("x")).page("/sitemap.xml", urlset(&["/x"]))]);
    run(crawler(&net, &["http://a.test/"]).configure(|file| file.crawl.sitemaps = Some("robots+default".into()))).await;
    assert_eq!(targets(&observer), ["/robots.txt", "/", "/sitemap.xml", "/x"]);
}

#[tokio::test(start_paused = true)]
async fn priority_and_date_say_who_comes_first() {
    // The crawl begins on 2026-11-30.
    let body = "<urlset><url><loc>/low</loc><priority>0.1</priority></url><url><loc>/old</loc><lastmod>2020-01-01</lastmod></url>\
        <url><loc>/usual</loc></url><url><loc>/newer</loc><lastmod>2026-10-01</lastmod></url>\
        <url><loc>/high</loc><priority>0.9</priority></url><url><loc>/fresh</loc><lastmod>2026-11-29</lastmod><priority>0.1</priority></url>\
        <url><loc>/future</loc><lastmod>2099-01-01</lastmod></url></urlset>";
    let (net, observer) =
        web([site("a.test", "Sitemap: /s.xml\n").page("/s.xml", xml(body)).otherwise(|_| Answer::text("x"))]);
    run(crawler(&net, &["http://a.test/"])).await;
    let order = targets(&observer);
    assert_eq!(order[3..], ["/fresh", "/high", "/future", "/newer", "/old", "/usual", "/low"]);
}

#[tokio::test(start_paused = true)]
async fn feeds_that_pages_link_to_are_read_and_pages_about_sitemaps_are_pages() {
    let about = "<html><code>&lt;urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'&gt;</code>\
        <a href=/1>1</a><a href=/2>2</a><a href=/feed>3</a><link rel=alternate type='application/rss+xml' href=/feed></html>";
    let feed = "<rss><channel><link>/home</link><item><link>/item</link></item><item><link>http://b.test/no</link></item></channel></rss>";
    let (net, observer) = web([
        Site::new()
            .name("a.test")
            .page("/", Answer::status(200).content("text/html", about))
            .page("/feed", Answer::status(200).content("application/rss+xml", feed))
            .otherwise(|_| Answer::text("x")),
        site("b.test", ""),
    ]);
    let summary = run(crawler(&net, &["http://a.test/"]).configure(|file| file.crawl.scope = Some("any".into()))).await;
    let mut seen = targets(&observer);
    seen.sort();
    assert_eq!(seen, ["/", "/1", "/2", "/feed", "/item", "/robots.txt"]);
    assert_eq!((summary.pages(), summary.sitemaps, summary.listed), (5, 0, 2));
    assert_eq!(summary.links_left.get(&Reason::UrlSitemapHost), Some(&1));
}

#[tokio::test(start_paused = true)]
async fn a_page_that_a_robots_txt_names_as_its_sitemap_stays_a_page_and_a_sitemap_served_as_html_stays_one() {
    let robots = "Sitemap: http://a.test/map\nSitemap: http://a.test/real\nSitemap: http://b.test/theirs\n";
    let list = "<urlset><url><loc>/listed</loc></url></urlset>";
    let (net, observer) = web([
        site("a.test", robots)
            .page("/map", Answer::page(["/from-map"]))
            .page("/real", Answer::status(200).content("text/html; charset=utf-8", list))
            .otherwise(|_| Answer::text("x")),
        site("b.test", "").page("/theirs", Answer::page(["http://a.test/from-b"])),
    ]);
    let summary = run(crawler(&net, &["http://a.test/"])).await;
    let mut seen = targets(&observer);
    seen.sort();
    // The page of b.test is outside of the crawl: it was asked for as a sitemap, and is none.
    let wanted = [
        "/",
        "/from-map",
        "/listed",
        "/map",
        "/real",
        "/robots.txt",
        "http://b.test/robots.txt",
        "http://b.test/theirs",
    ];
    assert_eq!(seen, wanted);
    assert_eq!((summary.pages(), summary.sitemaps), (4, 2));
    assert_clean(&observer);
}

#[tokio::test(start_paused = true)]
async fn packed_redirected_and_listed_as_text() {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(b"http://a.test/x\nhttp://a.test/y\n").unwrap();
    let packed = packer.finish().unwrap();
    let (net, observer) = web([
        site("a.test", "Sitemap: /go\nSitemap: /away\n")
            .page("/go", Answer::redirect(301, "/list.txt.gz"))
            .page("/list.txt.gz", Answer::status(200).content("application/octet-stream", packed))
            .page("/away", Answer::redirect(302, Target::at(1, "/a.xml")))
            .otherwise(|_| Answer::text("x")),
        site("cdn.test", "").page("/a.xml", urlset(&["http://a.test/z"])),
    ]);
    let summary = run(crawler(&net, &["http://a.test/"])).await;
    for page in ["x", "y", "z"] {
        assert_eq!(asked(&observer, &format!("http://a.test/{page}")), 1, "{page}");
    }
    assert_eq!((summary.pages(), summary.sitemaps, summary.redirects), (4, 2, 2));
    assert_clean(&observer);
}

#[tokio::test(start_paused = true)]
async fn budgets_exclusions_and_depth_hold_for_sitemaps_too() {
    let many: Vec<String> = (0..20).map(|n| format!("/{n}.xml")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let (net, observer) = web([site("a.test", "Sitemap: /i.xml\nSitemap: /not/this.xml\n")
        .page("/i.xml", index(&many))
        .otherwise(|_| urlset(&["/page"]))]);
    let summary = run(crawler(&net, &["http://a.test/"]).configure(|file| {
        file.crawl.max_sitemaps = Some(5);
        file.crawl.max_depth = Some(0);
        file.crawl.exclude = Some(vec!["/not/".into()]);
    }))
    .await;
    // The excluded one was counted when it was named.
    assert_eq!(targets(&observer), ["/robots.txt", "/", "/i.xml", "/0.xml", "/1.xml", "/2.xml"]);
    let left = |reason| summary.links_left.get(&reason).copied().unwrap_or(0);
    assert_eq!((left(Reason::UrlBudgetSitemaps), left(Reason::UrlScope), left(Reason::UrlDepth)), (17, 1, 3));
}

/// What a process learnt of a sitemap that redirects to another host, the next one knows too: the queue has it.
#[tokio::test(start_paused = true)]
async fn a_redirected_sitemap_speaks_for_whom_it_spoke_in_the_next_process_too() {
    let rows = [
        // By whom it is named and where it redirects from; what it lists, and whether that is taken.
        ("http://a.test/s.xml", "http://a.test/x", true),
        ("http://cdn.test/s.xml", "http://a.test/x", true),
        ("http://a.test/index.xml", "http://a.test/x", true),
        ("http://a.test/s.xml", "http://b.test/y", false),
    ];
    for (named, listed, is_taken) in rows {
        let moved = || Answer::redirect(302, "http://far.test/s.xml");
        let (net, observer) = web([
            site("a.test", &format!("Sitemap: {named}\n"))
                .page("/s.xml", moved())
                .page("/index.xml", index(&["/s.xml"]))
                .page("/x", Answer::text("x")),
            site("b.test", "").page("/y", Answer::text("y")),
            site("cdn.test", "").page("/s.xml", moved()),
            Site::new()
                .name("far.test")
                .robots_answers([Answer::status(503), Answer::text("")])
                .page("/s.xml", urlset(&[listed])),
        ]);
        // Nothing here is about the disk, which may be slow.
        let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let crawl = dir.path().join("d");
        let any = |file: &mut comity::config::ConfigFile| {
            file.crawl.scope = Some("any".into());
            file.crawl.linger = Some(comity::config::Span(std::time::Duration::from_secs(10)));
            file.archive.min_free = Some(comity::config::ByteSize(0));
        };
        let first = run(crawler(&net, &["http://a.test/"]).configure(any).dir(&crawl)).await;
        assert_eq!((first.left, asked(&observer, "http://far.test/s.xml")), (1, 0), "{named}: its host is closed");
        let long = |file: &mut comity::config::ConfigFile| {
            any(file);
            file.crawl.linger = Some(comity::config::Span(std::time::Duration::from_secs(7200)));
        };
        let next = run(crawler(&net, &["http://a.test/"]).configure(long).dir(&crawl)).await;
        assert_eq!((next.left, asked(&observer, "http://far.test/s.xml")), (0, 1), "{named}");
        assert_eq!(asked(&observer, listed), usize::from(is_taken), "{named}: {listed}");
    }
}
