use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

use crate::Request;
use crate::reply::Reply;

/// What the web saw of one request. Times are microseconds since the web was put up, by tokio's clock (which a test
/// may have paused).
#[derive(Clone, Debug)]
pub struct Sighting {
    /// Its place in the log, from 0, in order of arrival.
    pub number: u64,
    /// The connection it came over, counted from 0.
    pub connection: u64,
    /// The client's address.
    pub peer: SocketAddr,
    /// The address it was sent to.
    pub local: SocketAddr,
    /// The site it meant, by its Host field; `None` when no site of that name lives at `local`.
    pub site: Option<usize>,
    /// The head as received.
    pub request: Arc<Request>,
    /// When the last byte of the head had been read.
    pub arrived_us: u64,
    /// When the first byte of the response head was about to be written.
    pub head_sent_us: Option<u64>,
    /// When the last byte of the response was about to be written, or the connection ended before.
    pub ended_us: Option<u64>,
    /// The status written; `None` without a response or with bytes that are no HTTP.
    pub status: Option<u16>,
    /// True when a fault, or the client, ended the connection before the response was whole.
    pub cut: bool,
    /// The whole response head went out.
    pub(crate) head_whole: bool,
    pub(crate) reply: Option<Reply>,
    pub(crate) arrival: u64,
    pub(crate) answer: Option<u64>,
}

/// The log of everything that arrived, bounded.
#[derive(Debug)]
pub(crate) struct Log {
    start: Instant,
    max: usize,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    sightings: Vec<Sighting>,
    /// Requests that no longer fitted.
    lost: u64,
    /// Arrivals and answers so far: their order, also where the clock stands still.
    events: u64,
    connections: u64,
    deaths: Vec<Death>,
}

/// A moment at which the clients' processes ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Death {
    /// Its place among arrivals and answers.
    pub(crate) order: u64,
    /// Microseconds since the web was put up: what had reached them whole by then, the next ones know.
    pub(crate) at_us: u64,
    /// The same for the start of the next ones.
    pub(crate) reborn_us: Option<u64>,
}

/// What a log holds.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) sightings: Vec<Sighting>,
    pub(crate) deaths: Vec<Death>,
    pub(crate) lost: u64,
}

/// Both ends of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    pub(crate) peer: SocketAddr,
    pub(crate) local: SocketAddr,
}

impl Log {
    #[expect(clippy::disallowed_methods, reason = "a server of its own, not a part of a crawler: it measures those")]
    pub(crate) fn new(max: usize) -> Self {
        Self { start: Instant::now(), max, inner: Mutex::default() }
    }

    pub(crate) fn connection(&self) -> u64 {
        let mut inner = self.lock();
        inner.connections += 1;
        inner.connections - 1
    }

    /// Notes a request; `None` when the log is full.
    pub(crate) fn arrived(
        &self,
        request: &Arc<Request>,
        site: Option<usize>,
        connection: u64,
        ends: Ends,
    ) -> Option<u64> {
        let mut inner = self.lock();
        if inner.sightings.len() >= self.max {
            inner.lost += 1;
            return None;
        }
        inner.events += 1;
        let number = inner.sightings.len() as u64;
        let arrival = inner.events;
        inner.sightings.push(Sighting {
            number,
            connection,
            peer: ends.peer,
            local: ends.local,
            site,
            request: request.clone(),
            // Read under the lock: order and time agree.
            arrived_us: self.now_us(),
            head_sent_us: None,
            ended_us: None,
            status: None,
            cut: false,
            head_whole: false,
            reply: None,
            arrival,
            answer: None,
        });
        Some(number)
    }

    pub(crate) fn replied(&self, number: Option<u64>, reply: Reply) {
        self.change(number, |sighting, _, _| sighting.reply = Some(reply));
    }

    pub(crate) fn head_sent(&self, number: Option<u64>, status: Option<u16>, whole: bool) {
        self.change(number, |sighting, now, event| {
            sighting.head_whole = whole;
            sighting.head_sent_us = Some(now);
            sighting.status = status;
            sighting.answer = Some(event);
        });
    }

    pub(crate) fn cut(&self, number: Option<u64>) {
        self.change(number, |sighting, _, _| sighting.cut = true);
    }

    pub(crate) fn ended(&self, number: Option<u64>) {
        self.change(number, |sighting, now, _| {
            sighting.ended_us.get_or_insert(now);
        });
    }

    /// Notes that the clients' processes ended.
    pub(crate) fn died(&self) {
        let mut inner = self.lock();
        inner.events += 1;
        let death = Death { order: inner.events, at_us: self.now_us(), reborn_us: None };
        inner.deaths.push(death);
    }

    /// Notes that they knew nothing any more of what came after a moment.
    pub(crate) fn forgot(&self, after_us: u64) {
        if let Some(last) = self.lock().deaths.last_mut() {
            last.at_us = last.at_us.min(after_us);
        }
    }

    /// Notes that the next ones begin.
    pub(crate) fn reborn(&self) {
        let now = self.now_us();
        if let Some(last) = self.lock().deaths.last_mut() {
            last.reborn_us.get_or_insert(now);
        }
    }

    /// Everything so far.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let inner = self.lock();
        Snapshot { sightings: inner.sightings.clone(), deaths: inner.deaths.clone(), lost: inner.lost }
    }

    pub(crate) fn elapsed(&self) -> std::time::Duration {
        self.start.elapsed()
    }

    fn change(&self, number: Option<u64>, change: impl FnOnce(&mut Sighting, u64, u64)) {
        let mut inner = self.lock();
        inner.events += 1;
        // Read under the lock, and before the caller writes: order and time agree, and no client can know earlier.
        let (event, now) = (inner.events, self.now_us());
        let place = number.and_then(|number| usize::try_from(number).ok());
        if let Some(sighting) = place.and_then(|place| inner.sightings.get_mut(place)) {
            change(sighting, now, event);
        }
    }

    fn now_us(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
