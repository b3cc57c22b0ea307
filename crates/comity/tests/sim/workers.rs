use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// A seed that takes longer than this does not end: no run lasts a second.
const STUCK: Duration = Duration::from_secs(120);

/// Plays every seed, as many at once as there are cores; results by seed, whatever order they came in.
pub(crate) fn play_all<T: Send + 'static>(seeds: Range<u64>, play: fn(u64) -> T) -> BTreeMap<u64, T> {
    let next = std::sync::Arc::new(AtomicU64::new(seeds.start));
    let (done, results) = mpsc::channel();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    for _ in 0..threads {
        let (next, done, end) = (next.clone(), done.clone(), seeds.end);
        thread::spawn(move || {
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= end || done.send((seed, None)).is_err() {
                    return;
                }
                let played = play(seed);
                if done.send((seed, Some(played))).is_err() {
                    return;
                }
            }
        });
    }
    drop(done);
    let mut playing = std::collections::BTreeSet::new();
    let mut played = BTreeMap::new();
    loop {
        match results.recv_timeout(STUCK) {
            Ok((seed, None)) => drop(playing.insert(seed)),
            Ok((seed, Some(result))) => {
                playing.remove(&seed);
                played.insert(seed, result);
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("these seeds do not end: {playing:?}"),
        }
    }
    assert!(playing.is_empty(), "these seeds panicked outside of their crawl: {playing:?}");
    played
}
