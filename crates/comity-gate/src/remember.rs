//! Between the cache and the state directory. The directory spares requests; what it cannot give is asked of the site,
//! so a fault of it is said and never stops a crawl, and never allows anything.

use std::sync::Arc;

use bytes::Bytes;
use comity_policy::{
    AskedPace, Digest, Instant, OriginPace, PaceMemory, RobotsLife, SiteCopy, SiteFile, SiteFileState, SiteRules,
};
use comity_url::Origin;

use crate::cache::RobotsKey;
use crate::files::FileKey;
use crate::reading::KeptFile;
use crate::state::{Recalled, RecalledCopy, StateDir, WrittenBy};
use crate::{Gate, RecalledFile, RecalledRobots, StateError};

impl Gate {
    /// Puts what is remembered of `key` in force; true when that spares the request.
    ///
    /// What an earlier process knew makes the origin wait one full delay from now on, and what is left of its back-off or
    /// park; what this process let go of, its pacer knows better.
    pub(crate) async fn recall(&self, key: &RobotsKey) -> bool {
        let found = self.with_state({
            let key = key.clone();
            move |state| Ok(state.recall(&key)?.map(|found| (found, state.recall_pace(&key.0))))
        });
        let Some(Some((Recalled { memory, file, by }, pace))) = found.await else { return false };
        let inner = &self.inner;
        let compiled = file.as_deref().map(|bytes| inner.compiler.compile(bytes));
        let kept = memory.known.as_ref().map(|known| RecalledRobots {
            for_origin: key.0.clone(),
            fetched: known.fetched,
            status: known.status,
            file: memory.digest().zip(file),
        });
        #[expect(clippy::disallowed_methods, reason = "this is the gate: the one place where lives begin")]
        let life = RobotsLife::recall(key.0.clone(), inner.compiler.policy().clone(), memory, compiled);
        if by == WrittenBy::AnEarlierRun {
            self.adopt_remembered(&key.0, pace.unwrap_or_else(|error| said(&error)));
            if let (Some(kept), true) = (kept, life.fetched().is_some()) {
                // What decides is on record first.
                inner.recorder.robots_recalled(kept).await;
            }
            self.remember(key, &life, None).await;
        }
        let spared = !life.is_due(inner.clock.wall());
        self.put_in_force(key, life);
        spared
    }

    /// Remembers a life, before it comes into force.
    pub(crate) async fn remember(&self, key: &RobotsKey, life: &RobotsLife, file: Option<KeptFile>) {
        let (key, memory, now) = (key.clone(), life.memory(), self.inner.clock.wall());
        self.with_state(move |state| {
            let file = file.as_ref().map(|(digest, bytes)| (*digest, bytes.as_ref()));
            state.remember(&key, &memory, file, now)
        })
        .await;
    }

    /// Remembers a back-off or park that an exchange began or ended.
    pub(crate) fn remember_pace(&self, origin: &Origin, before: OriginPace, after: OriginPace) {
        let Some(state) = &self.inner.state else { return };
        let (now, wall) = (self.inner.clock.now(), self.inner.clock.wall());
        // Compared on one instant, so that a wait which merely runs down is no change.
        if before.memory(Instant::START, wall) != after.memory(Instant::START, wall)
            && let Err(error) = state.remember_pace(origin, &after.memory(now, wall))
        {
            said::<()>(&error);
        }
    }

    /// Lets what is left of a back-off or park, and the delay that was asked for last, bind an origin that nothing was asked of yet
    /// in this process: also one whose own robots.txt nobody has asked for, which another one's redirects to. A copy whose life is
    /// over, or that was read from another vantage, allows nothing any more; its delay holds until the next one is read.
    pub(crate) async fn recall_pace(&self, origin: &Origin) {
        if self.inner.pacer.has_asked(origin) {
            return;
        }
        let found = self.with_state({
            let origin = origin.clone();
            move |state| Ok((state.recall_pace(&origin)?, state.last_copies(&origin)?))
        });
        let Some((memory, copies)) = found.await else { return };
        if memory.is_some() {
            self.adopt_remembered(origin, memory);
        }
        let sets: Vec<_> = copies.iter().flat_map(|bytes| self.inner.compiler.compile(bytes).0).collect();
        if !sets.is_empty() {
            self.set_asked(origin, AskedPace::of(&sets));
        }
    }

    /// Puts what is remembered of a file in force, and gives it. What an earlier process received is kept as evidence first.
    pub(crate) async fn recall_file(&self, key: &FileKey) -> Option<Arc<SiteFile>> {
        let found = self.with_state({
            let key = key.clone();
            move |state| state.recall_file(&key)
        });
        let (Some(Some(found)), Some(files), Some(url)) = (found.await, self.inner.cache.files(), key.url()) else {
            return None;
        };
        let RecalledCopy { mut file, copy, by } = found;
        // An earlier copy decides also where the last try learnt nothing: it is of an answer that was read, not of that try.
        let status = if copy.is_some() && file.state != SiteFileState::Read { Some(200) } else { file.status };
        let kept = RecalledFile {
            kind: key.kind,
            file: url,
            fetched: copy.as_ref().map_or(file.asked, |(_, fetched, _)| *fetched),
            status: status.unwrap_or_default(),
            copy: copy.as_ref().map(|(digest, _, bytes)| (*digest, bytes.clone())),
        };
        if let Some((digest, fetched, bytes)) = copy {
            let rules = SiteRules::read(key.kind, &bytes, key.origin(), self.inner.compiler.token_lists());
            file.copy = Some(SiteCopy { digest, fetched, rules });
        }
        if by == WrittenBy::AnEarlierRun {
            if status.is_some() {
                self.inner.recorder.site_file_recalled(kept).await;
            }
            self.remember_file(key, &file).await;
        }
        let file = Arc::new(file);
        files.store(key.clone(), file.clone());
        Some(file)
    }

    /// Remembers a file, before it comes into force.
    pub(crate) async fn remember_file(&self, key: &FileKey, file: &SiteFile) {
        let (key, file, now) = (key.clone(), file.clone(), self.inner.clock.wall());
        self.with_state(move |state| state.remember_file(&key, &file, now)).await;
    }

    /// Remembers the bytes of a file, before the file itself.
    pub(crate) async fn remember_copy(&self, digest: Digest, bytes: &Bytes) {
        let bytes = bytes.clone();
        self.with_state(move |state| state.remember_copy(digest, &bytes)).await;
    }

    fn adopt_remembered(&self, origin: &Origin, memory: Option<PaceMemory>) {
        let wall = self.inner.clock.wall();
        let memory = memory.filter(|memory| !memory.is_over(wall)).unwrap_or_default();
        let pace = OriginPace::recall(memory, self.inner.clock.now(), wall);
        self.inner.pacer.adopt(origin, pace);
    }

    /// Runs one piece of file work off the loop; `None` without a directory, and when it failed.
    async fn with_state<T: Send + 'static>(
        &self,
        work: impl FnOnce(&StateDir) -> Result<T, StateError> + Send + 'static,
    ) -> Option<T> {
        let state: Arc<StateDir> = self.inner.state.clone()?;
        if state.is_inline {
            return work(&state).map_or_else(|error| said(&error), Some);
        }
        match tokio::task::spawn_blocking(move || work(&state)).await {
            Ok(Ok(found)) => Some(found),
            Ok(Err(error)) => said(&error),
            Err(error) => {
                tracing::error!(%error, "the state directory's thread failed");
                None
            }
        }
    }
}

fn said<T>(error: &StateError) -> Option<T> {
    tracing::error!(%error, hint = error.hint(), "state directory");
    None
}
