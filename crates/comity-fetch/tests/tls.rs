//! TLS: whom we trust, by which clock, and what is recorded.

#![allow(clippy::unwrap_used, reason = "a test may end here")]

mod support;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use comity_fetch::{BoxFuture, ConfigError, FetchConfig, Fetcher, Io, Net, ResolveError, Resolved, SystemClock};
use comity_policy::{Protocol, Reason};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use sha2::{Digest, Sha256};
use support::{AGENT, Page, Rig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::TlsAcceptor;

/// A site behind TLS: what it has, and how it ends.
#[derive(Clone, Debug)]
struct Site {
    config: Arc<rustls::ServerConfig>,
    answer: Vec<u8>,
    ending: Ending,
    heads: Arc<Mutex<Vec<u8>>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Ending {
    /// With close_notify.
    Polite,
    /// The stream just ends.
    Rude,
    /// Never even shakes hands.
    Silent,
    /// Hangs up instead of shaking hands.
    Absent,
}

impl Net for Site {
    fn resolve<'a>(&'a self, _host: &'a str) -> BoxFuture<'a, Result<Resolved, ResolveError>> {
        Box::pin(async { Ok(vec!["10.0.0.1".parse().unwrap()].into()) })
    }

    fn connect(&self, _addr: std::net::SocketAddr) -> BoxFuture<'static, std::io::Result<Box<dyn Io>>> {
        let site = self.clone();
        Box::pin(async move {
            let (client, server) = tokio::io::duplex(64 << 10);
            tokio::spawn(site.serve(server));
            Ok(Box::new(client) as Box<dyn Io>)
        })
    }
}

impl Site {
    async fn serve(self, stream: tokio::io::DuplexStream) {
        match self.ending {
            Ending::Silent => std::future::pending().await,
            Ending::Absent => return,
            Ending::Polite | Ending::Rude => {}
        }
        let Ok(mut tls) = TlsAcceptor::from(self.config).accept(stream).await else { return };
        let mut buffer = [0; 4096];
        let n = tls.read(&mut buffer).await.unwrap_or(0);
        self.heads.lock().unwrap().extend_from_slice(&buffer[..n]);
        let _ = tls.write_all(&self.answer).await;
        let _ = tls.flush().await;
        if self.ending == Ending::Polite {
            let _ = tls.shutdown().await;
        }
    }
}

struct Certified {
    root_pem: Vec<u8>,
    der: CertificateDer<'static>,
    server: Arc<rustls::ServerConfig>,
}

/// A self-signed certificate for a.test and 10.0.0.1, valid from 2026 to 2027.
fn certified(versions: &[&'static rustls::SupportedProtocolVersion]) -> Certified {
    let mut params = rcgen::CertificateParams::new(vec!["a.test".into(), "10.0.0.1".into()]).unwrap();
    params.not_before = rcgen::date_time_ymd(2026, 1, 1);
    params.not_after = rcgen::date_time_ymd(2027, 1, 1);
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let der = certificate.der().clone();
    let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let server = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![der.clone()], private)
        .unwrap();
    Certified { root_pem: certificate.pem().into_bytes(), der, server: Arc::new(server) }
}

fn config(roots: Vec<Vec<u8>>) -> FetchConfig {
    FetchConfig { extra_roots_pem: roots, ..support::config() }
}

async fn fetch(certified: &Certified, config: FetchConfig, answer: &str, ending: Ending, url: &str) -> (Page, String) {
    let heads = Arc::default();
    let server = Arc::clone(&certified.server);
    let site = Site { config: server, answer: answer.into(), ending, heads: Arc::clone(&heads) };
    let rig = Rig::on(Arc::new(site), config);
    let page = rig.fetch(url).await;
    assert_eq!(rig.pacer.in_flight(), 0);
    let head = String::from_utf8_lossy(&heads.lock().unwrap()).into_owned();
    (page, head)
}

const ANSWER: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

#[tokio::test(start_paused = true)]
async fn a_trusted_site_is_fetched_and_its_handshake_recorded() {
    for (version, name, suite) in
        [(&rustls::version::TLS13, "tls/1.3", "TLS_"), (&rustls::version::TLS12, "tls/1.2", "TLS_ECDHE_")]
    {
        let certified = certified(&[version]);
        for url in ["https://a.test/x", "https://10.0.0.1/x"] {
            let settings = config(vec![certified.root_pem.clone()]);
            let (page, head) = fetch(&certified, settings, ANSWER, Ending::Polite, url).await;
            let capture = &page.fetched.capture;
            assert_eq!((page.fault(), page.text().as_str()), (None, "hello"), "{url} {name}: {:?}", capture.detail);
            let tls = capture.tls.clone().unwrap();
            assert_eq!((tls.version, capture.protocol), (name, Protocol::Http11));
            assert!(tls.cipher.starts_with(suite) && !tls.cipher.starts_with("TLS13"), "{}", tls.cipher);
            let digest: String = Sha256::digest(&certified.der).iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(tls.certificate_sha256, digest);
            assert_eq!(tls.alpn, None, "this site names no protocol");
            let timings = capture.timings;
            assert!(timings.tls.is_some() && timings.tls <= timings.connect, "{timings:?}");
            assert!(head.starts_with("GET /x HTTP/1.1\r\n"), "{head}");
            assert_eq!(capture.request_head, head, "the tap sees HTTP, not TLS");
            assert_eq!(capture.response_head, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn whom_we_do_not_trust_gets_no_request() {
    let good = certified(&[&rustls::version::TLS13]);
    let other = certified(&[&rustls::version::TLS13]);
    let trusted = || config(vec![good.root_pem.clone()]);
    let rows = [
        (
            "unknown issuer",
            config(vec![other.root_pem.clone()]),
            Ending::Polite,
            "https://a.test/",
            Reason::FetchTls,
            0,
        ),
        ("no roots of ours", config(vec![]), Ending::Polite, "https://a.test/", Reason::FetchTls, 0),
        ("another name", trusted(), Ending::Polite, "https://b.test/", Reason::FetchTls, 0),
        ("hangs up", trusted(), Ending::Absent, "https://a.test/", Reason::FetchTls, 0),
        ("silent", trusted(), Ending::Silent, "https://a.test/", Reason::FetchTimeoutConnect, 10),
    ];
    for (name, settings, ending, url, reason, seconds) in rows {
        let (page, head) = fetch(&good, settings, ANSWER, ending, url).await;
        assert_eq!((page.fault(), page.failed()), (Some(reason), Some(reason)), "{name}");
        assert_eq!((page.took.as_secs(), head.as_str(), page.sent), (seconds, "", None), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn certificates_are_checked_by_our_own_clock() {
    let certified = certified(&[&rustls::version::TLS13]);
    for (days, valid) in [(0_u64, true), (31, true), (33, false)] {
        let settings = config(vec![certified.root_pem.clone()]);
        let heads = Arc::default();
        let server = Arc::clone(&certified.server);
        let site = Site { config: server, answer: ANSWER.into(), ending: Ending::Polite, heads };
        let rig = Rig::on(Arc::new(site), settings);
        tokio::time::advance(Duration::from_secs(days * 86_400)).await;
        let page = rig.fetch("https://a.test/").await;
        assert_eq!(page.fault().is_none(), valid, "{days} days after 2026-11-30: {:?}", page.fetched.capture.detail);
    }
}

#[tokio::test(start_paused = true)]
async fn an_end_without_close_notify_is_judged_by_the_messages_own_framing() {
    let certified = certified(&[&rustls::version::TLS13]);
    let rows = [
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", None),
        ("HTTP/1.1 200 OK\r\n\r\nhello", None),
        ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", Some(Reason::FetchReset)),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", Some(Reason::FetchReset)),
    ];
    for (answer, fault) in rows {
        let settings = config(vec![certified.root_pem.clone()]);
        let (page, _) = fetch(&certified, settings, answer, Ending::Rude, "https://a.test/").await;
        assert_eq!((page.fault(), page.text().as_str()), (fault, "hello"), "{answer}");
    }
}

#[tokio::test]
async fn roots_that_hold_no_certificate_are_refused_at_once() {
    let net = || Arc::new(comity_fetch::SystemNet::new());
    for pem in ["", "no pem at all", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
        let settings = FetchConfig { extra_roots_pem: vec![pem.into()], ..FetchConfig::new(AGENT) };
        let error = Fetcher::new(net(), Arc::new(SystemClock::new()), settings).unwrap_err();
        assert!(matches!(error, ConfigError::Roots(0, _)), "{pem:?}: {error}");
    }
}
