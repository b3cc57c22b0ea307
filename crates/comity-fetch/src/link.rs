use std::fmt;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use comity_policy::{Form, TlsFacts};
use http_body::{Body, Frame};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::TokioIo;

use crate::Limits;
use crate::net::Io;
use crate::outgoing::Outgoing;
use crate::proxy::ExitId;
use crate::tap::{Books, Tap};

/// One HTTP connection, driven by whoever uses it and by nobody else; one exchange at a time.
///
/// There is no background task: a dropped exchange takes its connection with it, so no request can go on unseen
/// (invariant 6), and an idle connection costs no wake-ups.
pub(crate) struct Link {
    sender: Sender,
    driver: Driver,
    pub(crate) books: Arc<Books>,
    pub(crate) way: Way,
    pub(crate) tls: Option<TlsFacts>,
}

/// Where a connection goes: two of the same way lead to the same peer through the same exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Way {
    exit: Option<(ExitId, Form)>,
    /// The peer; behind an exit the address that it was told, if it was told one.
    peer: Option<SocketAddr>,
}

impl Way {
    pub(crate) const fn direct(peer: SocketAddr) -> Self {
        Self { exit: None, peer: Some(peer) }
    }

    #[cfg(feature = "proxy")]
    pub(crate) const fn through(exit: ExitId, form: Form, told: Option<SocketAddr>) -> Self {
        Self { exit: Some((exit, form)), peer: told }
    }

    /// The exit, and how it is asked.
    pub(crate) const fn exit(self) -> Option<(ExitId, Form)> {
        self.exit
    }

    /// The exit, when it reads the requests.
    pub(crate) fn forwarded_by(self) -> Option<ExitId> {
        self.exit.filter(|(_, form)| *form == Form::Forward).map(|(exit, _)| exit)
    }

    /// The address that is charged.
    pub(crate) const fn told(self) -> Option<SocketAddr> {
        self.peer
    }

    /// The peer that was really connected to; none is seen behind an exit.
    pub(crate) fn seen(self) -> Option<SocketAddr> {
        self.peer.filter(|_| self.exit.is_none())
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.exit, self.peer) {
            (None, Some(peer)) => peer.fmt(f),
            (Some(_), Some(peer)) => write!(f, "{peer}, through the proxy"),
            (_, None) => f.write_str("the site, through the proxy"),
        }
    }
}

/// What is spoken on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spoken {
    Http1,
    Http2,
}

enum Sender {
    Http1(http1::SendRequest<Outgoing>),
    Http2(http2::SendRequest<Outgoing>),
}

/// hyper's connection future; gone once it has ended.
enum Driver {
    Http1(Option<Box<http1::Connection<TokioIo<Tap>, Outgoing>>>),
    /// What hyper wants done beside it goes on after its end: a site that takes no more requests still ends its answer.
    Http2 {
        requests: Option<Box<http2::Connection<TokioIo<Tap>, Outgoing, Held>>>,
        held: Held,
        tasks: Vec<Task>,
    },
}

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The executor of an HTTP/2 connection: hands its tasks to the connection's driver instead of a runtime.
#[derive(Clone, Default)]
struct Held(Arc<Mutex<Vec<Task>>>);

/// What came next of a body.
pub(crate) enum Next {
    /// Bytes, or trailers that are passed over.
    Frame(Frame<Bytes>),
    /// The message ended as its framing says.
    End,
    /// The message broke.
    Broken(hyper::Error),
}

/// What may be on its way in an HTTP/2 stream before it was read (our choice: 32 streams that nobody reads hold 8 MiB).
const WINDOW: u32 = 256 << 10;
/// The largest frame that is taken (RFC 9113 §4.2: the least that must be).
const FRAME: u32 = 16 << 10;
/// Streams that hyper remembers after it has reset them; there is one at a time.
const RESET_STREAMS: usize = 8;
/// The most fields that hyper's parser takes unless it is told otherwise.
const HYPER_FIELDS: usize = 100;
/// RFC 9113 §6.5.2: each field counts 32 bytes more than its name and value.
const FIELD_OVERHEAD: usize = 32;

impl Link {
    /// Speaks HTTP over a stream, TLS already done. No request is sent yet; in HTTP/2 its preface is.
    pub(crate) async fn open(
        io: Box<dyn Io>,
        spoken: Spoken,
        books: Arc<Books>,
        (way, tls): (Way, Option<TlsFacts>),
        limits: &Limits,
    ) -> hyper::Result<Box<Self>> {
        let tap = TokioIo::new(Tap::new(io, spoken, Arc::clone(&books)));
        let (sender, driver) = match spoken {
            Spoken::Http1 => open_http1(tap, limits).await?,
            Spoken::Http2 => open_http2(tap, limits).await?,
        };
        // Handed from owner to owner with every exchange.
        Ok(Box::new(Self { sender, driver, books, way, tls }))
    }

    pub(crate) const fn spoken(&self) -> Spoken {
        match self.sender {
            Sender::Http1(_) => Spoken::Http1,
            Sender::Http2(_) => Spoken::Http2,
        }
    }

    /// Looks once whether the connection can take a request now. Writes no request.
    pub(crate) async fn is_ready(&mut self) -> bool {
        poll_fn(|cx| {
            self.driver.poll(cx);
            let ready = match &self.sender {
                Sender::Http1(sender) => sender.is_ready(),
                Sender::Http2(sender) => sender.is_ready(),
            };
            Poll::Ready(ready && self.driver.takes_requests())
        })
        .await
    }

    /// Sends a request and waits for the final response head.
    pub(crate) async fn send(&mut self, request: http::Request<Outgoing>) -> hyper::Result<http::Response<Incoming>> {
        let driver = &mut self.driver;
        match &mut self.sender {
            Sender::Http1(sender) => driver.drive(sender.send_request(request)).await,
            Sender::Http2(sender) => driver.drive(sender.send_request(request)).await,
        }
    }

    /// The next piece of a body, if it is there.
    pub(crate) fn poll_next(&mut self, body: &mut Incoming, cx: &mut Context<'_>) -> Poll<Next> {
        let mut frame = Pin::new(&mut *body).poll_frame(cx);
        if frame.is_pending() {
            self.driver.poll(cx);
            frame = Pin::new(&mut *body).poll_frame(cx);
        }
        frame.map(|frame| match frame {
            Some(Ok(frame)) => Next::Frame(frame),
            Some(Err(error)) => Next::Broken(error),
            None => Next::End,
        })
    }
}

async fn open_http1(tap: TokioIo<Tap>, limits: &Limits) -> hyper::Result<(Sender, Driver)> {
    let mut builder = http1::Builder::new();
    if limits.max_fields != HYPER_FIELDS {
        // Named, the bound costs an allocation for each head; unnamed, it is this one.
        builder.max_headers(limits.max_fields);
    }
    let (sender, connection) = builder
        .title_case_headers(true)
        // The tap's own bound comes first; hyper's buffer must hold what the tap lets through.
        .max_buf_size(limits.max_head_bytes.saturating_mul(2).max(128 << 10))
        .allow_spaces_after_header_name_in_responses(true)
        .allow_obsolete_multiline_headers_in_responses(true)
        .ignore_invalid_headers_in_responses(true)
        .handshake(tap)
        .await?;
    Ok((Sender::Http1(sender), Driver::Http1(Some(Box::new(connection)))))
}

async fn open_http2(tap: TokioIo<Tap>, limits: &Limits) -> hyper::Result<(Sender, Driver)> {
    let held = Held::default();
    // Our own bound counts as for HTTP/1.1 and comes first: what is a little too large still has its name.
    let list = limits.max_head_bytes.saturating_mul(2).saturating_add(limits.max_fields.saturating_mul(FIELD_OVERHEAD));
    let (sender, connection) = http2::Builder::new(held.clone())
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(WINDOW)
        .max_frame_size(FRAME)
        .max_header_list_size(u32::try_from(list).unwrap_or(u32::MAX))
        .max_concurrent_reset_streams(RESET_STREAMS)
        .handshake(tap)
        .await?;
    let driver = Driver::Http2 { requests: Some(Box::new(connection)), held, tasks: Vec::new() };
    Ok((Sender::Http2(sender), driver))
}

impl Driver {
    /// Drives the connection until `answer` is there.
    async fn drive<T>(&mut self, answer: impl Future<Output = T>) -> T {
        let mut answer = pin!(answer);
        poll_fn(|cx| {
            self.poll(cx);
            answer.as_mut().poll(cx)
        })
        .await
    }

    fn poll(&mut self, cx: &mut Context<'_>) {
        match self {
            Self::Http1(connection) => poll_to_end(connection, cx),
            Self::Http2 { requests, held, tasks } => {
                poll_to_end(requests, cx);
                held.run(tasks, cx);
            }
        }
    }

    const fn takes_requests(&self) -> bool {
        match self {
            Self::Http1(connection) => connection.is_some(),
            Self::Http2 { requests, .. } => requests.is_some(),
        }
    }
}

/// Its error, if any, reaches the response or the body.
fn poll_to_end<F: Future + Unpin>(connection: &mut Option<F>, cx: &mut Context<'_>) {
    if connection.as_mut().is_some_and(|connection| Pin::new(connection).poll(cx).is_ready()) {
        *connection = None;
    }
}

impl Held {
    /// Polls all tasks, those too that come up meanwhile.
    fn run(&self, tasks: &mut Vec<Task>, cx: &mut Context<'_>) {
        tasks.retain_mut(|task| task.as_mut().poll(cx).is_pending());
        loop {
            let mut new = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
            if new.is_empty() {
                return;
            }
            new.retain_mut(|task| task.as_mut().poll(cx).is_pending());
            tasks.append(&mut new);
        }
    }
}

impl<F: Future<Output = ()> + Send + 'static> hyper::rt::Executor<F> for Held {
    fn execute(&self, task: F) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Box::pin(task));
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").field("way", &self.way).field("spoken", &self.spoken()).finish_non_exhaustive()
    }
}
