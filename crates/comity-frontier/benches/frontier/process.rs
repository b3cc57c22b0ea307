//! What this process has used so far, as the kernel counts it.

use std::fmt;
use std::time::{Duration, Instant};

#[derive(Clone, Copy)]
pub(crate) struct Process {
    started: Instant,
    cpu: Duration,
    resident: u64,
    written: u64,
}

pub(crate) struct Spent {
    pub(crate) wall: Duration,
    pub(crate) cpu: Duration,
    resident: u64,
    peak: u64,
    written: u64,
}

impl Process {
    pub(crate) fn now() -> Self {
        let cpu = cpu();
        Self {
            started: Instant::now(),
            cpu,
            resident: status("VmRSS:"),
            written: field("/proc/self/io", "write_bytes:"),
        }
    }

    pub(crate) fn since(self) -> Spent {
        let now = Self::now();
        Spent {
            wall: self.started.elapsed(),
            cpu: now.cpu.saturating_sub(self.cpu),
            resident: now.resident,
            peak: status("VmHWM:"),
            written: now.written.saturating_sub(self.written),
        }
    }
}

impl fmt::Display for Spent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mb = |bytes: u64| bytes / 1_000_000;
        write!(
            f,
            "{:.1} s, {:.1} s of CPU, {} MB resident, {} MB at most, {} MB written",
            self.wall.as_secs_f64(),
            self.cpu.as_secs_f64(),
            mb(self.resident),
            mb(self.peak),
            mb(self.written)
        )
    }
}

/// CPU time of this thread.
pub(crate) fn own_cpu() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.try_into().unwrap_or(0), now.tv_nsec.try_into().unwrap_or(0))
}

/// CPU time of all threads.
fn cpu() -> Duration {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
    Duration::from_millis((ticks(11) + ticks(12)) * 10)
}

fn status(key: &str) -> u64 {
    field("/proc/self/status", key) * 1024
}

fn field(path: &str, key: &str) -> u64 {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default();
    line.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(0)
}
