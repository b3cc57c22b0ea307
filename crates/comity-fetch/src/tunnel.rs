use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use comity_policy::{Clock, Exchange, Instant, Outcome, Permit, Reason, Receipt};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::connect::Connecting;
use crate::fault::Fault;
use crate::fetcher::House;
use crate::net::Io;

/// A plain stream to a checked peer, for whoever speaks through it: a tunnel.
///
/// It is charged like a request: the first byte written through it is its request, the first byte that comes back its
/// answer. The first byte has to be written within [`Permit::LIFE`]. What is said is not looked at. Bounds on its time, pauses and bytes are its user's. Dropped, it closes, and
/// the slot keeps the books; [`Tunnel::finish`] gives the receipt for settling.
#[derive(Debug)]
pub struct Tunnel {
    io: OpaqueIo,
    exchange: Exchange,
    clock: Arc<dyn Clock>,
    peer: Option<IpAddr>,
    connect: Duration,
    dialled: Instant,
    sent: u64,
    received: u64,
}

struct OpaqueIo(Box<dyn Io>);

impl std::fmt::Debug for OpaqueIo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OpaqueIo")
    }
}

/// How a tunnel ended, or why there is none.
#[derive(Debug)]
pub struct Dialed {
    /// To be settled with the pacer; `None` for a permit that was stale, whose slot is given back already.
    pub receipt: Option<Receipt>,
    /// What the pacer has to know: answered when a byte came back; `fetch.cancelled` when none was ever sent.
    pub outcome: Outcome,
    /// The peer connected to; `None` behind a proxy.
    pub peer: Option<IpAddr>,
    /// How long connecting took.
    pub connect: Option<Duration>,
    /// Bytes to the peer.
    pub sent: u64,
    /// Bytes from the peer since then.
    pub received: u64,
    /// More about a failure, for people.
    pub detail: Option<String>,
}

pub(crate) async fn dial(house: &House, permit: Permit) -> Result<Tunnel, Dialed> {
    let start = house.clock.now();
    let mut exchange = match permit.redeem(start) {
        Ok(exchange) => exchange,
        Err(stale) => return Err(Dialed::failed(None, Fault::new(Reason::PermitStale, stale.to_string()))),
    };
    let found = Connecting::new(house, start).stream(&mut exchange).await;
    let now = house.clock.now();
    let found = match (found, exchange.may_write(now)) {
        (Ok(found), Ok(())) => Ok(found),
        (Ok(_), Err(ready)) => Err(Fault::new(ready.clock, ready.clock.text())),
        (Err(fault), _) => Err(fault),
    };
    match found {
        Ok((peer, io)) => Ok(Tunnel {
            io: OpaqueIo(io),
            exchange,
            clock: Arc::clone(&house.clock),
            peer: peer.map(|peer| peer.ip()),
            connect: now.since(start),
            dialled: now,
            sent: 0,
            received: 0,
        }),
        Err(fault) => Err(Dialed::failed(Some(exchange), fault)),
    }
}

impl Tunnel {
    /// The peer connected to; `None` behind a proxy.
    #[must_use]
    pub const fn peer(&self) -> Option<IpAddr> {
        self.peer
    }

    /// Closes the stream and ends the exchange.
    #[must_use = "settle the receipt"]
    pub fn finish(self) -> Dialed {
        let outcome = match (self.sent, self.received) {
            (_, 1..) => Outcome::Answered { status: ANSWERED, retry_after: None, rate_limit: None },
            (0, 0) => Outcome::Failed(Reason::FetchCancelled),
            (1.., 0) => Outcome::Failed(Reason::FetchReset),
        };
        Dialed {
            receipt: Some(self.exchange.finish()),
            outcome,
            peer: self.peer,
            connect: Some(self.connect),
            sent: self.sent,
            received: self.received,
            detail: None,
        }
    }

    /// The turn that the tunnel was dialled for does not wait for ever.
    fn may_begin(&self, now: Instant) -> io::Result<()> {
        let refused = |reason: Reason| Err(io::Error::new(io::ErrorKind::PermissionDenied, reason.text()));
        match self.exchange.may_write(now) {
            Err(ready) => refused(ready.clock),
            Ok(()) if now.since(self.dialled) > Permit::LIFE => refused(Reason::PermitStale),
            Ok(()) => Ok(()),
        }
    }

    fn now(&self) -> Instant {
        self.clock.now()
    }
}

/// What stands for the status of an answer that cannot be seen.
const ANSWERED: u16 = 200;

impl Dialed {
    fn failed(exchange: Option<Exchange>, fault: Fault) -> Self {
        let receipt = exchange.map(Exchange::finish);
        let outcome = Outcome::Failed(fault.reason);
        Self { receipt, outcome, peer: None, connect: None, sent: 0, received: 0, detail: Some(fault.detail) }
    }
}

impl AsyncRead for Tunnel {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.io.0).poll_read(cx, buffer))?;
        let new = buffer.filled().len() - before;
        // What a peer says before it is spoken to is no answer.
        if self.received == 0 && new > 0 && self.sent > 0 {
            let now = self.now();
            self.exchange.head(now);
        }
        self.received += if self.sent > 0 { new as u64 } else { 0 };
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Tunnel {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.sent == 0 && !bytes.is_empty() {
            let now = self.now();
            self.may_begin(now)?;
            self.exchange.written(now);
        }
        let written = ready!(Pin::new(&mut self.io.0).poll_write(cx, bytes))?;
        self.sent += written as u64;
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io.0).poll_shutdown(cx)
    }
}
