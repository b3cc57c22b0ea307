//! A build without the feature `proxy`: a configuration that names proxies is refused, since nothing may leave directly instead.

use comity_fetch::FetchConfig;

use super::ConfigError;
use super::file::FetchSection;

/// # Errors
/// The first key that names proxies.
pub(super) fn put(fetch: &FetchSection, _: &mut FetchConfig) -> Result<(), ConfigError> {
    let named = [
        ("[fetch] proxies", fetch.proxies.as_ref().is_some_and(|list| !list.is_empty())),
        ("[[fetch.proxy]]", fetch.proxy.as_ref().is_some_and(|list| !list.is_empty())),
        ("[fetch] proxy_country", fetch.proxy_country.is_some()),
        ("[fetch] proxy_pool", fetch.proxy_pool.is_some()),
    ];
    match named.into_iter().find(|(_, is_named)| *is_named) {
        None => Ok(()),
        Some((key, _)) => Err(ConfigError::new("this program was built without proxies")
            .at(key)
            .hint("build it with the feature `proxy` of comity, or take the key out")),
    }
}

pub(super) const fn note(_: &FetchConfig) -> Option<String> {
    None
}
