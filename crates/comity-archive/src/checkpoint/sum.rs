use std::fs::File;
use std::io;
use std::path::Path;

use comity_policy::Digest;
use sha2::{Digest as _, Sha256};

use crate::digests::each_chunk;

/// Length and SHA-256 of a file. Memory: one piece.
pub(crate) fn sum_file(path: &Path) -> io::Result<(u64, Digest)> {
    let (mut bytes, mut hash) = (0_u64, Sha256::new());
    each_chunk(File::open(path)?, |chunk| {
        bytes += chunk.len() as u64;
        hash.update(chunk);
    })?;
    Ok((bytes, Digest::from_bytes(hash.finalize().into())))
}
