//! Redirects and links: each hop is decided anew, a refused target sees zero requests.

use comity_testweb::{Answer, Site, Target};

use crate::support::{asked, assert_clean, crawler, requests, run, web};

fn refusing_web() -> [Site; 4] {
    [
        Site::new()
            .name("a.test")
            .robots("User-agent: *\nDisallow: /private/\n")
            .page(
                "/",
                Answer::page(["/go", "/away", "/chain", "/private/link", "/ok"])
                    .link(Target::at(1, "/link"))
                    .link(Target::at(2, "/private/c"))
                    .link(Target::at(2, "/c"))
                    .link(Target::at(3, "/d")),
            )
            .page("/go", Answer::redirect(302, "/private/x"))
            .page("/away", Answer::redirect(302, Target::at(1, "/y")))
            .page("/chain", Answer::redirect(301, "/chain2"))
            .page("/chain2", Answer::redirect(308, "/private/end"))
            .page("/ok", Answer::text("ok")),
        Site::new().name("b.test").robots("User-agent: *\nDisallow: /\n"),
        // The rules found belong to c.test, though they stand at a.test; d.test's are b.test's.
        Site::new()
            .name("c.test")
            .robots_answer(Answer::redirect(301, Target::at(0, "/robots.txt")))
            .page("/c", Answer::text("c"))
            .page("/private/c", Answer::text("no")),
        Site::new().name("d.test").robots_answer(Answer::redirect(302, Target::at(1, "/robots.txt"))),
    ]
}

#[tokio::test(start_paused = true)]
async fn redirects_and_links_into_refused_paths_and_origins_see_zero_requests() {
    let (net, observer) = web(refusing_web());
    let summary = run(crawler(&net, &["http://a.test/"]).configure(|file| file.crawl.scope = Some("any".into()))).await;
    for refused in [
        "http://a.test/private/x",
        "http://a.test/private/end",
        "http://a.test/private/link",
        "http://b.test/y",
        "http://b.test/link",
        "http://c.test/private/c",
        "http://d.test/d",
    ] {
        assert_eq!(asked(&observer, refused), 0, "{refused}");
    }
    assert_eq!((asked(&observer, "http://c.test/c"), asked(&observer, "http://a.test/ok")), (1, 1));
    assert_eq!(summary.refusals(), 7);
    assert_eq!(summary.left, 0, "nothing deadlocks");
    assert_clean(&observer);
}

#[tokio::test(start_paused = true)]
async fn six_redirects_in_a_row_are_one_too_many_and_a_loop_ends() {
    let hop = |n: u32| (format!("/{n}"), Answer::redirect(302, Target::here(format!("/{}", n + 1))));
    let site = (0..10).map(hop).fold(Site::new().name("a.test"), |site, (path, answer)| site.page(path, answer));
    let site = site.page("/loop", Answer::redirect(302, "/loop2")).page("/loop2", Answer::redirect(302, "/loop"));
    let (net, observer) = web([site]);
    run(crawler(&net, &["http://a.test/0", "http://a.test/loop"])).await;
    assert_eq!(asked(&observer, "http://a.test/5"), 1, "five are followed");
    assert_eq!(asked(&observer, "http://a.test/6"), 0);
    assert_eq!(asked(&observer, "http://a.test/loop"), 1);
    assert_clean(&observer);
}

#[tokio::test(start_paused = true)]
async fn scope_is_that_of_the_seeds_after_their_own_redirects() {
    let (net, observer) = web([
        Site::new().name("a.test").page("/", Answer::redirect(301, Target::at(1, "/"))),
        Site::new()
            .name("www.a.test")
            .page("/", Answer::page(["/in"]).link(Target::at(2, "/out")))
            .page("/in", Answer::text("in")),
        Site::new().name("other.test").page("/out", Answer::text("out")),
    ]);
    let summary = run(crawler(&net, &["http://a.test/"])).await;
    assert_eq!(asked(&observer, "http://www.a.test/in"), 1);
    assert!(requests(&observer).iter().all(|seen| !seen.starts_with("http://other.test")), "not even its robots.txt");
    assert_eq!(summary.pages(), 2);
}

#[tokio::test(start_paused = true)]
async fn nofollow_links_and_pages_are_not_followed() {
    let html = |body: &str| Answer::status(200).content("text/html", body.to_owned());
    let (net, observer) = web([Site::new()
        .name("a.test")
        .page("/", html("<a href=/no rel='noopener NoFollow'>x</a><a href=/meta>y</a><a href=/header>z</a>"))
        .page("/meta", html("<meta name=robots content='noindex, nofollow'><a href=/no2>x</a>"))
        .page("/header", html("<a href=/no3>x</a>").field("X-Robots-Tag", "otherbot: index, testbot: nofollow"))
        .page("/no", Answer::text("no"))
        .page("/no2", Answer::text("no"))
        .page("/no3", Answer::text("no"))]);
    let summary = run(crawler(&net, &["http://a.test/"])).await;
    assert_eq!(requests(&observer).iter().filter(|seen| seen.contains("/no")).count(), 0);
    assert_eq!((summary.pages(), summary.links_nofollow), (3, 3));
}

#[tokio::test(start_paused = true)]
async fn link_fields_lead_to_pages_too() {
    let page = Answer::text("no markup").field("Link", "</next>; rel=next, </style>; rel=preload");
    let (net, observer) = web([Site::new()
        .name("a.test")
        .page("/", page.field("Link", "</of-another>; rel=next; anchor=\"/x\", </no>; rel=\"next nofollow\""))
        .otherwise(|_| Answer::text("x"))]);
    let summary = run(crawler(&net, &["http://a.test/"])).await;
    assert_eq!(asked(&observer, "http://a.test/next"), 1);
    assert_eq!((summary.pages(), summary.links_nofollow), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn judged_is_sent_byte_for_byte() {
    let odd = ["/a|b", "/a[b]", "/%zz", "//x//y", "/q?a=b?c&d", "/it's", "/caf%e9", "/%7Euser", "/a%2fb", "/s?q=it's"];
    let (net, observer) =
        web([Site::new().name("a.test").page("/", Answer::page(odd)).otherwise(|_| Answer::text("x"))]);
    run(crawler(&net, &["http://a.test/"])).await;
    for target in odd {
        let url = comity::url::CrawlUrl::parse("http://a.test/").unwrap().join(target).unwrap();
        assert_eq!(
            asked(&observer, &format!("http://a.test{}", url.request_target())),
            usize::from(!target.starts_with("//")),
            "{target}"
        );
    }
}
