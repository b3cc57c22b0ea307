//! Record files: JSON lines in zstd frames.

pub(crate) mod reader;
pub(crate) mod writer;
