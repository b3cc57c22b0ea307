//! A crawl without the feature `warc`: what comes to pass is told to handlers, hooks and the summary, and written nowhere.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use comity_gate::{RecalledFile, RecalledRobots, RobotsVisit, SiteFileVisit};
use comity_policy::{Capture, Decision, Digest, Reason, WallTime};
use comity_url::CrawlUrl;

use super::{Exposed, Keeper, Trip};
use crate::Error;
use crate::config::CrawlConfig;
use crate::pending::Pending;

/// No crawl has an archive.
#[derive(Debug)]
pub(crate) enum Store {}

/// The capture that a later one repeats.
#[derive(Clone, Debug)]
pub(crate) struct Earlier {
    pub(crate) record_id: Option<Arc<str>>,
    pub(crate) url: CrawlUrl,
    pub(crate) date: WallTime,
    #[expect(dead_code, reason = "said to the archive alone")]
    pub(crate) payload_sha256: Digest,
}

/// A link to terms.
#[derive(Clone, Debug)]
pub(crate) struct TermsLink {
    #[expect(dead_code, reason = "said to the archive alone")]
    pub(crate) rel: &'static str,
    pub(crate) url: String,
}

/// Links to terms that are looked at, of one answer.
pub(crate) const MOST_TERMS: usize = 8;

/// Nothing is said of a configuration.
#[derive(Clone, Debug)]
pub(crate) struct ConfigFacts;

pub(crate) const fn facts(_: &CrawlConfig, _: Digest) -> ConfigFacts {
    ConfigFacts
}

impl Store {
    pub(super) const fn dir(&self) -> &Path {
        match *self {}
    }

    pub(crate) fn rests_on(&mut self, _: Pending) {
        match *self {}
    }

    pub(super) const fn exposed(&self) -> &Arc<Exposed> {
        match *self {}
    }
}

impl Keeper {
    pub(crate) async fn sync(&self) -> Result<(), Error> {
        Ok(())
    }

    pub(crate) async fn fetched(
        &self,
        _: &Trip,
        _: Capture,
        _: Arc<Decision>,
        _: (Option<Earlier>, Vec<TermsLink>),
    ) -> Result<Option<Earlier>, Error> {
        Ok(None)
    }

    pub(crate) async fn not_fetched(
        &self,
        _: &Trip,
        _: &Arc<Decision>,
        _: Reason,
        _: Option<String>,
    ) -> Result<(), Error> {
        Ok(())
    }

    pub(crate) async fn reconfigured(&self, _: ConfigFacts) -> Result<Option<ConfigFacts>, Error> {
        Ok(None)
    }

    pub(crate) async fn close(&self) -> Result<Vec<PathBuf>, Error> {
        Ok(Vec::new())
    }

    pub(crate) async fn licences_within(&self, _: &CrawlUrl, _: Vec<(Digest, Bytes)>) -> Result<(), Error> {
        Ok(())
    }

    pub(super) async fn keep_robots(&self, _: RobotsVisit) -> Result<(), Error> {
        Ok(())
    }

    pub(super) async fn keep_file(&self, _: SiteFileVisit) -> Result<(), Error> {
        Ok(())
    }

    pub(super) async fn keep_recalled_file(&self, _: RecalledFile) -> Result<(), Error> {
        Ok(())
    }

    pub(super) async fn keep_recalled_robots(&self, _: RecalledRobots) -> Result<(), Error> {
        Ok(())
    }
}
