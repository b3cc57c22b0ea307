//! What a crawl tells while it runs: numbers for Prometheus, a page for people. It only looks: nothing can be asked of a crawl
//! here but how it goes, and whoever asks never holds it up.
//!
//! | module | what it holds |
//! |---|---|
//! | `settings` | `[telemetry]`, checked |
//! | `meters` | what is counted where it happens and stands in no summary |
//! | `snapshot` | everything that is told, taken at one moment |
//! | `metrics` | the same as metrics, with their names |
//! | `page` | the same as a page |
//! | `server` | the listeners |

mod meters;
mod metrics;
mod page;
mod server;
mod settings;
mod snapshot;

pub(crate) use self::meters::Meters;
pub(crate) use self::server::{Doors, serve};
pub use self::settings::{LogFormat, TelemetrySettings};
pub(crate) use self::settings::{resolved, settings};

/// The style of every page that comity makes: type, colours in light and dark, widths.
pub const PAGE_STYLE: &str = include_str!("base.css");
