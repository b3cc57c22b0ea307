//! What a crawl tells of itself: while it runs, and at its end.

use super::{Engine, PUBLISH_EVERY};
use crate::engine::licences;
use crate::{End, Error, Progress, Summary};

impl Engine {
    /// Publishes progress, ten times a second at most.
    pub(super) async fn publish(&mut self) -> Result<(), Error> {
        let now = self.shared.clock.now();
        let fresh = self.published.is_some_and(|at| now.since(at) < PUBLISH_EVERY);
        self.unpublished = fresh && !self.progress.is_closed();
        if self.progress.is_closed() || fresh {
            return Ok(());
        }
        self.published = Some(now);
        let stats = self.shared.frontier.stats(now).await?;
        let summary = self.shared.tally().summary.clone();
        self.progress.send_replace(Progress {
            pages: summary.pages(),
            spent_pages: stats.spent.pages,
            refused: summary.refusals(),
            failed: summary.failed.values().sum(),
            bytes: summary.bytes,
            queued: stats.queued,
            in_flight: self.visits,
            origins: stats.origins,
            unreachable: self.shared.robots_faults(&stats.waiting),
            waiting: stats.waiting,
            elapsed: self.elapsed(),
            at: now,
        });
        Ok(())
    }

    pub(super) async fn summary(&self, end: End, files: Vec<std::path::PathBuf>) -> Result<Summary, Error> {
        let now = self.shared.clock.now();
        let stats = self.shared.frontier.stats(now).await?;
        let mut summary = self.shared.tally().summary.clone();
        summary.origins = stats.origins;
        summary.robots = self.shared.keeper.robots_requests();
        summary.queued = stats.seen - self.earlier + self.found + stats.returned;
        summary.next_visit = stats.next_visit.map(|at| at.since(now));
        summary.scheduled = if stats.next_visit.is_some() { stats.scheduled } else { 0 };
        summary.merged = self.shared.keys.merged();
        summary.left = stats.queued + stats.leased;
        summary.unreachable = self.shared.robots_faults(&stats.waiting);
        summary.waiting = stats.waiting;
        summary.elapsed = self.elapsed();
        summary.end_overrides(self.shared.clock.wall());
        let outdated = self.shared.gate.outdated_reviews();
        summary.notes.extend(outdated.iter().map(|(review, found)| licences::outdated(review, *found)));
        summary.files = files;
        summary.end = end;
        summary.now = now;
        Ok(summary)
    }
}
