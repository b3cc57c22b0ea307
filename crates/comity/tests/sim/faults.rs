//! What befalls the crawl itself: ends of its process, its disk, its clock, panics in what others wrote.

use std::time::Duration;

use comity::policy::SeededRandom;

use crate::plan::Dice;

/// What befalls one crawl, beside the web and the network.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults {
    /// Keeps its queue, records and robots lives in a directory; always so when a process ends before the crawl does.
    pub(crate) kept: bool,
    /// Writes WARC files beside the records.
    pub(crate) warc: bool,
    /// Processes that end before the crawl does, in order. One more goes on to its end.
    pub(crate) lives: Vec<Life>,
    /// Moments at which the machine's clock is set: after how long, and how far it is ahead from there on.
    pub(crate) clock: Vec<(Duration, i64)>,
    /// Of a hundred calls of a handler, or connections, so many panic.
    pub(crate) panics: Panics,
    /// Handlers of pages are asynchronous, and take their time.
    pub(crate) handlers_wait: bool,
}

/// Chances of a panic, in percent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Panics {
    pub(crate) on_page: u64,
    pub(crate) on_outcome: u64,
    pub(crate) network: u64,
}

/// How one process ends.
#[derive(Clone, Debug)]
pub(crate) struct Life {
    /// So long after its start.
    pub(crate) after: Duration,
    /// And so many turns of everything that is ready at that instant: between any two awaits.
    pub(crate) turns: u64,
    pub(crate) end: Fault,
    /// How long nothing runs then.
    pub(crate) pause: Duration,
    /// How far the machine's clock is ahead when the next process starts; `None` leaves it.
    pub(crate) clock: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// As by `kill -9`: every future is dropped, nothing is closed.
    Kill,
    /// The same, and what was not made safe is gone from the queue's disk, and in any part from the archive's.
    PowerCut,
    /// Ctrl-C once.
    Drain,
    /// Ctrl-C twice.
    Stop,
    /// The queue's disk is full from then on.
    StoreFull,
    /// The archive's disk has room for so many bytes more.
    ArchiveFull(u64),
}

const HOUR: i64 = 3_600_000;

impl Faults {
    /// What befalls the crawl of a seed. Another stream than the plan's own, so that webs stay what they were.
    pub(crate) fn draw(seed: u64) -> Self {
        let dice = Dice(SeededRandom::new(seed ^ 0xfa17_fa17_fa17_fa17));
        let kept = dice.percent(60);
        let set = dice.percent(40);
        let lives = if kept { dice.pick(&[0, 1, 1, 2, 3, 5]) } else { 0 };
        Self {
            kept,
            warc: kept && dice.percent(30),
            lives: (0..lives).map(|_| life(&dice, set)).collect(),
            clock: (0..if set { dice.between(1, 3) } else { 0 }).map(|_| (moment(&dice), error(&dice))).collect(),
            panics: if dice.percent(30) { panics(&dice) } else { Panics::default() },
            handlers_wait: dice.percent(50),
        }
    }

    /// The machine's clock is not what it should be at some time.
    pub(crate) fn sets_clock(&self) -> bool {
        !self.clock.is_empty() || self.lives.iter().any(|life| life.clock.is_some())
    }
}

fn life(dice: &Dice, set: bool) -> Life {
    let end = match dice.below(10) {
        0..=2 => Fault::Kill,
        3..=5 => Fault::PowerCut,
        6 => Fault::Drain,
        7 => Fault::Stop,
        8 => Fault::StoreFull,
        _ => Fault::ArchiveFull(dice.between(0, 4000)),
    };
    let pause = match dice.below(6) {
        0 => Duration::ZERO,
        1 | 2 => dice.millis(0, 2000),
        3 | 4 => dice.millis(0, 600_000),
        _ => dice.millis(0, 3 * 86_400_000),
    };
    let clock = (set && dice.percent(60)).then(|| error(dice));
    Life { after: moment(dice), turns: dice.below(40), end, pause, clock }
}

/// Most things happen within the first minutes of a crawl.
fn moment(dice: &Dice) -> Duration {
    match dice.below(4) {
        0 => dice.millis(0, 3000),
        1 | 2 => dice.millis(0, 90_000),
        _ => dice.millis(0, 900_000),
    }
}

/// How far the machine's clock is off, in milliseconds; 56 years behind is 1970.
fn error(dice: &Dice) -> i64 {
    dice.pick(&[0, HOUR, -HOUR, 24 * HOUR, -24 * HOUR, -1_795_990_000_000])
}

fn panics(dice: &Dice) -> Panics {
    Panics { on_page: dice.pick(&[0, 5, 40]), on_outcome: dice.pick(&[0, 10]), network: dice.pick(&[0, 3, 10]) }
}

/// A panic that the plan ordered.
pub(crate) struct Ordered;

/// Draws whether the `nth` thing of a kind panics, and if so, does.
pub(crate) fn perhaps_panic(seed: u64, kind: u64, nth: u64, percent: u64) {
    let dice = Dice(SeededRandom::new(seed ^ kind.rotate_left(32) ^ nth.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    if dice.percent(percent) {
        std::panic::panic_any(Ordered);
    }
}
