//! What a site behind TLS receives.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use comity_fetch::{BoxFuture, Collect, FetchConfig, Io, Net, ResolveError, Resolved};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_rustls::TlsAcceptor;

use crate::support::{Rig, WALL, config, ok, once};
use crate::verifier::{Message, Verdict, verify};
use crate::{AGENT, directory, signer};

/// A site at 10.0.0.1 that answers one request per connection, behind TLS, and keeps the heads.
#[derive(Clone, Debug)]
struct Site {
    config: Arc<rustls::ServerConfig>,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Net for Site {
    fn resolve<'a>(&'a self, _host: &'a str) -> BoxFuture<'a, Result<Resolved, ResolveError>> {
        Box::pin(async { Ok(vec!["10.0.0.1".parse().unwrap()].into()) })
    }

    fn connect(&self, _addr: SocketAddr) -> BoxFuture<'static, std::io::Result<Box<dyn Io>>> {
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
        let mut tls = TlsAcceptor::from(self.config).accept(stream).await.unwrap();
        let mut buffer = vec![0; 8192];
        let n = tls.read(&mut buffer).await.unwrap();
        self.heads.lock().unwrap().push(String::from_utf8(buffer[..n].to_vec()).unwrap());
        tls.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok").await.unwrap();
        tls.shutdown().await.unwrap();
    }
}

/// A site with a certificate for a.test, and a configuration that trusts it.
fn site() -> (Site, FetchConfig) {
    let mut params = rcgen::CertificateParams::new(vec!["a.test".into()]).unwrap();
    params.not_before = rcgen::date_time_ymd(2026, 1, 1);
    params.not_after = rcgen::date_time_ymd(2027, 1, 1);
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let server = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], private)
        .unwrap();
    let settings = FetchConfig { extra_roots_pem: vec![certificate.pem().into_bytes()], ..config() };
    (Site { config: Arc::new(server), heads: Arc::default() }, settings)
}

#[tokio::test(start_paused = true)]
async fn pages_and_robots_txt_arrive_signed_and_are_captured_as_sent() {
    let (site, settings) = site();
    let heads = Arc::clone(&site.heads);
    let signer = signer();
    let settings = FetchConfig { signer: Some(signer.clone()), from: Some("bot@example.com".into()), ..settings };
    let rig = Rig::on(Arc::new(site), settings);

    let permit = rig.robots_permit("https://a.test").await;
    let mut robots = rig.fetcher.fetch(permit, &mut Collect::default()).await;
    rig.settle(&mut robots);
    let page = rig.fetch("https://a.test/x/%7Ey?q=%C3%A9&r").await;

    let heads = heads.lock().unwrap().clone();
    let captured = [&robots.capture, &page.fetched.capture];
    let targets = ["/robots.txt", "/x/%7Ey?q=%C3%A9&r"];
    assert_eq!(heads.len(), 2);
    for ((head, capture), target) in heads.iter().zip(captured).zip(targets) {
        assert_eq!(capture.request_head, head, "recorded as sent");
        let message = Message::of_head(head);
        assert_eq!((message.target.as_str(), message.field("from")), (target, Some("bot@example.com")));
        assert_eq!(message.field("signature-agent").unwrap(), format!("sig1=\"{AGENT}\""));
        let now = capture.started.unix_millis() / 1000;
        assert!(now >= WALL.unix_millis() / 1000);
        assert_eq!(verify(&message, &directory(&signer), now), Verdict::Verified, "{head}");
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_of_it_is_sent_unless_asked_for_nor_in_the_clear() {
    let (site, settings) = site();
    let heads = Arc::clone(&site.heads);
    Rig::on(Arc::new(site), settings).fetch("https://a.test/").await;
    assert_eq!(verify(&Message::of_head(&heads.lock().unwrap()[0]), "", 0), Verdict::Unsigned);

    let rig = Rig::with(FetchConfig { signer: Some(signer()), ..config() }, |_, _| once(ok("hello")));
    rig.fetch("http://a.test/").await;
    let head = rig.log.received().concat().to_ascii_lowercase();
    assert!(head.starts_with("get / http/1.1\r\n") && !head.contains("signature"), "{head}");
    assert!(!head.contains("\r\nfrom:"), "{head}");
}
