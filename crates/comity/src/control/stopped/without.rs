//! A program without the feature `disk`: what it has not started itself, it cannot look into.

use std::path::Path;
use std::sync::Mutex;

use comity_frontier::Frontier;
use comity_policy::Clock;
use comity_url::{CrawlUrl, Scope, UrlKey};

use super::{ParkFile, Prints};

/// There is none.
#[derive(Debug)]
pub(super) enum Stopped {}

impl Stopped {
    pub(super) fn frontier(&self) -> &dyn Frontier {
        match *self {}
    }

    pub(super) fn clock(&self) -> &dyn Clock {
        match *self {}
    }

    pub(super) const fn parks(&self) -> &Mutex<ParkFile> {
        match *self {}
    }

    pub(super) const fn key(&self, _: &CrawlUrl) -> UrlKey {
        match *self {}
    }

    pub(super) const fn dir(&self) -> &Path {
        match *self {}
    }

    pub(super) const fn scope(&self) -> &Scope {
        match *self {}
    }

    pub(super) const fn prints(&self) -> &Prints {
        match *self {}
    }
}
