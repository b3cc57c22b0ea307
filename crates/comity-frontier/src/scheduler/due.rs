use std::collections::BTreeSet;
use std::ops::Bound;

use comity_policy::Instant;

/// Which origins may be leased and when: each at most once, and exactly while it is eligible.
///
/// An ordered set serves as the heap by time: a changed time moves the entry, so no stale entries pile up, and the
/// earliest waiting origins can be listed. About 40 bytes and half a microsecond per origin at a million.
#[derive(Debug, Default)]
pub(super) struct Due {
    timed: BTreeSet<Key>,
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

impl Due {
    /// Moves an origin to where it belongs: `due` is its earliest instant, `None` when it is not eligible.
    pub(super) fn place(
        &mut self,
        origin: u32,
        old: Option<Place>,
        due: Option<Instant>,
        now: Instant,
    ) -> Option<Place> {
        if let Some(old) = old {
            self.remove(origin, old);
        }
        let due = due?;
        let (since, ticket) = old.map_or_else(|| (now, self.ticket()), |old| (old.since, old.ticket));
        let place = Place { at: due.max(since), since, ticket };
        self.put(origin, place);
        Some(place)
    }

    /// Puts an origin to a place that it had before.
    pub(super) fn put(&mut self, origin: u32, place: Place) {
        if place.at == Instant::NEVER {
            self.stuck.insert(origin);
        } else {
            self.timed.insert((place.at, place.ticket, origin));
        }
    }

    /// Takes an origin out.
    pub(super) fn remove(&mut self, origin: u32, place: Place) {
        if place.at == Instant::NEVER {
            self.stuck.remove(&origin);
        } else {
            self.timed.remove(&(place.at, place.ticket, origin));
        }
    }

    /// The origin that is due at `now` and has been for longest, with instant and ticket.
    pub(super) fn first_due(&self, now: Instant) -> Option<Key> {
        self.timed.first().copied().filter(|key| key.0 <= now)
    }

    /// Those due at `now`, the longest first.
    pub(super) fn all_due(&self, now: Instant) -> impl Iterator<Item = u32> + '_ {
        self.timed.iter().take_while(move |key| key.0 <= now).map(|key| key.2)
    }

    /// When the first origin is due.
    pub(super) fn next(&self) -> Option<Instant> {
        self.timed.first().map(|key| key.0)
    }

    /// Origins that are not due at `now`: the earliest first, then the stuck ones.
    pub(super) fn waiting(&self, now: Instant) -> impl Iterator<Item = u32> + '_ {
        let after = Bound::Excluded((now, u64::MAX, u32::MAX));
        self.timed.range((after, Bound::Unbounded)).map(|key| key.2).chain(self.stuck.iter().copied())
    }

    /// How many origins only an event can make due.
    pub(super) fn stuck(&self) -> usize {
        self.stuck.len()
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
