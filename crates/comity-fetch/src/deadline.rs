use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use comity_policy::{Clock, Instant, Reason};
use tokio::time::Sleep;

/// When a wait ends, and what its end is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Deadline {
    at: Instant,
    reason: Reason,
}

impl Deadline {
    pub(crate) fn after(from: Instant, wait: Duration, reason: Reason) -> Self {
        Self { at: from.after(wait), reason }
    }

    /// The earlier of two; the first at a tie.
    pub(crate) fn or(self, other: Self) -> Self {
        if other.at < self.at { other } else { self }
    }

    /// Waits for `work` until the deadline; `work` is polled at least once.
    pub(crate) async fn bound<T>(self, clock: &dyn Clock, work: impl Future<Output = T>) -> Result<T, Reason> {
        self.bound_from(clock.now(), work).await
    }

    /// [`Deadline::bound`] where the time is known.
    pub(crate) async fn bound_from<T>(self, now: Instant, work: impl Future<Output = T>) -> Result<T, Reason> {
        tokio::time::timeout(self.at.since(now), work).await.map_err(|_elapsed| self.reason)
    }
}

/// The one timer of an exchange: entered into the runtime's wheel when first something has to be waited for, and left
/// alone while the deadlines move on. Rung for a deadline that has moved on meanwhile, it is set anew for what is left.
#[derive(Default)]
pub(crate) struct Alarm {
    sleep: Option<Pin<Box<Sleep>>>,
    /// The instant it rings at.
    rings: Instant,
}

impl Alarm {
    /// Ready with its reason once `deadline` has come; wakes the task then at the latest.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, deadline: Deadline, clock: &dyn Clock) -> Poll<Reason> {
        let sleep = match &mut self.sleep {
            Some(sleep) if self.rings <= deadline.at => sleep,
            sleep => {
                self.rings = deadline.at;
                sleep.insert(Box::pin(tokio::time::sleep(deadline.at.since(clock.now()))))
            }
        };
        loop {
            ready!(sleep.as_mut().poll(cx));
            // What it rang for has come, whatever the clock says: the two need not be one.
            let left = deadline.at.since(clock.now().max(self.rings));
            self.rings = deadline.at;
            if left.is_zero() {
                return Poll::Ready(deadline.reason);
            }
            sleep.set(tokio::time::sleep(left));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SystemClock;

    #[tokio::test(start_paused = true)]
    async fn one_alarm_rings_at_each_deadline_whichever_way_they_move() {
        let clock = SystemClock::new();
        let mut alarm = Alarm::default();
        let begun = clock.now();
        let after = |seconds, reason| Deadline::after(begun, Duration::from_secs(seconds), reason);
        let mut wait = async |until: &[Deadline]| {
            let mut turn = 0;
            std::future::poll_fn(|cx| {
                let deadline = until.get(turn).or(until.last()).copied().unwrap();
                turn += 1;
                alarm.poll(cx, deadline, &clock)
            })
            .await
        };
        let (head, idle, total) = (Reason::FetchTimeoutHead, Reason::FetchTimeoutIdle, Reason::FetchTimeoutTotal);
        let rows = [
            (vec![after(15, head)], (15, head)),
            (vec![after(20, idle), after(30, idle)], (30, idle)),
            (vec![after(90, total), after(40, idle)], (40, idle)),
            (vec![after(41, idle), after(42, idle), after(60, total)], (60, total)),
            (vec![after(7, total)], (60, total)),
        ];
        for (until, (seconds, reason)) in rows {
            // Polled once for each deadline, as a task that is woken by what it waits for.
            for early in until.iter().take(until.len() - 1) {
                assert!(tokio::time::timeout(Duration::ZERO, wait(&[*early])).await.is_err(), "{early:?}");
            }
            let last = until.last().copied().unwrap();
            assert_eq!(wait(&[last]).await, reason);
            assert_eq!(clock.now().since(begun), Duration::from_secs(seconds), "{until:?}");
        }
    }
}
