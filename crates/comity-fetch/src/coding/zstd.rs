use zstd::stream::raw::{DParameter, Decoder, InBuffer, Operation, OutBuffer};

use super::{Decode, Halt, Out, PIECE};

/// zstd (RFC 8878), windows of 8 MiB at most (RFC 9659 §3); several frames in a row; what follows the last and is no
/// frame is passed over.
pub(crate) struct Zstd {
    decoder: Decoder<'static>,
    buffer: Box<[u8; PIECE]>,
    place: Place,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Empty,
    Frame,
    Between,
    Trailing,
}

/// log2 of the largest window.
const WINDOW_LOG: u32 = 23;

impl Zstd {
    pub(crate) fn new() -> Result<Self, Halt> {
        let set_up = || -> std::io::Result<Decoder<'static>> {
            let mut decoder = Decoder::new()?;
            decoder.set_parameter(DParameter::WindowLogMax(WINDOW_LOG))?;
            Ok(decoder)
        };
        let decoder = set_up().map_err(|_| Halt::Broken("zstd cannot be set up"))?;
        Ok(Self { decoder, buffer: Box::new([0; PIECE]), place: Place::Empty })
    }

    /// One step; how much of `input` it took and how much it made.
    fn step(&mut self, input: &[u8]) -> Result<(usize, usize), Halt> {
        let mut source = InBuffer::around(input);
        let mut target = OutBuffer::around(&mut self.buffer[..]);
        match self.decoder.run(&mut source, &mut target) {
            Ok(0) => self.place = Place::Between,
            Ok(_) => self.place = Place::Frame,
            Err(_) if self.place == Place::Between => {
                self.place = Place::Trailing;
                return Ok((input.len(), 0));
            }
            Err(_) => return Err(Halt::Broken("not in the format that zstd names")),
        }
        Ok((source.pos(), target.pos()))
    }
}

impl Decode for Zstd {
    fn push(&mut self, mut input: &[u8], out: &mut Out<'_>) -> Result<(), Halt> {
        // A full buffer may mean that more is waiting inside, without any further input.
        let mut full = false;
        while self.place != Place::Trailing && (!input.is_empty() || full) {
            let (took, made) = self.step(input)?;
            input = input.get(took..).unwrap_or_default();
            full = made == PIECE && self.place == Place::Frame;
            if made > 0 {
                out(self.buffer.get(..made).unwrap_or_default())?;
            }
            if took == 0 && made == 0 {
                break;
            }
        }
        Ok(())
    }

    fn end(&self) -> Result<(), Halt> {
        if self.place == Place::Frame { Err(Halt::Broken("zstd ends before its end")) } else { Ok(()) }
    }
}
