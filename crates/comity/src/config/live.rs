//! Which changes a running crawl takes in.

use super::diff::{Change, changes};
use super::{ConfigError, CrawlConfig, RevisitPolicy};

/// Keys that take effect while a crawl runs. Our choice: what slows down, leaves out or ends; and written exceptions, which
/// have a justification of their own; how many visits there are at once and what an origin or a domain may take, how often and
/// when a page comes again. Everything else is of a whole run.
const LIVE: [&str; 29] = [
    "politeness.total",
    "politeness.per_origin",
    "politeness.delay",
    "politeness.max_crawl_delay",
    "politeness.per_address",
    "politeness.address_gap",
    "politeness.shared_addresses",
    "politeness.adaptive",
    "politeness.max_rate",
    "politeness.max_rate_domain",
    "crawl.include",
    "crawl.exclude",
    "crawl.max_pages",
    "crawl.max_depth",
    "crawl.max_duration",
    "crawl.max_bytes",
    "crawl.max_pages_per_origin",
    "crawl.max_bytes_per_origin",
    "crawl.max_pages_per_domain",
    "crawl.max_pending_per_domain",
    "crawl.linger",
    "crawl.retries",
    "crawl.revisit",
    "revisit.min",
    "revisit.max",
    "revisit.start",
    "revisit.pages",
    "optout.files",
    "override",
];

fn revisits(config: &CrawlConfig) -> bool {
    config.revisit.policy != RevisitPolicy::Never
}

/// The changes from one configuration to the other, in words, for a crawl that runs under the first.
///
/// # Errors
/// When one cannot take effect while it runs: all of them are named, and what to do.
pub(crate) fn live_changes(before: &CrawlConfig, after: &CrawlConfig) -> Result<Vec<String>, ConfigError> {
    // Seeds are the crawl's own and do not change with a file.
    let mut changes = changes(&before.resolved(), &after.resolved());
    changes.retain(|change| change.key() != "crawl.seeds");
    let refused = |refuse: &dyn Fn(&&Change) -> bool| -> Option<String> {
        let told: Vec<String> = changes.iter().filter(refuse).map(ToString::to_string).collect();
        (!told.is_empty()).then(|| told.join("; "))
    };
    // Whether there are visits at all is told to the queue when it is opened: from there on it knows civil time, or does not.
    let begins_or_ends = revisits(before) != revisits(after);
    let is_live =
        |change: &Change| LIVE.contains(&change.key()) && !(begins_or_ends && change.key() == "crawl.revisit");
    if let Some(told) = refused(&|change| !is_live(change) && change.changes_meaning()) {
        return Err(ConfigError::new(format!("the crawl would mean something else: {told}; nothing was changed"))
            .hint("stop it, and go on with --accept-config, or crawl into another directory"));
    }
    if let Some(told) = refused(&|change| !is_live(change)) {
        return Err(ConfigError::new(format!("this holds for a whole run: {told}; nothing was changed"))
            .hint("leave it as it is, or stop the crawl and go on with the new configuration (comity crawl --dir)"));
    }
    let files = |config: &CrawlConfig| config.file.optout.files.clone().unwrap_or_default();
    let now = files(after);
    if let Some(gone) = files(before).into_iter().find(|file| !now.contains(file)) {
        return Err(ConfigError::new(format!("{} is not named any more; nothing was changed", gone.display()))
            .at("[optout] files")
            .hint("an opt-out ends by a `remove` line only (comity optout remove); leave the file in"));
    }
    Ok(changes.iter().map(ToString::to_string).collect())
}
