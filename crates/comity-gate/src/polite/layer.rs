use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use comity_policy::{PaceFields, Permit, Reason, StalePermit};
use http::{HeaderMap, Request, Response};
use tower_layer::Layer;
use tower_service::Service;

use super::sending::Sending;
use super::target::target;
use super::{PoliteBody, PoliteError};
use crate::Gate;

/// Makes any HTTP client polite that is a `tower` service: robots.txt, signals, delays and back-off as the crawler has
/// them, and one [`Gate`] for all clients that share it.
///
/// What the client must not do behind the layer's back:
///
/// - **follow redirects**: each hop is a request of its own and comes through the layer. reqwest:
///   `.redirect(reqwest::redirect::Policy::none())`; hyper follows none.
/// - **repeat requests**: reqwest: `.retry(reqwest::retry::never())`; hyper-util's client repeats only what was never
///   written.
/// - **use a proxy or a resolver of its own**: the gate charges and checks the addresses that *it* found. reqwest:
///   `.no_proxy()`, and [`crate::CheckedNames`] as the resolver. Without that resolver, what is connected to is the
///   client's affair: the guard has seen *an* answer for the name, not necessarily the client's.
///
/// What the layer cannot see: when the client writes. The gap of an address therefore runs from the response head, and
/// latency from the call. The User-Agent is the client's: it has to name the gate's identity.
///
/// ```no_run
/// use comity_gate::{Gate, PoliteError, PoliteLayer};
/// use http::{Request, Response};
/// use tower_layer::Layer;
/// use tower_service::Service;
///
/// # async fn example<C>(gate: Gate, client: C) -> Result<(), Box<dyn std::error::Error>>
/// # where
/// #     C: Service<Request<String>, Response = Response<String>> + Clone + Send + 'static,
/// #     C::Future: Send,
/// #     C::Error: std::error::Error + 'static,
/// # {
/// let mut polite = PoliteLayer::new(gate).layer(client);
/// match polite.call(Request::get("https://example.test/private/x").body(String::new())?).await {
///     Ok(response) => println!("{}", response.status()),
///     Err(PoliteError::NoPermit(no)) => println!("not sent: {no}"), // robots.disallow … (disallow: /private/, line 2)
///     Err(error) => return Err(error.into()),
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct PoliteLayer {
    gate: Gate,
    max_wait: Duration,
    head_timeout: Duration,
}

/// A polite client: the service that [`PoliteLayer`] makes of another.
///
/// A call resolves to the inner response, its body wrapped so that the origin's place is held to its end, and the
/// decision (`Arc<comity_policy::Decision>`) among its extensions. The future may be dropped at any point.
#[derive(Clone, Debug)]
pub struct Polite<S> {
    inner: S,
    layer: PoliteLayer,
}

impl PoliteLayer {
    /// A layer that waits for a turn as long as [`Gate::PATIENCE`], and as long again for a response head.
    #[must_use]
    pub const fn new(gate: Gate) -> Self {
        Self { gate, max_wait: Gate::PATIENCE, head_timeout: Gate::PATIENCE }
    }

    /// The longest wait for a turn; then [`crate::NoPermit::NotNow`], which names clock and instant.
    #[must_use]
    pub const fn max_wait(mut self, wait: Duration) -> Self {
        self.max_wait = wait;
        self
    }

    /// The longest wait for the inner client's response head, connecting included: a request without an answer would
    /// hold its origin for ever. Then [`PoliteError::HeadTimeout`].
    #[must_use]
    pub const fn head_timeout(mut self, wait: Duration) -> Self {
        self.head_timeout = wait;
        self
    }
}

impl<S> Layer<S> for PoliteLayer {
    type Service = Polite<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Polite { inner, layer: self.clone() }
    }
}

impl<S, B, R: 'static> Service<Request<B>> for Polite<S>
where
    S: Service<Request<B>, Response = Response<R>> + Clone + Send + 'static,
    S::Future: Send,
    B: Send + 'static,
{
    type Response = Response<PoliteBody<R>>;
    type Error = PoliteError<S::Error>;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        // The inner client is asked once the turn has come: a place in it must not be held while waiting.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let polite = self.clone();
        Box::pin(polite.send(request))
    }
}

impl<S> Polite<S> {
    async fn send<B, R>(mut self, request: Request<B>) -> Result<Response<PoliteBody<R>>, PoliteError<S::Error>>
    where
        S: Service<Request<B>, Response = Response<R>>,
    {
        let url = target(&request)?;
        let PoliteLayer { gate, max_wait, head_timeout } = self.layer.clone();
        let permit = gate.permit_within(&gate, &url, max_wait).await?;
        self.ready(&permit).await?;
        let sending = Sending::begin(&gate, permit)?;
        let decision = sending.decision();
        match tokio::time::timeout(head_timeout, self.inner.call(request)).await {
            Err(_) => {
                sending.failed(Reason::FetchTimeoutHead);
                Err(PoliteError::HeadTimeout(head_timeout))
            }
            Ok(Err(error)) => {
                sending.failed(Reason::FetchReset);
                Err(PoliteError::Client(error))
            }
            Ok(Ok(mut response)) => {
                let asked = pace_fields(&gate, response.headers());
                let answered = sending.answered(response.status().as_u16(), asked);
                if let Some(decision) = decision {
                    response.extensions_mut().insert(decision);
                }
                Ok(response.map(|body| PoliteBody::new(body, answered)))
            }
        }
    }

    /// Waits for the inner client, as long as the permit holds.
    async fn ready<B>(&mut self, permit: &Permit) -> Result<(), PoliteError<S::Error>>
    where
        S: Service<Request<B>>,
    {
        match tokio::time::timeout(Permit::LIFE, poll_fn(|cx| self.inner.poll_ready(cx))).await {
            Ok(ready) => ready.map_err(PoliteError::Client),
            Err(_) => Err(StalePermit { url: permit.url().clone(), late: Duration::ZERO }.into()),
        }
    }
}

/// What the response says about pace.
fn pace_fields(gate: &Gate, fields: &HeaderMap) -> PaceFields {
    PaceFields::read(fields.iter().map(|(name, value)| (name.as_str(), value.as_bytes())), gate.clock().wall())
}
