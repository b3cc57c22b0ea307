//! May it be fetched, and when: the pure core of comity.
//!
//! Values and pure functions only: no I/O, no task, no clock reading. Time is an [`Instant`] or a [`WallTime`] that
//! is passed in, randomness comes through [`Random`]. This crate is not a client and holds no cache: `comity-gate`
//! does, and asks here.
//!
//! No request leaves without a [`Permit`]: an [`Allowance`], which only [`judge`] makes for that very URL, joined with
//! a [`Slot`], which only the [`Pacer`] makes for that very origin.
//!
//! ```
//! use std::sync::Arc;
//! use comity_policy::{OriginPace, Outcome, Pacer, Permit, Politeness, SeededRandom};
//! use comity_policy::{Instant, RobotsChain};
//! use comity_url::Origin;
//!
//! # #[expect(clippy::disallowed_methods, reason = "the example shows what the gate does")]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let origin = Origin::parse("https://example.test")?;
//! let pacer = Pacer::new(Politeness::default(), Arc::new(SeededRandom::new(1)));
//! let now = Instant::from_micros(1);
//! let slot = pacer.try_slot(&origin, Vec::new(), now).map_err(|ready| format!("{ready:?}"))?;
//! let mut exchange = Permit::for_robots(&RobotsChain::new(&origin), slot)?.redeem(now)?;
//! exchange.written(now);
//! exchange.head(now);
//! let _pace = pacer.settle(exchange.finish(), Outcome::answered(200), now);
//! assert!(pacer.try_slot(&origin, Vec::new(), now).is_err(), "the floor of one second runs from the head");
//! # Ok(())
//! # }
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | `clock`, `random` | [`Clock`], [`Instant`], [`WallTime`], [`Moment`], [`Random`]: what is passed in |
//! | `reason` | [`Reason`]: one vocabulary of outcomes |
//! | `robots_event`, `robots_life` | [`RobotsEvent`], [`RobotsLife`]: the states of one origin's robots.txt |
//! | `life_memory`, `pace_memory` | [`LifeMemory`], [`PaceMemory`]: lives and paces over restarts |
//! | `pace_parts` | [`UsualPace`], [`HeldPace`]: an [`OriginPace`] in two parts, of which most origins have one |
//! | `judge`, `decision` | [`judge`], [`Judge`], [`Judgement`], [`Decision`]: may it, and by which line |
//! | `site_file` | [`SiteFile`]: what is known of a site's tdmrep.json, its ai.txt and trust.txt, its licences |
//! | `content` | [`judge_content`], [`ContentPermit`]: may the answer be kept |
//! | `overrides` | [`Override`], [`Overrides`]: written exceptions per origin, which run out |
//! | `grants` | [`Grant`], [`Grants`]: uses that a licence, a contract or a law permits |
//! | `reviews` | [`Review`], [`Reviews`]: what was read in the terms of sites |
//! | `optout` | [`OptOuts`]: origins and domains that see no request at all |
//! | `politeness`, `pace`, `pacer`, `slot` | [`Politeness`], [`OriginPace`], [`AddressPace`], [`Pacer`], [`Slot`]: when |
//! | `asked`, `hours` | [`AskedPace`]: what robots.txt asks about pace, hours of the day included |
//! | `rate_limit`, `retry_after` | [`PaceFields`], [`RateLimit`]: what an answer's fields ask about pace |
//! | `permit`, `chain` | [`Permit`], [`Exchange`], [`Receipt`], [`RobotsChain`]: the life of a request |
//! | `capture` | [`Capture`]: what was sent and received |
//! | `vantage` | [`Vantage`], [`Via`]: from where |
//! | `identity` | [`Identity`]: who we are |

mod asked;
mod capture;
mod chain;
mod clock;
mod content;
mod decision;
mod digest;
mod grants;
mod hours;
mod identity;
mod judge;
mod life_memory;
mod net;
mod optout;
mod overrides;
mod pace;
mod pace_bytes;
mod pace_memory;
mod pace_parts;
mod pacer;
mod permit;
mod politeness;
mod random;
mod rate_limit;
mod reason;
mod retry_after;
mod reviews;
mod robots_event;
mod robots_life;
mod site_file;
mod slot;
mod vantage;
mod words;

pub use asked::{Aim, AskedPace, Opening};
pub use capture::{Capture, Protocol, Spool, StoredBody, Timings, TlsFacts, Truncation};
pub use chain::{ChainEnd, RobotsChain};
pub use clock::{Clock, Instant, Moment, WallTime, WallTimeError};
pub use content::{Answered, Content, ContentPermit, Silence, Stage, judge_content};
pub use decision::{Decision, RobotsBasis, RobotsEvidence, RobotsState, RuleEvidence};
pub use digest::{Digest, DigestError};
pub use grants::{Grant, GrantBasis, GrantDraft, GrantError, Grants};
pub use identity::{Identity, IdentityError};
pub use judge::{Allowance, Hold, Judge, Judgement, Refusal, Terms, judge, judge_site};
pub use life_memory::{KnownMemory, LifeMemory, Remembered};
pub use net::{Network, NetworkError};
pub use optout::{OptOut, OptOutAction, OptOutLine, OptOutTarget, OptOutTargetError, OptOuts};
pub(crate) use overrides::Lifting;
pub use overrides::{
    Lifted, Overridden, Override, OverrideBasis, OverrideDraft, OverrideError, OverrideScope, Overrides,
};
pub use pace::{AddressPace, ClockReading, OriginPace, Outcome, Ready};
pub use pace_memory::PaceMemory;
pub use pace_parts::{HeldPace, UsualPace};
pub use pacer::{AddressClock, OriginClocks, Overlap, Pacer, Parked, Turn};
pub use permit::{Errand, Exchange, Permit, Receipt, StalePermit, WrongOrigin};
pub use politeness::{Adaptive, AddressLimits, Floor, Politeness};
pub use random::{Random, SeededRandom};
pub use rate_limit::{PaceFields, PaceNote, RateLimit};
pub use reason::Reason;
pub use retry_after::{parse_http_date, parse_retry_after};
pub use reviews::{Review, ReviewDraft, ReviewError, Reviews};
pub use robots_event::{OnUnreachable, RobotsCopy, RobotsEvent, RobotsPolicy, Validators};
pub use robots_life::{Failing, RobotsLife, Standing};
pub use site_file::{NamedLicence, SiteCopy, SiteFile, SiteFileKind, SiteFileState, SiteFiles, SiteRules};
pub use slot::Slot;
pub use vantage::{Form, Names, Vantage, Via};
