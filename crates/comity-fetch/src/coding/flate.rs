use flate2::{Decompress, FlushDecompress, Status};

use super::{Decode, Halt, Out, PIECE};

/// gzip (RFC 1952): one member or many; what follows the last and is no member is passed over, as browsers do.
pub(crate) struct Gzip {
    state: State,
    members: u32,
    buffer: Box<[u8; PIECE]>,
}

enum State {
    /// Nothing came yet.
    Empty,
    /// Within a member; whether it gave any byte.
    Member { inflate: Box<Decompress>, gave: bool },
    /// After a member.
    Between,
    /// After the last member.
    Trailing,
}

/// Members of one body at most (our choice: each costs a set-up; block gzip of 10 MiB has 160).
const MOST_MEMBERS: u32 = 4096;
/// The first byte of every member.
const MAGIC: u8 = 0x1f;

impl Gzip {
    pub(crate) fn new() -> Self {
        Self { state: State::Empty, members: 0, buffer: Box::new([0; PIECE]) }
    }

    /// Starts the next member, or finds that there is none.
    fn next_member(&mut self, first: u8) -> Result<(), Halt> {
        if self.members > 0 && first != MAGIC {
            self.state = State::Trailing;
            return Ok(());
        }
        if self.members >= MOST_MEMBERS {
            return Err(Halt::Broken("gzip has more than 4096 members"));
        }
        self.members += 1;
        self.state = State::Member { inflate: Box::new(Decompress::new_gzip(15)), gave: false };
        Ok(())
    }
}

impl Decode for Gzip {
    fn push(&mut self, mut input: &[u8], out: &mut Out<'_>) -> Result<(), Halt> {
        while let Some(&first) = input.first() {
            match &mut self.state {
                State::Trailing => return Ok(()),
                State::Empty | State::Between => self.next_member(first)?,
                State::Member { inflate, gave } => match inflate_all(inflate, input, &mut self.buffer[..], gave, out) {
                    Ok((used, true)) => {
                        input = input.get(used..).unwrap_or_default();
                        self.state = State::Between;
                    }
                    Ok((_, false)) => return Ok(()),
                    // Garbage after a member that only looked like one more.
                    Err(Halt::Broken(_)) if self.members > 1 && !*gave => self.state = State::Trailing,
                    Err(halt) => return Err(halt),
                },
            }
        }
        Ok(())
    }

    fn end(&self) -> Result<(), Halt> {
        match &self.state {
            State::Member { gave, .. } if *gave || self.members == 1 => Err(Halt::Broken("gzip ends before its end")),
            _ => Ok(()),
        }
    }
}

/// deflate (RFC 1950), also without the zlib frame, as some servers send it; what follows its end is passed over.
pub(crate) struct Deflate {
    inflate: Option<Box<Decompress>>,
    /// The first byte, while the second is awaited: both tell whether there is a zlib frame.
    held: Option<u8>,
    ended: bool,
    buffer: Box<[u8; PIECE]>,
}

impl Deflate {
    pub(crate) fn new() -> Self {
        Self { inflate: None, held: None, ended: false, buffer: Box::new([0; PIECE]) }
    }

    fn inflate(&mut self, input: &[u8], out: &mut Out<'_>) -> Result<(), Halt> {
        let Some(inflate) = &mut self.inflate else { return Ok(()) };
        let (_, ended) = inflate_all(inflate, input, &mut self.buffer[..], &mut false, out)?;
        self.ended = ended;
        Ok(())
    }
}

impl Decode for Deflate {
    fn push(&mut self, input: &[u8], out: &mut Out<'_>) -> Result<(), Halt> {
        if self.ended {
            return Ok(());
        }
        if self.inflate.is_some() {
            return self.inflate(input, out);
        }
        let mut head = self.held.into_iter().chain(input.iter().copied());
        match (head.next(), head.next()) {
            (Some(first), Some(second)) => {
                self.inflate = Some(Box::new(Decompress::new(has_zlib_frame(first, second))));
                if let Some(held) = self.held.take() {
                    self.inflate(&[held], out)?;
                }
                self.inflate(input, out)
            }
            (first, _) => {
                self.held = first;
                Ok(())
            }
        }
    }

    fn end(&self) -> Result<(), Halt> {
        let empty = self.inflate.is_none() && self.held.is_none();
        if self.ended || empty { Ok(()) } else { Err(Halt::Broken("deflate ends before its end")) }
    }
}

/// RFC 1950 §2.2: method 8, and the two bytes are a multiple of 31.
fn has_zlib_frame(first: u8, second: u8) -> bool {
    first & 0x0f == 8 && u16::from_be_bytes([first, second]).is_multiple_of(31)
}

/// Inflates `input`; how much of it was used, and whether the stream ended there.
fn inflate_all(
    inflate: &mut Decompress,
    input: &[u8],
    buffer: &mut [u8],
    gave: &mut bool,
    out: &mut Out<'_>,
) -> Result<(usize, bool), Halt> {
    let mut used = 0;
    loop {
        let rest = input.get(used..).unwrap_or_default();
        let (in_before, out_before) = (inflate.total_in(), inflate.total_out());
        let status = inflate.decompress(rest, buffer, FlushDecompress::None);
        let took = usize::try_from(inflate.total_in() - in_before).unwrap_or(usize::MAX);
        let made = usize::try_from(inflate.total_out() - out_before).unwrap_or(usize::MAX);
        used += took;
        if made > 0 {
            *gave = true;
            out(buffer.get(..made).unwrap_or_default())?;
        }
        match status {
            Err(_) => return Err(Halt::Broken("not in the format that the content coding names")),
            Ok(Status::StreamEnd) => return Ok((used, true)),
            Ok(_) if made < buffer.len() && (used >= input.len() || took == 0) => return Ok((used, false)),
            Ok(_) => {}
        }
    }
}
