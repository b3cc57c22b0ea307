//! Fingerprints of URLs, and which of them stand for several spellings.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use comity_frontier::Offered;
use comity_url::{CrawlUrl, KeyHasher, KeyRules, UrlKey};

use crate::sites::Sites;

/// Makes the keys of a crawl; with key rules on, it counts what they merge.
#[derive(Debug)]
pub(crate) struct Keys {
    hasher: KeyHasher,
    rules: KeyRules,
    merges: Mutex<Merges>,
}

#[derive(Debug, Default)]
struct Merges {
    /// Pages by their reduced key, with the plain key of the spelling that was queued.
    queued: HashMap<UrlKey, UrlKey>,
    /// Plain keys of spellings that were not queued, since another one was.
    merged: HashSet<UrlKey>,
}

/// Spellings remembered; beyond them merges are no longer counted, and go on all the same. Our choice: some 100 MB.
const MOST: usize = 1_000_000;

impl Keys {
    pub(crate) fn new(hasher: KeyHasher, rules: KeyRules) -> Self {
        Self { hasher, rules, merges: Mutex::default() }
    }

    /// The key of `url`, by the rules that are on.
    pub(crate) fn key(&self, url: &CrawlUrl, sites: &Sites) -> UrlKey {
        self.reduced(url, sites).unwrap_or_else(|| self.hasher.key(url))
    }

    fn reduced(&self, url: &CrawlUrl, sites: &Sites) -> Option<UrlKey> {
        if self.rules.is_off() {
            return None;
        }
        let clean = if self.rules.clean_param { sites.clean_params(url.origin()) } else { None };
        self.rules.reduce(url, clean.as_deref()).map(|text| self.hasher.reduced_key(&text))
    }

    /// Takes in what became of an offer: another spelling of a queued page was merged.
    pub(super) fn offered(&self, url: &CrawlUrl, offered: Offered, sites: &Sites) {
        if self.rules.is_off() || matches!(offered, Offered::Refused(_)) {
            return;
        }
        let plain = self.hasher.key(url);
        let key = self.reduced(url, sites).unwrap_or(plain);
        let mut merges = self.merges.lock().unwrap_or_else(PoisonError::into_inner);
        if merges.queued.len() >= MOST || merges.merged.len() >= MOST {
            return;
        }
        if offered == Offered::New {
            merges.queued.insert(key, plain);
        } else if merges.queued.get(&key).is_some_and(|queued| *queued != plain) {
            merges.merged.insert(plain);
        }
    }

    /// URLs that were not queued, since another spelling of them was.
    pub(super) fn merged(&self) -> u64 {
        self.merges.lock().unwrap_or_else(PoisonError::into_inner).merged.len() as u64
    }
}
