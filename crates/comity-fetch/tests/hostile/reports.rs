//! Faults that users of other crawlers have met, by the number of their report: what concerns hostile answers.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use comity_fetch::{FetchConfig, Limits, ResolveError};
use comity_policy::{Reason, Truncation};

use crate::support::{AGENT, Rig, Script, Step, config, ok, once, send};

/// How a report's input must end.
struct Report {
    name: &'static str,
    config: FetchConfig,
    steps: Vec<Step>,
    /// Fault, status, truncation.
    ends: (Option<Reason>, Option<u16>, Option<Truncation>),
    /// Seconds at most.
    within: u64,
    text: &'static str,
}

fn coded(status: u16, coding: &str, body: &[u8]) -> Vec<Step> {
    let head = format!("HTTP/1.1 {status} X\r\nContent-Encoding: {coding}\r\nContent-Length: {}\r\n\r\n", body.len());
    vec![send([head.as_bytes(), body].concat())]
}

fn bare_deflate(plain: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

/// Read timeout 10 s, total 30 s, 1 KiB/s after 10 s.
fn patient() -> FetchConfig {
    let seconds = Duration::from_secs;
    let limits = Limits { head: seconds(10), idle: seconds(10), total: seconds(30), ..Limits::default() };
    FetchConfig { limits, ..config() }
}

fn reports() -> Vec<Report> {
    let row = |name, steps, ends, within, text| Report { name, config: config(), steps, ends, within, text };
    let slow = |steps, ends, within, name| Report { name, config: patient(), steps, ends, within, text: "" };
    let seconds = Duration::from_secs;
    let (fault, cut) = (Some(Reason::FetchCoding), Some(Truncation::Time));
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "X: y\r\n".repeat(2000));
    let long = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "y".repeat(1 << 20));
    let refused = (Some(Reason::FetchHeaders), None, None);
    let body =
        |wait| vec![send("HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n"), Step::Trickle(vec![b'x'; 900], wait)];
    let steady = std::iter::repeat_n([Step::Wait(seconds(1)), Step::Send(vec![b'x'; 2048])], 60).flatten();
    vec![
        row("26: gzip said of a plain 403", coded(403, "gzip", b"no entry"), (fault, Some(403), None), 0, ""),
        row("26: bare deflate", coded(200, "deflate", &bare_deflate(b"plain")), (None, Some(200), None), 0, "plain"),
        row("26: no body and gzip", coded(200, "gzip", b""), (None, Some(200), None), 0, ""),
        slow(
            vec![Step::Trickle(ok("x").into_bytes(), seconds(1))],
            (Some(Reason::FetchTimeoutHead), None, None),
            10,
            "27: a head of a byte a second",
        ),
        slow(body(seconds(5)), (Some(Reason::FetchSlow), Some(200), cut), 15, "27: a body of a byte in five seconds"),
        slow(
            std::iter::once(send("HTTP/1.1 200 OK\r\n\r\n")).chain(steady).collect(),
            (Some(Reason::FetchTimeoutTotal), Some(200), cut),
            30,
            "27: a body just above the rate, without end",
        ),
        row("32: 2000 lines", vec![send(many)], refused, 0, ""),
        row("32: a line of 1 MB", vec![send(long)], refused, 0, ""),
    ]
}

#[tokio::test(start_paused = true)]
async fn reports_of_hostile_answers_end_as_they_should() {
    for Report { name, config, steps, ends, within, text } in reports() {
        let steps: Vec<Step> = std::iter::once(Step::Request).chain(steps).collect();
        let rig = Rig::with(config, move |_, _| Script::Serve(steps.clone()));
        let page = rig.fetch("http://a.test/").await;
        let capture = &page.fetched.capture;
        assert_eq!((page.fault(), page.status(), capture.truncated), ends, "{name}: {:?}", capture.detail);
        assert!(page.took.as_secs() <= within, "{name}: took {:?}", page.took);
        if !text.is_empty() {
            assert_eq!(page.text(), text, "{name}");
        }
        // Whatever failed counts against the host, and nothing was asked twice.
        let ready = rig.pacer.turn(capture.url.origin(), rig.now()).ready.at;
        assert!(page.failed().is_none() || ready >= rig.now().after(Duration::from_secs(1)), "{name}");
        assert_eq!(rig.log.requests(), 1, "{name}");
    }
}

/// 30: literals of IPv6, names of IPv6 alone, a dead IPv6 address beside a living IPv4 one; Host with its brackets.
#[tokio::test(start_paused = true)]
async fn reports_of_ipv6_are_fetched() {
    let parse = |list: &[&str]| -> Result<Vec<IpAddr>, ResolveError> {
        Ok(list.iter().map(|text| text.parse().unwrap()).collect())
    };
    let names = || {
        BTreeMap::from([
            ("six.test".to_owned(), parse(&["fd00::6"])),
            ("both.test".to_owned(), parse(&["fd00::dead", "10.0.0.4"])),
        ])
    };
    let rows = [
        ("http://[::1]:8080/", "[::1]:8080", "[::1]:8080"),
        ("http://six.test/", "six.test", "[fd00::6]:80"),
        ("http://both.test/", "both.test", "10.0.0.4:80"),
    ];
    for (url, host, peer) in rows {
        let mut config = FetchConfig::new(AGENT);
        config.allow_addresses = ["::1", "fd00::/8", "10.0.0.0/8"].map(|range| range.parse().unwrap()).to_vec();
        let dead: IpAddr = "fd00::dead".parse().unwrap();
        let plan = move |peer: SocketAddr, _| if peer.ip() == dead { Script::Refuse } else { once(ok("here")) };
        let rig = Rig::over(config, names(), plan);
        let page = rig.fetch(url).await;
        assert_eq!((page.fault(), page.text().as_str()), (None, "here"), "{url}: {:?}", page.fetched.capture.detail);
        assert_eq!(rig.log.peers().last().unwrap().to_string(), peer, "{url}");
        let received = rig.log.received().concat();
        assert!(received.contains(&format!("\r\nHost: {host}\r\n")), "{url}: {received}");
        assert!(page.took <= Duration::from_secs(1), "{url}: {:?}", page.took);
    }
}
