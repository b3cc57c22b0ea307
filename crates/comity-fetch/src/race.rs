use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::task::Poll;
use std::time::Duration;

use crate::net::{BoxFuture, Io, Net};

/// Attempts to connect that run at once (RFC 8305 §5). A dropped race drops them all: nothing was written on any.
pub(crate) struct Race<'a> {
    net: &'a dyn Net,
    running: Vec<Attempt>,
}

struct Attempt {
    peer: SocketAddr,
    connect: BoxFuture<'static, io::Result<Box<dyn Io>>>,
}

/// How long an attempt has the race to itself (RFC 8305 §5: 250 ms recommended).
pub(crate) const STAGGER: Duration = Duration::from_millis(250);

impl<'a> Race<'a> {
    pub(crate) fn new(net: &'a dyn Net) -> Self {
        Self { net, running: Vec::new() }
    }

    pub(crate) fn begin(&mut self, peer: SocketAddr) {
        self.running.push(Attempt { peer, connect: self.net.connect(peer) });
    }

    /// The attempt that ends next; of two at once the one that began earlier. Waits for ever when none is running.
    pub(crate) async fn next(&mut self) -> (SocketAddr, io::Result<Box<dyn Io>>) {
        poll_fn(|cx| {
            for at in 0..self.running.len() {
                let Some(attempt) = self.running.get_mut(at) else { break };
                if let Poll::Ready(result) = attempt.connect.as_mut().poll(cx) {
                    return Poll::Ready((self.running.remove(at).peer, result));
                }
            }
            Poll::Pending
        })
        .await
    }

    /// The peers of the attempts that run, in the order in which they began.
    pub(crate) fn peers(&self) -> impl Iterator<Item = SocketAddr> {
        self.running.iter().map(|attempt| attempt.peer)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.running.is_empty()
    }
}
