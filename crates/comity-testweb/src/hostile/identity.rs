use std::io;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use super::{Scenario, Speech};

/// An authority of its own, and what its servers show.
#[derive(Debug)]
pub(super) struct Identities {
    root_pem: Vec<u8>,
    good: Arc<ServerConfig>,
    http2: Arc<ServerConfig>,
    expired: Arc<ServerConfig>,
    wrong_name: Arc<ServerConfig>,
    self_signed: Arc<ServerConfig>,
}

impl Identities {
    pub(super) fn new() -> io::Result<Self> {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let root = CertifiedIssuer::self_signed(params, key()?).map_err(io::Error::other)?;
        let signed = |params: CertificateParams, alpn: &[&[u8]]| {
            let key = key()?;
            let certificate = params.signed_by(&key, &root).map_err(io::Error::other)?;
            server(certificate.der().clone(), &key, alpn)
        };
        let mut expired = names(&["*.hostile.test", "localhost"])?;
        expired.not_after = rcgen::date_time_ymd(2020, 1, 1);
        let alone = key()?;
        let self_signed = names(&["*.hostile.test", "localhost"])?.self_signed(&alone).map_err(io::Error::other)?;
        Ok(Self {
            root_pem: root.pem().into_bytes(),
            good: signed(names(&["*.hostile.test", "localhost"])?, &[])?,
            http2: signed(names(&["*.hostile.test", "localhost"])?, &[b"h2"])?,
            expired: signed(expired, &[])?,
            wrong_name: signed(names(&["elsewhere.test"])?, &[])?,
            self_signed: server(self_signed.der().clone(), &alone, &[])?,
        })
    }

    pub(super) fn root_pem(&self) -> &[u8] {
        &self.root_pem
    }

    pub(super) fn for_scenario(&self, scenario: Scenario) -> Arc<ServerConfig> {
        Arc::clone(match scenario {
            Scenario::TlsExpired => &self.expired,
            Scenario::TlsWrongName => &self.wrong_name,
            Scenario::TlsSelfSigned => &self.self_signed,
            other if other.speech() == Speech::Http2 => &self.http2,
            _ => &self.good,
        })
    }
}

fn names(names: &[&str]) -> io::Result<CertificateParams> {
    CertificateParams::new(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).map_err(io::Error::other)
}

fn key() -> io::Result<KeyPair> {
    KeyPair::generate().map_err(io::Error::other)
}

fn server(certificate: CertificateDer<'static>, key: &KeyPair, alpn: &[&[u8]]) -> io::Result<Arc<ServerConfig>> {
    let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_single_cert(vec![certificate], private)
        .map_err(io::Error::other)?;
    config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
    Ok(Arc::new(config))
}
