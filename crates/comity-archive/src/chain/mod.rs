//! The chain that ties every record line to all lines before it.

mod line;
mod verify;

use std::path::Path;

use comity_policy::Digest;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

pub use line::{Content, Line, LineError};
pub(crate) use verify::parse as parse_line;
pub use verify::{ChainFault, ChainReport, ChainVerifier, verify_chain};

use crate::ArchiveError;
use crate::disk::replace;

/// Bytes of a salt: 128 bits of the caller's [`crate::Entropy`].
pub(crate) const SALT_BYTES: usize = 16;

/// The `prev` of the first line.
pub(crate) const GENESIS: Digest = Digest::from_bytes([0; 32]);

/// The end of a chain: what `D/chain` holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainHead {
    /// Number of the last line, from 0.
    pub seq: u64,
    /// Its link.
    pub link: Digest,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HeadFile {
    v: u32,
    seq: u64,
    link: String,
}

impl ChainHead {
    /// Reads `D/chain`; `None` when there is none.
    ///
    /// # Errors
    /// When it cannot be read or is no chain head.
    pub fn load(dir: &Path) -> Result<Option<Self>, ArchiveError> {
        let path = dir.join("chain");
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(ArchiveError::io(&path, error)),
        };
        let wrong = |problem: String| ArchiveError::Chain { path: path.clone(), problem };
        let file: HeadFile = serde_json::from_slice(&text).map_err(|e| wrong(format!("no chain head: {e}")))?;
        if file.v != 1 {
            return Err(wrong(format!("version {} is not known, 1 is", file.v)));
        }
        let link = file.link.parse().map_err(|e| wrong(format!("link: {e}")))?;
        Ok(Some(Self { seq: file.seq, link }))
    }

    /// Replaces `D/chain` as a whole.
    pub(crate) fn store(self, dir: &Path) -> Result<(), ArchiveError> {
        let path = dir.join("chain");
        let text = format!("{{\"v\":1,\"seq\":{},\"link\":\"{}\"}}\n", self.seq, self.link);
        replace(&path, text.as_bytes()).map_err(|e| ArchiveError::io(&path, e))
    }
}

/// `sha256(salt ‖ content)`: binds the content without giving anything of it away once the salt is gone.
pub(crate) fn commitment(salt: &[u8], content: &[u8]) -> Digest {
    Digest::from_bytes(Sha256::new_with_prefix(salt).chain_update(content).finalize().into())
}

/// `sha256(seq ‖ prev ‖ commitment)`, `seq` as 8 bytes big-endian, the digests as 32 bytes each.
pub(crate) fn link(seq: u64, prev: Digest, commitment: Digest) -> Digest {
    let hash = Sha256::new_with_prefix(seq.to_be_bytes());
    Digest::from_bytes(hash.chain_update(prev.as_bytes()).chain_update(commitment.as_bytes()).finalize().into())
}
