use std::time::Duration;

use comity_policy::Instant;

/// The health of one exit: a pure state machine of evidence and instants.
///
/// In use until [`MOST_FAULTS`] faults in a row; then out for [`FIRST`], doubling to [`LONGEST`]; then on probation: one
/// request at a time, whose fault sends it out again and whose success brings it back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Health {
    faults: u32,
    /// Times in a row that it was sent out.
    ejections: u32,
    /// Until when it is out; passed: on probation.
    until: Option<Instant>,
    /// When the probe was let through that has not reported yet.
    probing: Option<Instant>,
    /// When it came back from probation.
    back: Option<Instant>,
    /// Whom the last doubtful fault was about.
    suspect: Option<u64>,
}

/// What an exchange showed about its exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Evidence {
    /// It did what it was asked.
    Works,
    /// It answers, and the answer says nothing about its health: a refusal of this target, a fault that it blames on the site.
    Neutral,
    /// A fault that may as well be the site's: counts once per origin in a row, so that no site sends an exit out alone.
    Doubtful,
    /// It serves nobody: no connection, no greeting, no answer of its kind, refused credentials.
    Down,
}

/// Faults in a row after which an exit is sent out (gateway reference §7).
const MOST_FAULTS: u32 = 5;
/// How long at first, and at most.
const FIRST: Duration = Duration::from_secs(30);
///
/// Our choice: the longest is longer than a crawl lingers by default, so that a crawl whose exits are all dead ends and says
/// so, instead of knocking for ever.
const LONGEST: Duration = Duration::from_secs(1800);
/// A probe that has not reported by then was dropped on its way.
const PROBE: Duration = Duration::from_secs(60);
/// Whoever waits for a probe looks again after this: its end is an event, and no instant.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

impl Health {
    /// `Ok` when a request may leave through it now; else when to look again.
    pub(crate) fn available(&self, now: Instant) -> Result<(), Instant> {
        let Some(until) = self.until else { return Ok(()) };
        let probe_ends = self.probing.map(|since| since.after(PROBE)).filter(|ends| *ends > now);
        match probe_ends {
            _ if until > now => Err(until),
            Some(ends) => Err(ends.min(now.after(LOOK_AGAIN))),
            None => Ok(()),
        }
    }

    /// True while it is out or on probation.
    pub(crate) const fn is_ejected(&self) -> bool {
        self.until.is_some()
    }

    /// A request is about to leave through it.
    pub(crate) fn begin(&mut self, now: Instant) {
        if self.until.is_some_and(|until| until <= now) {
            self.probing = Some(now);
        }
    }

    /// Takes evidence from an exchange for `origin`; true when it is sent out by it. `may_eject` says whether enough
    /// others are left to believe doubtful faults.
    pub(crate) fn on(&mut self, evidence: Evidence, origin: u64, may_eject: bool, now: Instant) -> bool {
        match evidence {
            Evidence::Works => self.works(now),
            Evidence::Neutral => self.probing = None,
            Evidence::Doubtful if self.suspect == Some(origin) => self.probing = None,
            Evidence::Doubtful => {
                self.suspect = Some(origin);
                return self.fault(may_eject, now);
            }
            Evidence::Down => return self.fault(true, now),
        }
        false
    }

    fn works(&mut self, now: Instant) {
        if self.until.take().is_some() {
            self.back = Some(now);
        } else if self.back.is_none_or(|back| now.since(back) >= LONGEST) {
            self.ejections = 0;
        }
        (self.faults, self.probing, self.suspect) = (0, None, None);
    }

    fn fault(&mut self, may_eject: bool, now: Instant) -> bool {
        self.probing = None;
        match self.until {
            // Sent before it went out: already counted.
            Some(until) if until > now => return false,
            Some(_) => {}
            None => {
                self.faults = self.faults.saturating_add(1);
                if self.faults < MOST_FAULTS || !may_eject {
                    return false;
                }
            }
        }
        let wait = FIRST.saturating_mul(2_u32.saturating_pow(self.ejections.min(16))).min(LONGEST);
        self.ejections = self.ejections.saturating_add(1);
        self.faults = 0;
        self.until = Some(now.after(wait));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(seconds: u64) -> Instant {
        Instant::from_micros(seconds * 1_000_000 + 1)
    }

    fn down(health: &mut Health, times: u32, now: Instant) -> bool {
        (0..times).fold(false, |_, n| health.on(Evidence::Down, n.into(), true, now))
    }

    #[test]
    fn five_faults_in_a_row_send_out_for_a_growing_time() {
        let mut health = Health::default();
        assert!(!down(&mut health, 4, at(0)));
        health.on(Evidence::Works, 0, true, at(0));
        assert!(!down(&mut health, 4, at(0)) && health.available(at(0)).is_ok(), "not in a row");
        assert!(down(&mut health, 1, at(0)));
        let mut begin = 0;
        for wait in [30, 60, 120, 240, 480, 960, 1800, 1800] {
            assert_eq!(health.available(at(begin)), Err(at(begin + wait)));
            assert!(!down(&mut health, 9, at(begin + wait - 1)), "late news of the same fault");
            begin += wait;
            assert_eq!(health.available(at(begin)), Ok(()));
            health.begin(at(begin));
            assert_eq!(health.available(at(begin)), Err(at(begin + 1)), "one probe at a time");
            assert!(down(&mut health, 1, at(begin)), "a failed probe sends it out at once");
        }
    }

    #[test]
    fn a_probe_brings_it_back_and_a_lost_one_blocks_nobody() {
        let mut health = Health::default();
        down(&mut health, 5, at(0));
        health.begin(at(30));
        assert_eq!((health.available(at(80)), health.available(at(90))), (Err(at(81)), Ok(())));
        health.begin(at(90));
        health.on(Evidence::Works, 0, true, at(91));
        assert!(!health.is_ejected());
        down(&mut health, 5, at(100));
        assert_eq!(health.available(at(100)), Err(at(160)), "it fell out again soon: longer");
        health.on(Evidence::Works, 0, true, at(160));
        health.on(Evidence::Works, 0, true, at(1960));
        down(&mut health, 5, at(2000));
        assert_eq!(health.available(at(2000)), Err(at(2030)), "well for half an hour: as new");
    }

    #[test]
    fn one_site_alone_sends_no_exit_out() {
        let mut health = Health::default();
        for _ in 0..100 {
            assert!(!health.on(Evidence::Doubtful, 7, true, at(0)));
            assert!(!health.on(Evidence::Neutral, 8, true, at(0)));
        }
        for origin in 0..100 {
            assert!(!health.on(Evidence::Doubtful, origin, false, at(0)), "too few are left to believe it");
        }
        assert!(health.on(Evidence::Doubtful, 100, true, at(0)));
    }

    proptest! {
        #[test]
        fn whatever_happens_it_is_never_out_for_longer_than_half_an_hour(
            steps in prop::collection::vec((0_u8..5, 0_u64..400, 0_u64..4, any::<bool>()), 1..80)
        ) {
            let (mut health, mut now) = (Health::default(), 0);
            for (step, pause, origin, may_eject) in steps {
                now += pause;
                match step {
                    0 => { health.on(Evidence::Works, origin, may_eject, at(now)); }
                    1 => { health.on(Evidence::Neutral, origin, may_eject, at(now)); }
                    2 => { health.on(Evidence::Doubtful, origin, may_eject, at(now)); }
                    3 => { health.on(Evidence::Down, origin, may_eject, at(now)); }
                    _ => health.begin(at(now)),
                }
                if let Err(until) = health.available(at(now)) {
                    prop_assert!(until > at(now) && until <= at(now + LONGEST.as_secs()));
                }
            }
        }
    }
}
