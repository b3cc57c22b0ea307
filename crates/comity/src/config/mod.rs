//! The crawl's configuration: a TOML file and flags, read into [`ConfigFile`], resolved once into [`CrawlConfig`].

mod agent;
mod error;
mod exceptions;
mod file;
mod resolve;
mod units;

pub use error::ConfigError;
pub use exceptions::{Moment, OptoutSection, OverrideSection};
pub use file::{
    AgentSection, ArchiveSection, ConfigFile, CrawlSection, FetchSection, FrontierSection, PolitenessSection,
    RobotsSection,
};
pub use resolve::{ArchiveConfig, CrawlConfig, CrawlLimits, Revisit, WarcSettings};
pub use units::{ByteSize, Span};
