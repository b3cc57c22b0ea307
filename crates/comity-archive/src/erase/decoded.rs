//! Bodies as their sites coded them, decoded as they come: for a search, so as far as they can be.

use std::io::{self, Write};

use brotli_decompressor::DecompressorWriter as Brotli;
use flate2::write::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use zstd::stream::write::Decoder as Zstd;

/// Codings of one body that are taken off: nobody sends more (our choice).
const MOST_CODINGS: usize = 4;
/// The window of a zstd frame, at most, as a power of two: what its library takes by itself. What HTTP allows is 23 (RFC 9659 §3).
const MOST_WINDOW: u32 = 27;
/// Bytes that leave a brotli decoder at once.
const BROTLI_PIECE: usize = 32 * 1024;

/// Takes off the codings of a body, and hands what is left to `W`.
pub(super) enum Decoded<W: Write> {
    Plain(W),
    Gzip(Box<MultiGzDecoder<Self>>),
    Zlib(Box<ZlibDecoder<Self>>),
    Deflate(Box<DeflateDecoder<Self>>),
    Brotli(Box<Brotli<Self>>),
    Zstd(Box<Zstd<'static, Self>>),
}

/// What `Content-Encoding: deflate` means: the standard says zlib, some send it without its wrapper.
#[derive(Clone, Copy, Debug)]
enum Inflate {
    Zlib,
    Raw,
}

/// The ways to read a body of these codings, in the order in which they were applied; none where it is not coded, or in a way that
/// is not known.
pub(super) fn ways<W: Write>(codings: &[String], end: impl Fn() -> W) -> Vec<Decoded<W>> {
    let codings = codings.get(..MOST_CODINGS).unwrap_or(codings);
    let is_deflate = codings.iter().any(|coding| coding == "deflate");
    let inflates: &[Inflate] = if is_deflate { &[Inflate::Zlib, Inflate::Raw] } else { &[Inflate::Zlib] };
    let chains = inflates.iter().filter_map(|inflate| chain(codings, end(), *inflate));
    chains.filter(|chain| !matches!(chain, Decoded::Plain(_))).collect()
}

/// Decoders of all codings, the last of which is taken off first.
fn chain<W: Write>(codings: &[String], end: W, inflate: Inflate) -> Option<Decoded<W>> {
    codings.iter().try_fold(Decoded::Plain(end), |inner, coding| {
        Some(match (coding.as_str(), inflate) {
            ("gzip" | "x-gzip", _) => Decoded::Gzip(Box::new(MultiGzDecoder::new(inner))),
            ("deflate", Inflate::Zlib) => Decoded::Zlib(Box::new(ZlibDecoder::new(inner))),
            ("deflate", Inflate::Raw) => Decoded::Deflate(Box::new(DeflateDecoder::new(inner))),
            ("br", _) => Decoded::Brotli(Box::new(Brotli::new(inner, BROTLI_PIECE))),
            ("zstd", _) => {
                let mut raw = zstd::stream::raw::Decoder::new().ok()?;
                raw.set_parameter(zstd::zstd_safe::DParameter::WindowLogMax(MOST_WINDOW)).ok()?;
                Decoded::Zstd(Box::new(Zstd::with_decoder(inner, raw)))
            }
            ("identity" | "", _) => inner,
            _ => return None,
        })
    })
}

/// The codings that a head names, in order.
pub(super) fn codings(head: &[u8]) -> Vec<String> {
    let mut codings = Vec::new();
    for line in String::from_utf8_lossy(head).lines() {
        let Some((name, value)) = line.split_once(':') else { continue };
        if name.trim().eq_ignore_ascii_case("content-encoding") {
            codings.extend(value.split(',').map(|word| word.trim().to_ascii_lowercase()));
        }
    }
    codings
}

impl<W: Write> Decoded<W> {
    /// Nothing comes any more: what is held back anywhere is handed on. A body that ends within its coding was read up to there.
    pub(super) fn end(&mut self) -> &mut W {
        match self {
            Self::Plain(end) => end,
            Self::Gzip(inner) => {
                drop(inner.try_finish());
                inner.get_mut().end()
            }
            Self::Zlib(inner) => {
                drop(inner.try_finish());
                inner.get_mut().end()
            }
            Self::Deflate(inner) => {
                drop(inner.try_finish());
                inner.get_mut().end()
            }
            Self::Brotli(inner) => {
                drop(inner.close());
                inner.get_mut().end()
            }
            Self::Zstd(inner) => {
                drop(inner.flush());
                inner.get_mut().end()
            }
        }
    }
}

impl<W: Write> Write for Decoded<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(inner) => inner.write(bytes),
            Self::Gzip(inner) => inner.write(bytes),
            Self::Zlib(inner) => inner.write(bytes),
            Self::Deflate(inner) => inner.write(bytes),
            Self::Brotli(inner) => inner.write(bytes),
            Self::Zstd(inner) => inner.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(inner) => inner.flush(),
            Self::Gzip(inner) => inner.flush(),
            Self::Zlib(inner) => inner.flush(),
            Self::Deflate(inner) => inner.flush(),
            Self::Brotli(inner) => inner.flush(),
            Self::Zstd(inner) => inner.flush(),
        }
    }
}
