use std::collections::{HashMap, HashSet, VecDeque};

use comity_policy::Instant;
use comity_url::UrlKey;

use super::deadlines::Deadlines;
use crate::LeaseId;

/// The table of leases: places that are used again under a new generation, and their deadlines.
///
/// An expired lease stays known as *late* until its URL is leased again, so that its worker's result still counts.
#[derive(Debug, Default)]
pub(super) struct Leases {
    places: Vec<Place>,
    free: Vec<u32>,
    deadlines: Deadlines,
    late: HashMap<Spot, LeaseId>,
    late_order: VecDeque<(Spot, LeaseId)>,
    held: u32,
}

/// Where a URL stands: origin, priority, sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Spot {
    pub(super) origin: u32,
    pub(super) priority: u8,
    pub(super) sequence: u64,
}

#[derive(Debug)]
struct Place {
    generation: u32,
    state: State,
}

#[derive(Debug)]
enum State {
    Free,
    Held(Held),
    Late(Late),
}

/// A lease that runs. Its URL was handed out with it: it stands in the store.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) spot: Spot,
    pub(super) key: UrlKey,
    pub(super) errand: Errand,
    pub(super) deadline: Instant,
}

/// What a lease was given for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Errand {
    /// A fetch whose response head is outstanding.
    Head,
    /// A fetch whose head arrived.
    Body,
    /// A refusal to record.
    Refusal,
}

/// A lease that expired while nobody has its URL again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Late {
    pub(super) spot: Spot,
    pub(super) key: UrlKey,
}

/// A lease that was taken out of the table.
#[derive(Debug)]
pub(super) enum Closed {
    Held(Held),
    Late(Late),
}

impl Leases {
    /// Expired leases remembered at most; the oldest is forgotten first and its late settlement is stale.
    const LATE: usize = 4096;

    /// How many run.
    #[inline]
    pub(super) const fn held(&self) -> u32 {
        self.held
    }

    /// The earliest deadline.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.next()
    }

    /// Origins of which an expired lease may still be settled.
    pub(super) fn late_origins(&self) -> HashSet<u32> {
        self.late.keys().map(|spot| spot.origin).collect()
    }

    /// Adds a lease. Whoever held its URL before and is late gets nothing any more.
    #[inline]
    pub(super) fn open(&mut self, held: Held) -> LeaseId {
        if !self.late.is_empty()
            && let Some(late) = self.late.remove(&held.spot)
        {
            self.release(late);
        }
        let index = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place { generation: 0, state: State::Free });
            u32::try_from(self.places.len() - 1).unwrap_or(u32::MAX)
        });
        self.held += 1;
        let place = &mut self.places[index as usize];
        place.generation = place.generation.wrapping_add(1);
        let id = LeaseId::from_u64(u64::from(place.generation) << 32 | u64::from(index));
        self.deadlines.add(held.deadline, id);
        place.state = State::Held(held);
        id
    }

    /// A running lease.
    pub(super) fn held_mut(&mut self, id: LeaseId) -> Option<&mut Held> {
        let index = self.index(id)?;
        match &mut self.places.get_mut(index as usize)?.state {
            State::Held(held) => Some(held),
            _ => None,
        }
    }

    /// Spot and fingerprint of a running or late lease, and whether it runs.
    #[inline]
    pub(super) fn look(&self, id: LeaseId) -> Option<(Spot, UrlKey, bool)> {
        match &self.places.get(self.index(id)? as usize)?.state {
            State::Held(held) => Some((held.spot, held.key, true)),
            State::Late(late) => Some((late.spot, late.key, false)),
            State::Free => None,
        }
    }

    /// Moves the deadline of a running lease.
    pub(super) fn postpone(&mut self, id: LeaseId, deadline: Instant) {
        let Some(held) = self.held_mut(id) else { return };
        let old = std::mem::replace(&mut held.deadline, deadline);
        self.deadlines.postpone(old, deadline, id);
        self.tidy();
    }

    /// Takes a running or late lease out.
    #[inline]
    pub(super) fn close(&mut self, id: LeaseId) -> Option<Closed> {
        let index = self.index(id)?;
        let place = self.places.get_mut(index as usize)?;
        let closed = match std::mem::replace(&mut place.state, State::Free) {
            State::Free => return None,
            State::Held(held) => Closed::Held(held),
            State::Late(late) => Closed::Late(late),
        };
        self.free.push(index);
        match &closed {
            Closed::Held(held) => {
                self.held -= 1;
                self.deadlines.remove(held.deadline, id);
                self.tidy();
            }
            Closed::Late(late) => {
                self.late.remove(&late.spot);
            }
        }
        Some(closed)
    }

    /// Ends the lease with the earliest deadline if that has passed; it stays known as late.
    pub(super) fn expire(&mut self, now: Instant) -> Option<Held> {
        let id = self.deadlines.pop(now)?;
        let index = self.index(id)?;
        let place = self.places.get_mut(index as usize)?;
        let State::Held(held) = std::mem::replace(&mut place.state, State::Free) else { return None };
        place.state = State::Late(Late { spot: held.spot, key: held.key });
        self.held -= 1;
        self.tidy();
        self.remember(held.spot, id);
        Some(held)
    }

    /// Brings a deadline that holds to the front.
    #[inline]
    fn tidy(&mut self) {
        let Self { places, deadlines, held, .. } = self;
        let holds = |deadline: Instant, id: LeaseId| {
            let place = places.get(place_of(id) as usize).filter(|place| place.generation == generation_of(id));
            matches!(place, Some(Place { state: State::Held(held), .. }) if held.deadline == deadline)
        };
        deadlines.tidy(*held, holds);
    }

    fn remember(&mut self, spot: Spot, id: LeaseId) {
        self.late.insert(spot, id);
        self.late_order.push_back((spot, id));
        if self.late_order.len() > Self::LATE
            && let Some((spot, id)) = self.late_order.pop_front()
            && self.late.get(&spot) == Some(&id)
        {
            self.late.remove(&spot);
            self.release(id);
        }
    }

    /// Frees the place of a late lease.
    fn release(&mut self, id: LeaseId) {
        let Some(index) = self.index(id) else { return };
        if let Some(place) = self.places.get_mut(index as usize)
            && matches!(place.state, State::Late(_))
        {
            place.state = State::Free;
            self.free.push(index);
        }
    }

    /// The place of a lease, if its generation is the current one.
    #[inline]
    fn index(&self, id: LeaseId) -> Option<u32> {
        let place = self.places.get(place_of(id) as usize)?;
        (place.generation == generation_of(id)).then_some(place_of(id))
    }
}

/// The place a lease has in the table.
#[inline]
const fn place_of(id: LeaseId) -> u32 {
    (id.to_u64() & 0xffff_ffff) as u32
}

/// How often its place had been used when it began.
#[inline]
const fn generation_of(id: LeaseId) -> u32 {
    (id.to_u64() >> 32) as u32
}
