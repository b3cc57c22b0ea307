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
        let known = self.particulars.get(index as usize);
        let name = known.and_then(|known| known.origin.as_ref()).map_or("", |origin| origin.as_str());
        assert!(
            state.heads <= state.open && u32::from(state.open) <= state.out && u32::from(state.open) <= self.widest,
            "{name}: {} heads, {} fetches, {} leases",
            state.heads,
            state.open,
            state.out
        );
        let stands = state.place.map(|place| place.at.max(place.since));
        let due = state.due(&self.config).zip(state.place).map(|(due, place)| due.max(place.since));
        assert_eq!(stands, due, "{name} stands where it is due");
        let bytes = known.map(|known| known.summary.bytes());
        assert_eq!(Some(state.received), bytes, "{name}: bytes received");
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
