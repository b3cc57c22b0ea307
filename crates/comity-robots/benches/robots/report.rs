//! Tables on stdout.

use std::time::Duration;

use crate::rounds::Timing;

/// Mean of a turn's time over `count` things, in nanoseconds.
pub(crate) fn nanoseconds_each(time: Duration, count: usize) -> f64 {
    time.as_secs_f64() * 1e9 / count.max(1) as f64
}

/// Speed table over `bytes` bytes a turn; the first row is the ceiling.
pub(crate) fn speeds(title: &str, timings: &[Timing], bytes: usize) {
    println!("\n{title}\n\n| contestant | MB/s, median | MB/s, best | of the ceiling |\n| --- | ---: | ---: | ---: |");
    let speed = |time: Duration| bytes as f64 / time.as_secs_f64().max(1e-9) / 1e6;
    let ceiling = timings.first().map_or(1.0, |timing| speed(timing.median));
    for timing in timings {
        let median = speed(timing.median);
        println!("| {} | {median:.0} | {:.0} | {:.2} |", timing.name, speed(timing.least), median / ceiling);
    }
}

/// Time of one of `count` equal things.
pub(crate) fn times(title: &str, timings: &[Timing], count: usize) {
    println!("\n{title}\n\n| contestant | ns, median | ns, best |\n| --- | ---: | ---: |");
    for timing in timings {
        let (median, least) = (nanoseconds_each(timing.median, count), nanoseconds_each(timing.least, count));
        println!("| {} | {median:.1} | {least:.1} |", timing.name);
    }
}
