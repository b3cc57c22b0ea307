//! The configuration as text, and by what it is named; the key of the fingerprints.

use comity_policy::Digest;
use sha2::{Digest as _, Sha256};

use crate::Error;
use crate::config::CrawlConfig;

/// By what records name a configuration.
pub(crate) fn digest(text: &str) -> Digest {
    Digest::from_bytes(Sha256::digest(text.as_bytes()).into())
}

/// What `crawl.toml` holds.
///
/// # Errors
/// When the configuration cannot be written as TOML.
pub(crate) fn resolved_text(config: &CrawlConfig) -> Result<String, Error> {
    config.resolved().to_toml().map_err(|e| Error::internal(format!("the configuration: {e}")))
}

/// Sixteen secret bytes: the key of the seen-set's fingerprints, so that no site can aim collisions at it.
///
/// # Errors
/// When the system has no randomness to give.
pub(crate) fn fresh_key() -> Result<[u8; 16], Error> {
    let mut key = [0; 16];
    getrandom::fill(&mut key).map_err(|e| Error::internal(format!("the system gives no random bytes: {e}")))?;
    Ok(key)
}
