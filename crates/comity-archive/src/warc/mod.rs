//! WARC/1.1 out and in.

pub(crate) mod coder;
pub(crate) mod grammar;
mod gzip;
pub(crate) mod http_head;
pub(crate) mod info;
pub(crate) mod member;
pub(crate) mod open_member;
pub(crate) mod padded;
pub(crate) mod reader;
pub(crate) mod record;
pub(crate) mod scan;
pub(crate) mod stream;
pub(crate) mod text;
pub(crate) mod writer;
mod zstd_frame;
