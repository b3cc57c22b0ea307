//! The loop that carries values from one owner to the next, and decides nothing itself.

mod links;
mod outcome;
mod run;
mod shared;
mod sink;
mod tally;
mod visit;

pub(crate) use run::Engine;
pub(crate) use shared::{Handlers, Shared};
pub(crate) use tally::Tally;
