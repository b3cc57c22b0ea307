use std::io::{self, Write};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};

/// The content coding of a synthetic body (RFC 9110 §8.4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Coding {
    /// None.
    #[default]
    Identity,
    /// `gzip`.
    Gzip,
    /// `deflate`, in its zlib form.
    Deflate,
    /// `br`; written in stored blocks, so that the body does not shrink.
    Brotli,
    /// `zstd`.
    Zstd,
}

impl Coding {
    /// The value of Content-Encoding; `None` for identity.
    #[must_use]
    pub const fn token(self) -> Option<&'static str> {
        match self {
            Self::Identity => None,
            Self::Gzip => Some("gzip"),
            Self::Deflate => Some("deflate"),
            Self::Brotli => Some("br"),
            Self::Zstd => Some("zstd"),
        }
    }

    /// Codes `plain` whole.
    ///
    /// # Errors
    /// What the encoder reports; none does on memory.
    pub fn encode(self, plain: &[u8]) -> io::Result<Bytes> {
        let coded = match self {
            Self::Identity => plain.to_vec(),
            Self::Gzip => {
                let mut coder = GzEncoder::new(Vec::new(), Compression::fast());
                coder.write_all(plain)?;
                coder.finish()?
            }
            Self::Deflate => {
                let mut coder = ZlibEncoder::new(Vec::new(), Compression::fast());
                coder.write_all(plain)?;
                coder.finish()?
            }
            Self::Brotli => stored_brotli(plain),
            Self::Zstd => zstd::encode_all(plain, 1)?,
        };
        Ok(Bytes::from(coded))
    }
}

/// Brotli without compression (RFC 7932 §9.2): an uncompressed meta-block for every 64 KiB, then an empty last one.
fn stored_brotli(plain: &[u8]) -> Vec<u8> {
    const BLOCK: usize = 1 << 16;
    let mut coded = Vec::with_capacity(plain.len() + 3 * (plain.len() / BLOCK + 2));
    for (number, block) in plain.chunks(BLOCK).enumerate() {
        let length = u32::try_from(block.len() - 1).unwrap_or(0);
        // ISLAST 0, MNIBBLES 00 (four nibbles), MLEN - 1, ISUNCOMPRESSED 1; the stream starts with WBITS 0 (64 KiB).
        let header = (length << 3) | (1 << 19);
        let header = if number == 0 { header << 1 } else { header };
        coded.extend(header.to_le_bytes().into_iter().take(3));
        coded.extend_from_slice(block);
    }
    // WBITS 0 if nothing stands before; ISLAST 1, ISLASTEMPTY 1.
    coded.push(if plain.is_empty() { 0b110 } else { 0b11 });
    coded
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn every_coding_is_undone_by_the_decoder_of_somebody_else() {
        for size in [0_usize, 1, 65_535, 65_536, 65_537, 200_000] {
            let plain: Vec<u8> = (0..size).map(|i| u8::try_from(i % 251).unwrap()).collect();
            for coding in [Coding::Identity, Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstd] {
                let coded = coding.encode(&plain).unwrap();
                let mut back = Vec::new();
                let decoded = match coding {
                    Coding::Identity => coded.as_ref().read_to_end(&mut back),
                    Coding::Gzip => flate2::read::GzDecoder::new(coded.as_ref()).read_to_end(&mut back),
                    Coding::Deflate => flate2::read::ZlibDecoder::new(coded.as_ref()).read_to_end(&mut back),
                    Coding::Brotli => {
                        brotli_decompressor::Decompressor::new(coded.as_ref(), 4096).read_to_end(&mut back)
                    }
                    Coding::Zstd => zstd::Decoder::new(coded.as_ref()).unwrap().read_to_end(&mut back),
                };
                assert!(decoded.is_ok_and(|_| back == plain), "{coding:?} of {size} bytes");
            }
        }
    }
}
