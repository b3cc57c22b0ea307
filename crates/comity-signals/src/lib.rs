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
//! use comity_signals::{Preferences, Purpose, Source, Statement, Verdict};
//!
//! let train = Statement::new(Source::RobotsContentSignal, Purpose::AiTrain, Verdict::Denied, "ai-train=no");
//! let search = Statement::new(Source::HeaderContentUsage, Purpose::Search, Verdict::Allowed, "search=y");
//! let preferences = Preferences::combine(&[train, search]);
//! assert_eq!(preferences.verdict(Purpose::AiTrain), Verdict::Denied);
//! assert_eq!(preferences.verdict(Purpose::Search), Verdict::Allowed);
//! assert_eq!(preferences.verdict(Purpose::Tdm), Verdict::Unspecified);
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | `purpose` | [`Purpose`], [`Declared`]: what content is wanted for |
//! | `statement` | [`Statement`], [`Verdict`], [`Source`], [`Place`]: one wish, where it was read |
//! | `preferences` | [`Preferences`]: the statements of one resource, combined |
//! | `head` | [`HeadFacts`]: what a page's head says, filled by `comity-extract` |

mod head;
mod preferences;
mod purpose;
mod robots;
mod statement;

pub use head::{HeadFacts, RobotsMeta};
pub use preferences::Preferences;
pub use purpose::{Declared, ParsePurposeError, Purpose};
pub use robots::robots_preferences;
pub use statement::{Place, Source, Statement, Verdict};
