use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use comity_policy::{Clock, Instant, Reason};
use http_body::{Body, Frame, SizeHint};
use http_body_util::combinators::UnsyncBoxBody;

use crate::fault::Fault;

/// A body to be sent along, of any kind: see [`http_body_util::BodyExt::boxed_unsync`].
pub type RequestBody = UnsyncBoxBody<Bytes, Box<dyn Error + Send + Sync>>;

/// The body of a request on its way out: none, or a bounded stream. Clones share the stream, which is read once.
#[derive(Clone, Default)]
pub(crate) struct Outgoing(Option<Arc<Mutex<Stream>>>);

struct Stream {
    body: Pin<Box<RequestBody>>,
    sent: u64,
    most: u64,
    clock: Arc<dyn Clock>,
    /// When a piece was last taken; `None` when none was.
    moved: Option<Instant>,
    fault: Option<String>,
}

impl Outgoing {
    /// At most `most` bytes of `body`.
    pub(crate) fn bounded(body: RequestBody, most: u64, clock: Arc<dyn Clock>) -> Self {
        let stream = Stream { body: Box::pin(body), sent: 0, most, clock, moved: None, fault: None };
        Self(Some(Arc::new(Mutex::new(stream))))
    }

    /// When a piece was last taken: such a body cannot be sent again.
    pub(crate) fn moved(&self) -> Option<Instant> {
        self.lock()?.moved
    }

    /// What was wrong with the body itself.
    pub(crate) fn fault(&self) -> Option<Fault> {
        Some(Fault::new(Reason::FetchRequestBody, self.lock()?.fault.clone()?))
    }

    fn lock(&self) -> Option<MutexGuard<'_, Stream>> {
        self.0.as_ref().map(|stream| stream.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Stream {
    fn take(&mut self, frame: Option<Result<Frame<Bytes>, Box<dyn Error + Send + Sync>>>) -> Option<Taken> {
        self.moved = Some(self.clock.now());
        match frame? {
            Ok(frame) => {
                self.sent = self.sent.saturating_add(frame.data_ref().map_or(0, |data| data.len() as u64));
                if self.sent <= self.most {
                    return Some(Ok(frame));
                }
                Some(Err(self.broken(format!("the request body is larger than {} bytes", self.most))))
            }
            Err(error) => Some(Err(self.broken(format!("the request body broke off: {error}")))),
        }
    }

    fn broken(&mut self, what: String) -> Broken {
        self.fault = Some(what.clone());
        Broken(what)
    }
}

type Taken = Result<Frame<Bytes>, Broken>;

/// Why a request body ended before its end.
#[derive(Debug)]
pub(crate) struct Broken(String);

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Broken {}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Taken>> {
        let Some(mut stream) = self.lock() else { return Poll::Ready(None) };
        let frame = ready!(stream.body.as_mut().poll_frame(cx));
        Poll::Ready(stream.take(frame))
    }

    fn is_end_stream(&self) -> bool {
        self.lock().is_none_or(|stream| stream.body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        self.lock().map_or_else(|| SizeHint::with_exact(0), |stream| stream.body.size_hint())
    }
}
