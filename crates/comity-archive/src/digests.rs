use std::io::{self, Read};

use comity_policy::{Digest, Spool};

use crate::blocks::{Sha1, Sha256, Sum, Sums};

/// SHA-256 of some bytes.
pub(crate) fn sha256(bytes: &[u8]) -> Digest {
    Digest::from_bytes(Sum::<Sha256>::of(bytes).finish())
}

/// The label of WARC digests: `sha1:` and 32 characters of base32 (archive reference §2).
pub(crate) fn sha1_label(bytes: &[u8]) -> String {
    label(Sum::of(bytes))
}

pub(crate) fn label(sum: Sum<Sha1>) -> String {
    let mut label = String::with_capacity(LABEL_BYTES);
    label.push_str("sha1:");
    data_encoding::BASE32.encode_append(&sum.finish(), &mut label);
    label
}

/// Bytes of a label.
const LABEL_BYTES: usize = "sha1:".len() + 32;

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
        let mut sums = Sums::after(Sum::of(head));
        let mut len = head.len() as u64;
        each_piece(body, |chunk| {
            sums.update(chunk);
            len += chunk.len() as u64;
        })?;
        let Sums { block, payload, payload256 } = sums;
        let payload_sha256 = Digest::from_bytes(payload256.finish());
        Ok(Self { len, block: label(block), payload: Some(label(payload)), payload_sha256 })
    }
}

impl BlockDigests {
    /// The digests of a block that is a head alone, of an answer whose body lies elsewhere.
    pub(crate) fn of_head(&self, head: &[u8], states_payload: bool) -> Self {
        let payload = self.payload.clone().filter(|_| states_payload);
        Self { len: head.len() as u64, block: sha1_label(head), payload, payload_sha256: self.payload_sha256 }
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
}
