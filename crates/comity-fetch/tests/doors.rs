//! The doors `send` and `dial`: somebody else's request and somebody else's stream, in our turn.

#![allow(clippy::unwrap_used, reason = "a test may end here")]

mod support;

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use comity_fetch::{Answer, FetchConfig, Fetched, Forward, Limits, RequestBody};
use comity_policy::{Instant, Outcome, Reason, Truncation};
use comity_url::CrawlUrl;
use http::{HeaderName, HeaderValue, Method};
use http_body::Frame;
use http_body_util::{BodyExt, Full, StreamBody};
use support::{Rig, Script, Step, answering, config, ok, send};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

fn forward(method: Method, fields: &[(&'static str, &'static str)], body: Option<RequestBody>) -> Forward {
    let mut forward = Forward::new(method).unwrap();
    for (name, value) in fields {
        forward.fields.append(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    forward.body = body;
    forward
}

fn full(text: &'static str) -> Option<RequestBody> {
    Some(Full::new(Bytes::from_static(text.as_bytes())).map_err(|never| match never {}).boxed_unsync())
}

/// `count` pieces of `len` bytes, each after a pause; then `end`.
fn pieces(count: usize, len: usize, pause: Duration, breaks: bool) -> Option<RequestBody> {
    struct Pieces(usize, usize, Duration, bool, Option<Pin<Box<tokio::time::Sleep>>>);
    type Piece = Result<Frame<Bytes>, Box<dyn std::error::Error + Send + Sync>>;
    impl futures_core::Stream for Pieces {
        type Item = Piece;
        fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Piece>> {
            if self.0 == 0 {
                return Poll::Ready(self.3.then(|| Err("the client hung up".into())));
            }
            let pause = self.2;
            let sleep = self.4.get_or_insert_with(|| Box::pin(tokio::time::sleep(pause)));
            std::task::ready!(sleep.as_mut().poll(cx));
            (self.0, self.4) = (self.0 - 1, None);
            Poll::Ready(Some(Ok(Frame::data(vec![b'x'; self.1].into()))))
        }
    }
    Some(StreamBody::new(Pieces(count, len, pause, breaks, None)).boxed_unsync())
}

async fn ask(rig: &Rig, url: &str, forward: Forward) -> Result<Answer, Box<Fetched>> {
    rig.fetcher.send(rig.permit(url).await, forward).await
}

async fn rest(answer: &mut Answer) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(frame) = answer.next().await {
        body.extend_from_slice(frame.data_ref().map_or(&b"[trailers]"[..], |data| data));
    }
    body
}

#[tokio::test(start_paused = true)]
async fn a_request_is_forwarded_without_what_belongs_to_the_connection() {
    let rig = Rig::new(|_, _| answering(ok("done")));
    let fields = [
        ("host", "elsewhere.test"),
        ("user-agent", "Customer/1"),
        ("cookie", "a=b"),
        ("x-twice", "1"),
        ("x-twice", "2"),
        ("connection", "keep-alive, X-Private"),
        ("x-private", "secret"),
        ("keep-alive", "timeout=5"),
        ("proxy-connection", "keep-alive"),
        ("proxy-authorization", "Basic c2VjcmV0"),
        ("te", "trailers"),
        ("transfer-encoding", "chunked"),
        ("upgrade", "websocket"),
        ("expect", "100-continue"),
        ("content-length", "999"),
        ("accept-encoding", "gzip"),
        ("range", "bytes=0-9"),
    ];
    let mut answer = ask(&rig, "http://a.test/form?x=1", forward(Method::POST, &fields, full("hello"))).await.unwrap();
    assert_eq!((answer.status(), rest(&mut answer).await.as_slice(), answer.is_whole()), (200, &b"done"[..], true));
    let expected = "POST /form?x=1 HTTP/1.1\r\nHost: a.test\r\nUser-Agent: Customer/1\r\nCookie: a=b\r\nX-Twice: 1\r\n\
                    X-Twice: 2\r\nAccept-Encoding: gzip\r\nRange: bytes=0-9\r\nContent-Length: 5\r\n\r\nhello";
    assert_eq!(rig.log.received(), [expected]);
    let mut fetched = answer.finish().await;
    assert_eq!((fetched.capture.fault, fetched.capture.truncated), (None, None));
    assert!(fetched.capture.request_head.starts_with(b"POST /form?x=1 HTTP/1.1\r\n"));
    rig.settle(&mut fetched);
    assert_eq!((rig.pacer.in_flight(), rig.fetcher.idle_connections()), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn bodies_go_out_with_a_true_length_or_in_chunks() {
    type Fields = &'static [(&'static str, &'static str)];
    let rows: [(&str, Fields, Option<RequestBody>, &str); 4] = [
        ("true length", &[("content-length", "2")], full("ab"), "Content-Length: 2\r\n\r\nab"),
        (
            "no length",
            &[],
            pieces(2, 1, Duration::ZERO, false),
            "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n1\r\nx\r\n0\r\n\r\n",
        ),
        (
            "a length for a stream",
            &[("content-length", "2")],
            pieces(1, 1, Duration::ZERO, false),
            "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
        ),
        ("a length and no body", &[("content-length", "7")], None, "Content-Length: 0\r\n\r\n"),
    ];
    for (name, fields, body, tail) in rows {
        let rig = Rig::new(|_, _| answering(ok("done")));
        let answer = ask(&rig, "http://a.test/", forward(Method::PUT, fields, body)).await.unwrap();
        let received = rig.log.received().remove(0).to_lowercase();
        assert!(received.ends_with(&tail.to_lowercase()), "{name}: {received}");
        rig.settle(&mut answer.finish().await);
    }
}

#[tokio::test(start_paused = true)]
async fn answers_come_undecoded_with_trailers_and_the_unread_costs_its_connection() {
    let head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n";
    let wire = format!("{head}7\r\nnot-zip\r\n0\r\nX-Sum: 1\r\n\r\n");
    let rig = Rig::new(move |_, _| answering(&wire));
    let request = || forward(Method::GET, &[("te", "trailers")], None);
    let mut answer = ask(&rig, "http://a.test/", request()).await.unwrap();
    assert_eq!(rest(&mut answer).await, b"not-zip[trailers]");
    let mut fetched = answer.finish().await;
    assert_eq!((fetched.capture.fault, fetched.capture.body.len(), rig.fetcher.idle_connections()), (None, 0, 1));
    rig.settle(&mut fetched);
    let answer = ask(&rig, "http://a.test/", request()).await.unwrap();
    let mut fetched = answer.finish().await;
    assert_eq!(fetched.capture.truncated, Some(Truncation::Unspecified));
    assert_eq!(rig.fetcher.idle_connections(), 0);
    rig.settle(&mut fetched);
    // Dropped, an answer gives its place back, too.
    drop(ask(&rig, "http://a.test/", request()).await.unwrap());
    assert_eq!((rig.pacer.in_flight(), rig.fetcher.idle_connections()), (0, 0));
    assert_eq!(rig.log.requests(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_body_of_ours_that_fails_is_not_the_sites_fault() {
    let small = FetchConfig { limits: Limits { max_request_body: 10, ..Limits::default() }, ..config() };
    let rows = [
        ("too large", pieces(3, 5, Duration::ZERO, false), "the request body is larger than 10 bytes"),
        ("breaks off", pieces(1, 5, Duration::ZERO, true), "the request body broke off: the client hung up"),
    ];
    for (name, body, detail) in rows {
        // A server that waits for the end of the body.
        let rig = Rig::with(small.clone(), |_, _| Script::Serve(vec![Step::Hold]));
        let mut failed = ask(&rig, "http://a.test/", forward(Method::POST, &[], body)).await.unwrap_err();
        assert_eq!(failed.outcome, Outcome::Failed(Reason::FetchRequestBody), "{name}");
        assert_eq!(failed.capture.detail.as_deref(), Some(detail), "{name}");
        rig.settle(&mut failed);
        let origin = failed.capture.url.origin();
        assert_eq!(rig.pacer.pace(origin, rig.now()).failures(), 0, "{name}");
        assert_eq!(rig.pacer.in_flight(), 0, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn time_that_others_take_is_not_held_against_the_site() {
    // 40 s of upload, in pieces: the wait for the head runs from the last of them.
    let rig = Rig::new(|_, _| Script::Serve(vec![Step::Wait(Duration::from_secs(50)), send(ok("late")), Step::Hold]));
    let answer =
        ask(&rig, "http://a.test/", forward(Method::POST, &[], pieces(8, 1, Duration::from_secs(5), false))).await;
    rig.settle(&mut answer.unwrap().finish().await);
    let rig = Rig::new(|_, _| Script::Serve(vec![Step::Hold]));
    let begun = rig.now();
    let failed =
        ask(&rig, "http://a.test/", forward(Method::POST, &[], pieces(2, 1, Duration::from_secs(5), false))).await;
    assert_eq!(failed.unwrap_err().capture.fault, Some(Reason::FetchTimeoutHead));
    assert_eq!(rig.now().since(begun), Duration::from_secs(25));
    // A taker that pauses for 20 s between two pieces: the site was fast.
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n0123456789";
    let rig = Rig::new(move |_, _| {
        Script::Serve(vec![
            Step::Request,
            send(head),
            Step::Wait(Duration::from_secs(21)),
            send("0123456789"),
            Step::Hold,
        ])
    });
    let mut answer = ask(&rig, "http://a.test/", forward(Method::GET, &[], None)).await.unwrap();
    assert!(answer.next().await.is_some());
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!(rest(&mut answer).await.len(), 10, "{:?}", answer.capture().detail);
    assert!(answer.is_whole());
}

#[tokio::test(start_paused = true)]
async fn bounds_hold_and_are_named() {
    let small = FetchConfig { limits: Limits { max_body: 5, ..Limits::default() }, ..config() };
    let rig = Rig::with(small, |_, _| answering(ok("too long")));
    let mut answer = ask(&rig, "http://a.test/", forward(Method::GET, &[], None)).await.unwrap();
    assert_eq!(rest(&mut answer).await, b"", "the piece that crosses the bound is not handed out");
    let mut fetched = answer.finish().await;
    assert_eq!(
        (fetched.capture.fault, fetched.capture.truncated),
        (Some(Reason::FetchTooLarge), Some(Truncation::Length))
    );
    rig.settle(&mut fetched);
    assert_eq!((rig.pacer.in_flight(), rig.fetcher.idle_connections()), (0, 0));
    assert!(Forward::new(Method::CONNECT).is_err() && Forward::new(Method::TRACE).is_err());
}

/// Polls `work` at most `polls` times; `None` when it was not ready by then.
async fn polled<T>(work: impl Future<Output = T>, polls: usize) -> Option<T> {
    let (mut work, mut left) = (pin!(work), polls);
    poll_fn(move |cx| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match work.as_mut().poll(cx) {
            Poll::Ready(value) => Poll::Ready(Some(value)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

fn slow_site() -> Script {
    let pieces: Vec<u8> = ok(&"body ".repeat(10)).into_bytes();
    let steps = pieces.chunks(9).flat_map(|piece| [send(piece), Step::Wait(Duration::from_millis(3))]);
    Script::Narrow(16, std::iter::once(Step::Request).chain(steps).collect())
}

/// Nothing goes on behind what was dropped, and the books tell whether a request had left.
async fn check_dropped(rig: &Rig, url: &CrawlUrl, done: bool, polls: usize) {
    let dropped_at = rig.now();
    assert_eq!(rig.pacer.in_flight(), 0, "after {polls} polls");
    let ready = rig.pacer.turn(url.origin(), dropped_at).ready.at;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let bytes = rig.log.bytes();
    tokio::time::sleep(Duration::from_secs(100)).await;
    assert_eq!(rig.log.bytes(), bytes, "nothing goes on after {polls} polls");
    match bytes {
        0 => assert_eq!(ready, Instant::START, "no charge after {polls} polls"),
        _ => assert!(done || ready >= dropped_at.after(Duration::from_millis(700)), "after {polls} polls: {ready:?}"),
    }
    let slot = rig.pacer.try_slot(url.origin(), vec!["10.0.0.1:80".parse().unwrap()], rig.now());
    assert!(slot.is_ok(), "after {polls} polls");
}

#[tokio::test(start_paused = true)]
async fn a_forwarded_request_may_be_dropped_anywhere() {
    for polls in 0..1000 {
        let rig = Rig::new(|_, _| slow_site());
        let url = CrawlUrl::parse("http://a.test/").unwrap();
        let permit = rig.permit(url.as_str()).await;
        let body = pieces(4, 10, Duration::from_millis(2), false);
        let work = async {
            let mut answer = rig.fetcher.send(permit, forward(Method::POST, &[], body)).await.unwrap();
            rest(&mut answer).await;
            assert!(answer.is_whole(), "{:?}", answer.capture().detail);
            rig.settle(&mut answer.finish().await);
        };
        let done = polled(work, polls).await.is_some();
        check_dropped(&rig, &url, done, polls).await;
        if done {
            assert!(polls > 20, "only {polls} await points were tried");
            return;
        }
    }
    panic!("not ready after 1000 polls");
}

#[tokio::test(start_paused = true)]
async fn a_tunnel_may_be_dropped_anywhere() {
    for polls in 0..1000 {
        let rig = Rig::new(|_, _| slow_site());
        let url = CrawlUrl::parse("http://a.test/").unwrap();
        let permit = rig.permit(url.as_str()).await;
        let work = async {
            let mut tunnel = rig.fetcher.dial(permit).await.unwrap();
            tunnel.write_all(b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n").await.unwrap();
            tunnel.read_to_end(&mut Vec::new()).await.unwrap();
            let _pace =
                rig.pacer.settle(tunnel.finish().receipt.unwrap(), Outcome::Failed(Reason::FetchCancelled), rig.now());
        };
        let done = polled(work, polls).await.is_some();
        check_dropped(&rig, &url, done, polls).await;
        if done {
            assert!(polls > 10, "only {polls} await points were tried");
            return;
        }
    }
    panic!("not ready after 1000 polls");
}

#[tokio::test(start_paused = true)]
async fn a_tunnel_is_charged_from_its_first_byte_and_answered_by_the_first_back() {
    let steps = || vec![Step::Request, Step::Wait(Duration::from_millis(70)), send("pong"), Step::Hold];
    let rig = Rig::new(move |_, _| Script::Serve(steps()));
    let url = CrawlUrl::parse("http://a.test/").unwrap();
    let mut tunnel = rig.fetcher.dial(rig.permit(url.as_str()).await).await.unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(rig.log.bytes(), 0);
    let begun = rig.now();
    tunnel.write_all(b"ping\r\n\r\n").await.unwrap();
    let mut answer = [0; 4];
    tunnel.read_exact(&mut answer).await.unwrap();
    assert_eq!((&answer, tunnel.peer()), (b"pong", Some("10.0.0.1".parse().unwrap())));
    // The next request waits for a delay from the first byte back, although the tunnel is still open.
    let ready = rig.pacer.turn(url.origin(), rig.now()).ready.at;
    assert!(ready >= begun.after(Duration::from_millis(1070)), "{ready:?}");
    let dialed = tunnel.finish();
    assert!(matches!(dialed.outcome, Outcome::Answered { status: 200, .. }));
    assert_eq!((dialed.sent, dialed.received, dialed.connect), (8, 4, Some(Duration::ZERO)));
    let receipt = dialed.receipt.unwrap();
    assert_eq!(receipt.sent(), Some(begun));
    let _pace = rig.pacer.settle(receipt, dialed.outcome, rig.now());
    assert_eq!((rig.pacer.in_flight(), rig.fetcher.idle_connections()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn tunnels_that_come_to_nothing_say_why() {
    // Nobody spoke: no charge, no failure.
    let rig = Rig::new(|_, _| Script::Serve(vec![send("220 hello"), Step::Hold]));
    let mut tunnel = rig.fetcher.dial(rig.permit("http://a.test/").await).await.unwrap();
    tunnel.read_exact(&mut [0; 9]).await.unwrap();
    let dialed = tunnel.finish();
    assert_eq!(dialed.outcome, Outcome::Failed(Reason::FetchCancelled));
    let receipt = dialed.receipt.unwrap();
    assert_eq!(receipt.sent(), None);
    let pace = rig.pacer.settle(receipt, dialed.outcome, rig.now());
    assert_eq!(pace.failures(), 0);
    // Too late for its turn.
    let mut tunnel = rig.fetcher.dial(rig.permit("http://a.test/").await).await.unwrap();
    tokio::time::sleep(Duration::from_secs(31)).await;
    let error = tunnel.write_all(b"late").await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied);
    drop(tunnel);
    assert_eq!((rig.log.bytes(), rig.pacer.in_flight()), (0, 0));
    // Spoken to and silent; refused; not public; stale.
    let rig = Rig::new(|addr, _| match addr.ip().to_string().as_str() {
        "10.0.0.2" => Script::Refuse,
        _ => Script::Serve(vec![Step::Request]),
    });
    let mut tunnel = rig.fetcher.dial(rig.permit("http://a.test/").await).await.unwrap();
    tunnel.write_all(b"x\r\n\r\n").await.unwrap();
    assert_eq!(tunnel.read(&mut [0; 9]).await.unwrap(), 0);
    assert_eq!(tunnel.finish().outcome, Outcome::Failed(Reason::FetchReset));
    let refused = rig.fetcher.dial(rig.permit("http://b.test/").await).await.unwrap_err();
    assert_eq!(refused.outcome, Outcome::Failed(Reason::FetchRefused));
    drop(refused);
    let url = CrawlUrl::parse("http://inside.test/").unwrap();
    let permit = rig.permit_at(&url, vec!["169.254.169.254:80".parse().unwrap()]).await;
    let refused = rig.fetcher.dial(permit).await.unwrap_err();
    assert_eq!(refused.outcome, Outcome::Failed(Reason::AddressPrivate));
    let permit = rig.permit("http://c.test:81/").await;
    tokio::time::sleep(Duration::from_secs(31)).await;
    let stale = rig.fetcher.dial(permit).await.unwrap_err();
    assert_eq!((stale.outcome, stale.receipt.is_none()), (Outcome::Failed(Reason::PermitStale), true));
    drop(refused);
    assert_eq!(rig.pacer.in_flight(), 0);
}
