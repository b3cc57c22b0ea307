//! One exchange: what is sent, what is kept, which connection is used.

#[path = "exchange/cookies.rs"]
mod cookies;
#[path = "exchange/spans.rs"]
mod spans;
mod support;

use std::time::Duration;

use comity_fetch::{Collect, HeadOnly, Request};
use comity_policy::{Instant, Outcome, Protocol, Reason, Truncation};
use comity_url::CrawlUrl;
use support::{AGENT, Rig, Script, Step, answering, config, ok, once, send};

#[tokio::test(start_paused = true)]
async fn a_page_is_captured_byte_for_byte() {
    const HEAD: &str =
        "HTTP/1.1 200 Fine\r\nX-Odd-CASE:  a \r\ncontent-type: text/html\r\nx-odd-case: b\r\nContent-Length: 5\r\n\r\n";
    let rig = Rig::new(|_, _| {
        Script::Serve(vec![
            Step::Request,
            Step::Wait(Duration::from_millis(40)),
            send(format!("{HEAD}hello")),
            Step::Hold,
        ])
    });
    let page = rig.fetch("http://a.test/x?y=z").await;
    let capture = &page.fetched.capture;
    let request = format!(
        "GET /x?y=z HTTP/1.1\r\nHost: a.test\r\nUser-Agent: {AGENT}\r\nAccept: */*\r\nAccept-Encoding: gzip, deflate, br, zstd\r\n\r\n"
    );
    assert_eq!(rig.log.received(), [request.as_str()]);
    assert_eq!(capture.request_head, request);
    assert_eq!(capture.response_head, HEAD);
    let fields: Vec<(&str, &[u8])> = capture.fields.iter().map(|(n, v)| (n.as_str(), v.as_ref())).collect();
    let expected: [(&str, &[u8]); 4] =
        [("X-Odd-CASE", b"a"), ("content-type", b"text/html"), ("x-odd-case", b"b"), ("Content-Length", b"5")];
    assert_eq!(fields, expected);
    assert_eq!((page.text().as_str(), page.raw().as_slice(), capture.decoded_len), ("hello", &b"hello"[..], 5));
    assert_eq!((capture.status, capture.fault, capture.truncated), (Some(200), None, None));
    assert_eq!((capture.protocol, capture.peer), (Protocol::Http11, Some("10.0.0.1".parse().unwrap())));
    assert_eq!((capture.started, capture.tls.clone()), (support::WALL, None));
    assert_eq!(capture.timings.head, Some(Duration::from_millis(40)));
    assert_eq!(page.fetched.outcome, Outcome::answered(200));
    assert_eq!(rig.pacer.in_flight(), 0);
}

#[tokio::test(start_paused = true)]
async fn request_targets_are_the_judged_bytes_on_the_wire() {
    let rig = Rig::new(|_, _| once(ok("")));
    for target in ["/a|b", "/[x]", "/%zz", "//a//b", "/?a=b?c", "/'", "/?", "/a?b=%7C|[]{}'", "/~;:@!$&()*+,="] {
        let url = CrawlUrl::parse(&format!("http://a.test{target}")).unwrap();
        let page = rig.fetch(url.as_str()).await;
        let line = format!("GET {} HTTP/1.1\r\n", url.request_target());
        assert!(page.fetched.capture.request_head.starts_with(line.as_bytes()), "{target}");
        assert!(rig.log.received().last().unwrap().starts_with(&line), "{target}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stale_permit_connects_to_nobody() {
    let rig = Rig::new(|_, _| answering(ok("x")));
    for (wait, stale) in [(29, false), (31, true)] {
        let before = rig.log.peers().len();
        let permit = rig.permit("http://a.test/").await;
        tokio::time::sleep(Duration::from_secs(wait)).await;
        let mut fetched = rig.fetcher.fetch(permit, &mut Collect::default()).await;
        assert_eq!(fetched.capture.fault == Some(Reason::PermitStale), stale, "{wait} s");
        assert_eq!(fetched.receipt.is_none(), stale, "{wait} s");
        assert_eq!(rig.log.peers().len() - before, usize::from(!stale), "{wait} s");
        rig.settle(&mut fetched);
        assert_eq!(rig.pacer.in_flight(), 0);
        rig.fetcher.close_all_idle();
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn candidates_are_guarded_again_at_connect_time() {
    let rig = Rig::new(|_, _| answering(ok("x")));
    let url = CrawlUrl::parse("http://a.test/").unwrap();
    let rows: [(&[&str], Option<Reason>); 3] = [
        (&["127.0.0.1:80", "169.254.169.254:80"], Some(Reason::AddressPrivate)),
        (&[], Some(Reason::AddressNone)),
        (&["127.0.0.1:80", "10.0.0.1:80"], None),
    ];
    for (addresses, fault) in rows {
        let permit = rig.permit_at(&url, addresses.iter().map(|a| a.parse().unwrap()).collect()).await;
        let mut fetched = rig.fetcher.fetch(permit, &mut Collect::default()).await;
        assert_eq!(fetched.capture.fault, fault, "{addresses:?}");
        rig.settle(&mut fetched);
    }
    assert_eq!(rig.log.peers(), ["10.0.0.1:80".parse().unwrap()]);
}

#[tokio::test(start_paused = true)]
async fn interim_responses_are_passed_over() {
    let wire = format!("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n{}", ok("body"));
    let rig = Rig::new(move |_, _| once(&wire));
    let page = rig.fetch("http://a.test/").await;
    assert_eq!((page.status(), page.text().as_str()), (Some(200), "body"));
    assert_eq!(page.fetched.capture.response_head, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n");
}

#[tokio::test(start_paused = true)]
async fn a_connection_read_to_its_end_is_used_again() {
    let rig = Rig::new(|_, _| answering(ok("x")));
    let first = rig.fetch("http://a.test/1").await;
    let second = rig.fetch("http://a.test/2").await;
    assert_eq!((rig.log.peers().len(), rig.log.requests()), (1, 2));
    let (first_took, second_took) = (first.fetched.capture.timings, second.fetched.capture.timings);
    assert!(first_took.connect.is_some() && second_took.connect.is_none());
    assert!(first_took.dns.is_some() && second_took.dns.is_none(), "told with the connection that rests on it");
    assert_eq!(first_took.tls, None);
    assert!(second.fetched.capture.request_head.starts_with(b"GET /2 "));
    assert_eq!(second.fetched.capture.peer, first.fetched.capture.peer);
    assert!(second.sent.unwrap().since(first.sent.unwrap()) >= Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn connections_that_cannot_be_used_again_are_not() {
    let close = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx";
    let old = "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx";
    let broken = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n";
    let extra = format!("{}junk", ok("x"));
    for wire in [close, old, broken, &extra] {
        let wire = wire.to_owned();
        let rig = Rig::new(move |_, _| answering(&wire));
        rig.fetch("http://a.test/1").await;
        rig.fetch("http://a.test/2").await;
        assert_eq!((rig.log.peers().len(), rig.log.requests()), (2, 2));
    }
}

#[tokio::test(start_paused = true)]
async fn idle_connections_are_bounded_and_end() {
    let rig = Rig::with(comity_fetch::FetchConfig { max_idle_total: 2, ..config() }, |_, _| answering(ok("x")));
    for port in 8001..8005 {
        rig.fetch(&format!("http://a.test:{port}/")).await;
        assert!(rig.fetcher.idle_connections() <= 2);
    }
    assert_eq!(rig.fetcher.idle_connections(), 2);
    // The one that came back last is still there, the first is not.
    rig.fetch("http://a.test:8004/").await;
    rig.fetch("http://a.test:8001/").await;
    assert_eq!(rig.log.peers().len(), 5);
    tokio::time::sleep(Duration::from_secs(15)).await;
    rig.fetcher.close_idle();
    assert_eq!(rig.fetcher.idle_connections(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_kept_connection_found_closed_is_replaced_before_anything_is_written() {
    // The first server hangs up a while after its answer.
    let rig = Rig::new(|_, nth| match nth {
        0 => Script::Serve(vec![Step::Request, send(ok("1")), Step::Wait(Duration::from_millis(500))]),
        _ => answering(ok("2")),
    });
    assert_eq!(rig.fetch("http://a.test/").await.text(), "1");
    assert_eq!(rig.fetcher.idle_connections(), 1);
    assert_eq!(rig.fetch("http://a.test/").await.text(), "2");
    assert_eq!(rig.log.requests(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_kept_connection_that_dies_after_the_request_is_a_failure_and_no_second_request() {
    let rig = Rig::new(|_, _| Script::Serve(vec![Step::Request, send(ok("1")), Step::Request]));
    rig.fetch("http://a.test/").await;
    let page = rig.fetch("http://a.test/").await;
    assert_eq!((page.fault(), page.failed()), (Some(Reason::FetchReset), Some(Reason::FetchReset)));
    assert!(page.sent.is_some());
    assert_eq!((rig.log.peers().len(), rig.log.requests()), (1, 2), "no hidden re-send");
}

#[tokio::test(start_paused = true)]
async fn candidates_are_tried_within_the_budget() {
    let dead = |first: Script, second: Script| {
        Rig::new(move |addr, _| if addr.ip().to_string() == "10.0.0.1" { first.clone() } else { second.clone() })
    };
    let good = answering(ok("x"));
    // What the two addresses do, the fault, seconds until the end.
    let rows = [
        (good.clone(), good.clone(), None, 0),
        (Script::Refuse, good.clone(), None, 0),
        (Script::Hang, good.clone(), None, 0),
        (Script::Refuse, Script::Refuse, Some(Reason::FetchRefused), 0),
        (Script::Hang, Script::Hang, Some(Reason::FetchTimeoutConnect), 10),
        (Script::Refuse, Script::Hang, Some(Reason::FetchTimeoutConnect), 10),
    ];
    for (first, second, fault, seconds) in rows {
        let name = format!("{first:?} {second:?}");
        let rig = dead(first, second);
        let page = rig.fetch("http://two.test/").await;
        assert_eq!((page.fault(), page.failed(), page.took.as_secs()), (fault, fault, seconds), "{name}");
        assert_eq!(page.sent.is_some(), fault.is_none(), "{name}");
        assert_eq!(page.fetched.capture.peer.is_some(), fault.is_none(), "{name}");
        assert_eq!(rig.pacer.in_flight(), 0, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_later_candidate_that_is_connected_is_preferred_to_connecting_anew() {
    let rig = Rig::new(|addr, _| if addr.ip().to_string() == "10.0.0.1" { Script::Hang } else { answering(ok("x")) });
    rig.fetch("http://two.test/").await;
    // Asked for in the resolver's order, as by a slot that was minted long ago.
    let url = CrawlUrl::parse("http://two.test/").unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    let permit = rig.permit_at(&url, vec!["10.0.0.1:80".parse().unwrap(), "10.0.0.2:80".parse().unwrap()]).await;
    let before = rig.now();
    let mut second = rig.fetcher.fetch(permit, &mut Collect::default()).await;
    rig.settle(&mut second);
    assert_eq!((rig.now().since(before), rig.log.peers().len()), (Duration::ZERO, 2));
    assert_eq!(second.capture.peer, Some("10.0.0.2".parse().unwrap()));
}

#[tokio::test(start_paused = true)]
async fn the_connected_peer_is_charged_and_a_busy_one_is_skipped() {
    // 10.0.0.1 is dead; b.test has just been asked at 10.0.0.2, whose gap of half a second runs.
    let plan = |addr: std::net::SocketAddr, _| match addr.ip().to_string().as_str() {
        "10.0.0.1" => Script::Refuse,
        _ => answering(ok("x")),
    };
    let rig = Rig::new(plan);
    rig.fetch("http://b.test/").await;
    let permit = rig.permit("http://two.test/").await;
    let mut fetched = rig.fetcher.fetch(permit, &mut Collect::default()).await;
    assert_eq!(fetched.outcome, Outcome::Failed(Reason::RateAddress));
    assert_eq!(fetched.receipt.as_ref().and_then(comity_policy::Receipt::sent), None);
    rig.settle(&mut fetched);
    assert_eq!(rig.log.requests(), 1, "10.0.0.2 was left in peace");
    // From now on the address that lives comes first, so that slots wait for its turn.
    let page = rig.fetch("http://two.test/").await;
    assert_eq!(
        (page.fault(), rig.log.peers().last().map(|peer| peer.ip().to_string())),
        (None, Some("10.0.0.2".into()))
    );

    // The charge moved along: after a fall-over the gap runs at the peer that was connected, and nowhere else.
    let rig = Rig::new(plan);
    rig.fetch("http://two.test/").await;
    let other = CrawlUrl::parse("http://c.test/").unwrap();
    let turn = |addr: &str| rig.pacer.try_slot(other.origin(), vec![addr.parse().unwrap()], rig.now());
    assert_eq!(turn("10.0.0.2:80").map(drop).map_err(|ready| ready.clock), Err(Reason::RateAddress));
    assert!(turn("10.0.0.1:80").is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_kept_connection_is_charged_like_a_new_one() {
    // two.test keeps a connection to 10.0.0.2; then b.test is asked there, and the gap of half a second runs.
    let rig = Rig::new(|addr, _| if addr.ip().to_string() == "10.0.0.1" { Script::Refuse } else { answering(ok("x")) });
    rig.fetch("http://two.test/").await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    rig.fetch("http://b.test/").await;
    let url = CrawlUrl::parse("http://two.test/").unwrap();
    let both = vec!["10.0.0.1:80".parse().unwrap(), "10.0.0.2:80".parse().unwrap()];
    let permit = rig.permit_at(&url, both).await;
    let mut fetched = rig.fetcher.fetch(permit, &mut Collect::default()).await;
    assert_eq!(fetched.outcome, Outcome::Failed(Reason::RateAddress));
    rig.settle(&mut fetched);
    assert_eq!((rig.log.requests(), rig.fetcher.idle_connections()), (2, 2), "nothing sent, nothing closed");
}

#[tokio::test(start_paused = true)]
async fn the_delay_runs_from_the_head_and_the_head_is_told_at_once() {
    struct Watch<'a>(&'a Rig, Vec<(Instant, Instant)>);
    impl comity_fetch::Sink for Watch<'_> {
        fn head(&mut self, head: &comity_fetch::ResponseHead<'_>) -> comity_fetch::Want {
            assert_eq!((head.status, head.field("CONTENT-length"), head.content_type()), (200, Some("5"), None));
            let origin = comity_url::Origin::parse("http://a.test").unwrap();
            self.1.push((self.0.now(), self.0.pacer.turn(&origin, self.0.now()).ready.at));
            comity_fetch::Want::Body
        }
        fn chunk(&mut self, _decoded: &[u8]) {
            self.1.push((self.0.now(), Instant::START));
        }

        #[expect(clippy::disallowed_methods, reason = "the test keeps its own bytes")]
        fn keep(&mut self, _read: comity_fetch::Read) -> comity_fetch::Keep {
            comity_fetch::Keep::unjudged()
        }
    }
    let head = ok("hello").replace("hello", "");
    let rig = Rig::new(move |_, _| {
        let pause = Step::Wait(Duration::from_secs(5));
        Script::Serve(vec![
            Step::Request,
            Step::Wait(Duration::from_millis(100)),
            send(&head),
            pause,
            send("hello"),
            Step::Hold,
        ])
    });
    let permit = rig.permit("http://a.test/").await;
    let begun = rig.now();
    let mut watch = Watch(&rig, Vec::new());
    let mut fetched = rig.fetcher.fetch(permit, &mut watch).await;
    let (head_at, chunk_at) = (begun.after(Duration::from_millis(100)), begun.after(Duration::from_millis(5100)));
    let [(seen, ready), (chunk, _)] = watch.1[..] else { panic!("{:?}", watch.1) };
    assert_eq!((seen, chunk), (head_at, chunk_at));
    // One second and at most a fifth of jitter, from the head: known while the body is still under way.
    let (least, most) = (head_at.after(Duration::from_secs(1)), head_at.after(Duration::from_millis(1200)));
    assert!(ready >= least && ready <= most, "{ready:?}");
    rig.settle(&mut fetched);
    let timings = fetched.capture.timings;
    assert_eq!((timings.head, timings.body), (Some(Duration::from_millis(100)), Some(Duration::from_secs(5))));
    assert_eq!(rig.pacer.turn(fetched.capture.url.origin(), rig.now()).ready.at, ready, "the body moves nothing");
}

#[tokio::test(start_paused = true)]
async fn conditionals_are_sent_and_304_has_no_body() {
    let rig = Rig::new(|_, _| answering("HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n\r\n"));
    let request = Request {
        if_none_match: Some("\"x\"".into()),
        if_modified_since: Some("Sun, 06 Nov 1994 08:49:37 GMT".into()),
        ..Request::default()
    };
    let page = rig.fetch_with("http://a.test/", &request).await;
    assert_eq!((page.status(), page.fault(), page.raw().len()), (Some(304), None, 0));
    let sent = &rig.log.received()[0];
    assert!(sent.contains("\r\nIf-None-Match: \"x\"\r\n"), "{sent}");
    assert!(sent.contains("\r\nIf-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n"), "{sent}");
    assert_eq!(rig.fetcher.idle_connections(), 1);
}

#[tokio::test(start_paused = true)]
async fn retry_after_is_read_for_the_pacer() {
    let rows = [
        ("Retry-After: 7", Some(7)),
        ("Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nRetry-After: Sun, 06 Nov 1994 08:51:37 GMT", Some(120)),
        ("Retry-After: soon", None),
        ("X: y", None),
    ];
    for (fields, seconds) in rows {
        let wire = format!("HTTP/1.1 429 Slow Down\r\n{fields}\r\nContent-Length: 0\r\n\r\n");
        let rig = Rig::new(move |_, _| once(&wire));
        let page = rig.fetch("http://a.test/").await;
        let retry_after = seconds.map(Duration::from_secs);
        assert_eq!(page.fetched.outcome, Outcome::Answered { status: 429, retry_after, rate_limit: None }, "{fields}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_sink_may_want_the_head_only() {
    let rig = Rig::new(|_, _| answering(ok("long body")));
    let permit = rig.permit("http://a.test/").await;
    let mut fetched = rig.fetcher.fetch(permit, &mut HeadOnly).await;
    let capture = &fetched.capture;
    assert_eq!((capture.status, capture.fault, capture.body.len()), (Some(200), None, 0));
    assert_eq!(capture.truncated, Some(Truncation::Unspecified));
    assert_eq!(rig.fetcher.idle_connections(), 0, "an unread body takes its connection with it");
    rig.settle(&mut fetched);
}

#[tokio::test(start_paused = true)]
async fn redirects_are_not_followed_and_cookies_not_kept() {
    let rig = Rig::new(|_, _| {
        answering("HTTP/1.1 302 Found\r\nLocation: /next\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n")
    });
    let page = rig.fetch("http://a.test/").await;
    assert_eq!((page.status(), page.fetched.capture.field("location")), (Some(302), Some("/next")));
    rig.fetch("http://a.test/next").await;
    assert_eq!(rig.log.requests(), 2);
    assert!(!rig.log.received()[0].to_ascii_lowercase().contains("cookie"));
}

#[tokio::test(start_paused = true)]
async fn a_robots_permit_fetches_robots_txt() {
    let rig = Rig::new(|_, _| answering(ok("User-agent: *\nDisallow: /x\n")));
    let permit = rig.robots_permit("http://a.test").await;
    let mut sink = Collect::default();
    let mut fetched = rig.fetcher.fetch(permit, &mut sink).await;
    assert!(rig.log.received()[0].starts_with("GET /robots.txt HTTP/1.1\r\nHost: a.test\r\n"));
    assert_eq!(sink.body, b"User-agent: *\nDisallow: /x\n");
    rig.settle(&mut fetched);
    let ready = rig.pacer.turn(fetched.capture.url.origin(), rig.now()).ready;
    assert!(ready.at >= rig.now().after(Duration::from_secs(1)), "robots.txt counts as a request");
    assert!(ready.at < Instant::NEVER);
}

#[test]
fn fetching_may_move_between_threads() {
    fn is_send<T: Send>(_: T) {}
    fn check(fetcher: &comity_fetch::Fetcher, permit: comity_policy::Permit, sink: &mut Collect) {
        is_send(fetcher.fetch(permit, sink));
    }
    let _ = check;
}

#[tokio::test(start_paused = true)]
async fn a_range_is_never_asked_for() {
    let rig = Rig::new(|_, _| answering(ok("x")));
    let request = Request { if_none_match: Some("\"x\"".into()), ..Request::default() };
    rig.fetch("http://a.test/").await;
    rig.fetch_with("http://a.test/", &request).await;
    let permit = rig.robots_permit("http://b.test").await;
    rig.settle(&mut rig.fetcher.fetch(permit, &mut Collect::default()).await);
    assert_eq!(rig.log.requests(), 3);
    assert!(rig.log.received().iter().all(|text| !text.to_lowercase().contains("range:")));
}
