use comity::fetch::SystemClock;
use comity::policy::WallTime;
use comity_testweb::{Answer, Site, Web};

use super::*;

const START: WallTime = WallTime::from_unix_millis(1_796_000_000_000);

#[tokio::test(start_paused = true)]
async fn broken_links_and_their_pages() {
    let own = Site::new()
        .name("own.test")
        .page("/", Answer::page(["/a", "/gone", "http://far.test/ok", "http://far.test/closed/x"]))
        .page("/a", Answer::page(["/gone", "/moved", "http://far.test/gone", "http://nowhere.test/"]))
        .page("/moved", Answer::redirect(301, "/also-gone"));
    let far = Site::new()
        .name("far.test")
        .robots("User-agent: *\nDisallow: /closed/\n")
        .page("/ok", Answer::page(["/not/to/be/asked"]));
    let (net, observer) = Web::builder(1).epoch(START).site(own).site(far).build().unwrap().in_memory();
    // One clock for both crawls: the web's.
    let clock = Arc::new(SystemClock::paused_at(START));
    let net = Arc::new(net);
    let with = |builder: CrawlerBuilder| builder.allow_addresses("10.0.0.0/8").net(net.clone()).clock(clock.clone());
    let (report, broken) = check("http://own.test/", with).await.unwrap();
    let expected = "\
http://far.test/closed/x: not checked, a robots rule refuses this URL
    named by http://own.test/
http://far.test/gone: broken, 404
    named by http://own.test/a
http://nowhere.test/: broken, the name does not exist or has no address
    named by http://own.test/a
http://own.test/also-gone: broken, 404
    named by http://own.test/moved
http://own.test/gone: broken, 404
    named by http://own.test/
    named by http://own.test/a
";
    assert_eq!(report, expected);
    assert!(include_str!("../README.md").contains(expected));
    assert_eq!(broken, 4);
    let audit = observer.audit();
    assert!(audit.is_clean(), "{audit}");
    assert_eq!((audit.robots_requests, audit.page_requests), (2, 7));
}

#[tokio::test(start_paused = true)]
async fn a_site_that_moved_to_another_origin_is_asked_for_once() {
    let old = Site::new().name("own.test").page("/", Answer::redirect(301, "http://www.own.test/"));
    let www = Site::new()
        .name("www.own.test")
        .page("/", Answer::page(["/a", "/gone", "http://far.test/"]))
        .page("/a", Answer::page(["/"]));
    let far = Site::new().name("far.test").page("/", Answer::page(["/not/to/be/asked"]));
    let (net, observer) = Web::builder(1).epoch(START).site(old).site(www).site(far).build().unwrap().in_memory();
    let clock = Arc::new(SystemClock::paused_at(START));
    let net = Arc::new(net);
    let with = |builder: CrawlerBuilder| builder.allow_addresses("10.0.0.0/8").net(net.clone()).clock(clock.clone());
    let (report, broken) = check("http://own.test/", with).await.unwrap();
    assert_eq!(
        (report.as_str(), broken),
        ("http://www.own.test/gone: broken, 404\n    named by http://www.own.test/\n", 1)
    );
    // The redirect, three pages of www, and one of far.
    assert_eq!(observer.audit().page_requests, 5);
}
