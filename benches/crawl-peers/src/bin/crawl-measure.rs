//! Runs one command and tells what it took, as JSON on the last line: `crawl-measure SECONDS COMMAND…`; its output is dropped unless
//! `COMITY_BENCH_LOUD` is set. What still runs after so many seconds is killed.
//!
//! A process of its own: the kernel tells CPU time of all children together, and the largest of their resident sizes.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [seconds, program, arguments @ ..] = words.as_slice() else { panic!("seconds and a command: {words:?}") };
    let out = || if std::env::var_os("COMITY_BENCH_LOUD").is_some() { Stdio::inherit() } else { Stdio::null() };
    let begun = Instant::now();
    let most = Duration::from_secs(seconds.parse().unwrap());
    let mut command = Command::new(program);
    let mut child = command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(out()).spawn().unwrap();
    let mut is_killed = false;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if begun.elapsed() > most && !is_killed {
            is_killed = true;
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    let told = serde_json::json!({
        "ended": status.success() || is_killed,
        "killed": is_killed,
        "cpu_us": (usage.user_time() + usage.system_time()).num_microseconds(),
        "rss_kib": usage.max_rss(),
        "wall_us": u64::try_from(begun.elapsed().as_micros()).unwrap(),
    });
    println!("{told}");
}
