//! The server answers as its description says, on both carriers, and logs what the wire saw.
#![allow(clippy::unwrap_used, reason = "in tests a panic is the message, also in their helpers")]
#![allow(clippy::disallowed_methods, reason = "a client with a clock of its own")]

mod shared;

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use comity_fetch::{Net, ResolveError};
use proptest::prelude::*;

use comity_testweb::{Answer, Coding, ConnectFault, Generated, Request, Site, Target, Web};
use shared::{Client, host};
use tokio::time::Instant;

fn web() -> Web {
    let busy = Answer::retry_after(503, 7);
    Web::builder(3)
        .site(
            Site::new()
                .robots("User-agent: *\nDisallow: /x\n")
                .page("/", Answer::page(["/a?b=1&c=2"]).link(Target::at(1, "/p/1")))
                .page("/a", Answer::text("by path"))
                .page("/a?q", Answer::text("by target"))
                .page("/go", Answer::redirect(302, Target::at(1, "/")))
                .page("/turns", Answer::text("never"))
                .page_answers("/turns", [busy.clone(), Answer::text("then")])
                .page_cycle("/flap", [busy, Answer::text("up")])
                .page("/gzip", Answer::page(["/a"]).bytes(50_000).coding(Coding::Gzip))
                .page("/chunked", Answer::page(["/a"]).bytes(50_000).chunked())
                .page("/odd", Answer::status(200).field("bad name", "x"))
                .otherwise(|request: &Request| Answer::text(format!("asked {}", request.target_text()))),
        )
        .site(Site::new().generated(Generated::new(5, 6).bytes(30_000)))
        .build()
        .unwrap()
}

/// Target, status, and what the body must contain.
const ROWS: [(&str, u16, &str); 12] = [
    ("/robots.txt", 200, "Disallow: /x"),
    ("/robots.txt?x", 200, "Disallow: /x"),
    ("/a", 200, "by path"),
    ("/a?z", 200, "by path"),
    ("/a?q", 200, "by target"),
    ("/turns", 503, "busy"),
    ("/turns", 200, "then"),
    ("/turns", 200, "then"),
    ("/flap", 503, "busy"),
    ("/flap", 200, "up"),
    ("/flap", 503, "busy"),
    ("/else?x|y", 200, "asked /else?x|y"),
];

async fn check(client: &mut Client, origins: &[String]) {
    let here = host(&origins[0]);
    for (row, (target, status, text)) in ROWS.into_iter().enumerate() {
        let response = client.get(here, target).await.unwrap();
        assert_eq!(response.status, status, "row {row}, {target}");
        assert!(response.text().contains(text), "row {row}, {target}: {}", response.text());
    }
    let page = client.get(here, "/").await.unwrap().text();
    assert!(page.contains("href=\"/a?b=1&amp;c=2\""), "{page}");
    assert!(page.contains(&format!("href=\"{}/p/1\"", origins[1])), "{page}");
    let go = client.get(here, "/go").await.unwrap();
    assert_eq!(go.field("location"), Some(format!("{}/", origins[1]).as_str()));
    assert!(go.field("date").is_some());
    let chunked = client.get(here, "/chunked").await.unwrap();
    assert_eq!((chunked.body.len(), chunked.field("content-length")), (50_000, None));
    let gzip = client.get(here, "/gzip").await.unwrap();
    assert_eq!(gzip.field("content-encoding"), Some("gzip"));
    let mut plain = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(gzip.body.as_slice()), &mut plain).unwrap();
    assert_eq!(plain.len(), 50_000);
    let odd = client.get(here, "/odd").await.unwrap();
    assert_eq!(odd.status, 500);
    assert_eq!(client.get("nobody.test", "/").await.unwrap().status, 421);
}

#[tokio::test]
async fn loopback_addresses_answer_as_described() {
    let served = web().serve_loopback().await.unwrap();
    let address: SocketAddr = host(&served.origins()[0]).parse().unwrap();
    check(&mut Client::tcp(address).await, &served.origins()).await;
    let other: SocketAddr = host(&served.origins()[1]).parse().unwrap();
    assert_ne!(address.ip(), other.ip(), "an address for each origin");
    let page = Client::tcp(other).await.get(host(&served.origins()[1]), "/p/4").await.unwrap();
    assert_eq!((page.status, page.body.len()), (200, 30_000));
    let observer = served.shutdown().await;
    assert!(tokio::net::TcpStream::connect(address).await.is_err(), "down after shutdown");
    assert_eq!(observer.log().len(), ROWS.len() + 7);
}

#[tokio::test]
async fn names_on_one_address_are_told_apart_by_host() {
    let served = web().serve_names().await.unwrap();
    let address = SocketAddr::new(served.names()["o0.demo.test"][0], served.port());
    check(&mut Client::tcp(address).await, &served.origins()).await;
    let mut client = Client::tcp(address).await;
    assert_eq!(client.get(&format!("O1.demo.TEST:{}", served.port()), "/p/4").await.unwrap().body.len(), 30_000);
    assert_eq!(client.get(&format!("o0.demo.test:{}", served.port()), "/p/4").await.unwrap().text(), "asked /p/4");
}

#[tokio::test]
async fn an_ipv6_literal_is_a_host() {
    let site = Site::new().name("[::1]").address("::1".parse().unwrap()).page("/", Answer::text("six"));
    let web = Web::builder(0).site(site).build().unwrap();
    let (net, observer) = web.in_memory();
    assert_eq!(observer.origins(), ["http://[::1]"]);
    assert!(net.connect("[::1]:80".parse().unwrap()).await.is_ok());
    if std::net::TcpListener::bind("[::1]:0").is_err() {
        println!("no ::1 on this machine: loopback part left out");
        return;
    }
    let served = web.serve_loopback().await.unwrap();
    let address: SocketAddr = host(&served.origins()[0]).parse().unwrap();
    assert!(address.is_ipv6() && served.names().is_empty());
    assert_eq!(Client::tcp(address).await.get(host(&served.origins()[0]), "/").await.unwrap().text(), "six");
}

#[tokio::test(start_paused = true)]
async fn memory_answers_as_described() {
    let (net, observer) = web().in_memory();
    check(&mut Client::memory(&net, "http://o0.demo.test").await, &observer.origins()).await;
    assert_eq!(net.resolve("o7.demo.test").await, Err(ResolveError::NoSuchName));
    let nowhere = net.connect("10.1.2.3:80".parse().unwrap()).await;
    assert_eq!(nowhere.err().map(|error| error.kind()), Some(ErrorKind::ConnectionRefused));
}

#[tokio::test(start_paused = true)]
async fn the_log_holds_what_the_wire_saw() {
    let site =
        Site::new().latency(Duration::from_millis(40)).page("/a", Answer::text("x").delay(Duration::from_millis(2)));
    let (net, observer) = Web::builder(0).site(site).build().unwrap().in_memory();
    let mut client = Client::memory(&net, "http://o0.demo.test").await;
    for target in ["/a", "/a|b[%zz]//c?d=e?f'", "/a#fragment"] {
        client.get("o0.demo.test", target).await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    // What the server itself refuses is logged all the same.
    client
        .send_raw(b"GET http://user@o0.demo.test/\x01 HTTP/1.1\r\nHost: o0.demo.test\r\nX-Odd: 1\r\n\r\n")
        .await
        .unwrap();
    client.rest().await.1.unwrap();
    drop(client);
    let mut second = Client::memory(&net, "http://o0.demo.test").await;
    second.get("o0.demo.test", "/b").await.unwrap();

    let log = observer.log();
    let targets: Vec<_> = log.iter().map(|seen| seen.request.target_text().into_owned()).collect();
    assert_eq!(targets, ["/a", "/a|b[%zz]//c?d=e?f'", "/a#fragment", "http://user@o0.demo.test/\u{1}", "/b"]);
    let statuses: Vec<_> = log.iter().map(|seen| seen.status).collect();
    assert_eq!(statuses, [Some(200), Some(404), Some(404), Some(400), Some(404)]);
    assert_eq!(log.iter().map(|seen| seen.connection).collect::<Vec<_>>(), [0, 0, 0, 0, 1]);
    assert_eq!((log[0].arrived_us, log[0].head_sent_us), (0, Some(42_000)));
    assert_eq!(log[1].arrived_us, 1_042_000, "a second after the first answer");
    assert_eq!(log[3].request.field("x-odd").as_deref(), Some("1"));
    assert!(log.iter().all(|seen| seen.ended_us.is_some() && seen.site == Some(0)));
}

#[tokio::test]
async fn faults_on_loopback() {
    let site = Site::new()
        .page("/reset", Answer::reset())
        .page("/cut", Answer::text("x".repeat(5_000)).cut_after(1_000))
        .page("/raw", Answer::raw("HTTP/1.1 299 Odd\r\nX: y\r\n\r\nraw \u{0}"));
    let served = Web::builder(0).site(site).build().unwrap().serve_loopback().await.unwrap();
    let origin = served.origins().remove(0);
    let address: SocketAddr = host(&origin).parse().unwrap();

    let reset = Client::tcp(address).await.get(host(&origin), "/reset").await.unwrap_err();
    assert_eq!(reset.kind(), ErrorKind::ConnectionReset);

    let mut client = Client::tcp(address).await;
    client.send(host(&origin), "/cut").await.unwrap();
    let (bytes, end) = client.rest().await;
    assert_eq!(bytes.len(), 1_000);
    assert_eq!(end.unwrap_err().kind(), ErrorKind::ConnectionReset);

    let mut client = Client::tcp(address).await;
    client.send(host(&origin), "/raw").await.unwrap();
    let (bytes, end) = client.rest().await;
    assert_eq!(bytes, b"HTTP/1.1 299 Odd\r\nX: y\r\n\r\nraw \0");
    end.unwrap();
    assert_eq!(served.log().iter().map(|seen| seen.status).collect::<Vec<_>>(), [None, Some(200), Some(299)]);
}

#[tokio::test(start_paused = true)]
async fn faults_in_memory_on_paused_time() {
    let site = Site::new()
        .page("/silence", Answer::silence())
        .page("/reset", Answer::reset().delay(Duration::from_secs(3)))
        .page("/slow", Answer::text("0123456789").trickle(1, Duration::from_secs(5)))
        .page("/head", Answer::raw("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").trickle(1, Duration::from_secs(1)))
        .connect_latency(Duration::from_millis(30));
    let (net, observer) = Web::builder(0).site(site).build().unwrap().in_memory();
    let origin = "http://o0.demo.test";
    // What is asked, how long it takes to end, how it ends.
    let rows = [
        ("/silence", 600, Some(ErrorKind::ConnectionReset)),
        ("/reset", 3, Some(ErrorKind::ConnectionReset)),
        ("/slow", 45, None),
        ("/head", 37, None),
    ];
    for (target, seconds, error) in rows {
        let start = Instant::now();
        let mut client = Client::memory(&net, origin).await;
        let ended = client.get("o0.demo.test", target).await;
        assert_eq!(ended.err().map(|error| error.kind()), error, "{target}");
        let took = start.elapsed();
        assert!(took.as_secs() == seconds && took.subsec_millis() >= 30, "{target} took {took:?}");
    }
    assert_eq!(observer.log()[0].head_sent_us, None);
}

#[tokio::test(start_paused = true)]
async fn connections_fail_as_told() {
    let (net, _observer) = Web::plain(1, 1, 0).in_memory();
    let address = net.resolve("o0.demo.test").await.unwrap().addresses[0];
    let to = SocketAddr::new(address, 80);
    net.set_connect_fault(address, Some(ConnectFault::Refused));
    assert_eq!(net.connect(to).await.err().map(|error| error.kind()), Some(ErrorKind::ConnectionRefused));
    net.set_connect_fault(address, Some(ConnectFault::Hang));
    assert!(tokio::time::timeout(Duration::from_secs(3600), net.connect(to)).await.is_err());
    net.set_connect_fault(address, Some(ConnectFault::Reset(20)));
    let mut client = Client::memory(&net, "http://o0.demo.test").await;
    client.send("o0.demo.test", "/").await.unwrap();
    let (bytes, end) = client.rest().await;
    assert_eq!((bytes.len(), end.unwrap_err().kind()), (20, ErrorKind::ConnectionReset));
    net.set_connect_fault(address, None);
    let mut client = Client::memory(&net, "http://o0.demo.test").await;
    assert_eq!(client.get("o0.demo.test", "/").await.unwrap().status, 200);

    net.set_resolve_fault("o0.demo.test", Some(ResolveError::Timeout));
    assert_eq!(net.resolve("o0.demo.test").await, Err(ResolveError::Timeout));
    net.set_resolve_fault("o0.demo.test", None);
    assert!(net.resolve("o0.demo.test").await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_full_log_says_so_and_serving_goes_on() {
    let web = Web::builder(0).site(Site::new().page("/", Answer::text("x"))).max_log(2).build().unwrap();
    let (net, observer) = web.in_memory();
    let mut client = Client::memory(&net, "http://o0.demo.test").await;
    for _ in 0..5 {
        assert_eq!(client.get("o0.demo.test", "/").await.unwrap().status, 200);
    }
    assert_eq!((observer.log().len(), observer.lost()), (2, 3));
}

#[tokio::test(start_paused = true)]
async fn one_seed_is_one_web() {
    let mut runs = Vec::new();
    for (seed, order) in [(7, [0, 1, 2]), (7, [2, 0, 1]), (8, [0, 1, 2])] {
        let (net, _observer) = Web::demo(seed).in_memory();
        let mut pages = std::collections::BTreeMap::new();
        for turn in order {
            for site in [10 + turn, 20 + turn] {
                let origin = format!("http://o{site}.demo.test");
                let mut client = Client::memory(&net, &origin).await;
                for target in ["/robots.txt", "/", "/p/2", "/p/5"] {
                    let page = client.get(host(&origin), target).await.unwrap();
                    pages.insert((site, target), (page.status, page.body));
                }
            }
        }
        runs.push(pages);
    }
    assert_eq!(runs[0], runs[1], "same seed, other order of requests");
    assert_ne!(runs[0], runs[2], "another seed");
}

/// Pieces that make up requests, right and wrong ones.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let known: [&[u8]; 8] = [
        b"GET / HTTP/1.1\r\n",
        b"GET /robots.txt HTTP/1.1\r\nHost: o0.demo.test\r\n\r\n",
        b"POST /p/1 HTTP/1.0\r\nHost: o0.demo.test\r\nContent-Length: 3\r\n\r\n",
        b"Host: o0.demo.test\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"User-Agent: \xff\r\n",
        b"\r\n\r\n",
        b"HTTP/1.1 400 x",
    ];
    prop_oneof![
        prop::sample::select(known.to_vec()).prop_map(<[u8]>::to_vec),
        prop::collection::vec(any::<u8>(), 0..40)
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever comes over a connection, the server lives on and the log can be audited.
    #[test]
    fn any_bytes_are_borne(pieces in prop::collection::vec(piece(), 0..12)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let (net, observer) = Web::plain(1, 3, 2).in_memory();
            let mut odd = Client::memory(&net, "http://o0.demo.test").await;
            for piece in &pieces {
                if odd.send_raw(piece).await.is_err() {
                    break;
                }
                tokio::task::yield_now().await;
            }
            drop(odd);
            let mut sound = Client::memory(&net, "http://o0.demo.test").await;
            assert_eq!(sound.get("o0.demo.test", "/p/1").await.unwrap().status, 200);
            let audit = observer.audit();
            assert!(audit.requests >= 1 && !audit.to_json().is_empty());
        });
    }
}
