use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

use crate::Request;
use crate::answer::{Pace, Wire};
use crate::live::Live;
use crate::log::Ends;
use crate::reply::status_of;
use crate::scan::HeadScanner;

/// The server's end of a connection.
pub(crate) trait Carrier: AsyncRead + AsyncWrite + Send + Unpin + 'static {
    /// Makes the end of the connection, which comes next, a reset.
    fn abort(&mut self);
}

/// A request that arrived and waits for the service.
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    pub(crate) number: Option<u64>,
    pub(crate) site: Option<usize>,
    pub(crate) request: Arc<Request>,
}

/// What the tap and the service of one connection share: heads seen on the one side, faults ordered on the other.
#[derive(Debug)]
pub(crate) struct Wiretap {
    live: Arc<Live>,
    ends: Ends,
    connection: u64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    scanner: HeadScanner,
    waiting: VecDeque<Arrival>,
    last: Option<Arc<Request>>,
    /// The response whose head comes next.
    due: Option<Option<u64>>,
    /// The response that is being written, or was last.
    current: Option<u64>,
    /// Requests without an end, closed with the connection.
    open: Vec<u64>,
    out: Out,
    abort: bool,
    /// The connection itself is faulty: no answer changes that.
    doomed: bool,
}

/// What becomes of bytes that the server writes.
#[derive(Debug)]
enum Out {
    Sound,
    /// So many more pass, then the connection is reset.
    Cut(u64),
    /// These go out instead; then the connection ends.
    Raw(Bytes, Option<Pace>),
    Dead,
}

impl Wiretap {
    pub(crate) fn new(live: Arc<Live>, ends: Ends, reset_after: Option<u64>) -> Self {
        let connection = live.log.connection();
        let out = reset_after.map_or(Out::Sound, Out::Cut);
        let state = State {
            scanner: HeadScanner::default(),
            waiting: VecDeque::new(),
            last: None,
            due: None,
            current: None,
            open: Vec::new(),
            out,
            abort: false,
            doomed: reset_after.is_some(),
        };
        Self { live, ends, connection, state: Mutex::new(state) }
    }

    pub(crate) const fn live(&self) -> &Arc<Live> {
        &self.live
    }

    /// The request that the server has just taken.
    pub(crate) fn take(&self) -> Option<Arrival> {
        self.lock().waiting.pop_front()
    }

    /// A response to request `number` will be written next, the wire doing `wire`.
    pub(crate) fn answer(&self, number: Option<u64>, wire: &Wire, pace: Option<Pace>) {
        let mut state = self.lock();
        state.due = Some(number);
        // Its end is noted by the body from here on.
        state.open.retain(|open| Some(*open) != number);
        match wire {
            // The connection is cut anyway: bytes that are no response never begin.
            Wire::Raw(_) if state.doomed => state.out = Out::Cut(0),
            // Whichever fault comes first.
            Wire::Cut(bytes) if state.doomed => {
                if let Out::Cut(left) = state.out {
                    state.out = Out::Cut(left.min(*bytes));
                }
            }
            _ if state.doomed => {}
            Wire::Cut(bytes) => state.out = Out::Cut(*bytes),
            Wire::Raw(bytes) => state.out = Out::Raw(bytes.clone(), pace),
            Wire::Sound | Wire::Silence | Wire::Reset => state.out = Out::Sound,
        }
    }

    /// The connection will end with a reset.
    pub(crate) fn abort(&self) {
        self.lock().abort = true;
    }

    fn received(&self, bytes: &[u8]) {
        let mut state = self.lock();
        for head in state.scanner.feed(bytes) {
            let request = Arc::new(match &state.last {
                Some(last) => head.sharing(last),
                None => head,
            });
            state.last = Some(request.clone());
            let site = self.live.layout.route(request.field("host").as_deref(), self.ends.local);
            let number = self.live.log.arrived(&request, site, self.connection, self.ends);
            state.open.extend(number);
            state.waiting.push_back(Arrival { number, site, request });
        }
    }

    /// Notes the head of the response, if `bytes` are its first.
    fn writing(&self, state: &mut State, bytes: &[u8]) {
        let refused_by_server = state.due.is_none() && status_of(bytes).is_some_and(|status| status >= 400);
        if refused_by_server && let Some(arrival) = state.waiting.pop_front() {
            state.due = Some(arrival.number);
        }
        let Some(number) = state.due.take() else { return };
        let status = match &state.out {
            Out::Raw(raw, _) => status_of(raw),
            Out::Sound | Out::Cut(_) | Out::Dead => status_of(bytes),
        };
        // A client that gets half a head has got no answer.
        let head = head_length(bytes);
        let whole = match &state.out {
            Out::Sound | Out::Raw(..) => true,
            Out::Cut(left) => head.is_some_and(|length| length <= *left),
            Out::Dead => false,
        };
        state.current = number;
        self.live.log.head_sent(number, status, whole);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection that notes what passes, and spoils it when told to.
#[derive(Debug)]
pub(crate) struct Tap<S: Carrier> {
    inner: S,
    wiretap: Arc<Wiretap>,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl<S: Carrier> Tap<S> {
    pub(crate) const fn new(inner: S, wiretap: Arc<Wiretap>) -> Self {
        Self { inner, wiretap, sleep: None }
    }

    /// Sends raw bytes, as slowly as told; ends with the error that ends the connection.
    fn poll_raw(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        loop {
            if let Some(sleep) = &mut self.sleep {
                ready!(sleep.as_mut().poll(cx));
                self.sleep = None;
            }
            let mut state = self.wiretap.lock();
            let Out::Raw(bytes, pace) = &mut state.out else { return Poll::Ready(over()) };
            if bytes.is_empty() {
                ready!(Pin::new(&mut self.inner).poll_flush(cx)).ok();
                state.out = Out::Dead;
                return Poll::Ready(over());
            }
            let piece = bytes.slice(..pace.map_or(bytes.len(), |pace| pace.chunk.min(bytes.len())));
            match ready!(Pin::new(&mut self.inner).poll_write(cx, &piece)) {
                Ok(0) => return Poll::Ready(io::ErrorKind::WriteZero.into()),
                Ok(sent) => bytes.advance(sent),
                Err(error) => return Poll::Ready(error),
            }
            if let Some(pace) = pace {
                self.sleep = Some(Box::pin(tokio::time::sleep(pace.every)));
            }
        }
    }

    /// Lets `left` more bytes through.
    fn poll_cut(&mut self, cx: &mut Context<'_>, bytes: &[u8], left: u64) -> Poll<io::Result<usize>> {
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
        if left == 0 {
            ready!(Pin::new(&mut self.inner).poll_flush(cx)).ok();
            let mut state = self.wiretap.lock();
            state.out = Out::Dead;
            state.abort = true;
            self.wiretap.live.log.cut(state.current);
            return Poll::Ready(Err(over()));
        }
        let sent = ready!(Pin::new(&mut self.inner).poll_write(cx, bytes.get(..most).unwrap_or_default()))?;
        self.wiretap.lock().out = Out::Cut(left.saturating_sub(sent as u64));
        Poll::Ready(Ok(sent))
    }
}

/// Bytes of the response head at the start of `bytes`; `None` when it goes on behind them.
fn head_length(bytes: &[u8]) -> Option<u64> {
    bytes.windows(4).position(|window| window == b"\r\n\r\n").map(|end| end as u64 + 4)
}

/// How the server is told that the connection is over.
fn over() -> io::Error {
    io::ErrorKind::ConnectionReset.into()
}

impl<S: Carrier> AsyncRead for Tap<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.inner).poll_read(cx, buffer))?;
        this.wiretap.received(buffer.filled().get(before..).unwrap_or_default());
        Poll::Ready(Ok(()))
    }
}

impl<S: Carrier> AsyncWrite for Tap<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let first = slices.iter().find(|slice| !slice.is_empty()).map_or(&[][..], |slice| slice);
        let cut = {
            let wiretap = this.wiretap.clone();
            let mut state = wiretap.lock();
            wiretap.writing(&mut state, first);
            match &state.out {
                Out::Sound => None,
                Out::Cut(left) => Some(Some(*left)),
                Out::Raw(..) => Some(None),
                Out::Dead => return Poll::Ready(Err(over())),
            }
        };
        match cut {
            None => Pin::new(&mut this.inner).poll_write_vectored(cx, slices),
            Some(Some(left)) => this.poll_cut(cx, first, left),
            Some(None) => this.poll_raw(cx).map(Err),
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_shutdown(cx)
    }
}

impl<S: Carrier> Drop for Tap<S> {
    fn drop(&mut self) {
        let mut state = self.wiretap.lock();
        if state.abort {
            self.inner.abort();
        }
        for number in state.open.drain(..) {
            self.wiretap.live.log.ended(Some(number));
        }
    }
}
