//! Servers that misbehave, each in a way of its own: for testing clients.
//!
//! A [`Scenario`] is one behaviour. [`Hostile`] serves it on loopback ([`Hostile::listen`]), on a stream
//! ([`Hostile::serve`]), or as the site `NAME.hostile.test` of a network in memory ([`Hostile::net`]), which obeys
//! tokio's paused time. What is endless is made on the fly and ends with the client, after 2 GiB, or after ten minutes.
//!
//! Beside the bad ones there is [`Scenario::Good`], to show that the next site is unaffected.

mod bodies;
mod bombs;
mod frames;
mod heads;
mod identity;
mod listen;
mod net;
mod scenario;
mod wire;

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;

pub use listen::Listening;
pub use net::HostileNet;
pub use scenario::{Scenario, Speech};

use identity::Identities;
use wire::Wire;

/// The servers, and the certificates that they show.
#[derive(Clone, Debug)]
pub struct Hostile {
    identities: Arc<Identities>,
}

/// No connection lasts longer.
const LONGEST: Duration = Duration::from_secs(600);

impl Hostile {
    /// Makes a certificate authority of its own, and certificates good and bad.
    ///
    /// # Errors
    /// When the certificates cannot be made.
    pub fn new() -> io::Result<Self> {
        Ok(Self { identities: Arc::new(Identities::new()?) })
    }

    /// The root to be trusted, as PEM: it signed every certificate but that of [`Scenario::TlsSelfSigned`].
    #[must_use]
    pub fn root_pem(&self) -> &[u8] {
        self.identities.root_pem()
    }

    /// Serves one connection until it is over. A client that hangs up is no error.
    pub async fn serve(&self, scenario: Scenario, stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) {
        let served = async {
            match scenario.speech() {
                Speech::Plain => speak(scenario, Wire::new(stream)).await,
                Speech::BrokenTls => heads::break_tls(scenario, Wire::new(stream)).await,
                Speech::Tls | Speech::Http2 => {
                    let acceptor = TlsAcceptor::from(self.identities.for_scenario(scenario));
                    let tls = acceptor.accept(stream).await?;
                    match scenario.speech() {
                        Speech::Http2 => frames::speak(scenario, Wire::new(tls)).await,
                        _ => speak(scenario, Wire::new(tls)).await,
                    }
                }
            }
        };
        // However it ends, it is over: the client is who is tested.
        let _over = tokio::time::timeout(LONGEST, served).await;
    }

    /// A network in memory where every scenario is the site `NAME.hostile.test`.
    #[must_use]
    pub fn net(&self) -> HostileNet {
        HostileNet::new(self.clone())
    }

    /// Serves a scenario on a port of a loopback address until the result is dropped.
    ///
    /// # Errors
    /// When no port of it is to be had, or it is no loopback address: these servers are for nobody else.
    pub async fn listen(&self, scenario: Scenario, address: IpAddr) -> io::Result<Listening> {
        if !address.is_loopback() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{address} is no loopback address")));
        }
        Listening::new(self.clone(), scenario, address).await
    }
}

async fn speak<S: AsyncRead + AsyncWrite + Send + Unpin>(scenario: Scenario, mut wire: Wire<S>) -> io::Result<()> {
    match scenario {
        Scenario::Good => heads::be_good(&mut wire).await,
        other if other.is_of_head() => heads::answer(other, &mut wire).await,
        other if other.is_bomb() => bombs::answer(other, &mut wire).await,
        other => bodies::answer(other, &mut wire).await,
    }
}
