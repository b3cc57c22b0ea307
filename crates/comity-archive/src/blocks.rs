//! SHA-1 and SHA-256 fed hash block by hash block, so that a core works on several of them at once.

use std::fmt;
use std::slice::from_ref;

use sha1::block_api::compress;
use sha2::block_api::compress256;

/// Bytes of a block of SHA-1 and of SHA-256.
const BLOCK: usize = 64;

type Block = [u8; BLOCK];

/// Where the length of the text stands in the last block (FIPS 180-4 §5.1.1).
const LENGTH_AT: usize = BLOCK - 8;

/// What a hash carries from block to block.
pub(crate) trait State: Clone + Copy + Default {
    /// The hash as bytes.
    type Hash;
    /// Takes in whole blocks.
    fn take(&mut self, blocks: &[Block]);
    fn hash(self) -> Self::Hash;
}

/// Of SHA-1; it begins as FIPS 180-4 §5.3.1 says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sha1([u32; 5]);

impl Default for Sha1 {
    fn default() -> Self {
        Self([0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0])
    }
}

impl State for Sha1 {
    type Hash = [u8; 20];

    fn take(&mut self, blocks: &[Block]) {
        compress(&mut self.0, blocks);
    }

    fn hash(self) -> Self::Hash {
        big_endian(self.0)
    }
}

/// Of SHA-256; it begins as FIPS 180-4 §5.3.3 says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sha256([u32; 8]);

impl Default for Sha256 {
    fn default() -> Self {
        Self([0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19])
    }
}

impl State for Sha256 {
    type Hash = [u8; 32];

    fn take(&mut self, blocks: &[Block]) {
        compress256(&mut self.0, blocks);
    }

    fn hash(self) -> Self::Hash {
        big_endian(self.0)
    }
}

/// The words of a hash, first byte first (FIPS 180-4 §3.1); of as many bytes as they have.
fn big_endian<const WORDS: usize, const BYTES: usize>(words: [u32; WORDS]) -> [u8; BYTES] {
    let mut hash = [0; BYTES];
    hash.as_chunks_mut().0.iter_mut().zip(words).for_each(|(bytes, word)| *bytes = word.to_be_bytes());
    hash
}

/// A hash under way.
#[derive(Clone)]
pub(crate) struct Sum<S> {
    state: S,
    /// Of it, what is behind the last whole block counts.
    held: Block,
    len: u64,
}

impl<S> fmt::Debug for Sum<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sum").field("len", &self.len).finish_non_exhaustive()
    }
}

impl<S: State> Default for Sum<S> {
    fn default() -> Self {
        Self { state: S::default(), held: [0; BLOCK], len: 0 }
    }
}

impl<S: State> Sum<S> {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let mut sum = Self::default();
        sum.update(bytes);
        sum
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        let (blocks, end) = self.complete(bytes).as_chunks();
        self.take(blocks);
        self.hold(end);
    }

    /// Completes the block that has begun; gives the bytes that are left, of which whole blocks are to be taken, and the end held.
    fn complete<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let begun = self.begun();
        if begun == 0 {
            return bytes;
        }
        let (lead, rest) = bytes.split_at_checked(BLOCK - begun).unwrap_or((bytes, &[]));
        self.put(begun, lead);
        if self.begun() == 0 {
            self.state.take(from_ref(&self.held));
        }
        rest
    }

    fn take(&mut self, blocks: &[Block]) {
        self.state.take(blocks);
        self.len += blocks.as_flattened().len() as u64;
    }

    /// Keeps less than a block, where none has begun.
    fn hold(&mut self, end: &[u8]) {
        if !end.is_empty() {
            self.put(0, end);
        }
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        if let Some(room) = self.held.get_mut(at..at + bytes.len()) {
            room.copy_from_slice(bytes);
            self.len += bytes.len() as u64;
        }
    }

    /// Bytes of a block that is not whole yet.
    const fn begun(&self) -> usize {
        (self.len % BLOCK as u64) as usize
    }

    /// A one, zeros, and the length in bits (FIPS 180-4 §5.1.1).
    pub(crate) fn finish(mut self) -> S::Hash {
        let bits = self.len.wrapping_mul(8);
        let begun = self.begun();
        let mut end = [0; BLOCK];
        let (text, padding) = end.split_at_mut(begun);
        text.copy_from_slice(self.held.get(..begun).unwrap_or_default());
        padding.first_mut().into_iter().for_each(|first| *first = 0x80);
        if begun >= LENGTH_AT {
            self.state.take(from_ref(&end));
            end = [0; BLOCK];
        }
        end.last_chunk_mut::<8>().into_iter().for_each(|last| *last = bits.to_be_bytes());
        self.state.take(from_ref(&end));
        self.state.hash()
    }
}

/// The three sums of a block of a WARC record, in one pass: of head and body, and two of the body alone.
///
/// Each is a chain of steps that wait for one another, so a core that works on one of them alone is idle most of the time.
/// They are fed in turns of one hash block: three independent chains lie within what the core looks ahead, and it works
/// on all of them at once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sums {
    pub(crate) block: Sum<Sha1>,
    pub(crate) payload: Sum<Sha1>,
    pub(crate) payload256: Sum<Sha256>,
}

impl Sums {
    /// After a head that `block` has taken in.
    pub(crate) fn after(block: Sum<Sha1>) -> Self {
        Self { block, ..Self::default() }
    }

    /// Takes in more of the body.
    pub(crate) fn update(&mut self, piece: &[u8]) {
        let Self { block, payload, payload256 } = self;
        // The head may end anywhere, so the blocks of the first sum begin elsewhere in the body than those of the others.
        let (whole, whole_end) = block.complete(piece).as_chunks();
        let (body, body_end) = payload.complete(piece).as_chunks();
        payload256.complete(piece);
        let both = whole.len().min(body.len());
        for (whole, body) in whole.iter().zip(body) {
            block.take(from_ref(whole));
            payload.take(from_ref(body));
            payload256.take(from_ref(body));
        }
        block.take(whole.get(both..).unwrap_or_default());
        let body = body.get(both..).unwrap_or_default();
        payload.take(body);
        payload256.take(body);
        block.hold(whole_end);
        payload.hold(body_end);
        payload256.hold(body_end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sha1::Digest as _;

    fn noise(len: usize) -> Vec<u8> {
        (0..len as u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 11) as u8).collect()
    }

    fn sha1(bytes: &[u8]) -> [u8; 20] {
        sha1::Sha1::digest(bytes).into()
    }

    fn sha256(bytes: &[u8]) -> [u8; 32] {
        sha2::Sha256::digest(bytes).into()
    }

    /// Every place where a text can end in its last block, and every one where a piece can.
    #[test]
    fn sums_are_those_of_the_libraries_at_every_length_and_split() {
        let text = noise(3 * BLOCK + 2);
        for len in 0..=text.len() {
            let text = &text[..len];
            for split in 0..=len {
                let (first, second) = text.split_at(split);
                let mut sum = Sum::<Sha1>::of(first);
                let mut sum256 = Sum::<Sha256>::of(first);
                sum.update(second);
                sum256.update(second);
                assert_eq!(sum.finish(), sha1(text), "{len} split at {split}");
                assert_eq!(sum256.finish(), sha256(text), "{len} split at {split}");
            }
        }
    }

    proptest! {
        #[test]
        fn three_at_once_are_as_one_after_the_other(
            head in 0..300_usize,
            pieces in prop::collection::vec(0..300_usize, 0..20),
        ) {
            let text = noise(head + pieces.iter().sum::<usize>());
            let (head, body) = text.split_at(head);
            let mut sums = Sums::after(Sum::of(head));
            let mut rest = body;
            for piece in pieces {
                let (piece, behind) = rest.split_at(piece);
                sums.update(piece);
                rest = behind;
            }
            prop_assert_eq!(sums.block.finish(), sha1(&text));
            prop_assert_eq!(sums.payload.finish(), sha1(body));
            prop_assert_eq!(sums.payload256.finish(), sha256(body));
        }
    }
}
