use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use comity_policy::{SiteFile, WallTime};

use super::FileKey;
use super::cache::weight;
use crate::cache::RobotsKey;

/// Bytes of files that wait for their judgement at most; who comes when as much waits is not kept here.
const MOST_BYTES: u64 = 32 << 20;
/// Who was not judged for so long makes room for others (our choice: longer than what a turn is waited for by whoever asks).
const LONGEST: Duration = Duration::from_secs(600);

/// The files of origins that were learnt, or looked at, for a judgement that is still to come. The cache may let them go
/// meanwhile; then this judgement would ask for them anew, and so on for ever.
///
/// First come, first kept: nobody's files go because others came later. So whoever is kept is judged, which makes room, and
/// those who were not kept come to it with one of their next tries.
#[derive(Debug, Default)]
pub(super) struct Waiting(Mutex<All>);

#[derive(Debug, Default)]
struct All {
    origins: HashMap<RobotsKey, One>,
    bytes: u64,
    /// When the eldest may be old enough to go.
    look: Option<WallTime>,
}

/// What one origin's judgement waits with.
#[derive(Debug)]
struct One {
    files: Vec<(FileKey, Arc<SiteFile>)>,
    bytes: u64,
    since: WallTime,
}

impl Waiting {
    fn lock(&self) -> MutexGuard<'_, All> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps all that was learnt of an origin, whatever it takes by itself, if there is any room.
    pub(super) fn keep(&self, key: RobotsKey, files: Vec<(FileKey, Arc<SiteFile>)>, now: WallTime) {
        let bytes = files.iter().map(|(key, file)| u64::from(weight(key, file))).sum();
        let mut all = self.lock();
        all.remove(&key);
        if all.bytes >= MOST_BYTES {
            all.let_old_go(now);
        }
        if all.bytes < MOST_BYTES && !files.is_empty() {
            all.bytes += bytes;
            all.origins.insert(key, One { files, bytes, since: now });
        }
    }

    /// What is kept of an origin.
    pub(super) fn look(&self, key: &RobotsKey) -> Vec<(FileKey, Arc<SiteFile>)> {
        self.lock().origins.get(key).map(|one| one.files.clone()).unwrap_or_default()
    }

    /// The files of an origin that is judged now: from here on they are the cache's alone.
    pub(super) fn take(&self, key: &RobotsKey) -> Vec<(FileKey, Arc<SiteFile>)> {
        self.lock().remove(key).unwrap_or_default()
    }
}

impl All {
    fn remove(&mut self, key: &RobotsKey) -> Option<Vec<(FileKey, Arc<SiteFile>)>> {
        let one = self.origins.remove(key)?;
        self.bytes -= one.bytes;
        Some(one.files)
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
    use comity_policy::{SiteFileKind, SiteFileState, Vantage};
    use comity_url::Origin;

    const NOW: WallTime = WallTime::from_unix_millis(1_796_000_000_000);

    fn key(n: usize) -> RobotsKey {
        (Origin::parse(&format!("https://www.host-{n}.example")).unwrap(), Vantage::Direct)
    }

    /// Some three megabytes of one origin.
    fn files(n: usize) -> Vec<(FileKey, Arc<SiteFile>)> {
        let state = SiteFileState::Absent;
        let file = SiteFile { state, status: Some(404), asked: NOW, until: NOW, final_url: None, copy: None };
        let (origin, vantage) = key(n);
        vec![(FileKey::of(SiteFileKind::Tdmrep, origin, vantage), Arc::new(file)); 10_000]
    }

    #[test]
    fn nobody_goes_for_who_came_later_and_all_are_judged_in_the_end() {
        let waiting = Waiting::default();
        let mut unjudged: Vec<usize> = (0..40).collect();
        for round in 1..=4 {
            for n in &unjudged {
                waiting.keep(key(*n), files(*n), NOW);
                assert!(waiting.lock().bytes < MOST_BYTES + (4 << 20), "one origin beyond the bound at most");
            }
            let before = unjudged.len();
            unjudged.retain(|n| waiting.take(&key(*n)).is_empty());
            assert!(before - unjudged.len() >= 10 || unjudged.is_empty(), "round {round}: {unjudged:?}");
            assert_eq!(waiting.lock().bytes, 0, "what was judged makes room");
        }
        assert_eq!(unjudged, [] as [usize; 0]);
    }

    #[test]
    fn what_one_origin_has_is_kept_whole_whatever_it_takes() {
        let waiting = Waiting::default();
        let all: Vec<_> = (0..20).flat_map(|_| files(1)).collect();
        waiting.keep(key(1), all.clone(), NOW);
        assert_eq!(waiting.look(&key(1)).len(), all.len());
        waiting.keep(key(2), files(2), NOW);
        assert!(waiting.take(&key(2)).is_empty(), "there is no room");
        assert_eq!(waiting.take(&key(1)).len(), all.len());
        assert!(waiting.take(&key(1)).is_empty() && waiting.lock().bytes == 0);
    }

    #[test]
    fn who_is_never_judged_makes_room_in_the_end() {
        let (waiting, late) = (Waiting::default(), NOW.after(LONGEST));
        (0..20).for_each(|n| waiting.keep(key(n), files(n), NOW));
        waiting.keep(key(20), files(20), NOW.after(LONGEST / 2));
        assert!(waiting.look(&key(20)).is_empty() && !waiting.look(&key(0)).is_empty());
        waiting.keep(key(20), files(20), late);
        assert!(!waiting.look(&key(20)).is_empty() && waiting.look(&key(0)).is_empty());
        let earlier = WallTime::from_unix_millis(0);
        (0..20).for_each(|n| waiting.keep(key(n), files(n), earlier));
        assert!(!waiting.look(&key(0)).is_empty(), "a clock that was put back does not keep them");
    }
}
