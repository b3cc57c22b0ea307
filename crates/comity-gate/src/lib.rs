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
//! The gate is not a client (that is `comity-fetch`) and no queue (that is `comity-frontier`).
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
mod compiler;
mod explain;
mod fetched;
mod flight;
mod gate;
mod optouts;
mod overrides;
mod permit;
mod polite;
mod queues;
mod rates;
mod reading;
mod recorder;
mod remember;
mod state;
mod trail;

pub use admit::Admission;
pub use cache::RobotsNews;
pub use explain::{
    AddressReport, ClockReport, FailingReport, OptOutReport, OriginReport, OverrideReport, RobotsReport, RuleReport,
    UrlReport,
};
pub use fetched::{
    AskRobots, FetchedRobots, HopMeaning, NotFollowed, RobotsClass, RobotsFetch, RobotsHop, fetch_robots,
};
pub use gate::{Gate, GateConfig};
pub use optouts::{OptOutFault, OptOutFiles, OptOutReading, append_optout};
pub use permit::{Later, NoPermit};
pub use polite::{CheckedNames, Polite, PoliteBody, PoliteError, PoliteLayer, Unsendable};
pub use rates::{ParseRateError, Rate};
pub use recorder::{NoRecorder, RecalledRobots, Recorder, RobotsVisit};
pub use state::{RememberedOrigin, StateDir, StateError};
