//! A gate without the feature `disk` knows nothing that its process has not learnt, and leaves nothing behind: every robots.txt is
//! asked for anew.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use comity_policy::{Digest, OriginPace, RobotsLife, SiteFile};
use comity_url::Origin;

use crate::Gate;
use crate::cache::RobotsKey;
use crate::files::FileKey;
use crate::reading::KeptFile;

impl Gate {
    /// There is nothing that could be lost: it waits for ever.
    pub async fn keep_safe(&self) -> Infallible {
        std::future::pending().await
    }

    /// There is nothing that could be lost.
    pub async fn make_safe(&self) {}

    /// Never spares a request.
    pub(crate) async fn recall(&self, _: &RobotsKey) -> bool {
        false
    }

    pub(crate) async fn remember(&self, _: &RobotsKey, _: &RobotsLife, _: Option<KeptFile>) {}

    pub(crate) const fn remember_pace(&self, _: &Origin, _: OriginPace, _: OriginPace) {}

    pub(crate) async fn recall_pace(&self, _: &Origin) {}

    pub(crate) async fn recall_file(&self, _: &FileKey) -> Option<Arc<SiteFile>> {
        None
    }

    pub(crate) async fn remember_file(&self, _: &FileKey, _: &SiteFile) {}

    pub(crate) async fn remember_copy(&self, _: Digest, _: &Bytes) {}
}
