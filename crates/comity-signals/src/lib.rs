//! Rights and AI-preference signals: what a site asked for, raw and in one normal form.
//!
//! A *statement* is one wish read at one place: a robots.txt line, a header value, a meta element. Statements
//! combine to *preferences*: one [`Verdict`] per [`Purpose`]. The rule of combination is one-way: a denial
//! anywhere denies, silence stays silence, and a permission never undoes a denial of another carrier.
//!
//! This crate is pure: no I/O, no clock, no randomness. It is not a policy: what an operator does with an
//! unspecified verdict is decided in `comity-policy` and recorded apart.
//!
//! ```
//! use comity_robots::{Dialect, Robots};
//! use comity_signals::{HeadFacts, Purpose, UnixSeconds, Verdict, page_signals, robots_preferences};
//!
//! let robots = Robots::parse(b"User-agent: *\nContent-Signal: ai-train=no, search=yes\nAllow: /\n");
//! let rules = robots.rules(&["ExampleBot"], Dialect::Standard);
//! let before = robots_preferences(&rules, b"/page");
//! let denial = before.denial(Purpose::AiTrain).expect("line 2 says no");
//! assert_eq!(denial.raw, "ai-train=no, search=yes");
//!
//! // The page says yes, but a permission of one carrier never undoes a denial of another.
//! let fields = [("Content-Usage", "train-ai=y"), ("X-Robots-Tag", "nofollow")];
//! let page = page_signals(&fields, &HeadFacts::default(), "ExampleBot", false);
//! let preferences = page.preferences(before, UnixSeconds(1_796_000_000));
//! assert_eq!(preferences.verdict(Purpose::AiTrain), Verdict::Denied);
//! assert_eq!(preferences.verdict(Purpose::Search), Verdict::Allowed);
//! assert_eq!(preferences.verdict(Purpose::Tdm), Verdict::Unspecified);
//! assert!(!page.follow);
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | `purpose` | [`Purpose`], [`Declared`]: what content is wanted for |
//! | `statement` | [`Statement`], [`Verdict`], [`Source`], [`Place`]: one wish, where it was read, by which document |
//! | `preferences` | [`Preferences`]: the statements of one resource, combined |
//! | `resource` | [`ResourceReader`], [`Carriers`], [`ResourceSignals`]: all carriers at once |
//! | `constraints` | [`Constraints`], [`Remarks`]: what binds whatever the purpose, and what was odd |
//! | `options` | [`SignalOptions`], [`Profile`], [`LegacyLabels`], [`OthersTokens`]: how far signals are read beyond their words |
//! | `robots` | [`RobotsSignals`], [`RobotsReading`], [`robots_preferences`]: the lines of robots.txt |
//! | `policy_tokens` | [`PolicyToken`]: groups of robots.txt for a use |
//! | `agents` | [`AgentGroups`], [`AgentClass`]: what a robots.txt says to the agents of others |
//! | `page` | [`PageReader`], [`PageSignals`], [`page_signals`]: header fields and robots metas |
//! | `head` | [`HeadFacts`]: what a page's head says, filled by `comity-extract` |
//! | `tdm` | [`Tdmrep`], [`TdmReading`]: `tdmrep.json`, header and metas, in TDMRep's own order |
//! | `rsl` | [`RslPointers`], [`RslDocument`], [`RslConditions`]: licences of RSL 1.0 |
//! | `ai_txt`, `trust_txt` | [`AiTxt`], [`TrustTxt`] |
//! | `price` | [`PaymentDemand`], [`Price`], [`Budget`]: what an answer asks to be paid |
//! | `diagnostic` | [`Diagnostics`], [`DiagnosticCode`]: what was odd, beside the verdicts |
//! | `aipref`, `sf` | the AIPREF vocabulary, and the RFC 9651 dictionaries it is written in |
//! | [`link_field`] | `Link` fields of a response |
//! | `content_signal` | the Content Signals policy, with [`UseCeiling`] |
//! | `xrobots`, `date` | the grammar of robots rules, and [`UnixSeconds`] for their dates |
//! | `found`, `scope` | what a reading has found so far, bounded; path patterns about one origin |
//!
//! Compiled once and asked often: [`RobotsSignals`] per file, [`Tdmrep`] and [`AiTxt`] per origin, [`RslDocument`] per document.
//!
//! Limits: a reading keeps 8 statements of one carrier that say the same, 8 KiB of each raw text, and
//! [`MAX_DIAGNOSTICS_PER_CODE`] diagnostics of a code; what is left out changes no verdict. [`Tdmrep`] and [`RslDocument`]
//! read 1 MiB; what is longer only denies. The other bytes are bounded by who brings them: `comity-robots` for files and
//! lines, `comity-fetch` for header fields, `comity-extract` for heads.
//!
//! Elsewhere: paces (`comity-policy`), signatures (`comity-fetch`). Not read: C2PA, RSL in feeds and in embedded
//! metadata.

mod agents;
mod ai_txt;
mod aipref;
mod constraints;
mod content_signal;
mod date;
mod diagnostic;
mod found;
mod head;
pub mod link_field;
mod options;
mod page;
mod policy_tokens;
mod preferences;
mod price;
mod purpose;
mod resource;
mod robots;
mod rsl;
mod scope;
mod sf;
mod statement;
mod tdm;
mod trust_txt;
mod xrobots;

pub use agents::{AgentClass, AgentGroups};
pub use ai_txt::AiTxt;
pub use constraints::{Constraints, Remarks};
pub use content_signal::UseCeiling;
pub use date::UnixSeconds;
pub use diagnostic::{Diagnostic, DiagnosticCode, Diagnostics, MAX_DIAGNOSTICS_PER_CODE};
pub use head::{EmbeddedFacts, HeadFacts, LicenceLink, RobotsMeta};
pub use options::{LegacyLabels, OthersTokens, Profile, SignalOptions};
pub use page::{PageReader, PageSignals, page_signals};
pub use policy_tokens::{PolicyGroups, PolicyToken};
pub use preferences::Preferences;
pub use price::{Budget, PaymentAction, PaymentDemand, PaymentKind, Price};
pub use purpose::{Declared, ParsePurposeError, Purpose};
pub use resource::{Carriers, ResourceReader, ResourceSignals};
pub use robots::{RobotsReading, RobotsSignals, robots_preferences};
pub use rsl::{RslCarrier, RslConditions, RslDocument, RslPointer, RslPointers, RslReading};
pub use statement::{Place, Source, Statement, Verdict};
pub use tdm::{Reservation, TdmLayer, TdmReading, Tdmrep};
pub use trust_txt::TrustTxt;
