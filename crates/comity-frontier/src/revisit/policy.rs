//! How often a URL is visited anew. Pure: what was known before and what a visit found, to the time until the next.

use std::time::Duration;

use super::Visited;

/// When a URL is visited anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RevisitPolicy {
    /// Once in a crawl.
    #[default]
    Never,
    /// After so long, always.
    Fixed(Duration),
    /// The sooner, the more often it was found changed.
    Adaptive(Intervals),
    /// As [`RevisitPolicy::Adaptive`]; what its site's sitemaps say brings a visit forward, and begins the interval.
    Sitemap(Intervals),
}

/// The bounds of an interval that adapts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Intervals {
    /// Never less than this.
    pub min: Duration,
    /// Never more than this, unless a floor is above it.
    pub max: Duration,
    /// From the first visit to the second.
    pub start: Duration,
}

/// What a visit found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// A page that was not known before.
    First,
    /// Another body than last time.
    Changed,
    /// 304, or the same body once more.
    Unchanged,
    /// 404 or 410.
    Gone,
    /// Nothing about the page: an error, a temporary redirect, no answer, a refusal.
    Nothing,
}

/// The next visit, by a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextVisit {
    /// Until it is due.
    pub interval: Duration,
    /// Answers 404 or 410 in a row, for [`Visited::gone`].
    pub gone: u8,
}

/// A page that is gone so often in a row is not visited any more. Our choice: one 404 may be a mistake of a day.
pub const GONE_FOR_GOOD: u8 = 2;

impl Default for Intervals {
    /// 1 h, 30 days, 24 h.
    fn default() -> Self {
        let hours = |hours: u64| Duration::from_secs(hours * 3600);
        Self { min: hours(1), max: hours(30 * 24), start: hours(24) }
    }
}

impl RevisitPolicy {
    /// The next visit; `None` for none. `floor` is what politeness demands whatever the policy says.
    ///
    /// A changed page comes after 0.6 of its interval, any other after 1.5 of it: one that changes at regular times settles at
    /// somewhat less than half of them, and one that never changes at `max`.
    #[must_use]
    pub fn next(&self, before: Option<&Visited>, found: Finding, floor: Duration) -> Option<NextVisit> {
        let was_gone = before.map_or(0, |before| before.gone);
        let gone = match found {
            Finding::Gone => was_gone.saturating_add(1),
            Finding::Nothing => was_gone,
            Finding::First | Finding::Changed | Finding::Unchanged => 0,
        };
        if gone >= GONE_FOR_GOOD {
            return None;
        }
        let interval = match self {
            Self::Never => return None,
            Self::Fixed(interval) => *interval,
            Self::Adaptive(bounds) | Self::Sitemap(bounds) => bounds.adapt(before, found),
        };
        Some(NextVisit { interval: interval.max(floor), gone })
    }

    /// Whether what sitemaps say counts.
    #[must_use]
    pub const fn hears_sitemaps(&self) -> bool {
        matches!(self, Self::Sitemap(_))
    }
}

impl Intervals {
    /// Within the bounds; `max` gives way to a larger `min`.
    #[must_use]
    pub fn clamp(&self, interval: Duration) -> Duration {
        interval.min(self.max).max(self.min)
    }

    fn adapt(&self, before: Option<&Visited>, found: Finding) -> Duration {
        let known = before.map(|before| before.interval);
        let visited = before.is_some_and(Visited::is_visited);
        let interval = match (known, found) {
            (Some(interval), Finding::Changed) if visited => interval / 5 * 3,
            (Some(interval), Finding::First) => interval,
            (Some(interval), _) if visited => interval.saturating_mul(3) / 2,
            (Some(hint), _) => hint,
            (None, _) => self.start,
        };
        self.clamp(interval)
    }
}

#[cfg(test)]
mod tests {
    use comity_policy::WallTime;
    use proptest::prelude::*;

    use super::*;

    const BOUNDS: Intervals = Intervals { min: hours(2), max: hours(100), start: hours(10) };

    const fn hours(hours: u64) -> Duration {
        Duration::from_secs(hours * 3600)
    }

    fn known(interval: Duration, gone: u8) -> Option<Visited> {
        Some(Visited { at: Some(WallTime::from_unix_millis(0)), interval, gone, ..Visited::default() })
    }

    #[test]
    fn each_finding_has_its_interval() {
        use Finding::{Changed, First, Gone, Nothing, Unchanged};
        let adaptive = RevisitPolicy::Adaptive(BOUNDS);
        let fixed = RevisitPolicy::Fixed(hours(5));
        let hinted = Some(Visited::hinted(hours(30)));
        let beyond = Some(Visited::hinted(hours(9000)));
        let none = Duration::ZERO;
        // Policy, before, found, floor → hours, gone.
        let rows = [
            (RevisitPolicy::Never, None, First, none, None),
            (RevisitPolicy::Never, known(hours(5), 0), Changed, none, None),
            (fixed, None, First, none, Some((5, 0))),
            (fixed, known(hours(9), 0), Changed, none, Some((5, 0))),
            (fixed, known(hours(5), 0), Unchanged, none, Some((5, 0))),
            (fixed, known(hours(5), 0), Unchanged, hours(7), Some((7, 0))),
            (fixed, known(hours(5), 0), Gone, none, Some((5, 1))),
            (fixed, known(hours(5), 1), Gone, none, None),
            (adaptive, None, First, none, Some((10, 0))),
            (adaptive, None, Nothing, none, Some((10, 0))),
            (adaptive, hinted.clone(), First, none, Some((30, 0))),
            (adaptive, hinted, Nothing, none, Some((30, 0))),
            (adaptive, beyond, First, none, Some((100, 0))),
            (adaptive, known(hours(10), 0), Changed, none, Some((6, 0))),
            (adaptive, known(hours(10), 0), Unchanged, none, Some((15, 0))),
            (adaptive, known(hours(10), 0), Nothing, none, Some((15, 0))),
            (adaptive, known(hours(10), 0), Gone, none, Some((15, 1))),
            (adaptive, known(hours(10), 1), Gone, none, None),
            (adaptive, known(hours(10), 1), Nothing, none, Some((15, 1))),
            (adaptive, known(hours(10), 1), Changed, none, Some((6, 0))),
            (adaptive, known(hours(3), 0), Changed, none, Some((2, 0))),
            (adaptive, known(hours(90), 0), Unchanged, none, Some((100, 0))),
            (adaptive, known(hours(3), 0), Changed, hours(4), Some((4, 0))),
            (RevisitPolicy::Sitemap(BOUNDS), known(hours(10), 0), Changed, none, Some((6, 0))),
        ];
        for (policy, before, found, floor, expected) in rows {
            let next = policy.next(before.as_ref(), found, floor);
            let expected = expected.map(|(interval, gone)| NextVisit { interval: hours(interval), gone });
            assert_eq!(next, expected, "{policy:?} {before:?} {found:?}");
        }
    }

    fn any_finding() -> impl Strategy<Value = Finding> {
        prop::sample::select(vec![
            Finding::First,
            Finding::Changed,
            Finding::Unchanged,
            Finding::Gone,
            Finding::Nothing,
        ])
    }

    proptest! {
        #[test]
        fn no_history_leaves_the_bounds_or_goes_below_the_floor(
            min in 1_u64..1_000_000, more in 0_u64..100_000_000, start: u64, floor in 0_u64..10_000_000,
            findings in prop::collection::vec(any_finding(), 1..60), hint in prop::option::of(any::<u64>()),
        ) {
            let secs = Duration::from_secs;
            let bounds = Intervals { min: secs(min), max: secs(min + more), start: secs(start) };
            let (policy, floor) = (RevisitPolicy::Adaptive(bounds), secs(floor));
            let mut before = hint.map(|hint| Visited::hinted(secs(hint)));
            for found in findings {
                let Some(next) = policy.next(before.as_ref(), found, floor) else {
                    prop_assert_eq!((found, before.map(|before| before.gone)), (Finding::Gone, Some(1)));
                    return Ok(());
                };
                prop_assert!(next.interval >= bounds.min.max(floor) && next.interval <= bounds.max.max(floor));
                if let Some(before) = before.filter(Visited::is_visited) {
                    match found {
                        Finding::Changed => prop_assert!(next.interval <= before.interval.max(floor).max(bounds.min)),
                        Finding::Unchanged => prop_assert!(next.interval >= before.interval.min(bounds.max)),
                        _ => {}
                    }
                }
                before = Some(Visited { gone: next.gone, ..known(next.interval, 0).unwrap_or_default() });
            }
        }

        #[test]
        fn the_interval_settles_below_the_time_between_two_changes(
            period in 4_u64..600, start in 1_u64..700, phase in 0_u64..600,
        ) {
            let bounds = Intervals { min: hours(1), max: hours(720), start: hours(start) };
            let policy = RevisitPolicy::Adaptive(bounds);
            let (period, mut now) = (hours(period), hours(phase));
            let version = |at: Duration| at.as_secs() / period.as_secs();
            let (mut before, mut found, mut intervals) = (None, Finding::First, Vec::new());
            for _ in 0..120 {
                let next = policy.next(before.as_ref(), found, Duration::ZERO).unwrap();
                intervals.push(next.interval);
                found = if version(now) == version(now + next.interval) { Finding::Unchanged } else { Finding::Changed };
                now += next.interval;
                before = known(next.interval, 0);
            }
            let late = &intervals[40..];
            prop_assert!(late.iter().all(|interval| *interval <= period * 3 / 2), "{:?}", late);
            let mean = late.iter().sum::<Duration>() / 80;
            prop_assert!(mean >= period / 5 && mean <= period, "{:?} for {:?}", mean, period);
        }
    }
}
