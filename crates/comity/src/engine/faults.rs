use comity_frontier::{Waiting, Why};
use comity_gate::Gate;
use comity_policy::{Standing, WallTime};

use super::shared::Shared;
use crate::progress::RobotsFault;

impl Shared {
    /// Why the robots.txt of those that wait for it cannot be had.
    pub(crate) fn robots_faults(&self, waiting: &[Waiting]) -> Vec<RobotsFault> {
        robots_faults(&self.gate, waiting, self.clock.wall())
    }
}

/// The same by a gate.
pub(crate) fn robots_faults(gate: &Gate, waiting: &[Waiting], now: WallTime) -> Vec<RobotsFault> {
    let held = waiting.iter().filter(|one| one.why != Why::AwaitingRobots);
    let fault = |one: &Waiting| match gate.robots_life(&one.origin).standing(now) {
        Standing::Unreachable(failing) => Some(RobotsFault {
            origin: one.origin.clone(),
            cause: failing.cause,
            status: failing.status,
            tries: failing.attempts,
        }),
        _ => None,
    };
    held.filter_map(fault).collect()
}
