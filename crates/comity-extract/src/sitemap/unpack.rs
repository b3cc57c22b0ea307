use std::io::Write as _;

use flate2::write::MultiGzDecoder;

/// Compressed bytes taken at once, wherever the caller cut them: so what is read of a broken file depends on the file
/// alone. They inflate to about 1 MiB at most.
const SLICE: usize = 1024;

const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// gzip, told by its first two bytes and never by a name or a media type: sites name plain files `.gz`, and serve packed
/// ones that a client has unpacked already.
pub(super) enum Unpack {
    /// The first two bytes are not here yet.
    Undecided(Vec<u8>),
    Plain,
    Gzip(Box<Gzip>),
    Broken,
}

pub(super) struct Gzip {
    decoder: MultiGzDecoder<Vec<u8>>,
    pending: Vec<u8>,
}

impl Unpack {
    pub(super) const fn new() -> Self {
        Self::Undecided(Vec::new())
    }

    /// Gives what the bytes unpack to to `take`, until that says it wants no more.
    pub(super) fn push(&mut self, bytes: &[u8], take: &mut impl FnMut(&[u8]) -> bool) {
        let Self::Undecided(head) = self else { return self.push_decided(bytes, take) };
        head.extend_from_slice(bytes);
        if head.len() < MAGIC.len() && MAGIC.starts_with(head) {
            return;
        }
        let head = std::mem::take(head);
        let gzip = || Box::new(Gzip { decoder: MultiGzDecoder::new(Vec::new()), pending: Vec::new() });
        *self = if head.starts_with(&MAGIC) { Self::Gzip(gzip()) } else { Self::Plain };
        self.push_decided(&head, take);
    }

    fn push_decided(&mut self, bytes: &[u8], take: &mut impl FnMut(&[u8]) -> bool) {
        match self {
            Self::Undecided(_) | Self::Broken => {}
            Self::Plain => {
                take(bytes);
            }
            Self::Gzip(gzip) => {
                if !gzip.push(bytes, take) {
                    *self = Self::Broken;
                }
            }
        }
    }

    /// Ends the file; true when it was plain, or gzip that was whole.
    pub(super) fn finish(self, take: &mut impl FnMut(&[u8]) -> bool) -> bool {
        match self {
            Self::Undecided(head) => {
                take(&head);
                true
            }
            Self::Plain => true,
            Self::Gzip(mut gzip) => {
                let pending = std::mem::take(&mut gzip.pending);
                gzip.unpack(&pending, take) && gzip.decoder.try_finish().is_ok()
            }
            Self::Broken => false,
        }
    }
}

impl Gzip {
    /// False when there is nothing more to read, or nobody to read it.
    fn push(&mut self, mut bytes: &[u8], take: &mut impl FnMut(&[u8]) -> bool) -> bool {
        while !bytes.is_empty() {
            let room = SLICE.saturating_sub(self.pending.len());
            let (taken, rest) = bytes.split_at(room.min(bytes.len()));
            self.pending.extend_from_slice(taken);
            bytes = rest;
            if self.pending.len() >= SLICE {
                let slice = std::mem::take(&mut self.pending);
                if !self.unpack(&slice, take) {
                    return false;
                }
            }
        }
        true
    }

    fn unpack(&mut self, slice: &[u8], take: &mut impl FnMut(&[u8]) -> bool) -> bool {
        // The flush brings out what was unpacked before a fault.
        let written = self.decoder.write_all(slice).and_then(|()| self.decoder.flush());
        let wanted = take(self.decoder.get_ref());
        self.decoder.get_mut().clear();
        written.is_ok() && wanted
    }
}
