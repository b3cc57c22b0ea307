use std::collections::HashMap;

use comity_frontier::UserData;
use comity_url::CrawlUrl;
use serde::Serialize;

use crate::EnqueueError;

/// A seed with more than its URL.
#[derive(Clone, Debug)]
#[must_use = "to be given to CrawlerBuilder::seed_with"]
pub struct Seed {
    pub(crate) url: String,
    pub(crate) with: SeedWith,
}

/// What a seed has beside its URL.
#[derive(Clone, Debug, Default)]
pub(crate) struct SeedWith {
    pub(crate) priority: u8,
    pub(crate) user_data: Option<UserData>,
}

/// What seeds have beside their URLs; most have nothing.
pub(crate) type SeedsWith = HashMap<CrawlUrl, SeedWith>;

impl Seed {
    /// An absolute http or https URL.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), with: SeedWith::default() }
    }

    /// Its priority within its origin: 0 first, which is what seeds have; links have 1.
    pub const fn priority(mut self, priority: u8) -> Self {
        self.with.priority = priority;
        self
    }

    /// Keeps a value with it, as [`Enqueue::user_data`](crate::Enqueue::user_data) does.
    ///
    /// # Errors
    /// More than [`UserData::MOST`] bytes, or what is no JSON.
    pub fn user_data(self, value: &(impl Serialize + ?Sized)) -> Result<Self, EnqueueError> {
        self.user_bytes(serde_json::to_vec(value).map_err(EnqueueError::Json)?)
    }

    /// Keeps bytes with it.
    ///
    /// # Errors
    /// More than [`UserData::MOST`].
    pub fn user_bytes(mut self, bytes: impl Into<Box<[u8]>>) -> Result<Self, EnqueueError> {
        self.with.user_data = Some(UserData::new(bytes).map_err(EnqueueError::TooLong)?);
        Ok(self)
    }
}
