//! The gate under other people's HTTP clients: a `tower` layer.

mod body;
mod error;
mod layer;
mod names;
mod sending;
mod target;

pub use body::PoliteBody;
pub use error::PoliteError;
pub use layer::{Polite, PoliteLayer};
pub use names::CheckedNames;
pub use target::Unsendable;
