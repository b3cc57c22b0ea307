//! The configuration: a TOML file and flags, read into [`ConfigFile`], resolved once into [`CrawlConfig`] for a crawl, or
//! into [`GateSettings`] for whoever needs the gate alone.

mod agent;
#[cfg(feature = "warc")]
mod archive;
mod bounds;
mod check;
mod classes;
mod customer;
mod diff;
mod discovery;
mod environment;
mod error;
mod exceptions;
#[cfg(feature = "proxy")]
mod exits;
#[cfg(not(feature = "proxy"))]
#[path = "exits/without.rs"]
mod exits;
mod file;
mod gate;
pub mod keys;
mod knobs;
mod live;
mod near;
mod proxies;
mod resolve;
mod revisit;
mod signals;
mod text;
mod units;

#[cfg(feature = "warc")]
pub use archive::{ArchiveConfig, WarcSettings};
pub use check::{Checked, Further, Problem};
pub use comity_frontier::{Intervals, RevisitPolicy};
pub use customer::CustomerSection;
pub(crate) use diff::{accept, changes};
pub use discovery::{SitemapSettings, Sitemaps, TrapSettings};
pub use environment::Environment;
pub use error::ConfigError;
pub(crate) use exceptions::expiring;
pub use exceptions::{Moment, OptoutSection, OverrideSection};
pub use file::{
    AgentSection, ArchiveSection, ConfigFile, CrawlSection, FetchSection, FrontierSection, GatewaySection, KeysSection,
    PolitenessSection, RevisitSection, RobotsSection, SignalsSection, TelemetrySection, TrapsSection,
};
pub use gate::GateSettings;
pub(crate) use live::live_changes;
pub use proxies::ProxySection;
pub use resolve::{CrawlConfig, CrawlLimits, QueueStore};
pub use revisit::RevisitSettings;
pub(crate) use signals::use_notes;
pub use signals::{GrantSection, SignalSettings, TermsSection};
pub use units::{ByteSize, Span};
