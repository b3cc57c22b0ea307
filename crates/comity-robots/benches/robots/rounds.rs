//! Interleaved rounds by CPU time: contestants take turns, so that a busy machine slows all of them alike.

use std::hint::black_box;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// One contestant: a name, and the work of one turn. The work returns something that depends on all its answers.
pub(crate) struct Contestant<'a> {
    pub(crate) name: &'static str,
    pub(crate) work: Box<dyn FnMut() -> u64 + 'a>,
}

impl<'a> Contestant<'a> {
    pub(crate) fn new(name: &'static str, work: impl FnMut() -> u64 + 'a) -> Self {
        Self { name, work: Box::new(work) }
    }
}

/// What a contestant took for one turn, in CPU time of this thread.
pub(crate) struct Timing {
    pub(crate) name: &'static str,
    pub(crate) median: Duration,
    pub(crate) least: Duration,
}

/// Lets every contestant work once unmeasured, then `rounds` times in turns.
pub(crate) fn race(mut contestants: Vec<Contestant<'_>>, rounds: usize) -> Vec<Timing> {
    let mut times: Vec<Vec<Duration>> = contestants.iter().map(|_| Vec::new()).collect();
    for contestant in &mut contestants {
        black_box((contestant.work)());
    }
    for _ in 0..rounds.max(1) {
        for (contestant, times) in contestants.iter_mut().zip(&mut times) {
            let start = cpu_time();
            black_box((contestant.work)());
            times.push(cpu_time().saturating_sub(start));
        }
    }
    let timings = contestants.iter().zip(&mut times);
    timings.map(|(contestant, times)| timing(contestant.name, times)).collect()
}

fn timing(name: &'static str, times: &mut [Duration]) -> Timing {
    times.sort_unstable();
    let at = |place: usize| times.get(place).copied().unwrap_or_default();
    Timing { name, median: at(times.len() / 2), least: at(0) }
}

/// CPU time of this thread so far.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::from_secs(seconds) + Duration::from_nanos(u64::try_from(time.tv_nsec).unwrap_or_default())
}
