//! A web in memory by https, too: whoever connects to port 443 of one of its addresses speaks TLS with what listens on port 80.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use comity_fetch::{BoxFuture, Io, Net, ResolveError, Resolved};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::TlsAcceptor;

use crate::MemoryNet;

/// Bytes in flight in each direction of a connection.
const PIPE_BYTES: usize = 64 << 10;

/// A [`MemoryNet`] whose sites answer by https as they do by http.
#[derive(Clone, Debug)]
pub struct SecureNet {
    plain: MemoryNet,
    server: Arc<ServerConfig>,
    root_pem: Arc<[u8]>,
}

impl SecureNet {
    /// The same web, whose hosts `names` have a certificate of an authority of its own.
    ///
    /// # Errors
    /// When no certificate can be made of the names.
    pub fn new(plain: MemoryNet, names: &[&str]) -> io::Result<Self> {
        let key = || KeyPair::generate().map_err(io::Error::other);
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let root = CertifiedIssuer::self_signed(params, key()?).map_err(io::Error::other)?;
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let own = key()?;
        let certificate = CertificateParams::new(names).and_then(|params| params.signed_by(&own, &root));
        let certificate = certificate.map_err(io::Error::other)?;
        let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(own.serialize_der()));
        let server = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], private)
            .map_err(io::Error::other)?;
        Ok(Self { plain, server: Arc::new(server), root_pem: root.pem().into_bytes().into() })
    }

    /// The certificate of its authority.
    #[must_use]
    pub fn root_pem(&self) -> &[u8] {
        &self.root_pem
    }
}

impl Net for SecureNet {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, Result<Resolved, ResolveError>> {
        self.plain.resolve(host)
    }

    fn connect(&self, addr: SocketAddr) -> BoxFuture<'static, io::Result<Box<dyn Io>>> {
        if addr.port() != 443 {
            return self.plain.connect(addr);
        }
        let plain = self.plain.connect(SocketAddr::new(addr.ip(), 80));
        let acceptor = TlsAcceptor::from(self.server.clone());
        Box::pin(async move {
            let mut behind = plain.await?;
            let (near, far) = tokio::io::duplex(PIPE_BYTES);
            tokio::spawn(async move {
                let mut open = acceptor.accept(far).await?;
                tokio::io::copy_bidirectional(&mut open, &mut behind).await
            });
            Ok(Box::new(near) as Box<dyn Io>)
        })
    }
}
