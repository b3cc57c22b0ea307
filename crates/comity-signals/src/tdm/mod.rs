//! TDMRep (W3C Community Group final report of 10 May 2024): a reservation of text and data mining rights, said by a file,
//! a header field or a meta element, the later of which supersedes the earlier (signals reference §6).
//!
//! | file | what it holds |
//! |---|---|
//! | `file` | [`Tdmrep`]: `/.well-known/tdmrep.json`, compiled once per origin |
//! | `rule` | one rule of it |
//! | `layers` | [`TdmReading`]: the layers of one resource, and what they come to |

mod file;
mod layers;
mod rule;

pub use file::Tdmrep;
pub use layers::{Reservation, TdmLayer, TdmReading};
