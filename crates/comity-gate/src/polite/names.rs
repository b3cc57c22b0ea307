use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use comity_fetch::Refused;
use comity_url::Origin;
use tower_service::Service;

use crate::Gate;

/// A resolver that gives a foreign client only addresses that passed the gate's guard, in the order in which it charges
/// them.
///
/// A client that resolves names itself connects to what *it* found: the gate checked its own answer, and between two
/// look-ups a name can change. With this resolver both are one answer (invariant 11 holds), as far as the client asks a
/// resolver at all: it must not be given a proxy, and literal addresses are checked by the gate before the request.
///
/// It is the resolver of hyper-util's `HttpConnector::new_with_resolver`; for reqwest, `examples/polite-reqwest` wraps
/// [`CheckedNames::addresses`]. Ports are 0: the client takes the URL's.
#[derive(Clone, Debug)]
pub struct CheckedNames {
    gate: Gate,
}

impl CheckedNames {
    /// A resolver that shares the gate's guard, its map of names and its cache of answers.
    #[must_use]
    pub const fn new(gate: Gate) -> Self {
        Self { gate }
    }

    /// The addresses of a host that may be connected to.
    ///
    /// # Errors
    /// `fetch.dns` also for a text that is no host name; the others as [`comity_fetch::Fetcher::candidates`].
    pub async fn addresses(&self, host: &str) -> Result<Vec<SocketAddr>, Refused> {
        let no_name = |cause: &dyn std::fmt::Display| Refused {
            reason: comity_policy::Reason::FetchDns,
            detail: format!("{host:?}: {cause}"),
        };
        let origin = Origin::parse(&format!("http://{host}")).map_err(|error| no_name(&error))?;
        let found = self.gate.addresses(&origin, self.gate.vantage(&origin)).await?;
        Ok(found.into_iter().map(|address| SocketAddr::new(address.ip(), 0)).collect())
    }
}

impl<N: ToString> Service<N> for CheckedNames {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = Refused;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: N) -> Self::Future {
        let (names, host) = (self.clone(), name.to_string());
        Box::pin(async move { Ok(names.addresses(&host).await?.into_iter()) })
    }
}
