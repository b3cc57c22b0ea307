//! The machine's own network, on loopback.

#![allow(clippy::unwrap_used, reason = "a test may end here")]

mod support;

use std::sync::Arc;
use std::time::Duration;

use comity_fetch::{Collect, FetchConfig, SystemNet};
use comity_policy::{Adaptive, Pacer, Politeness, Reason, SeededRandom};
use support::{AGENT, Rig, ok};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

fn rig() -> Rig {
    let mut config = FetchConfig::new(AGENT);
    config.allow_addresses = vec!["127.0.0.0/8".parse().unwrap(), "::1".parse().unwrap()];
    config.resolve.insert("six.test".into(), vec!["::1".parse().unwrap()]);
    // Nothing listens at ::1 on the ports of these tests: the family that is dead.
    config.resolve.insert("dual.test".into(), vec!["::1".parse().unwrap(), "127.0.0.1".parse().unwrap()]);
    Rig::on(Arc::new(SystemNet::new()), config)
}

async fn read_head(stream: &mut (impl AsyncReadExt + Unpin)) -> String {
    let mut head = Vec::new();
    let mut buffer = [0; 1024];
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut buffer).await {
            Ok(n @ 1..) => head.extend_from_slice(&buffer[..n]),
            _ => break,
        }
    }
    String::from_utf8(head).unwrap()
}

#[tokio::test]
async fn a_page_comes_over_tcp_and_a_dead_family_is_passed_over() {
    let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = server.local_addr().unwrap().port();
    let serving = tokio::spawn(async move {
        let (mut stream, _) = server.accept().await.unwrap();
        let head = read_head(&mut stream).await;
        stream.write_all(ok("hello").as_bytes()).await.unwrap();
        head
    });
    let page = rig().fetch(&format!("http://dual.test:{port}/x")).await;
    assert_eq!((page.fault(), page.text().as_str()), (None, "hello"), "{:?}", page.fetched.capture.detail);
    assert_eq!(page.fetched.capture.peer, Some("127.0.0.1".parse().unwrap()));
    assert_eq!(page.fetched.capture.request_head, serving.await.unwrap());
}

#[tokio::test]
async fn an_ipv6_literal_carries_its_brackets() {
    let Ok(server) = TcpListener::bind("[::1]:0").await else {
        println!("IPv6 loopback absent: only the request's form could have been checked here");
        return;
    };
    let port = server.local_addr().unwrap().port();
    let serving = tokio::spawn(async move {
        let (mut stream, _) = server.accept().await.unwrap();
        let head = read_head(&mut stream).await;
        stream.write_all(ok("six").as_bytes()).await.unwrap();
        head
    });
    let page = rig().fetch(&format!("http://[::1]:{port}/")).await;
    assert_eq!((page.fault(), page.text().as_str()), (None, "six"));
    assert!(serving.await.unwrap().contains(&format!("\r\nHost: [::1]:{port}\r\n")));
}

#[tokio::test]
async fn a_closed_port_is_refused() {
    let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = server.local_addr().unwrap().port();
    drop(server);
    let page = rig().fetch(&format!("http://127.0.0.1:{port}/")).await;
    assert_eq!((page.failed(), page.sent), (Some(Reason::FetchRefused), None));
}

#[tokio::test]
async fn a_dropped_fetch_closes_its_connection() {
    let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = server.local_addr().unwrap().port();
    let rig = rig();
    let permit = rig.permit(&format!("http://127.0.0.1:{port}/")).await;
    let mut sink = Collect::default();
    let serving = async {
        let (mut stream, _) = server.accept().await.unwrap();
        read_head(&mut stream).await;
        stream
    };
    // The fetch never gets an answer; the server having read the request ends the race, and drops the fetch.
    let mut stream = tokio::select! {
        biased;
        _ = rig.fetcher.fetch(permit, &mut sink) => panic!("no answer was sent"),
        stream = serving => stream,
    };
    let end = tokio::time::timeout(Duration::from_secs(10), stream.read(&mut [0; 1])).await;
    assert!(matches!(end, Ok(Ok(0) | Err(_))), "the server sees the end: {end:?}");
    assert_eq!((rig.pacer.in_flight(), rig.fetcher.idle_connections()), (0, 0));
}

#[tokio::test]
async fn a_kept_connection_that_the_server_closed_is_replaced() {
    let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = server.local_addr().unwrap().port();
    let serving = tokio::spawn(async move {
        let mut requests = 0;
        for _ in 0..2 {
            let (mut stream, _) = server.accept().await.unwrap();
            requests += read_head(&mut stream).await.matches("GET ").count();
            stream.write_all(ok("x").as_bytes()).await.unwrap();
            // Closed right away, without having said so in the head.
        }
        requests
    });
    let rig = rig();
    for _ in 0..2 {
        let page = rig.fetch(&format!("http://127.0.0.1:{port}/")).await;
        assert_eq!(page.fault(), None, "{:?}", page.fetched.capture.detail);
    }
    assert_eq!(serving.await.unwrap(), 2);
}

/// Answers every request with the same page, from a thread whose allocations do not count.
fn page_server(pages: usize) -> u16 {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for _ in 0..2 {
            let (mut stream, _) = listener.accept().unwrap();
            for _ in 0..pages {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    let mut buffer = [0; 1024];
                    let read = stream.read(&mut buffer).unwrap();
                    head.extend_from_slice(&buffer[..read]);
                }
                stream.write_all(ok(&"x".repeat(20 << 10)).as_bytes()).unwrap();
            }
        }
    });
    port
}

/// hyper-util's pooled client is the measure: it keeps neither heads nor bodies, and no books.
#[test]
fn a_page_over_a_kept_connection_allocates_no_more_than_with_a_bare_client() {
    use http_body_util::{BodyExt, Empty};
    use hyper_util::client::legacy::Client;

    const WARM: usize = 5;
    const COUNTED: u64 = 20;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let port = page_server(WARM + COUNTED as usize);
    let url = format!("http://127.0.0.1:{port}/page");
    let bare: Client<_, Empty<bytes::Bytes>> = Client::builder(hyper_util::rt::TokioExecutor::new()).build_http();
    let bare_page = || {
        let fields = [("user-agent", AGENT), ("accept", "*/*"), ("accept-encoding", "gzip, deflate, br, zstd")];
        let request =
            fields.into_iter().fold(http::Request::get(&url), |request, (name, value)| request.header(name, value));
        runtime.block_on(async {
            let mut body = bare.request(request.body(Empty::new()).unwrap()).await.unwrap().into_body();
            while let Some(frame) = body.frame().await {
                drop(frame.unwrap());
            }
        });
    };
    (0..WARM).for_each(|_| bare_page());
    let theirs = allocation_counter::measure(|| (0..COUNTED).for_each(|_| bare_page())).count_total / COUNTED;

    let mut rig = runtime.block_on(async { rig() });
    let own_networks = vec!["127.0.0.0/8".parse().unwrap()];
    let rules = Politeness { delay: Duration::ZERO, adaptive: Adaptive::Off, own_networks, ..Politeness::default() };
    #[expect(clippy::disallowed_methods, reason = "the test plays the gate")]
    let pacer = Pacer::new(rules, Arc::new(SeededRandom::new(1)));
    rig.pacer = pacer;
    let mut ours = 0;
    for n in 0..WARM as u64 + COUNTED {
        let permit = runtime.block_on(rig.permit(&url));
        let mut fetched = None;
        let counted = allocation_counter::measure(|| {
            fetched = Some(runtime.block_on(rig.fetcher.fetch(permit, &mut Length(0))));
        });
        let mut fetched = fetched.unwrap();
        assert_eq!((fetched.capture.fault, fetched.capture.body.len()), (None, 20 << 10));
        rig.settle(&mut fetched);
        ours += if n < WARM as u64 { 0 } else { counted.count_total };
    }
    println!("allocations a page: ours {}, bare {theirs}", ours / COUNTED);

    assert!(ours / COUNTED <= theirs, "ours {}, bare {theirs}", ours / COUNTED);
}

struct Length(usize);

impl comity_fetch::Sink for Length {
    fn head(&mut self, _head: &comity_fetch::ResponseHead<'_>) -> comity_fetch::Want {
        comity_fetch::Want::Body
    }
    fn chunk(&mut self, decoded: &[u8]) {
        self.0 += decoded.len();
    }

    #[expect(clippy::disallowed_methods, reason = "the test keeps its own bytes")]
    fn keep(&mut self, _read: comity_fetch::Read) -> comity_fetch::Keep {
        comity_fetch::Keep::unjudged()
    }
}
