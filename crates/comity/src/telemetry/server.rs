//! The listeners. Whoever asks is bounded in number, in bytes and in time, and gets text that was made at most once a second.

use std::convert::Infallible;
use std::future::Future;
use std::net::{IpAddr, SocketAddr, TcpListener as StdListener};
use std::pin::pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::TelemetrySettings;
use super::snapshot::Latest;
use crate::Error;
use crate::config::ConfigError;
use crate::engine::Shared;

/// Connections at once on each listener; more wait to be accepted.
const MOST_CONNECTIONS: usize = 16;
/// How long a head may take, and a connection may live.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
const LIFE: Duration = Duration::from_secs(60);
const MOST_HEAD_BYTES: usize = 16 << 10;
const MOST_FIELDS: usize = 64;
/// Wait after an accept that failed: too many open files, mostly.
const PAUSE: Duration = Duration::from_millis(50);

/// As the pages that are sent around: nothing may be loaded or run.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// What is answered at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Surface {
    Metrics,
    Dashboard,
}

/// The bound listeners.
#[derive(Debug, Default)]
pub(crate) struct Doors(Vec<(Surface, StdListener)>);

impl Doors {
    /// Binds what is configured, before anything of the crawl is opened.
    ///
    /// # Errors
    /// When an address cannot be had.
    pub(crate) fn bind(settings: &TelemetrySettings) -> Result<Self, Error> {
        let asked =
            [(Surface::Metrics, "metrics", settings.metrics), (Surface::Dashboard, "dashboard", settings.dashboard)];
        let mut doors = Vec::new();
        for (surface, key, address) in asked {
            let Some(address) = address else { continue };
            let bound =
                StdListener::bind(address).and_then(|listener| listener.set_nonblocking(true).map(|()| listener));
            let listener = bound.map_err(|e| {
                let error =
                    ConfigError::new(format!("{address} cannot be listened on: {e}")).at(&format!("[telemetry] {key}"));
                Error::from(error.hint("give another port; does another crawl run with this one?"))
            })?;
            doors.push((surface, listener));
        }
        Ok(Self(doors))
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Where each listens.
    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        self.0.iter().filter_map(|(_, listener)| listener.local_addr().ok()).collect()
    }
}

/// Answers until `ended`.
pub(crate) async fn serve(doors: Doors, shared: Arc<Shared>, ended: impl Future<Output = ()>) {
    let latest = Arc::new(Latest::new(shared.clock.now()));
    let mut listening = JoinSet::new();
    for (surface, listener) in doors.0 {
        match TcpListener::from_std(listener) {
            Ok(listener) => drop(listening.spawn(listen(surface, listener, shared.clone(), latest.clone()))),
            Err(error) => tracing::error!(%error, ?surface, "telemetry cannot listen"),
        }
    }
    ended.await;
    listening.shutdown().await;
}

async fn listen(surface: Surface, listener: TcpListener, shared: Arc<Shared>, latest: Arc<Latest>) {
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let own = listener.local_addr().is_ok_and(|address| address.ip().to_canonical().is_loopback());
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok(place) = places.clone().acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let (shared, latest) = (Arc::downgrade(&shared), latest.clone());
                connections.spawn(async move {
                    answer_all(stream, (surface, own), &shared, &latest).await;
                    drop(place);
                });
            }
            Err(error) => {
                tracing::debug!(%error, "telemetry: accept");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// A connection holds nothing of the crawl between two requests: one that idles must not keep the queue's lock beyond the end.
async fn answer_all(stream: TcpStream, (surface, own): (Surface, bool), shared: &Weak<Shared>, latest: &Arc<Latest>) {
    let service = service_fn(|request: Request<Incoming>| {
        let (shared, latest) = (shared.upgrade(), latest.clone());
        async move {
            Ok::<_, Infallible>(match shared {
                Some(shared) => answer(&request, (surface, own), &shared, &latest).await,
                None => refusal(StatusCode::SERVICE_UNAVAILABLE, "the crawl has ended\n"),
            })
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(MOST_HEAD_BYTES)
        .max_headers(MOST_FIELDS)
        .serve_connection(TokioIo::new(stream), service);
    // Whatever went wrong is the asker's.
    drop(tokio::time::timeout(LIFE, pin!(connection)).await);
}

async fn answer(
    request: &Request<Incoming>,
    (surface, own): (Surface, bool),
    shared: &Shared,
    latest: &Latest,
) -> Response<Full<Bytes>> {
    if own && !names_us(request) {
        return refusal(
            StatusCode::MISDIRECTED_REQUEST,
            "this listens for this machine alone: ask it by its address\n",
        );
    }
    if request.method() != Method::GET && request.method() != Method::HEAD {
        let mut refused = refusal(StatusCode::METHOD_NOT_ALLOWED, "GET or HEAD\n");
        refused.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return refused;
    }
    let (text, kind) = match (surface, request.uri().path()) {
        (Surface::Metrics, "/metrics") => (latest.metrics(shared).await, "text/plain; version=0.0.4; charset=utf-8"),
        (Surface::Dashboard, "/") => (latest.page(shared).await, "text/html; charset=utf-8"),
        (Surface::Metrics, _) => return refusal(StatusCode::NOT_FOUND, "see /metrics\n"),
        (Surface::Dashboard, _) => return refusal(StatusCode::NOT_FOUND, "see /\n"),
    };
    match text {
        Ok(text) => page(StatusCode::OK, kind, text),
        Err(error) => {
            tracing::warn!(%error, "telemetry");
            refusal(StatusCode::SERVICE_UNAVAILABLE, "the crawl cannot be looked at\n")
        }
    }
}

/// A site whose name is made to point here would bring its own name along (DNS rebinding): on loopback only an address, or
/// `localhost`, is taken.
fn names_us(request: &Request<Incoming>) -> bool {
    let mut hosts = request.headers().get_all(HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
    host.to_str().is_ok_and(is_this_machine)
}

fn is_this_machine(host: &str) -> bool {
    let Ok(authority) = host.parse::<hyper::http::uri::Authority>() else { return false };
    let name = authority.host().trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}

fn refusal(status: StatusCode, text: &'static str) -> Response<Full<Bytes>> {
    page(status, "text/plain; charset=utf-8", text.to_owned())
}

fn page(status: StatusCode, kind: &'static str, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    let fields = [
        (CONTENT_TYPE, kind),
        (CACHE_CONTROL, "no-store"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
    ];
    for (name, value) in fields {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_address_or_localhost_names_this_machine() {
        for host in ["127.0.0.1", "127.0.0.1:8780", "localhost:8780", "LOCALHOST", "[::1]:8780"] {
            assert!(is_this_machine(host), "{host}");
        }
        for host in ["evil.test", "evil.test:8780", "localhost.evil.test", "127.0.0.1.evil.test", "", "a b", "::1:99:x"]
        {
            assert!(!is_this_machine(host), "{host}");
        }
    }
}
