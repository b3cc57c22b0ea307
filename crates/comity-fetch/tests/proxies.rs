//! Requests through proxies: what is said to whom, byte for byte, and whose fault a failure is.

#![allow(clippy::unwrap_used, reason = "a test may end here")]

mod support;

use std::task::Poll;
use std::time::Duration;

use comity_fetch::proxy::{Credentials, PlainHttp, Proxy, Shown};
use comity_fetch::{FetchConfig, Forward};
use comity_policy::{Form, Names, Outcome, Reason, Vantage};
use comity_url::{CrawlUrl, Origin};
use http::Method;
use support::{Page, Rig, Script, Step, answering, config, ok, once, send};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const LOGIN: &str = "us3r:s3cret";
/// `us3r:s3cret` in Base64.
const BASIC: &str = "dXMzcjpzM2NyZXQ=";

fn proxy(url: &str) -> Proxy {
    let mut proxy: Proxy = url.parse().unwrap();
    (proxy.vantage, proxy.pool) = (Vantage::country("DE").unwrap(), Some("dc".into()));
    proxy
}

fn with_login(url: &str) -> Proxy {
    let mut proxy = proxy(url);
    proxy.credentials = Some(LOGIN.parse::<Credentials>().unwrap());
    proxy
}

fn through(proxies: Vec<Proxy>) -> FetchConfig {
    FetchConfig { proxies, ..config() }
}

fn rig(proxy: Proxy, plan: impl Fn(std::net::SocketAddr, usize) -> Script + Send + Sync + 'static) -> Rig {
    Rig::with(through(vec![proxy]), plan)
}

/// What the capture and everything about it show, to be searched for secrets.
fn shown(page: &Page) -> String {
    format!("{:?}", page.fetched)
}

#[tokio::test(start_paused = true)]
async fn plain_http_is_asked_for_in_absolute_form_and_credentials_end_at_the_proxy() {
    let rig = rig(with_login("http://192.0.2.9:3128"), |_, _| answering(ok("hello")));
    let page = rig.fetch("http://a.test:8080/x?y=%zz").await;
    assert_eq!((page.status(), page.text().as_str(), page.fault()), (Some(200), "hello", None));
    let received = rig.log.received();
    assert!(
        received[0].starts_with("GET http://a.test:8080/x?y=%zz HTTP/1.1\r\nHost: a.test:8080\r\n"),
        "{received:?}"
    );
    assert!(received[0].contains(&format!("Proxy-Authorization: Basic {BASIC}\r\n")), "{received:?}");
    let capture = &page.fetched.capture;
    let head = String::from_utf8_lossy(&capture.request_head);
    assert!(head.starts_with("GET http://a.test:8080/x?y=%zz HTTP/1.1\r\n") && head.ends_with("\r\n\r\n"), "{head}");
    assert!(!head.to_lowercase().contains("proxy-authorization"), "{head}");
    assert!(!shown(&page).contains(BASIC) && !format!("{:?}", rig.fetcher).contains("s3cret"));
    let via = capture.via.as_ref().unwrap();
    assert_eq!((via.form, via.names, via.pool.as_deref()), (Form::Forward, Names::Exit, Some("dc")));
    assert_eq!(via.exit.as_deref(), Some("http://192.0.2.9:3128"));
    assert_eq!((capture.vantage.to_string().as_str(), capture.peer), ("DE", None));
    assert!(rig.log.asked.lock().unwrap().is_empty(), "the exit looks names up");
    rig.fetch("http://a.test:8080/2").await;
    assert_eq!(rig.log.connections.lock().unwrap().len(), 1, "the connection is kept, for this origin");
}

#[tokio::test(start_paused = true)]
async fn a_tunnel_is_asked_for_by_name_and_what_comes_in_it_is_the_sites() {
    let tunnel = "HTTP/1.0 200 Connection established\r\nProxy-Agent: x\r\n\r\n";
    let mut tunnels = with_login("http://192.0.2.9:3128");
    tunnels.plain_http = PlainHttp::Tunnel;
    let rig = rig(tunnels, move |_, _| {
        Script::Serve(vec![
            Step::Request,
            send(tunnel),
            Step::Request,
            send(ok("one")),
            Step::Request,
            send(ok("two")),
            Step::Hold,
        ])
    });
    for (target, body) in [("http://a.test/1", "one"), ("http://a.test/2", "two")] {
        let page = rig.fetch(target).await;
        assert_eq!((page.text().as_str(), page.fault()), (body, None));
        assert!(!shown(&page).contains(BASIC));
        assert_eq!(page.fetched.capture.via.as_ref().unwrap().form, Form::Tunnel);
        assert!(
            !page.fetched.capture.response_head.windows(5).any(|w| w == b"Agent"),
            "the proxy's head is not the site's"
        );
    }
    let received = rig.log.received().remove(0);
    let (connect, rest) = received.split_once("\r\n\r\n").unwrap();
    assert!(connect.starts_with("CONNECT a.test:80 HTTP/1.1\r\nHost: a.test:80\r\n"), "{connect}");
    assert!(connect.contains(BASIC) && !rest.contains("Proxy-"), "{rest}");
    assert!(rest.starts_with("GET /1 HTTP/1.1\r\nHost: a.test\r\n") && rest.contains("GET /2 HTTP/1.1"), "{rest}");
}

/// A SOCKS5 exit, as a script: what it says step by step. Requests in the tunnel end with an empty line; its own do not.
fn socks(says: Vec<&'static [u8]>) -> Script {
    let mut steps: Vec<Step> = says.into_iter().map(send).collect();
    steps.extend([Step::Request, send(ok("through")), Step::Hold]);
    Script::Serve(steps)
}

const MADE: &[u8] = &[5, 0, 0, 3, 4, b'n', b'a', b'm', b'e', 0, 80];

#[tokio::test(start_paused = true)]
async fn socks_gets_names_or_checked_addresses_and_logs_in() {
    type Row = (Proxy, Vec<&'static [u8]>, Vec<u8>, Names, usize);
    let named = [&[5, 1, 0, 3, 6][..], b"a.test", &[0, 80]].concat();
    let addressed = vec![5, 1, 0, 1, 10, 0, 0, 1, 0, 80];
    let login = [&[1, 4][..], b"us3r", &[6], b"s3cret"].concat();
    let rows: [Row; 3] = [
        (proxy("socks5h://192.0.2.9:1080"), vec![&[5, 0], MADE], [&[5, 1, 0][..], &named].concat(), Names::Exit, 0),
        (proxy("socks5://192.0.2.9:1080"), vec![&[5, 0], MADE], [&[5, 1, 0][..], &addressed].concat(), Names::Here, 1),
        (
            with_login("socks5h://192.0.2.9:1080"),
            vec![&[5, 2], &[1, 0], MADE],
            [&[5, 2, 0, 2][..], &login, &named].concat(),
            Names::Exit,
            0,
        ),
    ];
    for (proxy, says, said, names, look_ups) in rows {
        let rig = rig(proxy, move |_, _| socks(says.clone()));
        let page = rig.fetch("http://a.test/").await;
        assert_eq!((page.text().as_str(), page.fault()), ("through", None), "{:?}", page.fetched.capture.detail);
        let connections = rig.log.connections.lock().unwrap();
        let received = connections[0].1.lock().unwrap();
        assert!(received.starts_with(&said), "{:?}", String::from_utf8_lossy(&received));
        assert!(received[said.len()..].starts_with(b"GET / HTTP/1.1\r\nHost: a.test\r\n"));
        assert_eq!(page.fetched.capture.via.as_ref().unwrap().names, names);
        assert_eq!(rig.log.asked.lock().unwrap().len(), look_ups);
        assert!(!shown(&page).contains("s3cret"));
    }
}

#[tokio::test(start_paused = true)]
async fn faults_of_the_exit_are_told_apart_from_faults_of_the_site() {
    type Row = (&'static str, &'static str, fn() -> Script, Reason);
    fn says(text: &'static [u8]) -> Script {
        Script::Serve(vec![send(text), Step::Hold])
    }
    let rows: [Row; 16] = [
        ("http", "https://a.test/", || Script::Refuse, Reason::FetchProxyConnect),
        ("http", "http://a.test/", || Script::Refuse, Reason::FetchProxyConnect),
        ("socks5h", "http://a.test/", || Script::Refuse, Reason::FetchProxyConnect),
        ("http", "http://a.test/", || Script::Hang, Reason::FetchProxyTimeout),
        ("socks5h", "http://a.test/", || Script::Serve(vec![Step::Hold]), Reason::FetchProxyTimeout),
        ("socks5h", "http://a.test/", || says(&[5, 0]), Reason::FetchTimeoutConnect),
        ("http", "https://a.test/", || Script::Serve(vec![Step::Hold]), Reason::FetchTimeoutConnect),
        ("http", "https://a.test/", || once("HTTP/1.1 407 No\r\n\r\n"), Reason::FetchProxyAuth),
        ("http", "http://a.test/", || once("HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n"), Reason::FetchProxyAuth),
        ("http", "https://a.test/", || once("HTTP/1.1 403 No\r\n\r\n"), Reason::FetchProxyRefused),
        ("http", "https://a.test/", || once("HTTP/1.1 502 No\r\n\r\n"), Reason::FetchRefused),
        ("http", "https://a.test/", || says(b"SSH-2.0-OpenSSH\r\n\r\n"), Reason::FetchProxyProtocol),
        ("socks5h", "http://a.test/", || says(&[5, 0xff]), Reason::FetchProxyAuth),
        ("socks5h", "http://a.test/", || says(&[5, 0, 5, 2, 0, 1, 0, 0, 0, 0, 0, 0]), Reason::FetchProxyRefused),
        ("socks5h", "http://a.test/", || says(&[5, 0, 5, 4, 0, 1, 0, 0, 0, 0, 0, 0]), Reason::FetchRefused),
        ("socks5h", "http://a.test/", || says(b"HTTP/1.1 400 Bad Request\r\n\r\n"), Reason::FetchProxyProtocol),
    ];
    for (scheme, url, script, reason) in rows {
        let rig = rig(proxy(&format!("{scheme}://192.0.2.9:1080")), move |_, _| script());
        let page = rig.fetch(url).await;
        assert_eq!(page.failed(), Some(reason), "{scheme} {url}: {:?}", page.fetched.capture.detail);
        assert_eq!((page.status(), rig.log.connections.lock().unwrap().len()), (None, 1), "asked once: {scheme} {url}");
        let backs_off = rig.pacer.pace(&Origin::parse(url).unwrap(), rig.now()).failures() > 0;
        assert_eq!(backs_off, !reason.is_proxy(), "{reason}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_delay_of_an_origin_runs_whatever_the_exit_does() {
    let rig = rig(proxy("http://192.0.2.9:1080"), |_, _| Script::Refuse);
    let begin = rig.now();
    for _ in 0..4 {
        rig.fetch("http://a.test/").await;
    }
    assert!(rig.now().since(begin) >= Duration::from_secs(3), "four tries, three delays of a second");
}

#[tokio::test(start_paused = true)]
async fn what_the_proxy_answers_itself_is_no_answer_of_the_site() {
    let refusal = "HTTP/1.1 403 Forbidden\r\nX-Squid-Error: ERR_ACCESS_DENIED 0\r\nContent-Length: 6\r\n\r\ndenied";
    let rig = rig(proxy("http://192.0.2.9:3128"), move |_, _| answering(refusal));
    let page = rig.fetch("http://a.test/").await;
    assert_eq!((page.failed(), page.status(), page.text().as_str()), (Some(Reason::FetchProxyRefused), None, ""));
    assert!(page.fetched.capture.response_head.is_empty() && page.fetched.capture.fields.is_empty());
    assert!(page.fetched.capture.detail.as_ref().unwrap().contains("ERR_ACCESS_DENIED"));
    assert!(page.sent.is_some(), "the delay runs from it");
}

#[tokio::test(start_paused = true)]
async fn inner_places_are_refused_whoever_looks_the_name_up() {
    for scheme in ["http", "socks5", "socks5h"] {
        let rig = rig(proxy(&format!("{scheme}://192.0.2.9:1080")), |_, _| answering(ok("inside")));
        for origin in
            ["http://127.0.0.1", "http://[::1]", "http://169.254.169.254", "http://localhost", "http://printer.local"]
        {
            let origin = Origin::parse(origin).unwrap();
            let refused = rig.fetcher.candidates(&origin).await.unwrap_err();
            assert!(
                matches!(refused.reason, Reason::AddressPrivate | Reason::FetchDns),
                "{scheme} {origin}: {refused}"
            );
            // A slot that somebody minted without asking does not help.
            let url = CrawlUrl::parse(&format!("{origin}/")).unwrap();
            let permit = rig.permit_at(&url, Vec::new()).await;
            let fetched = rig.fetcher.fetch(permit, &mut comity_fetch::HeadOnly).await;
            assert!(matches!(fetched.outcome, Outcome::Failed(_)), "{scheme} {origin}");
        }
        assert_eq!(rig.log.bytes(), 0, "{scheme}: nothing was said to anybody");
    }
}

#[tokio::test(start_paused = true)]
async fn a_permit_for_another_vantage_leaves_nowhere() {
    let url = CrawlUrl::parse("http://a.test/").unwrap();
    let direct = Rig::with(config(), |_, _| answering(ok("x")));
    let far = rig(proxy("http://192.0.2.9:3128"), |_, _| answering(ok("x")));
    let foreign = Vantage::country("US").unwrap();
    for (rig, vantage) in [(&direct, Vantage::Exit), (&far, Vantage::Direct), (&far, foreign)] {
        let permit = rig.permit_from(&url, vec!["10.0.0.1:80".parse().unwrap()], vantage).await;
        let fetched = rig.fetcher.fetch(permit, &mut comity_fetch::HeadOnly).await;
        assert_eq!(fetched.outcome, Outcome::Failed(Reason::FetchProxyNone), "{vantage}");
        assert!(rig.log.connections.lock().unwrap().is_empty());
    }
    assert!(
        far.fetcher.way_out(url.origin(), foreign).is_err() && direct.fetcher.way_out(url.origin(), foreign).is_err()
    );
}

#[tokio::test(start_paused = true)]
async fn all_doors_leave_through_the_exit() {
    let rig = rig(proxy("http://192.0.2.9:3128"), |_, nth| match nth {
        0 => answering(ok("sent")),
        _ => Script::Serve(vec![
            Step::Request,
            send("HTTP/1.1 200 OK\r\n\r\nearly"),
            Step::Request,
            send("pong"),
            Step::Hold,
        ]),
    });
    let mut answer =
        rig.fetcher.send(rig.permit("http://a.test/").await, Forward::new(Method::POST).unwrap()).await.unwrap();
    while answer.next().await.is_some() {}
    rig.settle(&mut answer.finish().await);
    let mut tunnel = rig.fetcher.dial(rig.permit("http://a.test:2222/").await).await.unwrap();
    assert_eq!(tunnel.peer(), None);
    let mut early = [0; 5];
    tunnel.read_exact(&mut early).await.unwrap();
    tunnel.write_all(b"ping\r\n\r\n").await.unwrap();
    let mut late = [0; 4];
    tunnel.read_exact(&mut late).await.unwrap();
    assert_eq!((&early, &late), (b"early", b"pong"), "bytes after the head belong to the tunnel");
    let received = rig.log.received();
    assert!(received[0].starts_with("POST http://a.test/ HTTP/1.1\r\n"), "{received:?}");
    assert!(received[1].starts_with("CONNECT a.test:2222 HTTP/1.1\r\n") && received[1].ends_with("ping\r\n\r\n"));
    assert!(rig.log.peers().iter().all(|peer| peer.to_string() == "192.0.2.9:3128"));
}

#[tokio::test(start_paused = true)]
async fn a_residential_exit_is_never_named() {
    let mut home = proxy("http://192.0.2.9:3128");
    (home.shown, home.asn) = (Shown::PoolOnly, Some(64500));
    let rig = rig(home, |_, _| answering(ok("x")));
    let page = rig.fetch("http://a.test/").await;
    let via = page.fetched.capture.via.as_ref().unwrap();
    assert_eq!((via.exit.as_deref(), via.asn, via.pool.as_deref()), (None, Some(64500), Some("dc")));
    assert!(!shown(&page).contains("192.0.2.9"));
}

#[tokio::test(start_paused = true)]
async fn an_exit_that_fails_goes_out_of_use_and_the_other_serves() {
    let down = |addr: std::net::SocketAddr| addr.to_string() == "192.0.2.1:3128";
    let rig =
        Rig::with(through(vec![proxy("http://192.0.2.1:3128"), proxy("http://192.0.2.2:3128")]), move |addr, _| {
            if down(addr) { Script::Refuse } else { answering(ok("x")) }
        });
    let mut failed = 0;
    for n in 0..40 {
        let page = rig.fetch(&format!("http://host-{n}.test/")).await;
        failed += usize::from(page.failed() == Some(Reason::FetchProxyConnect));
        assert_eq!(page.failed().is_none(), page.status() == Some(200));
    }
    let tries = rig.log.peers().into_iter().filter(|peer| down(*peer)).count();
    assert_eq!((failed, tries, rig.fetcher.exits_out()), (5, 5, (1, 2)), "five in a row, then none");
}

#[tokio::test(start_paused = true)]
async fn an_address_behind_a_name_that_is_resolved_here_is_the_one_told_and_charged() {
    let rig = rig(proxy("socks5://192.0.2.9:1080"), |_, nth| match nth {
        0 => Script::Serve(vec![send([5, 0, 5, 5, 0, 1, 0, 0, 0, 0, 0, 0]), Step::Hold]),
        _ => socks(vec![&[5, 0], MADE]),
    });
    let page = rig.fetch("http://two.test/").await;
    assert_eq!(page.text(), "through", "the first address refuses, the second takes it");
    assert_eq!(page.fetched.capture.peer, None, "what is seen is the exit's word");
    let told = rig
        .log
        .connections
        .lock()
        .unwrap()
        .iter()
        .map(|(_, bytes)| bytes.lock().unwrap()[7..11].to_vec())
        .collect::<Vec<_>>();
    assert_eq!(told, [[10, 0, 0, 1], [10, 0, 0, 2]]);
    let charged = rig.pacer.clocks(&Origin::parse("http://two.test").unwrap(), rig.now()).unwrap().address.unwrap();
    assert_eq!(charged.address.to_string(), "10.0.0.2");
    let mixed = rig.fetcher.candidates(&Origin::parse("http://mixed.test").unwrap()).await.unwrap();
    assert_eq!(mixed, ["10.0.0.1:80".parse().unwrap()], "the guard picks before the exit is told");
}

/// An exit and a site behind it, in many small steps.
fn slow_tunnel() -> Script {
    let pieces = |text: &str| -> Vec<Step> {
        text.as_bytes().chunks(7).flat_map(|piece| [send(piece), Step::Wait(Duration::from_millis(3))]).collect()
    };
    let head = pieces("HTTP/1.1 200 Connection established\r\nVia: 1.1 x\r\n\r\n");
    let answer = pieces(&ok("hello"));
    Script::Narrow(16, [vec![Step::Request], head, vec![Step::Request], answer, vec![Step::Hold]].concat())
}

#[tokio::test(start_paused = true)]
async fn a_fetch_through_a_tunnel_may_be_dropped_anywhere() {
    let (mut polls, mut done) = (0, false);
    while !done {
        assert!(polls < 500, "not ready after 500 polls");
        let mut tunnels = with_login("http://192.0.2.9:3128");
        tunnels.plain_http = PlainHttp::Tunnel;
        let rig = rig(tunnels, |_, _| slow_tunnel());
        let permit = rig.permit("http://a.test/").await;
        let origin = permit.url().origin().clone();
        let mut sink = comity_fetch::Collect::default();
        let fetched = polled(rig.fetcher.fetch(permit, &mut sink), polls).await;
        let dropped = rig.now();
        done = fetched.is_some();
        if let Some(mut fetched) = fetched {
            assert_eq!(fetched.capture.fault, None);
            rig.settle(&mut fetched);
        }
        assert_eq!(rig.pacer.in_flight(), 0, "after {polls} polls");
        let ready = rig.pacer.turn(&origin, dropped).ready.at;
        tokio::time::sleep(Duration::from_secs(1)).await;
        let received = rig.log.received().concat();
        tokio::time::sleep(Duration::from_secs(100)).await;
        assert_eq!(rig.log.received().concat(), received, "nothing goes on after {polls} polls");
        // A tunnel that was asked for is no request yet.
        let written = received.split_once("\r\n\r\n").is_some_and(|(_, rest)| !rest.is_empty());
        match written {
            true if !done => {
                assert!(ready >= dropped.after(Duration::from_millis(800)), "failed now, after {polls} polls")
            }
            true => assert!(ready > dropped),
            false => assert!(ready <= dropped, "no charge after {polls} polls"),
        }
        assert_eq!(rig.fetcher.exits_out().0, 0);
        polls += 1;
    }
    assert!(polls > 20, "only {polls} await points were tried");
}

/// Polls `work` at most `polls` times; `None` when it was not ready by then.
async fn polled<T>(work: impl Future<Output = T>, polls: usize) -> Option<T> {
    let mut work = std::pin::pin!(work);
    let mut left = polls;
    std::future::poll_fn(move |cx| {
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
