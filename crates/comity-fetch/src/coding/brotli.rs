use brotli_decompressor::{BrotliDecompressStream, BrotliResult, BrotliState, StandardAlloc};

use super::{Decode, Halt, Out, PIECE};

/// br (RFC 7932), windows of 16 MiB at most: the "large window" extension is not of the web.
pub(crate) struct Brotli {
    state: Box<BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>>,
    buffer: Box<[u8; PIECE]>,
    begun: bool,
    ended: bool,
}

impl Brotli {
    pub(crate) fn new() -> Self {
        let allocator = StandardAlloc::default;
        let state = Box::new(BrotliState::new_strict(allocator(), allocator(), allocator()));
        Self { state, buffer: Box::new([0; PIECE]), begun: false, ended: false }
    }
}

impl Decode for Brotli {
    fn push(&mut self, input: &[u8], out: &mut Out<'_>) -> Result<(), Halt> {
        self.begun |= !input.is_empty();
        let (mut left, mut at, mut total) = (input.len(), 0, 0);
        while !self.ended {
            let (mut room, mut made) = (PIECE, 0);
            let result = BrotliDecompressStream(
                &mut left,
                &mut at,
                input,
                &mut room,
                &mut made,
                &mut self.buffer[..],
                &mut total,
                &mut self.state,
            );
            if made > 0 {
                out(self.buffer.get(..made).unwrap_or_default())?;
            }
            match result {
                BrotliResult::ResultSuccess => self.ended = true,
                BrotliResult::ResultFailure => return Err(Halt::Broken("not in the format that br names")),
                BrotliResult::NeedsMoreInput => return Ok(()),
                BrotliResult::NeedsMoreOutput => {}
            }
        }
        Ok(())
    }

    fn end(&self) -> Result<(), Halt> {
        if self.ended || !self.begun { Ok(()) } else { Err(Halt::Broken("br ends before its end")) }
    }
}
