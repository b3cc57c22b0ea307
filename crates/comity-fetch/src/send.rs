use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use comity_policy::{Capture, Instant, Reason, Truncation};
use http::{HeaderMap, Method};
use http_body::Frame;
use hyper::body::Incoming;

use crate::fault::Fault;
use crate::fetcher::{Fetched, House};
use crate::link::Link;
use crate::outgoing::{Outgoing, RequestBody};
use crate::visit::Visit;

/// A request of somebody else, to be sent in our turn: method, fields, body. The URL is the permit's.
///
/// Fields of the connection between the two of them are left out (RFC 9110 §7.6.1), and so are `Host`, which the URL
/// names, `Proxy-Authorization` and `Expect`. All others are sent as they are, names aside, whose case HTTP/1.1 does not
/// tell.
#[derive(Debug)]
pub struct Forward {
    pub(crate) method: Method,
    /// Fields as given.
    pub fields: HeaderMap,
    /// The body; none by default. Bounded by [`crate::Limits::max_request_body`].
    pub body: Option<RequestBody>,
}

/// A method that no door forwards: `CONNECT` asks for a tunnel ([`crate::Fetcher::dial`]), `TRACE` for the fields that
/// were left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MethodRefused(Method);

impl fmt::Display for MethodRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not forwarded", self.0)
    }
}

impl std::error::Error for MethodRefused {}

impl Forward {
    /// A request without fields and body.
    ///
    /// # Errors
    /// For `CONNECT` and `TRACE`.
    pub fn new(method: Method) -> Result<Self, MethodRefused> {
        if method == Method::CONNECT || method == Method::TRACE {
            return Err(MethodRefused(method));
        }
        Ok(Self { method, fields: HeaderMap::new(), body: None })
    }

    pub(crate) fn take_body(&mut self, house: &House) -> Outgoing {
        let most = house.config.limits.max_request_body;
        self.body.take().map_or_else(Outgoing::default, |body| Outgoing::bounded(body, most, Arc::clone(&house.clock)))
    }
}

/// The answer to a [`Forward`]: its head, and its body piece by piece in its content coding.
///
/// Nothing is read ahead of [`Answer::next`]: whoever takes slowly slows the site down. Dropped before its end, it
/// closes its connection, and the slot keeps the books; [`Answer::finish`] gives the receipt for settling.
pub struct Answer {
    visit: Visit,
    link: Box<Link>,
    body: Option<Incoming>,
    received: u64,
    whole: bool,
    /// When the last piece was handed out.
    handed: Instant,
}

impl Answer {
    pub(crate) fn new(visit: Visit, link: Box<Link>, body: Incoming) -> Self {
        let handed = visit.now();
        Self { visit, link, body: Some(body), received: 0, whole: false, handed }
    }

    /// HTTP status.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.visit.capture.status.unwrap_or_default()
    }

    /// The fields as received, those of the connection among them.
    #[must_use]
    pub fn fields(&self) -> &[(String, Bytes)] {
        &self.visit.capture.fields
    }

    /// What was sent and received so far; its body stays empty.
    #[must_use]
    pub const fn capture(&self) -> &Capture {
        &self.visit.capture
    }

    /// Bytes of the body so far, as received.
    #[must_use]
    pub const fn received(&self) -> u64 {
        self.received
    }

    /// True once the body was read to its end.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        self.whole
    }

    /// The next piece of the body, or its trailers; `None` at its end, and when it broke or met a bound, which
    /// [`Answer::is_whole`] tells apart and [`Capture::fault`] names. A dropped future loses nothing.
    pub async fn next(&mut self) -> Option<Frame<Bytes>> {
        let mut body = self.body.take()?;
        self.visit.taker_waited(self.handed);
        let next = self.step(&mut body).await;
        self.handed = self.visit.now();
        match next {
            Ok(Some(frame)) => {
                self.body = Some(body);
                Some(frame)
            }
            Ok(None) => {
                self.whole = true;
                None
            }
            Err(fault) => {
                self.visit.cut(fault);
                None
            }
        }
    }

    async fn step(&mut self, body: &mut Incoming) -> Result<Option<Frame<Bytes>>, Fault> {
        let frame = self.visit.next(&mut self.link, body, self.received).await?;
        let taken = frame.as_ref().and_then(Frame::data_ref).map_or(0, |data| data.len() as u64);
        self.received = self.received.saturating_add(taken);
        self.visit.within_bounds(self.received)?;
        Ok(frame)
    }

    /// Ends the exchange. A body that was not read to its end takes its connection with it.
    pub async fn finish(mut self) -> Fetched {
        let unread = self.body.take().is_some_and(|body| !http_body::Body::is_end_stream(&body));
        if unread && self.visit.capture.truncated.is_none() {
            self.visit.capture.truncated = Some(Truncation::Unspecified);
        }
        let whole = self.whole || (!unread && self.visit.capture.fault.is_none());
        let exchange = self.visit.close(self.link, whole).await;
        self.visit.finish(exchange)
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer")
            .field("capture", self.capture())
            .field("received", &self.received)
            .finish_non_exhaustive()
    }
}

impl Visit {
    pub(crate) fn within_bounds(&self, received: u64) -> Result<(), Fault> {
        let limits = &self.house.config.limits;
        if received > limits.max_body {
            let detail = format!("the body is larger than {} bytes", limits.max_body);
            return Err(Fault::new(Reason::FetchTooLarge, detail));
        }
        self.within_total()
    }
}
