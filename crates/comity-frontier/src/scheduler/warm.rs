use std::hint::black_box;

use comity_policy::Instant;

use super::Scheduler;
use super::origin::OriginState;
use crate::{Class, LeaseId};

/// Origins whose records are read ahead together.
pub(super) const AHEAD: usize = 64;

impl Scheduler {
    /// Reads the records of the origins that come next, once for several of them.
    ///
    /// At a million origins a record is never in the processor's cache. Taken one by one, each turn waits for memory, several
    /// times in a row; read together, the waits overlap. What a record points to is read in a second pass, when all records are
    /// there. Changes nothing.
    #[inline]
    pub(super) fn warm(&mut self, class: Class, now: Instant) {
        if let Some(left) = self.warm.checked_sub(1) {
            self.warm = left;
            return;
        }
        let mut ahead = [0; AHEAD];
        let mut count = 0;
        for (index, place) in self.due.first_ones(class, now).zip(&mut ahead) {
            *place = index;
            count += 1;
        }
        self.read(ahead.get(..count).unwrap_or_default());
        self.warm = count;
    }

    /// Reads the records of some origins, then what they point to.
    #[inline]
    pub(super) fn read(&self, origins: &[u32]) {
        let states = || origins.iter().filter_map(|index| self.origins.get(*index as usize));
        let records: u64 = states().map(OriginState::touch).fold(0, u64::wrapping_add);
        let behind: u64 = states().map(|state| self.touch_behind(state)).fold(0, u64::wrapping_add);
        black_box((records, behind));
    }

    /// Reads the records of the origins whose leases are about to end, as [`Scheduler::next`] does for those that begin, and
    /// where each origin goes that is told to be due at an instant.
    pub fn look_ahead(&self, ends: impl Iterator<Item = (LeaseId, Option<Instant>)>) {
        let ends = ends.filter_map(|(lease, at)| self.leases.look(lease).map(|(spot, ..)| (spot.origin as usize, at)));
        let ends: Vec<_> = ends.collect();
        for ahead in ends.chunks(AHEAD) {
            let states = || ahead.iter().filter_map(|(index, at)| self.origins.get(*index).zip(Some(*at)));
            let records: u64 = states().map(|(state, _)| state.touch()).fold(0, u64::wrapping_add);
            let places = states().filter_map(|(state, at)| Some(self.due.touch(state.class, at?)));
            black_box((records, places.fold(0, u64::wrapping_add)));
        }
    }

    /// Reads the URL that comes next, if it is held ready.
    #[inline]
    fn touch_behind(&self, state: &OriginState) -> u64 {
        state.queue.first_sequence(&self.shelf).unwrap_or_default()
    }
}
