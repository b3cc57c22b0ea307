use std::sync::Arc;
use std::time::Duration;

use comity_policy::{Clock, TlsFacts};
use comity_url::{HostKind, Origin};
use rustls::client::ClientConnection;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::{ClientConfig, ProtocolVersion, RootCertStore};
use sha2::{Digest, Sha256};
use tokio_rustls::TlsConnector;

use crate::link::Spoken;
use crate::net::Io;
use crate::{ConfigError, FetchConfig, Http};

/// TLS towards sites: webpki's roots and the operator's, verification always on (design §7).
///
/// ALPN offers `h2` before `http/1.1` where `config` says so.
pub(crate) fn client_config(settings: &FetchConfig, clock: Arc<dyn Clock>) -> Result<Arc<ClientConfig>, ConfigError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_details(provider, Arc::new(WallClock(clock)))
        .with_safe_default_protocol_versions()
        .map_err(|error| ConfigError::Tls(error.to_string()))?
        .with_root_certificates(root_store(&settings.extra_roots_pem)?)
        .with_no_client_auth();
    config.alpn_protocols = match settings.http {
        Http::Auto => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
        Http::Only11 => vec![b"http/1.1".to_vec()],
    };
    Ok(Arc::new(config))
}

/// TLS towards proxies: the same roots, HTTP/1.1 alone.
#[cfg(feature = "proxy")]
pub(crate) fn towards_proxies(towards_sites: &ClientConfig) -> Arc<ClientConfig> {
    let mut config = towards_sites.clone();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Arc::new(config)
}

/// Shakes hands with `origin` over `io`; the protocol is the one that both sides chose (RFC 7301), else HTTP/1.1.
pub(crate) async fn handshake(
    config: Arc<ClientConfig>,
    origin: &Origin,
    io: Box<dyn Io>,
) -> std::io::Result<(Box<dyn Io>, Spoken, TlsFacts)> {
    let name = server_name(origin).map_err(std::io::Error::other)?;
    let stream = TlsConnector::from(config).connect(name, io).await?;
    let connection = stream.get_ref().1;
    let spoken = if connection.alpn_protocol() == Some(b"h2") { Spoken::Http2 } else { Spoken::Http1 };
    let facts = facts(connection);
    Ok((Box::new(stream), spoken, facts))
}

fn root_store(files: &[Vec<u8>]) -> Result<RootCertStore, ConfigError> {
    let mut store = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    for (index, pem) in files.iter().enumerate() {
        let wrong = |cause: String| ConfigError::Roots(index, cause);
        let before = store.len();
        for certificate in CertificateDer::pem_slice_iter(pem) {
            let certificate = certificate.map_err(|error| wrong(error.to_string()))?;
            store.add(certificate).map_err(|error| wrong(error.to_string()))?;
        }
        if store.len() == before {
            return Err(wrong("no certificate in it".to_owned()));
        }
    }
    Ok(store)
}

pub(crate) fn server_name(origin: &Origin) -> Result<ServerName<'static>, rustls::pki_types::InvalidDnsNameError> {
    match origin.host_kind() {
        HostKind::Domain(name) => ServerName::try_from(name.to_owned()),
        HostKind::V4(address) => Ok(ServerName::IpAddress(std::net::IpAddr::V4(address).into())),
        HostKind::V6(address) => Ok(ServerName::IpAddress(std::net::IpAddr::V6(address).into())),
    }
}

fn facts(connection: &ClientConnection) -> TlsFacts {
    let version = match connection.protocol_version() {
        Some(ProtocolVersion::TLSv1_3) => "tls/1.3",
        _ => "tls/1.2",
    };
    // rustls marks the suites of TLS 1.3 as TLS13_…, the IANA registry does not.
    let cipher = connection
        .negotiated_cipher_suite()
        .map(|suite| format!("{:?}", suite.suite()).replacen("TLS13_", "TLS_", 1))
        .unwrap_or_default();
    let certificate = connection.peer_certificates().and_then(<[_]>::first);
    let certificate_sha256 = certificate.map(|der| hex(&Sha256::digest(der))).unwrap_or_default();
    let alpn = connection.alpn_protocol().map(|id| String::from_utf8_lossy(id).into_owned());
    TlsFacts { version, cipher, certificate_sha256, alpn }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Certificates are checked by our own clock, like everything else (invariant 13).
#[derive(Debug)]
struct WallClock(Arc<dyn Clock>);

impl TimeProvider for WallClock {
    fn current_time(&self) -> Option<UnixTime> {
        let millis = u64::try_from(self.0.wall().unix_millis()).ok()?;
        Some(UnixTime::since_unix_epoch(Duration::from_millis(millis)))
    }
}
