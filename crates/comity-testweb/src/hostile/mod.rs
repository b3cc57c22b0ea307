//! Servers that misbehave, each in a way of its own: for testing clients.
//!
//! A [`Scenario`] is one behaviour. [`Hostile`] serves it on loopback ([`Hostile::listen`]), on a stream
//! ([`Hostile::serve`]), or as the site `NAME.hostile.test` of a network in memory ([`Hostile::net`]), which obeys
//! tokio's paused time. What is endless is made on the fly and ends with the client, after 2 GiB, or after ten minutes.
//!
//! Beside the bad ones there is [`Scenario::Good`], to show that the next site is unaffected.

mod asked;
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

pub use asked::{Asked, AskedFor};
pub use listen::Listening;
pub use net::HostileNet;
pub use scenario::{Scenario, Speech};

use asked::AskedLog;
use identity::Identities;
use wire::Wire;

/// The servers, and the certificates that they show.
#[derive(Clone, Debug)]
pub struct Hostile {
    identities: Arc<Identities>,
    /// Whether robots.txt is answered well.
    robots: bool,
    log: AskedLog,
}

/// No connection lasts longer.
const LONGEST: Duration = Duration::from_secs(600);

impl Hostile {
    /// Makes a certificate authority of its own, and certificates good and bad.
    ///
    /// # Errors
    /// When the certificates cannot be made.
    pub fn new() -> io::Result<Self> {
        Ok(Self { identities: Arc::new(Identities::new()?), robots: false, log: AskedLog::new() })
    }

    /// The same servers with a log of their own, and better manners: asked for robots.txt, they say that there is none, and
    /// misbehave after that. By HTTP/2 the first request to a scenario counts as that for robots.txt. Those whose trouble
    /// begins before a request ([`Scenario::is_before_request`]) are as they were.
    #[must_use]
    pub fn without_robots(&self) -> Self {
        Self { identities: Arc::clone(&self.identities), robots: true, log: AskedLog::new() }
    }

    /// The requests that reached a server so far, 100,000 at most.
    #[must_use]
    pub fn asked(&self) -> Vec<Asked> {
        self.log.all()
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
                Speech::Plain => self.speak(scenario, self.wire(scenario, stream)).await,
                Speech::BrokenTls => heads::break_tls(scenario, self.wire(scenario, stream)).await,
                Speech::Tls | Speech::Http2 => {
                    let acceptor = TlsAcceptor::from(self.identities.for_scenario(scenario));
                    let tls = acceptor.accept(stream).await?;
                    match scenario.speech() {
                        Speech::Http2 => self.speak_frames(scenario, self.wire(scenario, tls)).await,
                        _ => self.speak(scenario, self.wire(scenario, tls)).await,
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

    fn wire<S: AsyncRead + AsyncWrite + Send + Unpin>(&self, scenario: Scenario, stream: S) -> Wire<S> {
        Wire::new(stream, scenario, self.log.clone())
    }

    async fn speak<S: AsyncRead + AsyncWrite + Send + Unpin>(
        &self,
        scenario: Scenario,
        mut wire: Wire<S>,
    ) -> io::Result<()> {
        if scenario == Scenario::HangUp {
            // Later than the end of connecting, also for a client that is slow to notice it.
            tokio::time::sleep(Duration::from_millis(100)).await;
            return Ok(());
        }
        let mut asked = wire.request().await?;
        while self.robots && asked == "/robots.txt" {
            heads::have_no_robots(&mut wire).await?;
            asked = wire.request().await?;
        }
        match scenario {
            Scenario::Good => heads::be_good(&mut wire).await,
            other if other.is_of_head() => heads::answer(other, &mut wire).await,
            other if other.is_bomb() => bombs::answer(other, &mut wire).await,
            other => bodies::answer(other, asked, &mut wire).await,
        }
    }

    async fn speak_frames<S: AsyncRead + AsyncWrite + Send + Unpin>(
        &self,
        scenario: Scenario,
        mut wire: Wire<S>,
    ) -> io::Result<()> {
        let mut stream = frames::greet(&mut wire).await?;
        if self.robots && self.log.times(scenario) == 1 {
            stream = frames::have_no_robots(stream, &mut wire).await?;
        }
        frames::speak(scenario, stream, wire).await
    }
}
