//! Key rules: off by default; on, they change which URLs are one page, and nothing of what is judged and sent.

use comity::config::ConfigFile;
use comity_testweb::{Answer, Site};

use crate::support::{asked, assert_clean, crawler, run, web};

const SPELLINGS: [&str; 7] = [
    "/a?utm_source=x",
    "/a?utm_source=y",
    "/a;jsessionid=1",
    "/a;jsessionid=2",
    "/a?id=1&ref=2",
    "/b?sort=up",
    "/b?sort=down",
];

fn all(file: &mut ConfigFile) {
    file.keys.tracking = Some(true);
    file.keys.sessions = Some(true);
    file.keys.clean_param = Some(true);
}

#[tokio::test(start_paused = true)]
async fn spellings_are_merged_only_when_the_operator_says_so() {
    type Row = (fn(&mut ConfigFile), u64, u64, &'static [&'static str]);
    let rows: [Row; 3] = [
        (|_| {}, 7, 0, &SPELLINGS),
        (|file| file.keys.tracking = Some(true), 6, 1, &["/a?utm_source=x", "/a;jsessionid=1", "/b?sort=down"]),
        (all, 3, 4, &["/a?utm_source=x", "/a?id=1&ref=2", "/b?sort=up"]),
    ];
    for (configure, pages, merged, sent) in rows {
        let (net, observer) = web([Site::new()
            .name("a.test")
            .robots("User-agent: *\nDisallow: /a?utm_source=y\nClean-param: sort /b\n")
            .page("/", Answer::page(SPELLINGS))
            .otherwise(|_| Answer::text("x"))]);
        let summary = run(crawler(&net, &["http://a.test/"]).configure(configure)).await;
        let refused = summary.refusals();
        assert_eq!((summary.pages() - 1 + refused, summary.merged), (pages, merged));
        for target in sent.iter().filter(|target| !target.contains("=y")) {
            assert_eq!(asked(&observer, &format!("http://a.test{target}")), 1, "{target}: sent as it was written");
        }
        assert_clean(&observer);
    }
}

#[tokio::test(start_paused = true)]
async fn the_same_spelling_twice_is_no_merge() {
    let (net, _) = web([Site::new()
        .name("a.test")
        .page("/", Answer::page(["/a?gclid=1", "/a?gclid=1", "/a", "/a", "/c"]))
        .page("/c", Answer::page(["/a?gclid=1", "/a?gclid=2"]))
        .otherwise(|_| Answer::text("x"))]);
    let summary = run(crawler(&net, &["http://a.test/"]).configure(all)).await;
    assert_eq!((summary.pages(), summary.merged), (3, 2));
}
