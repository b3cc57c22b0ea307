use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use comity_policy::TlsFacts;
use http_body::{Body, Frame};
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;

use crate::Limits;
use crate::net::Io;
use crate::tap::{Books, Tap};

/// One HTTP/1.1 connection, driven by whoever uses it and by nobody else.
///
/// There is no background task: a dropped exchange takes its connection with it, so no request can go on unseen
/// (invariant 6), and an idle connection costs no wake-ups.
pub(crate) struct Link {
    sender: http1::SendRequest<Empty<Bytes>>,
    driver: Driver,
    pub(crate) books: Arc<Books>,
    pub(crate) peer: SocketAddr,
    pub(crate) tls: Option<TlsFacts>,
}

/// hyper's connection future; gone once it has ended.
struct Driver(Option<http1::Connection<TokioIo<Tap>, Empty<Bytes>>>);

/// What came next of a body.
pub(crate) enum Next {
    /// Bytes, or trailers that are passed over.
    Frame(Frame<Bytes>),
    /// The message ended as its framing says.
    End,
    /// The message broke.
    Broken(hyper::Error),
    /// Nothing is there, and waiting any longer would fall below the least rate.
    Slow,
}

impl Link {
    /// Speaks HTTP over a stream, TLS already done. Nothing is sent yet.
    pub(crate) async fn open(
        io: Box<dyn Io>,
        books: Arc<Books>,
        (peer, tls): (SocketAddr, Option<TlsFacts>),
        limits: &Limits,
    ) -> hyper::Result<Self> {
        let tap = TokioIo::new(Tap::new(io, Arc::clone(&books)));
        let (sender, connection) = http1::Builder::new()
            .title_case_headers(true)
            .max_headers(limits.max_fields)
            // The tap's own bound comes first; hyper's buffer must hold what the tap lets through.
            .max_buf_size(limits.max_head_bytes.saturating_mul(2).max(128 << 10))
            .allow_spaces_after_header_name_in_responses(true)
            .allow_obsolete_multiline_headers_in_responses(true)
            .ignore_invalid_headers_in_responses(true)
            .handshake(tap)
            .await?;
        Ok(Self { sender, driver: Driver(Some(connection)), books, peer, tls })
    }

    /// Looks once whether the connection can take a request now. Writes nothing.
    pub(crate) async fn is_ready(&mut self) -> bool {
        poll_fn(|cx| {
            self.driver.poll(cx);
            Poll::Ready(self.driver.0.is_some() && self.sender.is_ready())
        })
        .await
    }

    /// Sends a request and waits for the final response head.
    pub(crate) async fn send(
        &mut self,
        request: http::Request<Empty<Bytes>>,
    ) -> hyper::Result<http::Response<Incoming>> {
        let mut answer = pin!(self.sender.send_request(request));
        poll_fn(|cx| {
            self.driver.poll(cx);
            answer.as_mut().poll(cx)
        })
        .await
    }

    /// The next piece of a body; `is_slow` is asked once, when there is nothing to do but wait.
    pub(crate) async fn next(&mut self, body: &mut Incoming, is_slow: impl Fn() -> bool) -> Next {
        let mut waits = false;
        poll_fn(|cx| {
            let mut frame = Pin::new(&mut *body).poll_frame(cx);
            if frame.is_pending() {
                self.driver.poll(cx);
                frame = Pin::new(&mut *body).poll_frame(cx);
            }
            match frame {
                Poll::Ready(Some(Ok(frame))) => Poll::Ready(Next::Frame(frame)),
                Poll::Ready(Some(Err(error))) => Poll::Ready(Next::Broken(error)),
                Poll::Ready(None) => Poll::Ready(Next::End),
                Poll::Pending if !waits && is_slow() => Poll::Ready(Next::Slow),
                Poll::Pending => {
                    waits = true;
                    Poll::Pending
                }
            }
        })
        .await
    }
}

impl Driver {
    fn poll(&mut self, cx: &mut Context<'_>) {
        if let Some(connection) = &mut self.0
            && Pin::new(connection).poll(cx).is_ready()
        {
            // Its error, if any, has reached the response or the body.
            self.0 = None;
        }
    }
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Link").field("peer", &self.peer).finish_non_exhaustive()
    }
}
