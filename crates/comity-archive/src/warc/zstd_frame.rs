use std::fmt;
use std::io;

use zstd::stream::raw::{CParameter, Encoder, InBuffer, Operation, OutBuffer};

/// Room that compressed bytes pass through.
const ROOM: usize = 32 * 1024;

/// Writes zstd frames one after the other, each with its content's size and checksum (archive reference §4).
pub(crate) struct Zstd {
    encoder: Encoder<'static>,
    room: Vec<u8>,
    failed: Option<io::Error>,
}

impl fmt::Debug for Zstd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Zstd").field("failed", &self.failed).finish_non_exhaustive()
    }
}

impl Zstd {
    /// `level` 1 to 9; 0 is the library's default.
    pub(crate) fn new(level: u32) -> io::Result<Self> {
        let mut encoder = Encoder::new(i32::try_from(level).unwrap_or_default())?;
        encoder.set_parameter(CParameter::ChecksumFlag(true))?;
        Ok(Self { encoder, room: vec![0; ROOM], failed: None })
    }

    /// Starts a frame that will hold `len` bytes.
    pub(crate) fn begin(&mut self, len: u64) -> io::Result<()> {
        self.failed = None;
        self.encoder.reinit()?;
        self.encoder.set_pledged_src_size(Some(len))
    }

    /// Compresses more of the frame.
    pub(crate) fn write(&mut self, input: &[u8], out: &mut Vec<u8>) {
        let mut input = InBuffer::around(input);
        while self.failed.is_none() && input.pos() < input.src.len() {
            let mut output = OutBuffer::around(&mut self.room[..]);
            match self.encoder.run(&mut input, &mut output) {
                Ok(_) => out.extend_from_slice(output.as_slice()),
                Err(error) => self.failed = Some(error),
            }
        }
    }

    /// Ends the frame.
    ///
    /// # Errors
    /// When the compressor failed anywhere in the frame, or less or more was written than [`Self::begin`] was told: `out`
    /// must not be used then.
    pub(crate) fn finish(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        loop {
            let mut output = OutBuffer::around(&mut self.room[..]);
            let left = self.encoder.finish(&mut output, true)?;
            out.extend_from_slice(output.as_slice());
            if left == 0 {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_say_their_size_and_inflate_to_what_was_written() {
        let text: Vec<u8> = (0..200_000_u32).flat_map(|n| (n.wrapping_mul(2_654_435_761) >> 7).to_le_bytes()).collect();
        let (mut zstd, mut out) = (Zstd::new(3).unwrap(), Vec::new());
        for part in [&text[..], b"", b"x"] {
            let start = out.len();
            zstd.begin(part.len() as u64).unwrap();
            part.chunks(70_001).for_each(|chunk| zstd.write(chunk, &mut out));
            zstd.finish(&mut out).unwrap();
            assert_eq!(zstd::zstd_safe::get_frame_content_size(&out[start..]).unwrap(), Some(part.len() as u64));
        }
        let back = zstd::stream::decode_all(&out[..]).unwrap();
        assert!(back.starts_with(&text) && back.len() == text.len() + 1);
        zstd.begin(3).unwrap();
        zstd.write(b"four", &mut out);
        assert!(zstd.finish(&mut out).is_err(), "more than was said");
    }
}
