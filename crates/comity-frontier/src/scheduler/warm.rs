use std::hint::black_box;

use comity_policy::Instant;

use super::Scheduler;
use super::origin::OriginState;

/// Origins whose records are read ahead together.
const AHEAD: u8 = 16;

impl Scheduler {
    /// Reads the records of the origins that come next, once for several of them.
    ///
    /// At a million origins a record is never in the processor's cache. Taken one by one, each turn waits for memory, several
    /// times in a row; read together, the waits overlap. Changes nothing.
    pub(super) fn warm(&mut self, now: Instant) {
        if let Some(left) = self.warm.checked_sub(1) {
            self.warm = left;
            return;
        }
        let mut count = 0;
        for index in self.due.first_ones(now).take(usize::from(AHEAD)) {
            count += 1;
            black_box(self.origins.get(index as usize).map_or(0, OriginState::touch));
        }
        self.warm = count;
    }
}

impl OriginState {
    /// Reads from every part of the record, and from the URL that comes next.
    fn touch(&self) -> u64 {
        // What is asked for when nothing is held ready is read with the origin's name.
        let url = self.classes.peek().map_or_else(|| self.origin.as_str().len(), |queued| queued.url.as_str().len());
        let told = self.turn.ready.at.as_micros() ^ self.place.map_or(0, |place| place.at().as_micros());
        told ^ self.summary.admitted() ^ url as u64 ^ u64::from(self.out)
    }
}
