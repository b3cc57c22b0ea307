use crate::asked::BEHIND;
use crate::{Aim, AskedPace, Instant, Moment, OriginPace, Politeness, WallTime};

/// The hours of the day that one origin asks for, on the monotonic clock.
#[derive(Debug)]
pub(crate) struct Hours {
    asked: AskedPace,
    at: Moment,
}

impl Hours {
    /// `None` when nothing depends on the hour.
    pub(crate) fn new(asked: &AskedPace, at: Moment) -> Option<Self> {
        (!asked.holds_at_all_hours()).then(|| Self { asked: asked.clone(), at })
    }

    /// Whether a delay holds at some hours.
    pub(crate) fn has_delay(&self) -> bool {
        self.asked.has_hourly_delay()
    }

    /// Closes `pace` until the first instant from `from` on that the hours leave, if that is later.
    pub(crate) fn close(&self, aim: Aim, pace: &mut OriginPace, rules: &Politeness, from: Instant) {
        if from == Instant::NEVER {
            return;
        }
        let wall = self.at.wall_at(from);
        let opening = self.asked.opening(aim, self.head(pace), wall, rules.max_crawl_delay);
        match opening.at {
            None => pace.close(Instant::NEVER, opening.clock),
            Some(at) if at > wall => pace.close(self.at.instant_at(at), opening.clock),
            Some(_) => {}
        }
    }

    /// Until when what may leave at `now` may be written.
    pub(crate) fn closing(&self, aim: Aim, pace: &OriginPace, rules: &Politeness, now: Instant) -> Option<Instant> {
        let closing = self.asked.closing(aim, self.head(pace), self.at.wall_at(now), rules.max_crawl_delay)?;
        let early = WallTime::from_unix_millis(
            closing.unix_millis().saturating_sub(i64::try_from(BEHIND.as_millis()).unwrap_or(0)),
        );
        Some(self.at.instant_at(early).max(now))
    }

    fn head(&self, pace: &OriginPace) -> Option<WallTime> {
        // A millisecond later than read: a delay from here is never too short.
        pace.last_head().map(|head| self.at.wall_at(head).after(BEHIND))
    }
}
