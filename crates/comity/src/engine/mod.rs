//! The loop that carries values from one owner to the next, and decides nothing itself.

mod content;
mod discovery;
mod errand;
mod faults;
mod handling;
mod keys;
mod licences;
mod links;
mod live;
mod outcome;
mod reading;
mod revisit;
mod run;
mod shared;
mod sink;
mod tally;
mod traps;
mod visit;

pub(crate) use faults::robots_faults;
pub(crate) use handling::{Desk, HandlerBounds};
pub(crate) use keys::Keys;
pub(crate) use live::Live;
pub(crate) use run::Engine;
pub(crate) use shared::{Handlers, Shared};
pub(crate) use tally::Tally;
pub(crate) use traps::Traps;
#[cfg(feature = "disk")]
pub(crate) use traps::forget as forget_traps;
