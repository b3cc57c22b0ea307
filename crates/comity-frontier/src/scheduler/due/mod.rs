mod bucket;
mod order;
#[cfg(test)]
mod tests;
mod wheel;

use std::collections::BTreeSet;

use comity_policy::Instant;

use self::order::Order;
use self::wheel::Wheel;

/// Which origins may be leased and when: each at most once, and exactly while it is eligible.
///
/// The order is exact: by instant to the microsecond, then by ticket. Only what is due next is kept in it: entries are
/// put into the bucket of their tick as they come, and a bucket is ordered when it becomes the first. A changed time moves
/// the entry, so no stale entries pile up. About 24 bytes per origin.
///
/// Invariants, checked in debug builds: the front is empty only when nothing is timed; every other entry's tick is later
/// than the front's; no bucket is empty.
#[derive(Debug, Default)]
pub(super) struct Due {
    /// The entries of the first tick that has any.
    front: Box<Order>,
    /// The front's tick.
    tick: u64,
    /// The entries of all later ticks.
    later: Wheel,
    /// Eligible, but only an event can make them due.
    stuck: BTreeSet<u32>,
    tickets: u64,
}

/// When, then the ticket drawn when the origin became eligible, then which origin.
pub(super) type Key = (Instant, u64, u32);

/// An origin's entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) at: Instant,
    /// When it became eligible: it is not due before, however old its told instant is. So an origin that needs no
    /// delay goes behind all that wait already.
    pub(super) since: Instant,
    pub(super) ticket: u64,
}

/// Microseconds in a tick, as a power of two: 65.5 ms. It bounds no precision, only how many entries are ordered at once.
const TICK_BITS: u32 = 16;

impl Due {
    /// Moves an origin to where it belongs: `due` is its earliest instant, `None` when it is not eligible.
    pub(super) fn place(
        &mut self,
        origin: u32,
        old: Option<Place>,
        due: Option<Instant>,
        now: Instant,
    ) -> Option<Place> {
        let place = match (old, due) {
            (Some(old), Some(due)) if due.max(old.since) == old.at => return Some(old),
            (Some(old), Some(due)) => Place { at: due.max(old.since), ..old },
            (None, Some(due)) => Place { at: due.max(now), since: now, ticket: self.ticket() },
            (_, None) => {
                if let Some(old) = old {
                    self.remove(origin, old);
                }
                return None;
            }
        };
        self.later.advance(tick_of(now));
        if let Some(old) = old {
            self.remove(origin, old);
        }
        self.put(origin, place);
        Some(place)
    }

    /// Takes an origin out.
    pub(super) fn remove(&mut self, origin: u32, place: Place) {
        let (key, tick) = ((place.at, place.ticket, origin), tick_of(place.at));
        if place.at == Instant::NEVER {
            self.stuck.remove(&origin);
        } else if tick == self.tick {
            self.front.remove(key);
            if self.front.is_empty() {
                self.open_next();
            }
        } else {
            self.later.change(tick, |bucket| bucket.remove(key));
        }
        debug_assert!(self.holds(), "the front comes before everything else");
    }

    /// The origin that is due at `now` and has been for longest, with instant and ticket.
    pub(super) fn first_due(&self, now: Instant) -> Option<Key> {
        self.front.first().filter(|key| key.0 <= now)
    }

    /// Those due at `now` in the tick that comes first, the longest due first.
    pub(super) fn first_ones(&self, now: Instant) -> impl Iterator<Item = u32> + '_ {
        self.front.behind(None).take_while(move |key| key.0 <= now).map(|key| key.2)
    }

    /// Those due at `now`, the longest due first.
    pub(super) fn all_due(&self, now: Instant) -> impl Iterator<Item = u32> + '_ {
        let due = move |key: &Key| key.0 <= now;
        let later = self.later.from(0).take_while(move |(tick, _)| *tick <= tick_of(now));
        let later = later.flat_map(|(_, bucket)| bucket.behind((Instant::START, 0, 0)));
        self.front.behind(None).chain(later).take_while(due).map(|key| key.2)
    }

    /// When the first origin is due.
    pub(super) fn next(&self) -> Option<Instant> {
        self.front.first().map(|key| key.0)
    }

    /// Origins that are not due at `now` and become so by time alone, the earliest first.
    pub(super) fn waiting(&self, now: Instant) -> impl Iterator<Item = Key> + '_ {
        self.behind((now, u64::MAX, u32::MAX))
    }

    /// Origins that only an event can make due.
    pub(super) fn stuck_ones(&self) -> impl Iterator<Item = u32> + '_ {
        self.stuck.iter().copied()
    }

    /// How many origins only an event can make due.
    pub(super) fn stuck(&self) -> usize {
        self.stuck.len()
    }

    /// Entries behind `after`, in order.
    fn behind(&self, after: Key) -> impl Iterator<Item = Key> + '_ {
        let later = self.later.from(tick_of(after.0)).flat_map(move |(_, bucket)| bucket.behind(after));
        self.front.behind(Some(after)).chain(later)
    }

    /// Puts an origin to a place that it had before.
    pub(super) fn put(&mut self, origin: u32, place: Place) {
        let (key, tick) = ((place.at, place.ticket, origin), tick_of(place.at));
        if place.at == Instant::NEVER {
            self.stuck.insert(origin);
        } else if self.front.is_empty() || tick == self.tick {
            self.tick = tick;
            self.front.insert(key);
        } else if tick > self.tick {
            self.later.bucket(tick).insert(key);
        } else {
            let front = std::mem::replace(&mut self.front, Box::new(Order::new(vec![key])));
            *self.later.bucket(self.tick) = bucket::Bucket::Ordered(front);
            self.tick = tick;
        }
        debug_assert!(self.holds(), "the front comes before everything else");
    }

    /// The invariants of the type; costs a look at the words of the ring's bits.
    fn holds(&self) -> bool {
        let later = self.later.first();
        let tick = self.front.first().is_none_or(|key| tick_of(key.0) == self.tick);
        tick && later.is_none_or(|later| !self.front.is_empty() && later > self.tick)
    }

    /// Makes the first of the later buckets the front.
    fn open_next(&mut self) {
        if let Some((tick, bucket)) = self.later.take_first() {
            (self.tick, self.front) = (tick, bucket.into_ordered());
        }
    }

    /// Draws a ticket: among those due at one instant the earlier drawn comes first.
    pub(super) const fn ticket(&mut self) -> u64 {
        self.tickets += 1;
        self.tickets
    }

    /// No ticket up to `last` is drawn any more.
    pub(super) fn skip_tickets(&mut self, last: u64) {
        self.tickets = self.tickets.max(last);
    }

    /// The ticket drawn last.
    pub(super) const fn last_ticket(&self) -> u64 {
        self.tickets
    }
}

impl Place {
    /// The instant under which it stands.
    pub(super) const fn at(self) -> Instant {
        self.at
    }
}

const fn tick_of(at: Instant) -> u64 {
    at.as_micros() >> TICK_BITS
}
