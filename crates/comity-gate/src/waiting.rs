use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use comity_policy::WallTime;

use crate::cache::RobotsKey;

/// Who was not judged for so long makes room for others (our choice: longer than what a turn is waited for by whoever asks).
const LONGEST: Duration = Duration::from_secs(600);

/// What was learnt of origins, or looked at, for a judgement that is still to come. The caches may let it go meanwhile; then this
/// judgement would ask for it anew, and so on for ever.
///
/// First come, first kept: nothing of anybody goes because others came later. So whoever is kept is judged, which makes room, and
/// those who were not kept come to it with one of their next tries.
#[derive(Debug)]
pub(crate) struct Waiting<T> {
    all: Mutex<All<T>>,
    /// Bytes that wait at most; who comes when as much waits is not kept here.
    most: u64,
}

#[derive(Debug)]
struct All<T> {
    origins: HashMap<RobotsKey, One<T>>,
    bytes: u64,
    /// When the eldest may be old enough to go.
    look: Option<WallTime>,
}

/// What one origin's judgement waits with.
#[derive(Debug)]
struct One<T> {
    known: T,
    bytes: u64,
    since: WallTime,
}

impl<T: Clone> Waiting<T> {
    /// One that keeps `most` bytes, and one origin beyond.
    pub(crate) fn new(most: u64) -> Self {
        Self { all: Mutex::new(All { origins: HashMap::new(), bytes: 0, look: None }), most }
    }

    fn lock(&self) -> MutexGuard<'_, All<T>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps what was learnt of an origin, `bytes` of it, whatever that is by itself, if there is any room. True when it did.
    pub(crate) fn keep(&self, key: RobotsKey, known: T, bytes: u64, now: WallTime) -> bool {
        let mut all = self.lock();
        // Whoever is kept stays so: to be learnt anew is not to come later than the others.
        let was_kept = all.remove(&key).is_some();
        if all.bytes >= self.most {
            all.let_old_go(now);
        }
        let has_room = was_kept || all.bytes < self.most || all.origins.is_empty();
        if has_room {
            all.bytes += bytes;
            all.origins.insert(key, One { known, bytes, since: now });
        }
        has_room
    }

    /// What is kept of an origin.
    pub(crate) fn look(&self, key: &RobotsKey) -> Option<T> {
        self.lock().origins.get(key).map(|one| one.known.clone())
    }

    /// Whoever was not judged for long makes room.
    pub(crate) fn let_old_go(&self, now: WallTime) {
        self.lock().let_old_go(now);
    }

    /// What is kept of an origin that is judged now: from here on it is the cache's alone.
    pub(crate) fn take(&self, key: &RobotsKey) -> Option<T> {
        self.lock().remove(key)
    }
}

impl<T> All<T> {
    fn remove(&mut self, key: &RobotsKey) -> Option<T> {
        let one = self.origins.remove(key)?;
        self.bytes -= one.bytes;
        Some(one.known)
    }

    /// Looks at all of them, and not again before there can be another one.
    fn let_old_go(&mut self, now: WallTime) {
        if self.look.is_some_and(|look| now < look && look.since(now) <= LONGEST) {
            return;
        }
        // A clock that was put back makes nobody wait longer.
        self.origins.retain(|_, one| one.since <= now && now.since(one.since) < LONGEST);
        self.bytes = self.origins.values().map(|one| one.bytes).sum();
        self.look = self.origins.values().map(|one| one.since).min().map(|eldest| eldest.after(LONGEST));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use comity_policy::Vantage;
    use comity_url::Origin;

    const NOW: WallTime = WallTime::from_unix_millis(1_796_000_000_000);

    fn key(n: usize) -> RobotsKey {
        (Origin::parse(&format!("https://www.host-{n}.example")).unwrap(), Vantage::Direct)
    }

    const MOST: u64 = 32 << 20;
    /// Bytes of one origin.
    const BYTES: u64 = 3 << 20;

    #[test]
    fn nobody_goes_for_who_came_later_and_all_are_judged_in_the_end() {
        let waiting = Waiting::<usize>::new(MOST);
        let mut unjudged: Vec<usize> = (0..40).collect();
        for round in 1..=4 {
            for n in &unjudged {
                let _kept = waiting.keep(key(*n), *n, BYTES, NOW);
                assert!(waiting.lock().bytes < MOST + (4 << 20), "one origin beyond the bound at most");
            }
            let before = unjudged.len();
            unjudged.retain(|n| waiting.take(&key(*n)) != Some(*n));
            assert!(before - unjudged.len() >= 10 || unjudged.is_empty(), "round {round}: {unjudged:?}");
            assert_eq!(waiting.lock().bytes, 0, "what was judged makes room");
        }
        assert_eq!(unjudged, [] as [usize; 0]);
    }

    #[test]
    fn what_one_origin_has_is_kept_whole_whatever_it_takes() {
        let waiting = Waiting::<usize>::new(MOST);
        assert!(waiting.keep(key(1), 1, 2 * MOST, NOW));
        assert_eq!(waiting.look(&key(1)), Some(1));
        assert!(!waiting.keep(key(2), 2, BYTES, NOW));
        assert_eq!(waiting.take(&key(2)), None, "there is no room");
        assert_eq!(waiting.take(&key(1)), Some(1));
        assert!(waiting.take(&key(1)).is_none() && waiting.lock().bytes == 0);
    }

    #[test]
    fn what_is_learnt_anew_takes_the_place_of_what_was() {
        let waiting = Waiting::<usize>::new(MOST);
        assert!(waiting.keep(key(1), 1, BYTES, NOW) && waiting.keep(key(1), 2, 1, NOW));
        assert_eq!(waiting.look(&key(1)), Some(2));
        assert_eq!(waiting.lock().bytes, 1);
    }

    #[test]
    fn who_is_never_judged_makes_room_in_the_end() {
        let (waiting, late) = (Waiting::<usize>::new(MOST), NOW.after(LONGEST));
        let fill = |now| {
            for n in 0..20 {
                let _kept = waiting.keep(key(n), n, BYTES, now);
            }
        };
        fill(NOW);
        assert!(!waiting.keep(key(20), 20, BYTES, NOW.after(LONGEST / 2)) && waiting.look(&key(0)).is_some());
        assert!(waiting.keep(key(20), 20, BYTES, late) && waiting.look(&key(0)).is_none());
        fill(WallTime::from_unix_millis(0));
        assert!(waiting.look(&key(0)).is_some(), "a clock that was put back does not keep them");
    }
}
