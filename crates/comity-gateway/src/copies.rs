use std::sync::Arc;

use bytes::Bytes;
use comity_fetch::BoxFuture;
use comity_gate::{RecalledRobots, Recorder, RobotsVisit};
use comity_policy::Digest;
use moka::policy::EvictionPolicy;
use moka::sync::Cache;

/// Every robots.txt that decisions rest on, by digest: what customers are served instead of the site. Bounded by bytes;
/// what is no longer here is asked of the site, as a page would be.
#[derive(Debug)]
pub(crate) struct Copies {
    files: Cache<Digest, Bytes>,
    /// Who records them besides.
    next: Arc<dyn Recorder>,
}

impl Copies {
    /// Bytes of robots.txt held at most.
    const MOST_BYTES: u64 = 64 << 20;

    pub(crate) fn before(next: Arc<dyn Recorder>) -> Self {
        let weight = |_: &Digest, file: &Bytes| u32::try_from(file.len() + 128).unwrap_or(u32::MAX);
        // By age alone: the newest is what a customer asks for, and would be asked of its site at once.
        let files = Cache::builder().eviction_policy(EvictionPolicy::lru()).weigher(weight);
        Self { files: files.max_capacity(Self::MOST_BYTES).build(), next }
    }

    pub(crate) fn find(&self, digest: Digest) -> Option<Bytes> {
        self.files.get(&digest)
    }

    fn keep(&self, file: Option<&(Digest, Bytes)>) {
        if let Some((digest, bytes)) = file {
            self.files.insert(*digest, bytes.clone());
        }
    }
}

impl Recorder for Copies {
    fn robots_visit(&self, visit: RobotsVisit) -> BoxFuture<'_, ()> {
        self.keep(visit.file.as_ref());
        self.next.robots_visit(visit)
    }

    fn site_file_visit(&self, visit: comity_gate::SiteFileVisit) -> BoxFuture<'_, ()> {
        self.next.site_file_visit(visit)
    }

    fn site_file_recalled(&self, recalled: comity_gate::RecalledFile) -> BoxFuture<'_, ()> {
        self.next.site_file_recalled(recalled)
    }

    fn robots_recalled(&self, recalled: RecalledRobots) -> BoxFuture<'_, ()> {
        self.keep(recalled.file.as_ref());
        self.next.robots_recalled(recalled)
    }
}
