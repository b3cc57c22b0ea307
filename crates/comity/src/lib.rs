//! The polite, provable crawler framework: the face that crawler authors depend on.
//!
//! No request leaves without a permit, and every outcome, also "not fetched", has a reason, a rule, a line and a time.
//! It renders no pages; see `docs/architecture.md` for what stands where.
//!
//! A crawler in ten lines:
//!
//! ```no_run
//! #[tokio::main]
//! async fn main() -> Result<(), comity::Error> {
//!     let crawler = comity::Crawler::builder("MyBot/1.0 (+https://example.com/bot)")
//!         .seed("https://example.org/")
//!         .max_pages(100)
//!         .each_page(|page| println!("{} {}", page.status(), page.url()))
//!         .build()?;
//!     println!("{}", crawler.run().await?);
//!     Ok(())
//! }
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | [`control`] | what looks at a crawl and steers it, running or stopped |
//! | [`config`] | the configuration file, its flags' types, and what they resolve to |
//! | [`telemetry`] | what it tells while it runs: metrics, a page |
//! | root | [`Crawler`], [`CrawlerBuilder`]; handlers: [`Page`], [`Change`], [`Context`]; what happens: [`Event`], [`UrlOutcome`], [`Summary`], [`Progress`]; [`Pages`], [`Sink`]; [`StopHandle`], [`PauseHandle`]; [`Error`]; [`StoppedCrawl`]: erasure |

mod archive;
mod builder;
pub mod config;
mod context;
pub mod control;
mod count;
mod crawler;
mod directory;
mod engine;
mod erasing;
mod error;
mod events;
mod handler;
mod keep;
mod open;
mod outcome;
mod page;
mod pages;
mod parts;
mod pause;
mod progress;
mod seeds;
#[cfg(feature = "select")]
mod select;
mod sink;
mod sites;
mod stop;
mod summary;
#[cfg(test)]
mod surface;
pub mod telemetry;

/// The example of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExample;

pub use comity_extract as extract;
pub use comity_fetch as fetch;
pub use comity_frontier as frontier;
pub use comity_policy as policy;
pub use comity_signals as signals;
pub use comity_url as url;
pub use context::{Context, Enqueue, EnqueueError};
pub use crawler::{Crawler, CrawlerBuilder};
pub(crate) use engine::Tally;
pub use erasing::{Erased, StoppedCrawl};
pub use error::Error;
pub use events::{Event, Events, Proposed, RobotsSeen};
pub use handler::{BoxError, HandlerOutput, HandlerResult};
pub use outcome::{UrlEnding, UrlOutcome};
pub use page::{Change, Page};
pub use pages::{Delivered, Pages};
pub use pause::PauseHandle;
pub use progress::Progress;
pub use seeds::Seed;
pub use sink::Sink;
pub use stop::{Stop, StopHandle};
pub use summary::{End, OverrideUse, Summary};
