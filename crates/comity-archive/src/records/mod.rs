//! Record files: JSON lines in zstd frames.

pub(crate) mod pack;
pub(crate) mod reader;
pub(crate) mod writer;
