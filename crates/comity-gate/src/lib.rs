//! The one door: robots cache, pacing and permits, shared by crawler, gateway and other people's HTTP clients.
//!
//! A [`Gate`] answers two questions. *May it?* — [`Judge::judge`](comity_policy::Judge), synchronous, from the cache.
//! *Now?* — [`Gate::admit`], which resolves and checks the addresses, takes the origin's and the address's turn and
//! gives a [`Permit`](comity_policy::Permit), or the instant to come back with the clock that binds.
//!
//! robots.txt is fetched here and nowhere else: one flight per origin in a task of the gate's own, every hop with a
//! turn of its own, failure read as "disallow all" and never as permission.
//!
//! An origin that is opted out sees no request at all, robots.txt included: opt-outs come before everything, from files that
//! may grow while the gate works. Written overrides bend what their scope names, and end at their instant.
//!
//! The gate is not a client (that is `comity-fetch`) and no queue of URLs (that is `comity-frontier`).
//!
//! # Under another client
//!
//! [`PoliteLayer`] makes any HTTP client polite that is a `tower` service (`examples/polite-reqwest`,
//! `examples/polite-hyper`). Without tower it takes a permit before and a settlement after:
//!
//! ```no_run
//! use comity_gate::policy::{Identity, Outcome};
//! use comity_gate::{Gate, GateConfig, fetch::FetchConfig, url::CrawlUrl};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let identity = Identity::new("MyBot/1.0", "https://example.com/bot", &[], Vec::new())?;
//! let fetch = FetchConfig::new(identity.user_agent());
//! let gate = Gate::system(GateConfig::new(identity), fetch)?;
//!
//! let url = CrawlUrl::parse("https://example.test/page")?;
//! let permit = gate.permit(&url).await?; // or: robots.disallow: … (disallow: /private/, line 3)
//! let handed = gate.clock().now();
//! let mut exchange = permit.redeem(handed)?;
//! let status = 200; // ask your client for `url`, byte for byte, at one of `exchange.candidates()`
//! let now = gate.clock().now();
//! exchange.written_since(handed, now);
//! exchange.head(now);
//! let _paced = gate.settle(exchange.finish(), Outcome::Answered { status, retry_after: None, rate_limit: None });
//! # Ok(())
//! # }
//! ```
//!
//! Dropping the exchange without these calls counts as "never written": a client that may have written says so first.
//!
//! # In a crawler
//!
//! A frontier leases a URL with its allowance, and the engine asks for the turn only:
//!
//! ```no_run
//! # async fn example(gate: comity_gate::Gate) -> Result<(), Box<dyn std::error::Error>> {
//! use comity_gate::Admission;
//! use comity_policy::{Judge, Judgement, OriginPace};
//! use comity_url::CrawlUrl;
//!
//! let url = CrawlUrl::parse("https://example.test/page")?;
//! gate.robots(url.origin()).await;
//! if let Judgement::Allow(allowance) = gate.judge(&url) {
//!     match gate.admit(allowance, OriginPace::default()).await {
//!         Admission::Permit(permit) => println!("may be sent now: {}", permit.url()),
//!         Admission::Wait(turn) => println!("not before {:?}: {}", turn.ready.at, turn.ready.clock),
//!         Admission::OptedOut(refusal) => println!("never: {:?}", refusal.decision().optout),
//!         Admission::Refuse(refused) => println!("never: {}", refused.reason),
//!     }
//! }
//! # Ok(())
//! # }
//! ```

mod admit;
mod cache;
mod change;
mod compiler;
mod explain;
mod fetched;
mod files;
mod flight;
mod gate;
mod optouts;
mod overrides;
mod parks;
mod permit;
mod polite;
mod queues;
mod rates;
mod reading;
mod recorder;
#[cfg(feature = "disk")]
mod remember;
#[cfg(not(feature = "disk"))]
#[path = "remember/without.rs"]
mod remember;
#[cfg(feature = "disk")]
mod state;
mod trail;
mod waiting;

pub use comity_fetch as fetch;
pub use comity_policy as policy;
pub use comity_signals as signals;
pub use comity_url as url;

pub use admit::Admission;
pub use cache::RobotsNews;
pub use change::GateChange;
pub use explain::{
    AddressReport, ClockReport, FailingReport, OptOutReport, OriginReport, OverrideReport, RobotsReport, RuleReport,
    UrlReport,
};
pub use fetched::{
    AskRobots, FetchedRobots, HopMeaning, NotFollowed, RobotsClass, RobotsFetch, RobotsHop, fetch_robots,
};
pub use files::{AskFiles, AskTdmrep};
pub use gate::{Gate, GateConfig};
pub use optouts::{OptOutFault, OptOutFiles, OptOutReading, append_optout};
pub use parks::OperatorPark;
pub use permit::{Later, NoPermit};
pub use polite::{CheckedNames, Polite, PoliteBody, PoliteError, PoliteLayer, Unsendable};
pub use rates::{ParseRateError, Rate};
pub use recorder::{NoRecorder, RecalledFile, RecalledRobots, Recorder, RobotsVisit, SiteFileOutcome, SiteFileVisit};
#[cfg(feature = "disk")]
pub use state::{RememberedOrigin, StateDir, StateError};
