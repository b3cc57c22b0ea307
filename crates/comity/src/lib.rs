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
//! # Features
//!
//! | feature | on by default | what is there with it alone |
//! |---|---|---|
//! | `warc` | yes | a crawl directory ([`CrawlerBuilder::dir`]): records, WARC files, evidence, the chain; `archive` |
//! | `disk` | yes | the queue in that directory and what is known of origins: a crawl goes on, and is erased and steered while it is stopped. Brings `warc` |
//! | `proxy` | yes | `[fetch] proxies`, `[[fetch.proxy]]` |
//! | `select` | no | `Page::select`: CSS selectors over pages |
//! | `parquet` | no | `archive::write_table`: captures as a Parquet table. Brings `warc` |
//!
//! Without any (`default-features = false`) a crawl has the whole gate, keeps its queue in memory, and leaves nothing behind but what its handlers, sink and
//! summary are told. A setting that this form cannot keep is refused, never passed over.
//!
//! # Modules
//!
//! | module | what it holds |
//! |---|---|
//! | [`control`] | what looks at a crawl and steers it, running or stopped |
//! | [`config`] | the configuration file, its flags' types, and what they resolve to |
//! | [`telemetry`] | what it tells while it runs: metrics, a page |
//! | root | [`Crawler`], [`CrawlerBuilder`]; handlers: [`Page`], [`Change`], [`Context`]; what happens: [`Event`], [`UrlOutcome`], [`Summary`], [`Progress`]; [`Pages`], [`Sink`]; [`StopHandle`], [`PauseHandle`]; [`Error`]; [`StoppedCrawl`]: erasure |

mod builder;
pub mod config;
mod context;
pub mod control;
mod count;
mod crawler;
mod directory;
mod engine;
#[cfg(feature = "disk")]
mod erasing;
mod error;
mod events;
mod handler;
mod keep;
mod marking;
mod open;
mod outcome;
mod page;
mod pages;
mod parts;
mod pause;
#[cfg(feature = "disk")]
mod pending {
    pub(crate) use comity_store::Pending;
}
#[cfg(not(feature = "disk"))]
#[path = "pending/without.rs"]
mod pending;
mod progress;
#[cfg(feature = "warc")]
mod recording;
#[cfg(not(feature = "warc"))]
#[path = "recording/without.rs"]
mod recording;
mod remembered;
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

#[cfg(feature = "warc")]
pub use comity_archive as archive;
pub use comity_extract as extract;
pub use comity_fetch as fetch;
pub use comity_frontier as frontier;
pub use comity_policy as policy;
pub use comity_signals as signals;
pub use comity_url as url;
pub use context::{Context, Enqueue, EnqueueError};
pub use crawler::{Crawler, CrawlerBuilder};
pub(crate) use engine::Tally;
#[cfg(feature = "disk")]
pub use erasing::{Erased, StoppedCrawl};
pub use error::Error;
pub use events::{Event, Events, Proposed, RobotsSeen};
pub use handler::{BoxError, HandlerOutput, HandlerResult};
pub use outcome::{UrlEnding, UrlOutcome};
pub use page::{Change, Page};
pub use pages::{Delivered, Pages};
pub use pause::PauseHandle;
pub use progress::{Progress, RobotsFault};
pub use seeds::Seed;
pub use sink::Sink;
pub use stop::{Stop, StopHandle};
pub use summary::{End, OverrideUse, Summary};
