//! Origins, crawl URLs, URL keys, SURT, scope filters and trap guards.
//!
//! What it is: the one place of comity where text becomes a URL and a URL becomes a key. Five keys
//! live here and are never mixed: [`CrawlUrl`] (queued, judged, sent and recorded), [`Origin`]
//! (robots.txt and pacing), the registrable domain (budgets), [`UrlKey`] (the seen-set only) and
//! [`Surt`] (archive indexes only).
//!
//! What it is not: it opens no connection, reads no clock, resolves no name, and it knows nothing of
//! robots.txt rules.
//!
//! ```
//! use comity_url::{CrawlUrl, KeyHasher, Surt, canonical};
//!
//! let page = CrawlUrl::parse("HTTP://user:pw@www.Example.COM.:80/a/../%7euser?b=2&a=1#top")?;
//! assert_eq!(page.as_str(), "http://www.example.com/%7euser?b=2&a=1");
//! assert_eq!(page.request_target(), "/%7euser?b=2&a=1");
//! assert_eq!(page.origin().as_str(), "http://www.example.com");
//! assert_eq!(page.origin().registrable_domain(), Some("example.com"));
//!
//! let link = page.join("/~user?b=2&a=1")?;
//! assert_eq!(canonical(&page), link.as_str());
//! let hasher = KeyHasher::new([7; 16]);
//! assert_eq!(hasher.key(&page), hasher.key(&link));
//!
//! assert_eq!(Surt::of(&page).as_str(), "com,example)/~user?a=1&b=2");
//! # Ok::<(), comity_url::UrlError>(())
//! ```

mod base;
mod canonical;
mod clean_param;
mod crawl_url;
mod error;
mod fast;
mod glob;
mod growth;
mod key;
mod key_rules;
mod origin;
mod pattern;
mod scope;
mod sendable;
mod surt;
mod suspicious;
mod traps;

pub use base::BaseUrl;
pub use canonical::canonical;
pub use clean_param::CleanParams;
pub use crawl_url::CrawlUrl;
pub use error::UrlError;
pub use growth::{
    CountedPages, GrowthLimits, GrowthRow, HostGrowth, PatternGrowth, ROW as GROWTH_ROW, Shape, ShapeKind,
};
pub use key::{KEY_RULES_VERSION, KeyHasher, UrlKey};
pub use key_rules::{KeyRules, REDUCTION_VERSION};
pub use origin::{HostKind, Origin, Scheme};
pub use pattern::{MAX_PATTERN_BYTES, PatternError, UrlPattern};
pub use scope::{OutOfScope, Scope, ScopeKind, ScopeMiss};
pub use sendable::{MAX_CRAWL_URL_BYTES, MAX_HOST_BYTES};
pub use surt::{SURT_RULES_VERSION, Surt};
pub use suspicious::{SuspiciousReference, looks_suspicious};
pub use traps::{Trap, TrapLimits};
