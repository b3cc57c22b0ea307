use std::io;

use super::gzip::Gzip;
use super::zstd_frame::Zstd;
use crate::WarcFormat;

/// What makes a member of each record: one that is reused, never rebuilt, since it is large.
#[derive(Debug)]
pub(crate) enum Coder {
    Gzip(Box<Gzip>),
    Zstd(Box<Zstd>),
}

impl Coder {
    /// # Errors
    /// When the library gives no compressor.
    pub(crate) fn new(format: WarcFormat, level: u32) -> io::Result<Self> {
        Ok(match format {
            WarcFormat::Gzip => Self::Gzip(Box::new(Gzip::new(level))),
            WarcFormat::Zstd => Self::Zstd(Box::new(Zstd::new(level)?)),
        })
    }

    /// Starts a member of `len` bytes at the end of `out`.
    ///
    /// # Errors
    /// When the compressor refuses.
    pub(crate) fn begin(&mut self, len: u64, out: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Self::Gzip(gzip) => {
                gzip.begin(len, out);
                Ok(())
            }
            Self::Zstd(zstd) => zstd.begin(len),
        }
    }

    /// Compresses more of the member.
    pub(crate) fn write(&mut self, input: &[u8], out: &mut Vec<u8>) {
        match self {
            Self::Gzip(gzip) => gzip.write(input, out),
            Self::Zstd(zstd) => zstd.write(input, out),
        }
    }

    /// Ends the member.
    ///
    /// # Errors
    /// When the compressor failed anywhere in the member: `out` must not be used then.
    pub(crate) fn finish(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Self::Gzip(gzip) => gzip.finish(out),
            Self::Zstd(zstd) => zstd.finish(out),
        }
    }
}
