use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use comity_policy::Instant;

/// Peers that did not take a connection a short while ago: they are tried last.
///
/// So an origin with a dead address among its answers pays for it once a minute and not with every connection, and
/// its slots charge the address that it really lives at.
#[derive(Debug, Default)]
pub(crate) struct DeadPeers(Mutex<BTreeMap<SocketAddr, Instant>>);

/// How long a peer counts as dead (our choice: the life of a resolver's answer here).
const REMEMBERED: Duration = Duration::from_secs(60);
const MOST: usize = 1024;

impl DeadPeers {
    /// `peer` did not take a connection.
    pub(crate) fn note(&self, peer: SocketAddr, now: Instant) {
        let mut dead = self.lock();
        if dead.len() >= MOST {
            dead.retain(|_, until| *until > now);
        }
        if dead.len() < MOST {
            dead.insert(peer, now.after(REMEMBERED));
        }
    }

    /// `peer` took one.
    pub(crate) fn forget(&self, peer: SocketAddr) {
        self.lock().remove(&peer);
    }

    /// Moves dead peers to the end; the order is else the same.
    pub(crate) fn order(&self, peers: &mut [SocketAddr], now: Instant) {
        let dead = self.lock();
        if !dead.is_empty() {
            peers.sort_by_key(|peer| dead.get(peer).is_some_and(|until| *until > now));
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<SocketAddr, Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dead_peers_come_last_for_a_while() {
        let peer = |n: u16| SocketAddr::from(([10, 0, 0, 1], n));
        let dead = DeadPeers::default();
        let start = Instant::from_micros(1);
        dead.note(peer(1), start);
        let order = |after| {
            let mut peers = [peer(1), peer(2), peer(3)];
            dead.order(&mut peers, start.after(Duration::from_secs(after)));
            peers.map(|peer| peer.port())
        };
        assert_eq!((order(59), order(60)), ([2, 3, 1], [1, 2, 3]));
        dead.forget(peer(1));
        assert_eq!(order(0), [1, 2, 3]);
        (0..5000).for_each(|n| dead.note(peer(n), start));
        assert!(dead.lock().len() <= MOST);
    }
}
