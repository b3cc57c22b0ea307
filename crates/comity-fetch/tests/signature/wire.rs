//! What a site behind TLS receives.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use comity_fetch::proxy::Proxy;
use comity_fetch::{BoxFuture, Collect, FetchConfig, Io, Net, ResolveError, Resolved};
use comity_testweb::ExitNet;
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
    let mut params = rcgen::CertificateParams::new(vec!["a.test".into(), "proxy.test".into()]).unwrap();
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

/// A network whose exit at this address speaks TLS.
#[derive(Clone, Debug)]
struct TlsExit {
    inner: ExitNet,
    at: SocketAddr,
    config: Arc<rustls::ServerConfig>,
}

impl Net for TlsExit {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, Result<Resolved, ResolveError>> {
        self.inner.resolve(host)
    }

    fn connect(&self, addr: SocketAddr) -> BoxFuture<'static, std::io::Result<Box<dyn Io>>> {
        let (exit, plain) = (self.clone(), self.inner.connect(addr));
        if addr != self.at {
            return plain;
        }
        Box::pin(async move {
            let (client, server) = tokio::io::duplex(64 << 10);
            tokio::spawn(async move {
                let mut tls = TlsAcceptor::from(exit.config).accept(server).await?;
                tokio::io::copy_bidirectional(&mut tls, &mut plain.await?).await
            });
            Ok(Box::new(client) as Box<dyn Io>)
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_signature_is_the_sites_behind_every_kind_of_proxy() {
    // The name of the proxy is looked up here, its certificate is checked like a site's.
    let at: SocketAddr = "10.0.0.1:3128".parse().unwrap();
    for (url, asked) in [
        ("http://proxy.test:3128", "CONNECT a.test:443"),
        ("https://proxy.test:3128", "CONNECT a.test:443"),
        ("socks5h://proxy.test:3128", "SOCKS5 a.test:443"),
        ("socks5://proxy.test:3128", "SOCKS5 10.0.0.1:443"),
    ] {
        let (site, settings) = site();
        let (heads, config) = (Arc::clone(&site.heads), Arc::clone(&site.config));
        let exits = ExitNet::new(Arc::new(site)).exit(at, Some(("us3r", "s3cret")));
        let net: Arc<dyn Net> = match url.starts_with("https") {
            true => Arc::new(TlsExit { inner: exits.clone(), at, config }),
            false => Arc::new(exits.clone()),
        };
        let mut proxy: Proxy = url.parse().unwrap();
        proxy.credentials = Some("us3r:s3cret".parse().unwrap());
        let signer = signer();
        let rig = Rig::on(net, FetchConfig { signer: Some(signer.clone()), proxies: vec![proxy], ..settings });
        let page = rig.fetch("https://a.test/x?y").await;
        assert_eq!((page.fault(), page.text().as_str()), (None, "ok"), "{url}: {:?}", page.fetched.capture.detail);
        let head = heads.lock().unwrap().remove(0);
        let now = page.fetched.capture.started.unix_millis() / 1000;
        assert_eq!(verify(&Message::of_head(&head), &directory(&signer), now), Verdict::Verified, "{url}");
        assert!(!head.to_lowercase().contains("proxy") && page.fetched.capture.request_head == head, "{head}");
        let tls = page.fetched.capture.tls.as_ref().unwrap();
        assert_eq!(tls.version, "tls/1.3", "the site's handshake, through {url}");
        let said = exits.asked(at).remove(0);
        assert_eq!((said.what.as_str(), said.login.as_deref()), (asked, Some("us3r:s3cret")), "{url}");
        assert!(exits.around().is_empty());
    }
}
