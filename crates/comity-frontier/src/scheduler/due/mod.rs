mod bucket;
mod entry;
mod order;
#[cfg(test)]
mod tests;
mod wheel;

use std::collections::BTreeSet;
use std::num::NonZeroU64;

use comity_policy::Instant;

use self::bucket::Bucket;
use self::entry::Entry;
use self::order::Order;
use self::wheel::Wheel;

/// Which origins may be leased and when: each at most once, and exactly while it is eligible.
///
/// The order is exact: by instant to the microsecond, then by ticket. Only what is due next is kept in it: entries are
/// put into the bucket of their tick as they come, and a bucket is ordered when it becomes the first. A changed time moves
/// the entry, so no stale entries pile up. 16 bytes per origin, and what the lists hold free.
///
/// Invariants, checked in debug builds: the front is empty only when nothing is timed; every other entry's tick is later
/// than the front's; no bucket is empty.
#[derive(Debug, Default)]
pub(super) struct Due {
    /// The entries of the first tick that has any.
    front: Order,
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
    /// The ticket and one, so that no place takes no more room than a place.
    stamp: NonZeroU64,
}

const _: () = assert!(size_of::<Option<Place>>() == 24, "it stands in a record of two cache lines");

/// Microseconds in a tick, as a power of two: 65.5 ms. It bounds no precision, only how many entries are ordered at once.
const TICK_BITS: u32 = 16;

impl Due {
    /// Moves an origin from its place to where it belongs: `due` is its earliest instant, `None` when it is not eligible.
    ///
    /// The place is changed where it stands: one that was given back would be read as soon as it was written, and wait until
    /// the entry has reached its bucket.
    #[inline]
    pub(super) fn place(&mut self, origin: u32, place: &mut Option<Place>, due: Option<Instant>, now: Instant) {
        let new = match (&*place, due) {
            (Some(old), Some(due)) if due.max(old.since) == old.at => return,
            (Some(old), Some(due)) => Place { at: due.max(old.since), ..*old },
            (None, Some(due)) => Place::new(due.max(now), now, self.ticket()),
            (_, None) => {
                if let Some(old) = place.take() {
                    self.remove(origin, old);
                }
                return;
            }
        };
        self.later.advance(tick_of(now));
        if let Some(old) = place.replace(new) {
            self.remove(origin, old);
        }
        self.put(origin, new);
    }

    /// Takes an origin out.
    #[inline]
    pub(super) fn remove(&mut self, origin: u32, place: Place) {
        let (entry, tick) = (Entry::new((place.at, place.ticket(), origin)), tick_of(place.at));
        if place.at == Instant::NEVER {
            self.stuck.remove(&origin);
        } else if tick == self.tick {
            self.front.remove(entry);
            if self.front.is_empty() {
                self.open_next();
            }
        } else {
            self.later.change(tick, |bucket| bucket.remove(entry));
        }
        debug_assert!(self.holds(), "the front comes before everything else");
    }

    /// The origin that is due at `now` and has been for longest, with instant and ticket.
    #[inline]
    pub(super) fn first_due(&self, now: Instant) -> Option<Key> {
        self.first().filter(|key| key.0 <= now)
    }

    /// Those due at `now` in the tick that comes first, the longest due first.
    pub(super) fn first_ones(&self, now: Instant) -> impl Iterator<Item = u32> + '_ {
        let due = move |entry: &Entry| entry.key(self.tick).0 <= now;
        self.front.behind(None).take_while(due).map(Entry::origin)
    }

    /// Up to `n` of those due at `now`, the longest due first, added to `origins`. The bucket behind the front is put in order
    /// if it is due, so that this is done once, whoever asks first.
    pub(super) fn collect_due(&mut self, now: Instant, n: usize, origins: &mut Vec<u32>) {
        let most = origins.len().saturating_add(n);
        if self.tick <= tick_of(now) {
            self.front.collect(last_due(self.tick, now), most, origins);
        }
        let mut tick = self.tick;
        while origins.len() < most
            && let Some(next) = self.later.first_from(tick.saturating_add(1)).filter(|next| *next <= tick_of(now))
        {
            tick = next;
            self.later.change(tick, |bucket| bucket.order().collect(last_due(tick, now), most, origins));
        }
    }

    /// Those due at `now`, the longest due first.
    pub(super) fn all_due(&self, now: Instant) -> impl Iterator<Item = u32> + '_ {
        let later = self.later.from(0).take_while(move |(tick, _)| *tick <= tick_of(now));
        let later = later.flat_map(|(tick, bucket)| bucket.behind(None).map(move |entry| entry.key(tick)));
        let front = self.front.behind(None).map(|entry| entry.key(self.tick));
        front.chain(later).take_while(move |key| key.0 <= now).map(|key| key.2)
    }

    /// When the first origin is due.
    pub(super) fn next(&self) -> Option<Instant> {
        self.first().map(|key| key.0)
    }

    /// True when time alone makes no origin due.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.front.is_empty()
    }

    #[inline]
    fn first(&self) -> Option<Key> {
        self.front.first().map(|entry| entry.key(self.tick))
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
        let from = tick_of(after.0);
        let bound = move |tick: u64| (tick == from).then(|| Entry::new(after));
        let front = (self.tick >= from).then(|| self.front.behind(bound(self.tick)));
        let front = front.into_iter().flatten().map(|entry| entry.key(self.tick));
        front.chain(
            self.later
                .from(from)
                .flat_map(move |(tick, bucket)| bucket.behind(bound(tick)).map(move |entry| entry.key(tick))),
        )
    }

    /// Reads where an entry of an instant would go.
    #[inline]
    pub(super) fn touch(&self, at: Instant) -> u64 {
        self.later.touch(tick_of(at))
    }

    /// Puts an origin to a place that it had before.
    #[inline]
    pub(super) fn put(&mut self, origin: u32, place: Place) {
        let (entry, tick) = (Entry::new((place.at, place.ticket(), origin)), tick_of(place.at));
        if place.at == Instant::NEVER {
            self.stuck.insert(origin);
        } else if self.front.is_empty() || tick == self.tick {
            self.tick = tick;
            self.front.insert(entry);
        } else if tick > self.tick {
            self.later.bucket(tick).insert(entry);
        } else {
            let front = std::mem::replace(&mut self.front, Order::new(vec![entry]));
            *self.later.bucket(self.tick) = Bucket::Ordered(Box::new(front));
            self.tick = tick;
        }
        debug_assert!(self.holds(), "the front comes before everything else");
    }

    /// The invariants of the type; costs a look at the words of the ring's bits.
    fn holds(&self) -> bool {
        let later = self.later.first();
        later.is_none_or(|later| !self.front.is_empty() && later > self.tick)
    }

    /// Makes the first of the later buckets the front.
    fn open_next(&mut self) {
        if let Some((tick, bucket)) = self.later.take_first() {
            let passed = std::mem::replace(&mut self.front, bucket.into_ordered());
            self.tick = tick;
            self.later.reuse(passed.into_room());
        }
    }

    /// Draws a ticket: among those due at one instant the earlier drawn comes first.
    #[inline]
    pub(super) const fn ticket(&mut self) -> u64 {
        self.tickets += 1;
        self.tickets
    }

    /// No ticket up to `last` is drawn any more.
    #[inline]
    pub(super) fn skip_tickets(&mut self, last: u64) {
        self.tickets = self.tickets.max(last);
    }

    /// The ticket drawn last.
    #[inline]
    pub(super) const fn last_ticket(&self) -> u64 {
        self.tickets
    }
}

impl Place {
    /// A place with a ticket of less than 2⁶⁴ - 1; that one counts as the one before.
    #[inline]
    pub(super) const fn new(at: Instant, since: Instant, ticket: u64) -> Self {
        Self { at, since, stamp: NonZeroU64::MIN.saturating_add(ticket) }
    }

    /// Drawn when it became eligible.
    #[inline]
    pub(super) const fn ticket(self) -> u64 {
        self.stamp.get() - 1
    }

    /// The instant under which it stands.
    #[inline]
    pub(super) const fn at(self) -> Instant {
        self.at
    }
}

/// The last entry of a tick that may be due at `now`.
fn last_due(tick: u64, now: Instant) -> Entry {
    let at = if tick == tick_of(now) { now } else { Instant::NEVER };
    Entry::new((at, u64::MAX, u32::MAX))
}

#[inline]
const fn tick_of(at: Instant) -> u64 {
    at.as_micros() >> TICK_BITS
}
