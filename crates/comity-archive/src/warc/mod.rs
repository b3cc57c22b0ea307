//! WARC/1.1 out and in.

pub(crate) mod grammar;
mod gzip;
pub(crate) mod http_head;
pub(crate) mod info;
pub(crate) mod reader;
pub(crate) mod record;
pub(crate) mod text;
pub(crate) mod writer;
