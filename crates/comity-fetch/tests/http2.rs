//! HTTP/2 by ALPN: the same exchange, the same bounds, heads in the serialised form.

#![allow(clippy::unwrap_used, reason = "a test may end here")]

mod support;

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use comity_fetch::{BoxFuture, Collect, FetchConfig, Http, Io, Net, ResolveError, Resolved};
use comity_policy::{Instant, Protocol, Reason, Truncation};
use comity_url::CrawlUrl;
use h2::server::SendResponse;
use http::{HeaderMap, Request, Response};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use support::{AGENT, Rig};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

type Answer = SendResponse<Bytes>;
type Served = Pin<Box<dyn Future<Output = ()> + Send>>;
type Handler = dyn Fn(Request<()>, Answer) -> Served + Send + Sync;

/// A site behind TLS that speaks HTTP/2 where it is asked to.
#[derive(Clone)]
struct Site {
    tls: Arc<rustls::ServerConfig>,
    handler: Arc<Handler>,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Default)]
struct Seen {
    connections: usize,
    requests: Vec<(String, HeaderMap)>,
}

impl std::fmt::Debug for Site {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Site")
    }
}

impl Net for Site {
    fn resolve<'a>(&'a self, _host: &'a str) -> BoxFuture<'a, Result<Resolved, ResolveError>> {
        Box::pin(async { Ok(vec!["10.0.0.1".parse().unwrap()].into()) })
    }

    fn connect(&self, _addr: std::net::SocketAddr) -> BoxFuture<'static, std::io::Result<Box<dyn Io>>> {
        let site = self.clone();
        Box::pin(async move {
            let (client, server) = tokio::io::duplex(16 << 10);
            tokio::spawn(site.serve(server));
            Ok(Box::new(client) as Box<dyn Io>)
        })
    }
}

impl Site {
    async fn serve(self, stream: DuplexStream) {
        self.seen.lock().unwrap().connections += 1;
        let Ok(mut tls) = TlsAcceptor::from(Arc::clone(&self.tls)).accept(stream).await else { return };
        if tls.get_ref().1.alpn_protocol() == Some(b"h2") {
            self.speak_http2(tls).await;
        } else {
            let mut buffer = [0; 4096];
            while let Ok(1..) = tls.read(&mut buffer).await {
                let _ = tls.write_all(support::ok("old").as_bytes()).await;
                let _ = tls.flush().await;
            }
        }
    }

    async fn speak_http2(self, tls: TlsStream<DuplexStream>) {
        let Ok(mut connection) = h2::server::handshake(tls).await else { return };
        while let Some(Ok((request, answer))) = connection.accept().await {
            let (parts, _) = request.into_parts();
            let request = Request::from_parts(parts, ());
            let line = format!("{} {}", request.method(), request.uri());
            self.seen.lock().unwrap().requests.push((line, request.headers().clone()));
            if request.uri().path() == "/goaway" {
                connection.graceful_shutdown();
            }
            tokio::spawn((self.handler)(request, answer));
        }
    }
}

/// The rig for a site that offers these protocols.
fn rig_with<F>(alpn: &[&str], http: Http, handler: F) -> (Rig, Arc<Mutex<Seen>>)
where
    F: Fn(Request<()>, Answer) -> Served + Send + Sync + 'static,
{
    let mut params = rcgen::CertificateParams::new(vec!["a.test".into()]).unwrap();
    params.not_after = rcgen::date_time_ymd(2027, 1, 1);
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], private)
        .unwrap();
    tls.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    let seen = Arc::default();
    let site = Site { tls: Arc::new(tls), handler: Arc::new(handler), seen: Arc::clone(&seen) };
    let roots = vec![certificate.pem().into_bytes()];
    let config = FetchConfig { extra_roots_pem: roots, http, ..support::config() };
    (Rig::on(Arc::new(site), config), seen)
}

fn rig<F>(handler: F) -> (Rig, Arc<Mutex<Seen>>)
where
    F: Fn(Request<()>, Answer) -> Served + Send + Sync + 'static,
{
    rig_with(&["h2", "http/1.1"], Http::Auto, handler)
}

/// Answers with these fields and this body.
fn answering(fields: &[(&'static str, &str)], body: impl Into<Bytes>) -> Box<Handler> {
    let fields: Vec<(&'static str, String)> = fields.iter().map(|(n, v)| (*n, (*v).to_owned())).collect();
    let body = body.into();
    Box::new(move |_, mut answer| {
        let (fields, body) = (fields.clone(), body.clone());
        Box::pin(async move {
            let mut response = Response::builder().status(200);
            for (name, value) in fields {
                response = response.header(name, value);
            }
            let Ok(mut stream) = answer.send_response(response.body(()).unwrap(), body.is_empty()) else { return };
            if !body.is_empty() {
                let _ = stream.send_data(body, true);
            }
            std::future::poll_fn(|cx| stream.poll_reset(cx)).await.ok();
        })
    })
}

#[tokio::test(start_paused = true)]
async fn a_page_comes_over_http2_and_its_heads_are_serialised() {
    let (rig, seen) = rig(answering(&[("x-one", "a"), ("content-type", "text/plain"), ("x-one", "b")], "hello"));
    let page = rig.fetch("https://a.test/x?y=z").await;
    let capture = &page.fetched.capture;
    assert_eq!((page.fault(), page.text().as_str()), (None, "hello"), "{:?}", capture.detail);
    assert_eq!((capture.protocol, capture.status), (Protocol::H2, Some(200)));
    let tls = capture.tls.as_ref().unwrap();
    assert_eq!((tls.version, tls.alpn.as_deref()), ("tls/1.3", Some("h2")));
    let request = format!(
        "GET /x?y=z HTTP/1.1\r\nhost: a.test\r\nuser-agent: {AGENT}\r\naccept: */*\r\naccept-encoding: gzip, deflate, br, zstd\r\n\r\n"
    );
    assert_eq!(capture.request_head, request);
    assert_eq!(capture.response_head, "HTTP/1.1 200 \r\nx-one: a\r\nx-one: b\r\ncontent-type: text/plain\r\n\r\n");
    let fields: Vec<(&str, &[u8])> = capture.fields.iter().map(|(n, v)| (n.as_str(), v.as_ref())).collect();
    assert_eq!(fields, [("x-one", &b"a"[..]), ("x-one", b"b"), ("content-type", b"text/plain")]);
    assert!(page.sent.is_some() && capture.timings.head.is_some());
    let seen = seen.lock().unwrap();
    assert_eq!(seen.requests[0].0, "GET https://a.test/x?y=z");
    assert!(!seen.requests[0].1.contains_key("host"), ":authority stands for it");
    assert_eq!(seen.requests[0].1["user-agent"], AGENT);
    assert_eq!(rig.pacer.in_flight(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_path_is_the_judged_target_byte_for_byte() {
    let (rig, seen) = rig(answering(&[], "x"));
    for target in ["/a|b", "/[x]", "/%zz", "//a//b", "/?a=b?c", "/'", "/?", "/a?b=%7C|[]{}'", "/~;:@!$&()*+,="] {
        let url = CrawlUrl::parse(&format!("https://a.test{target}")).unwrap();
        let page = rig.fetch(url.as_str()).await;
        assert_eq!(page.fault(), None, "{target}");
        let line = format!("GET {} HTTP/1.1\r\n", url.request_target());
        assert!(page.fetched.capture.request_head.starts_with(line.as_bytes()), "{target}");
        let seen = seen.lock().unwrap();
        assert_eq!(seen.requests.last().unwrap().0, format!("GET https://a.test{}", url.request_target()));
    }
    assert_eq!(seen.lock().unwrap().connections, 1, "one connection for all");
}

#[tokio::test(start_paused = true)]
async fn both_sides_choose_the_protocol() {
    let rows: [(&[&str], Http, Protocol); 5] = [
        (&["h2", "http/1.1"], Http::Auto, Protocol::H2),
        (&["h2"], Http::Auto, Protocol::H2),
        (&["http/1.1"], Http::Auto, Protocol::Http11),
        (&[], Http::Auto, Protocol::Http11),
        (&["h2", "http/1.1"], Http::Only11, Protocol::Http11),
    ];
    for (alpn, http, protocol) in rows {
        let (rig, _) = rig_with(alpn, http, answering(&[], "new"));
        let page = rig.fetch("https://a.test/").await;
        assert_eq!((page.fault(), page.fetched.capture.protocol), (None, protocol), "{alpn:?} {http:?}");
        assert_eq!(page.text(), if protocol == Protocol::H2 { "new" } else { "old" });
    }
}

#[tokio::test(start_paused = true)]
async fn heads_have_the_bounds_of_any_head() {
    let many = |n: usize| vec![("x-field", "v"); n];
    let long = "y".repeat(70_000);
    let huge = "y".repeat(300_000);
    let headers = Some(Reason::FetchHeaders);
    let rows = [
        ("100 fields", many(100), None),
        ("101 fields", many(101), headers),
        ("70 kB", vec![("x-long", long.as_str())], headers),
        ("300 kB", vec![("x-huge", huge.as_str())], headers),
    ];
    for (name, fields, fault) in rows {
        let (rig, _) = rig(answering(&fields, "x"));
        let page = rig.fetch("https://a.test/").await;
        assert_eq!(page.fault(), fault, "{name}: {:?}", page.fetched.capture.detail);
        assert_eq!(page.failed(), fault, "{name}");
        assert_eq!(rig.fetcher.idle_connections(), usize::from(fault.is_none()), "{name}");
        assert_eq!(rig.pacer.in_flight(), 0, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_breaks_has_its_name_and_keeps_what_came() {
    type Part = (&'static str, u64, Option<h2::Reason>);
    // After the head: a piece of the body, seconds to wait, how the stream ends.
    let run = |status: Option<u16>, parts: Vec<Part>| {
        let (rig, _) = rig(move |_, mut answer| {
            let parts = parts.clone();
            Box::pin(async move {
                let Some(status) = status else {
                    tokio::time::sleep(Duration::from_secs(parts[0].1)).await;
                    if let Some(reason) = parts[0].2 {
                        answer.send_reset(reason);
                    }
                    return std::future::pending().await;
                };
                let mut stream =
                    answer.send_response(Response::builder().status(status).body(()).unwrap(), false).unwrap();
                for (text, wait, end) in parts {
                    let _ = stream.send_data(Bytes::from_static(text.as_bytes()), false);
                    tokio::time::sleep(Duration::from_secs(wait)).await;
                    if let Some(reason) = end {
                        stream.send_reset(reason);
                    }
                }
                std::future::pending().await
            })
        });
        rig
    };
    let (cancel, internal) = (h2::Reason::CANCEL, h2::Reason::INTERNAL_ERROR);
    let rows = [
        ("silent", run(None, vec![("", 99, None)]), None, Some(Reason::FetchTimeoutHead), None, 15, 0),
        ("reset", run(None, vec![("", 0, Some(internal))]), None, Some(Reason::FetchReset), None, 0, 0),
        (
            "reset in the body",
            run(Some(200), vec![("hello", 1, Some(cancel))]),
            Some(200),
            Some(Reason::FetchReset),
            Some(Truncation::Disconnect),
            1,
            5,
        ),
        (
            "a pause",
            run(Some(200), vec![("hello", 99, None)]),
            Some(200),
            Some(Reason::FetchTimeoutIdle),
            Some(Truncation::Time),
            15,
            5,
        ),
    ];
    for (name, rig, status, fault, truncated, seconds, kept) in rows {
        let page = rig.fetch("https://a.test/").await;
        let capture = &page.fetched.capture;
        assert_eq!((page.status(), page.fault()), (status, fault), "{name}: {:?}", capture.detail);
        assert_eq!((capture.truncated, page.raw().len()), (truncated, kept), "{name}");
        assert_eq!(page.took.as_secs(), seconds, "{name}");
        assert_eq!((rig.pacer.in_flight(), rig.fetcher.idle_connections()), (0, 0), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_site_that_says_goodbye_still_ends_its_answer_and_is_connected_to_anew() {
    let (rig, seen) = rig(answering(&[], vec![b'x'; 200_000]));
    let page = rig.fetch("https://a.test/goaway").await;
    assert_eq!((page.fault(), page.body.len()), (None, 200_000), "{:?}", page.fetched.capture.detail);
    let page = rig.fetch("https://a.test/").await;
    assert_eq!((page.fault(), page.body.len()), (None, 200_000));
    let seen = seen.lock().unwrap();
    assert_eq!((seen.connections, seen.requests.len()), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn large_bodies_are_cut_at_the_bound() {
    let (rig, _) = rig(answering(&[], vec![b'x'; 11 << 20]));
    let page = rig.fetch("https://a.test/").await;
    assert_eq!(page.fault(), Some(Reason::FetchTooLarge), "{:?}", page.fetched.capture.detail);
    assert_eq!((page.body.len(), page.raw().len()), (10 << 20, 10 << 20));
}

/// One run that is dropped after `polls` polls; true when it was ready in time.
async fn dropped_after(polls: usize) -> bool {
    let (rig, seen) = rig(|_, mut answer| {
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(5)).await;
            let mut stream = answer.send_response(Response::new(()), false).unwrap();
            for n in 0..5 {
                let _ = stream.send_data(Bytes::from_static(b"piece"), n == 4);
                tokio::time::sleep(Duration::from_millis(3)).await;
            }
        })
    });
    let permit = rig.permit("https://a.test/").await;
    let origin = permit.url().origin().clone();
    let mut sink = Collect::default();
    let mut left = polls;
    let fetched = {
        let mut work = pin!(rig.fetcher.fetch(permit, &mut sink));
        std::future::poll_fn(move |cx| {
            if left == 0 {
                return Poll::Ready(None);
            }
            left -= 1;
            match work.as_mut().poll(cx) {
                Poll::Ready(fetched) => Poll::Ready(Some(fetched)),
                Poll::Pending if left == 0 => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    };
    let dropped_at = rig.now();
    let done = fetched.is_some();
    if let Some(mut fetched) = fetched {
        assert_eq!(fetched.capture.fault, None);
        rig.settle(&mut fetched);
    }
    assert_eq!(rig.pacer.in_flight(), 0, "after {polls} polls");
    let ready = rig.pacer.turn(&origin, dropped_at).ready.at;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let requests = seen.lock().unwrap().requests.len();
    assert!(requests <= 1);
    if requests == 1 {
        assert!(ready >= dropped_at.after(Duration::from_millis(800)) || done, "a sent request is on the books");
    }
    if ready == Instant::START {
        assert_eq!(requests, 0, "what charged nothing has not left, after {polls} polls");
    }
    done
}

#[tokio::test(start_paused = true)]
async fn a_fetch_may_be_dropped_anywhere() {
    for polls in 0..1000 {
        if dropped_after(polls).await {
            assert!(polls > 10, "only {polls} await points were tried");
            return;
        }
    }
    panic!("not ready after 1000 polls");
}
