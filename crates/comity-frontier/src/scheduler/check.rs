use super::Scheduler;
use super::origin::OriginState;

/// Changes between two checks of all origins, beside one for each origin.
const PAUSE: usize = 64;

impl Scheduler {
    /// Checks the invariants after a change of one origin; for debug builds.
    ///
    /// # Panics
    /// When one does not hold.
    pub(super) fn check(&mut self, index: u32) {
        let Some(state) = self.origins.get(index as usize) else { return };
        assert!(
            state.heads <= state.open && state.open <= state.out && state.open <= self.widest,
            "{}: {} heads, {} fetches, {} leases",
            state.origin,
            state.heads,
            state.open,
            state.out
        );
        let stands = state.place.map(|place| place.at.max(place.since));
        let due = state.due(&self.config).zip(state.place).map(|(due, place)| due.max(place.since));
        assert_eq!(stands, due, "{} stands where it is due", state.origin);
        let known = self.particulars.get(index as usize).map(|known| known.summary.bytes());
        assert_eq!(Some(state.received), known, "{}: bytes received", state.origin);
        self.unchecked += 1;
        if self.unchecked > self.origins.len() + PAUSE {
            self.unchecked = 0;
            self.check_sums();
        }
    }

    fn check_sums(&self) {
        let out: u64 = self.origins.iter().map(|state: &OriginState| u64::from(state.out)).sum();
        assert_eq!(out, u64::from(self.leases.held()), "the leases of all origins");
    }
}
