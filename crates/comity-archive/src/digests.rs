use std::io::{self, Read};

use comity_policy::{Digest, Spool};
use sha1::Sha1;
use sha2::{Digest as _, Sha256};

/// SHA-256 of some bytes.
pub(crate) fn sha256(bytes: &[u8]) -> Digest {
    Digest::from_bytes(Sha256::digest(bytes).into())
}

/// The label of WARC digests: `sha1:` and 32 characters of base32 (archive reference §2).
pub(crate) fn sha1_label(bytes: &[u8]) -> String {
    label(Sha1::new_with_prefix(bytes))
}

pub(crate) fn label(hash: Sha1) -> String {
    format!("sha1:{}", data_encoding::BASE32.encode(&hash.finalize()))
}

/// The digests of one block: an HTTP head followed by its body. One pass over the body.
#[derive(Debug)]
pub(crate) struct BlockDigests {
    /// Length of head and body.
    pub(crate) len: u64,
    /// `sha1:…` of head and body.
    pub(crate) block: String,
    /// `sha1:…` of the body; `None` where the record has none of its own.
    pub(crate) payload: Option<String>,
    /// SHA-256 of the body.
    pub(crate) payload_sha256: Digest,
}

impl BlockDigests {
    /// # Errors
    /// When the spool cannot be read.
    pub(crate) fn of(head: &[u8], body: &Spool) -> io::Result<Self> {
        let mut sums = Sums::after(head);
        let mut len = head.len() as u64;
        each_piece(body, |chunk| {
            sums.update(chunk);
            len += chunk.len() as u64;
        })?;
        let (block, payload, payload_sha256) = sums.finish();
        Ok(Self { len, block, payload: Some(payload), payload_sha256 })
    }
}

impl BlockDigests {
    /// The digests of a block that is a head alone, of an answer whose body lies elsewhere.
    pub(crate) fn of_head(&self, head: &[u8], states_payload: bool) -> Self {
        let payload = self.payload.clone().filter(|_| states_payload);
        Self { len: head.len() as u64, block: sha1_label(head), payload, payload_sha256: self.payload_sha256 }
    }
}

/// Bytes of a block of SHA-1 and of SHA-256.
const HASH_BLOCK: usize = 64;

/// The three sums of a block, in one pass.
///
/// Each is a chain of steps that wait for one another, so a core that works on one of them alone is idle most of the time.
/// They are fed in turns of one hash block: three independent chains lie within what the core looks ahead, and it works
/// on all of them at once.
#[derive(Debug)]
pub(crate) struct Sums {
    block: Sha1,
    payload: Sha1,
    payload256: Sha256,
    /// Bytes until `block` is at the end of a hash block: a turn that ends in the middle of one costs a copy.
    lead: usize,
}

impl Sums {
    /// Nothing of the body yet.
    pub(crate) fn after(head: &[u8]) -> Self {
        Self::going_on(Sha1::new_with_prefix(head), head.len())
    }

    /// After a head of `len` bytes that `block` has taken in.
    pub(crate) fn going_on(block: Sha1, len: usize) -> Self {
        let lead = len.next_multiple_of(HASH_BLOCK) - len;
        Self { block, payload: Sha1::new(), payload256: Sha256::new(), lead }
    }

    pub(crate) fn update(&mut self, chunk: &[u8]) {
        let (lead, rest) = chunk.split_at_checked(self.lead).unwrap_or((chunk, &[]));
        self.block.update(lead);
        let mut turns = rest.chunks(HASH_BLOCK);
        for piece in chunk.chunks(HASH_BLOCK) {
            turns.next().into_iter().for_each(|turn| self.block.update(turn));
            self.payload.update(piece);
            self.payload256.update(piece);
        }
        let end = (HASH_BLOCK - self.lead + chunk.len()) % HASH_BLOCK;
        self.lead = (HASH_BLOCK - end) % HASH_BLOCK;
    }

    /// `sha1:…` of the block and of its body, SHA-256 of the body.
    pub(crate) fn finish(self) -> (String, String, Digest) {
        let Self { block, payload, payload256, .. } = self;
        (label(block), label(payload), Digest::from_bytes(payload256.finalize().into()))
    }
}

/// Bytes that pass through several hands while they are in the cache.
const CHUNK: usize = 16 * 1024;

/// Hands the bytes of a body on in pieces of at most 16 KiB; from memory without a copy.
pub(crate) fn each_piece(body: &Spool, take: impl FnMut(&[u8])) -> io::Result<()> {
    match body.memory() {
        Some(bytes) => {
            bytes.chunks(CHUNK).for_each(take);
            Ok(())
        }
        None => each_chunk(body.reader()?, take),
    }
}

/// Hands the bytes of `reader` on in pieces of at most 16 KiB.
pub(crate) fn each_chunk(mut reader: impl Read, mut take: impl FnMut(&[u8])) -> io::Result<()> {
    let mut buffer = [0_u8; CHUNK];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(n) => take(buffer.get(..n).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    #[test]
    fn digests_are_those_of_the_field() {
        assert_eq!(sha1_label(b""), "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ");
        let digests = BlockDigests::of(b"ab", &Spool::in_memory(Bytes::from_static(b"c"))).unwrap();
        assert_eq!(digests.block, sha1_label(b"abc"));
        assert_eq!(digests.payload, Some(sha1_label(b"c")));
        assert_eq!(digests.payload_sha256, sha256(b"c"));
        assert_eq!(digests.len, 3);
    }

    #[test]
    fn turns_make_no_difference_wherever_head_and_pieces_end() {
        let text: Vec<u8> = (0..1_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 11) as u8).collect();
        for head in [0, 1, 63, 64, 65, 200] {
            for piece in [1, 7, 63, 64, 65, 128, 799] {
                let (head, body) = text.split_at(head);
                let mut sums = Sums::after(head);
                body.chunks(piece).for_each(|piece| sums.update(piece));
                let case = format!("head {}, pieces {piece}", head.len());
                assert_eq!(label(sums.block), sha1_label(&text), "{case}");
                assert_eq!(label(sums.payload), sha1_label(body), "{case}");
                assert_eq!(Digest::from_bytes(sums.payload256.finalize().into()), sha256(body), "{case}");
                assert_eq!((head.len() + body.len() + sums.lead) % HASH_BLOCK, 0, "{case}");
            }
        }
    }
}
