use std::fmt;
use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;

use crate::counting::Counting;

/// The inflated bytes of one member, which tells by its first bytes how it is compressed. It ends where the member ends: what
/// follows is left in the input.
pub(crate) enum OpenMember<'a, R: BufRead> {
    Gzip(Box<GzDecoder<&'a mut Counting<R>>>),
    Zstd(zstd::stream::read::Decoder<'static, &'a mut Counting<R>>),
}

/// How a zstd frame begins (RFC 8878 §3.1.1).
const ZSTD: u8 = 0x28;

impl<'a, R: BufRead> OpenMember<'a, R> {
    /// Opens the member at the begin of `input`, whatever it is.
    ///
    /// # Errors
    /// When the input cannot be read.
    pub(crate) fn new(input: &'a mut Counting<R>) -> io::Result<Self> {
        if input.fill_buf()?.first() == Some(&ZSTD) {
            return Ok(Self::Zstd(zstd::stream::read::Decoder::with_buffer(input)?.single_frame()));
        }
        Ok(Self::Gzip(Box::new(GzDecoder::new(input))))
    }
}

impl<R: BufRead> Read for OpenMember<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Gzip(decoder) => decoder.read(buffer),
            Self::Zstd(decoder) => decoder.read(buffer),
        }
    }
}

impl<R: BufRead> fmt::Debug for OpenMember<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if matches!(self, Self::Gzip(_)) { "OpenMember::Gzip" } else { "OpenMember::Zstd" })
    }
}
