//! http and https of one host: two origins, two files, and a chain that goes to and fro between them.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use comity_fetch::{BoxFuture, FetchConfig, Fetcher, Io, Net, ResolveError, SystemClock};
use comity_gate::{AskRobots, Gate, GateConfig, HopMeaning, NotFollowed, RobotsClass};
use comity_policy::{Identity, Judge, Judgement, SeededRandom, WallTime};
use comity_url::{CrawlUrl, Origin};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio_rustls::TlsAcceptor;

/// A host with one robots.txt on port 80 and another on port 443.
#[derive(Clone, Debug)]
struct Host {
    plain: &'static str,
    secure: &'static str,
    tls: Arc<rustls::ServerConfig>,
    requests: Arc<Mutex<Vec<u16>>>,
}

impl Net for Host {
    fn resolve<'a>(&'a self, _host: &'a str) -> BoxFuture<'a, Result<comity_fetch::Resolved, ResolveError>> {
        Box::pin(async { Ok(vec!["203.0.114.1".parse().unwrap()].into()) })
    }

    fn connect(&self, address: SocketAddr) -> BoxFuture<'static, std::io::Result<Box<dyn Io>>> {
        let host = self.clone();
        Box::pin(async move {
            let (client, server) = tokio::io::duplex(64 << 10);
            tokio::spawn(async move {
                match address.port() {
                    443 => {
                        let stream = TlsAcceptor::from(host.tls.clone()).accept(server).await.unwrap();
                        host.serve(stream, 443, host.secure).await;
                    }
                    port => host.serve(server, port, host.plain).await,
                }
            });
            Ok(Box::new(client) as Box<dyn Io>)
        })
    }
}

impl Host {
    async fn serve(&self, mut stream: impl AsyncRead + AsyncWrite + Unpin, port: u16, answer: &str) {
        let mut head = [0; 4096];
        while stream.read(&mut head).await.is_ok_and(|read| read > 0) {
            self.requests.lock().unwrap().push(port);
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    }
}

fn host(plain: &'static str, secure: &'static str) -> (Host, Gate) {
    let mut params = rcgen::CertificateParams::new(vec!["h.test".into()]).unwrap();
    params.not_before = rcgen::date_time_ymd(2026, 1, 1);
    params.not_after = rcgen::date_time_ymd(2027, 1, 1);
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let tls = builder.with_no_client_auth().with_single_cert(vec![certificate.der().clone()], private).unwrap();
    let host = Host { plain, secure, tls: Arc::new(tls), requests: Arc::default() };
    let identity = Identity::new("TestBot/1.0", "a@example.com", &[], Vec::new()).unwrap();
    let clock = Arc::new(SystemClock::paused_at(WallTime::from_civil((2026, 11, 30), (9, 0, 0)).unwrap()));
    let roots = vec![certificate.pem().into_bytes()];
    let fetch = FetchConfig { extra_roots_pem: roots, ..FetchConfig::new(identity.user_agent()) };
    let fetcher = Fetcher::new(Arc::new(host.clone()), clock.clone(), fetch).unwrap();
    (host, Gate::new(fetcher, clock, Arc::new(SeededRandom::new(1)), GateConfig::new(identity)))
}

fn origin(text: &str) -> Origin {
    Origin::parse(text).unwrap()
}

/// Whether a page may be fetched; its robots.txt is known.
fn allows(gate: &Gate, url: &str) -> bool {
    match gate.judge(&CrawlUrl::parse(url).unwrap()) {
        Judgement::Allow(_) => true,
        Judgement::Refuse(_) => false,
        other => panic!("{url}: {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn neither_scheme_decides_for_the_other_in_either_order() {
    const OPEN: &str = "HTTP/1.1 200 OK\r\nContent-Length: 24\r\n\r\nUser-agent: *\nDisallow:\n";
    const RULED: &str = "HTTP/1.1 200 OK\r\nContent-Length: 26\r\n\r\nUser-agent: *\nDisallow: /s\n";
    for order in [["http://h.test", "https://h.test"], ["https://h.test", "http://h.test"]] {
        let (host, gate) = host(OPEN, RULED);
        for asked in order {
            let found = gate.fetch_robots(&origin(asked), AskRobots::IfDue).await;
            assert_eq!(found.class, RobotsClass::Parsed { status: 200 }, "{asked}");
            assert_eq!(found.answer().unwrap().tls.is_some(), asked.starts_with("https"), "{asked}");
        }
        assert!(!allows(&gate, "https://h.test/s"), "{order:?}");
        assert!(!allows(&gate, "https://h.test:443/s"), "the effective port counts");
        assert!(allows(&gate, "http://h.test/s") && allows(&gate, "https://h.test/"), "{order:?}");
        let other_port = CrawlUrl::parse("https://h.test:8443/s").unwrap();
        assert!(matches!(gate.judge(&other_port), Judgement::NeedsRobots(_)), "a port of its own, a file of its own");
        assert_eq!(host.requests.lock().unwrap().len(), 2, "each its own file");
    }
}

#[tokio::test(start_paused = true)]
async fn a_chain_to_and_fro_between_the_schemes_ends_at_once_and_counts_as_absent() {
    let (host, gate) = host(
        "HTTP/1.1 301 Moved\r\nLocation: https://h.test/robots.txt\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 301 Moved\r\nLocation: http://h.test/robots.txt\r\nContent-Length: 0\r\n\r\n",
    );
    let found = gate.fetch_robots(&origin("http://h.test"), AskRobots::IfDue).await;
    assert_eq!(found.class, RobotsClass::RedirectLimit { status: 301 });
    assert_eq!(found.hops.last().unwrap().meaning, HopMeaning::NotFollowed(NotFollowed::Loop));
    assert_eq!(*host.requests.lock().unwrap(), [80, 443], "the loop is noticed before it is walked");
    assert!(allows(&gate, "http://h.test/anything"));
}
