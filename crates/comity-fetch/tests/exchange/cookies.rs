//! Cookies between a jar and the wire; the rules of the jar are in its own table.
#![expect(clippy::unwrap_used, reason = "a test may end here")]

use std::time::Duration;

use comity_fetch::{Collect, CookieUse, Cookies, FetchConfig, Fetched, Forward, Request};
use http::header::COOKIE;
use http::{HeaderMap, HeaderValue, Method};

use crate::support::{Rig, answering, config};

const SETS: &str = "HTTP/1.1 200 OK\r\nSet-Cookie: s=secret; Path=/\r\nSet-Cookie: t=2\r\nContent-Length: 1\r\n\r\nx";

fn rig(cookies: Cookies) -> Rig {
    Rig::with(FetchConfig { cookies, ..config() }, |_, _| answering(SETS))
}

/// The Cookie field of a request as it was written.
fn cookie(fetched: &Fetched) -> Option<String> {
    let head = String::from_utf8(fetched.capture.request_head.to_vec()).unwrap();
    assert!(!head.is_empty(), "nothing was sent");
    head.lines().find_map(|line| line.strip_prefix("Cookie: ").map(str::to_owned))
}

async fn sent(rig: &Rig, url: &str, request: &Request) -> Option<String> {
    cookie(&rig.fetch_with(url, request).await.fetched)
}

#[tokio::test(start_paused = true)]
async fn cookies_come_back_to_their_site_where_they_are_kept_and_to_nobody_else() {
    let (rig, page) = (rig(Cookies::Memory), Request::default());
    let rows = [
        ("http://a.test/d/1", None),
        ("http://a.test/d/2", Some("t=2; s=secret")),
        ("http://a.test/other", Some("s=secret")),
        ("http://a.test/else", Some("s=secret; t=2")),
        ("http://b.test/d/1", None),
    ];
    for (url, expected) in rows {
        assert_eq!(sent(&rig, url, &page).await.as_deref(), expected, "{url}");
    }
    let wire = rig.log.received().concat();
    assert_eq!(wire.matches("\r\nCookie: t=2; s=secret\r\n\r\n").count(), 1, "{wire}");
}

#[tokio::test(start_paused = true)]
async fn by_default_they_are_ignored() {
    let rig = rig(Cookies::Off);
    for _ in 0..2 {
        assert_eq!(sent(&rig, "http://a.test/", &Request::default()).await, None);
    }
}

#[tokio::test(start_paused = true)]
async fn robots_txt_and_other_files_for_everybody_neither_get_nor_set_any() {
    let (rig, page) = (rig(Cookies::Memory), Request::default());
    let left = Request { cookies: CookieUse::None, ..Request::default() };
    let robots = async |origin: &str| {
        tokio::time::sleep(Duration::from_secs(5)).await;
        let permit = rig.robots_permit(origin).await;
        let mut fetched = rig.fetcher.fetch(permit, &mut Collect::default()).await;
        rig.settle(&mut fetched);
        cookie(&fetched)
    };
    assert_eq!((sent(&rig, "http://a.test/", &left).await, robots("http://b.test").await), (None, None));
    for url in ["http://a.test/", "http://b.test/"] {
        assert_eq!(sent(&rig, url, &page).await, None, "{url}: nothing was taken");
        assert!(sent(&rig, url, &page).await.is_some(), "{url}: of a page it is");
    }
    assert_eq!((sent(&rig, "http://a.test/", &left).await, robots("http://b.test").await), (None, None));
}

#[tokio::test(start_paused = true)]
async fn what_is_forwarded_has_its_own_cookies_and_those_of_nobody_else() {
    let rig = rig(Cookies::Memory);
    let fields = HeaderMap::from_iter([(COOKIE, HeaderValue::from_static("theirs=1"))]);
    let forwarded = Request { fields: Some(fields.clone()), ..Request::default() };
    assert_eq!(sent(&rig, "http://a.test/", &forwarded).await.as_deref(), Some("theirs=1"));
    let permit = rig.permit("http://a.test/").await;
    let mut forward = Forward::new(Method::GET).unwrap();
    forward.fields = fields;
    let mut fetched = rig.fetcher.send(permit, forward).await.unwrap().finish().await;
    rig.settle(&mut fetched);
    assert_eq!(cookie(&fetched).as_deref(), Some("theirs=1"));
    assert_eq!(sent(&rig, "http://a.test/", &Request::default()).await, None, "theirs are not taken");
}
