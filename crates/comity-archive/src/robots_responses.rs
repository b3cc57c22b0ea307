use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use comity_policy::Digest;
use comity_url::Origin;

/// Which WARC record holds the robots.txt that decisions name by digest: the last of each origin, as far back as
/// [`RobotsResponses::REMEMBERED`] origins.
#[derive(Debug, Default)]
pub(crate) struct RobotsResponses {
    ids: HashMap<Origin, (Digest, Arc<str>)>,
    order: VecDeque<Origin>,
}

impl RobotsResponses {
    const REMEMBERED: usize = 16_384;

    pub(crate) fn remember(&mut self, origin: &Origin, digest: Digest, id: &str) {
        if self.ids.insert(origin.clone(), (digest, id.into())).is_none() {
            self.order.push_back(origin.clone());
        }
        if self.order.len() > Self::REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.ids.remove(&oldest);
        }
    }

    pub(crate) fn find(&self, origin: &Origin, digest: Option<Digest>) -> Option<String> {
        let (known, id) = self.ids.get(origin)?;
        (Some(*known) == digest).then(|| id.to_string())
    }
}
