//! The machine's own network, on loopback.

#![allow(clippy::unwrap_used, reason = "a test may end here")]

mod support;

use std::sync::Arc;
use std::time::Duration;

use comity_fetch::{Collect, FetchConfig, SystemNet};
use comity_policy::Reason;
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
