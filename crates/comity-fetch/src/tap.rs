use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use comity_policy::{Clock, Exchange, Instant};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::frames::{FrameKind, FrameScan};
use crate::head::{HeadScan, Scanned};
use crate::link::Spoken;
use crate::net::Io;

/// A stream that keeps the books of the exchange on it: it tells the pacer of the first written byte *before* it is
/// written and of the head's last byte the moment it arrived, and records both heads exactly. Of HTTP/2 it counts the
/// frames, and the heads are those of the HTTP library.
///
/// It sits above TLS, so what it sees is HTTP.
pub(crate) struct Tap {
    io: Box<dyn Io>,
    books: Arc<Books>,
    /// In HTTP/2.
    frames: Option<FrameScan>,
}

/// The books of one connection. Between exchanges they are closed, and the tap only passes bytes on.
///
/// They own the [`Exchange`]: dropping the connection and its books ends it as its slot prescribes.
#[derive(Debug)]
pub(crate) struct Books {
    clock: Arc<dyn Clock>,
    open: Mutex<Option<Open>>,
}

#[derive(Debug)]
struct Open {
    exchange: Exchange,
    request_head: Vec<u8>,
    scan: HeadScan,
    spoken: Spoken,
    /// Frames that are neither head nor body, and bytes of frames that are head.
    control_frames: usize,
    head_bytes: usize,
    most_head_bytes: usize,
    too_large: bool,
    written: Option<Instant>,
    head: Option<Instant>,
}

/// What the books of one exchange hold at its end.
#[derive(Debug)]
pub(crate) struct Closed {
    pub(crate) exchange: Exchange,
    pub(crate) request_head: Bytes,
    /// What came of the response head, unless it was taken.
    pub(crate) response_head: Bytes,
    /// When the first byte of the request was written.
    pub(crate) written: Option<Instant>,
    /// When the last byte of the response head arrived.
    pub(crate) head: Option<Instant>,
    /// The response head was longer than it may be.
    pub(crate) too_large: bool,
}

/// The longest request head that is recorded: a URL's most bytes and our own fields fit.
const MOST_REQUEST_HEAD: usize = 128 << 10;
/// Frames of an exchange that are neither head nor body (our choice: a busy server sends some dozens).
const MOST_CONTROL_FRAMES: usize = 1000;

impl Books {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, open: Mutex::new(None) }
    }

    /// Opens the books for one exchange; whatever was open ends. `head` is that of an HTTP/2 request, which cannot be
    /// read from the wire.
    pub(crate) fn open(&self, exchange: Exchange, head: Option<Vec<u8>>, most_head_bytes: usize) {
        let open = Open {
            exchange,
            spoken: if head.is_some() { Spoken::Http2 } else { Spoken::Http1 },
            request_head: head.unwrap_or_default(),
            scan: HeadScan::default(),
            control_frames: 0,
            head_bytes: 0,
            most_head_bytes,
            too_large: false,
            written: None,
            head: None,
        };
        let before = self.open.lock().unwrap_or_else(PoisonError::into_inner).replace(open);
        drop(before);
    }

    /// The HTTP parser has seen a whole head, by its own count of bytes; when it arrived.
    pub(crate) fn head_seen(&self) -> Option<Instant> {
        self.with(|open| open.on_head(&*self.clock))
    }

    /// Hands out the final response head, whole once there was an answer.
    pub(crate) fn take_response_head(&self) -> Bytes {
        self.with(|open| open.scan.take()).unwrap_or_default()
    }

    /// Closes the books; `None` when they were closed already.
    pub(crate) fn close(&self) -> Option<Closed> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let sent = open.written.is_some();
        Some(Closed {
            exchange: open.exchange,
            request_head: if sent { open.request_head.into() } else { Bytes::new() },
            response_head: open.scan.take(),
            written: open.written,
            head: open.head,
            too_large: open.too_large,
        })
    }

    fn with<T>(&self, act: impl FnOnce(&mut Open) -> T) -> Option<T> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).as_mut().map(act)
    }
}

impl Open {
    fn before_write(&mut self, clock: &dyn Clock) {
        if self.written.is_none() {
            let now = clock.now();
            self.written = Some(now);
            self.exchange.written(now);
        }
    }

    fn on_written(&mut self, bytes: &[u8]) {
        if self.spoken == Spoken::Http2 {
            return;
        }
        let room = MOST_REQUEST_HEAD.saturating_sub(self.request_head.len());
        self.request_head.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
    }

    /// False when the head is longer than it may be.
    fn on_read(&mut self, bytes: &[u8], clock: &dyn Clock) -> bool {
        // What arrives before anything was asked is no answer.
        if self.written.is_none() || self.scan.is_done() {
            return true;
        }
        match self.scan.push(bytes, self.most_head_bytes) {
            Scanned::More => true,
            Scanned::Done => {
                self.on_head(clock);
                true
            }
            Scanned::TooLarge => {
                self.too_large = true;
                false
            }
        }
    }

    /// Why the exchange must end with this frame.
    fn on_frame(&mut self, frame: FrameKind) -> Option<&'static str> {
        match frame {
            FrameKind::Data => None,
            FrameKind::Head(bytes) => {
                self.head_bytes = self.head_bytes.saturating_add(bytes);
                self.too_large = self.head_bytes > self.most_head_bytes;
                self.too_large.then_some(HEAD_TOO_LARGE)
            }
            FrameKind::Control => {
                self.control_frames += 1;
                (self.control_frames > MOST_CONTROL_FRAMES).then_some("more than 1000 frames that are no answer")
            }
        }
    }

    fn on_head(&mut self, clock: &dyn Clock) -> Instant {
        *self.head.get_or_insert_with(|| {
            let now = clock.now();
            self.exchange.head(now);
            now
        })
    }
}

impl Tap {
    pub(crate) fn new(io: Box<dyn Io>, spoken: Spoken, books: Arc<Books>) -> Self {
        let frames = (spoken == Spoken::Http2).then(FrameScan::default);
        Self { io, books, frames }
    }

    /// Takes note of what was read; says why the exchange must end with it.
    fn on_read(&mut self, new: &[u8]) -> Option<&'static str> {
        let Some(frames) = &mut self.frames else {
            let fits = self.books.with(|open| open.on_read(new, &*self.books.clock)).unwrap_or(true);
            return (!fits).then_some(HEAD_TOO_LARGE);
        };
        let mut flaw = None;
        frames.push(new, |frame| {
            flaw = self.books.with(|open| open.on_frame(frame)).flatten();
            flaw.is_none()
        });
        flaw
    }
}

const HEAD_TOO_LARGE: &str = "the response head is larger than the limit";

impl AsyncRead for Tap {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        match ready!(Pin::new(&mut self.io).poll_read(cx, buf)) {
            // A TLS peer that hangs up without saying so: the message's own framing tells whether it is whole.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Poll::Ready(Ok(())),
            other => other?,
        }
        match self.on_read(buf.filled().get(before..).unwrap_or_default()) {
            None => Poll::Ready(Ok(())),
            Some(flaw) => Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, flaw))),
        }
    }
}

impl AsyncWrite for Tap {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if !buf.is_empty() {
            self.books.with(|open| open.before_write(&*self.books.clock));
        }
        let written = ready!(Pin::new(&mut self.io).poll_write(cx, buf))?;
        self.books.with(|open| open.on_written(buf.get(..written).unwrap_or_default()));
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SystemClock;
    use comity_policy::{Pacer, Permit, Politeness, RobotsChain, SeededRandom};
    use comity_url::Origin;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[expect(clippy::disallowed_methods, reason = "the test plays the gate")]
    fn exchange(clock: &dyn Clock) -> Exchange {
        let origin = Origin::parse("http://a.test").unwrap();
        let pacer = Pacer::new(Politeness::default(), Arc::new(SeededRandom::new(1)));
        let slot = pacer.try_slot(&origin, Vec::new(), clock.now()).unwrap();
        Permit::for_robots(&RobotsChain::new(&origin), slot).unwrap().redeem(clock.now()).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn what_arrives_before_anything_was_asked_is_no_answer() {
        const STRAY: &[u8] = b"HTTP/1.1 408 Request Timeout\r\n\r\n";
        const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\n\r\n";
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let books = Arc::new(Books::new(Arc::clone(&clock)));
        let (client, mut server) = tokio::io::duplex(1024);
        let mut tap = Tap::new(Box::new(client), Spoken::Http1, Arc::clone(&books));
        assert!(books.close().is_none(), "closed until an exchange begins");
        books.open(exchange(&*clock), None, 1024);
        let mut buffer = [0; 100];
        server.write_all(STRAY).await.unwrap();
        assert_eq!(tap.read(&mut buffer).await.unwrap(), STRAY.len());
        assert_eq!(books.take_response_head(), "");
        tap.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        server.write_all(ANSWER).await.unwrap();
        assert_eq!(tap.read(&mut buffer).await.unwrap(), ANSWER.len());
        let closed = books.close().unwrap();
        assert_eq!(
            (closed.request_head.as_ref(), closed.response_head.as_ref()),
            (&b"GET / HTTP/1.1\r\n\r\n"[..], ANSWER)
        );
        assert_eq!(
            (closed.written, closed.head, closed.exchange.finish().sent()),
            (Some(clock.now()), Some(clock.now()), Some(clock.now()))
        );
    }
}
