//! What a crawl tells while it runs, over real sockets.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use comity::{Crawler, UrlOutcome};
use comity_testweb::{Answer, Served, Site, Target, Web};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

const REFERENCE: &str = include_str!("../../../../docs/reference/metrics.md");
const GRAFANA: &str = include_str!("../../../../configs/grafana-dashboard.json");

/// A site of so many pages, a part of them refused, one missing.
async fn served(pages: u32) -> Served {
    let links =
        (0..pages).map(|n| Target::here(format!("/{n}"))).chain([Target::here("/no/<b>"), Target::here("/gone")]);
    let site = Site::new().robots("User-agent: *\nDisallow: /no\n").page("/", Answer::page(links));
    let site = (0..pages).fold(site, |site, n| site.page(format!("/{n}"), Answer::text("x").bytes(1000)));
    Web::builder(3).site(site).build().unwrap().serve_loopback().await.unwrap()
}

fn crawler(served: &Served, told: mpsc::Sender<()>) -> Crawler {
    let builder = Crawler::builder("TestBot/1.0 (+https://example.com/bot)").allow_addresses("127.0.0.0/8");
    let builder = builder.seed(format!("{}/", served.origins()[0])).delay(Duration::from_millis(20));
    let builder = builder.configure(|file| {
        file.telemetry.metrics = Some("127.0.0.1:0".to_owned());
        file.telemetry.dashboard = Some("127.0.0.1:0".to_owned());
    });
    let told = move |_: UrlOutcome<'_>| {
        // Once nobody waits any more, nobody has to be told.
        let _ = told.try_send(());
    };
    builder.on_outcome(told).build().unwrap()
}

/// One request, as it is written; the whole answer.
async fn ask(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

async fn get(address: SocketAddr, path: &str, host: &str) -> String {
    ask(address, &format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")).await
}

/// Names of metrics in a text, without the ends that the format adds.
fn names(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = text.split(|c: char| !is_part(c)).filter(|word| word.starts_with("comity_"));
    words
        .map(|word| {
            ["_bucket", "_sum", "_count", "_total", "_info"]
                .iter()
                .fold(word, |word, end| word.strip_suffix(end).unwrap_or(word))
                .to_owned()
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn numbers_and_page_are_told_while_a_crawl_runs_and_nobody_holds_it_up() {
    let _alone = super::alone().await;
    let served = served(60).await;
    let (told, mut pages) = mpsc::channel(100);
    let crawler = crawler(&served, told);
    let [metrics, page] = crawler.listens()[..] else { panic!("two listeners") };
    let running = tokio::spawn(crawler.run());
    for _ in 0..10 {
        pages.recv().await.unwrap();
    }
    let text = get(metrics, "/metrics", "127.0.0.1").await;
    assert!(text.starts_with("HTTP/1.1 200") && text.contains("text/plain; version=0.0.4"), "{text}");
    let seen: u64 = text
        .lines()
        .find_map(|line| line.strip_prefix("comity_pages_total{status=\"2xx\"} "))
        .unwrap()
        .parse()
        .unwrap();
    assert!((9..61).contains(&seen), "{text}");
    assert!(
        text.contains("comity_origins{state=\"known\"} 1") && text.contains("comity_build_info{version="),
        "{text}"
    );
    for origin in served.origins() {
        assert!(!text.contains(origin.as_str()), "no label names an origin");
    }
    // Every name is explained, every explained name is there, and the dashboard knows no other.
    let body = text.split_once("\r\n\r\n").unwrap().1;
    assert_eq!(names(body), names(REFERENCE));
    let queries: serde_json::Value = serde_json::from_str(GRAFANA).unwrap();
    let shown = names(&queries["panels"].to_string());
    assert_eq!(shown.difference(&names(REFERENCE)).collect::<Vec<_>>(), Vec::<&String>::new());
    assert!(shown.len() > 15, "{shown:?}");

    let html = get(page, "/", &page.to_string()).await;
    assert!(
        html.starts_with("HTTP/1.1 200") && html.contains("default-src 'none'") && !html.contains("<script"),
        "{html}"
    );
    assert!(
        html.contains("TestBot/1.0") && html.contains("http-equiv=\"refresh\"") && html.contains("own floor"),
        "{html}"
    );
    // A name that somebody pointed at this machine is none of ours.
    for (host, status) in [("evil.test", 421), ("evil.test:80", 421), ("localhost", 200), ("[::1]:1", 200)] {
        for (address, path) in [(metrics, "/metrics"), (page, "/")] {
            let answer = get(address, path, host).await;
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{host}: {answer}");
        }
    }
    for (request, status) in [
        ("POST /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", 405),
        ("GET /other HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n", 404),
        ("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.test\r\nConnection: close\r\n\r\n", 421),
    ] {
        let answer = ask(metrics, request).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{request}: {answer}");
    }
    // Those who say nothing, and those who never read, are nobody's business.
    let mut silent = Vec::new();
    for _ in 0..40 {
        silent.push(TcpStream::connect(metrics).await.unwrap());
    }
    let summary = running.await.unwrap().unwrap();
    assert_eq!((summary.pages(), summary.refusals()), (62, 1));
    assert!(TcpStream::connect(metrics).await.is_err(), "it ends with the crawl");
    served.shutdown().await;
}

#[test]
fn an_address_that_cannot_be_had_is_said_at_the_start() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for (address, said) in [(address.as_str(), "another port"), ("0.0.0.0:9464", "expose"), ("9464", "127.0.0.1:9464")]
    {
        let builder = Crawler::builder("TestBot/1.0 (+https://example.com/bot)").seed("http://127.0.0.1:9/");
        let error = builder.configure(|file| file.telemetry.metrics = Some(address.to_owned())).build().unwrap_err();
        assert!(error.is_config() && error.advice().unwrap().contains(said), "{error}: {:?}", error.advice());
    }
}
