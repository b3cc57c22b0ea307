//! The chain that ties every record line to all lines before it.

mod line;
mod verify;

use std::fs::File;
use std::io::Read as _;
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

/// What `D/chain` says: the chain's head, and the last checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainFile {
    /// The last line.
    pub head: ChainHead,
    /// Digest of the last checkpoint; `None` in files of the first version.
    pub checkpoint: Option<Digest>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    v: u32,
    seq: u64,
    link: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    checkpoint: Option<String>,
}

impl ChainHead {
    /// Reads `D/chain`; `None` when there is none.
    ///
    /// # Errors
    /// When it cannot be read or is no chain head.
    pub fn load(dir: &Path) -> Result<Option<Self>, ArchiveError> {
        Ok(ChainFile::load(dir)?.map(|file| file.head))
    }
}

impl ChainFile {
    /// Reads `D/chain`; `None` when there is none. Strict: exactly the text that is written is taken.
    ///
    /// # Errors
    /// When it cannot be read or is anything else.
    pub fn load(dir: &Path) -> Result<Option<Self>, ArchiveError> {
        let path = dir.join("chain");
        let mut text = Vec::new();
        match File::open(&path).and_then(|file| file.take(MAX_CHAIN_FILE).read_to_end(&mut text)) {
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(ArchiveError::io(&path, error)),
        }
        let wrong = |problem: String| ArchiveError::Chain { path: path.clone(), problem };
        let wire: Wire = serde_json::from_slice(&text).map_err(|e| wrong(format!("no chain head: {e}")))?;
        let digest = |hex: &str| hex.parse::<Digest>().map_err(|e| wrong(e.to_string()));
        if !matches!((wire.v, &wire.checkpoint), (1, None) | (2, Some(_))) {
            return Err(wrong(format!("version {} is not known, 1 and 2 are", wire.v)));
        }
        let head = ChainHead { seq: wire.seq, link: digest(&wire.link)? };
        let file = Self { head, checkpoint: wire.checkpoint.as_deref().map(digest).transpose()? };
        if file.to_text().as_bytes() == text { Ok(Some(file)) } else { Err(wrong("not as it was written".to_owned())) }
    }

    /// Replaces `D/chain` as a whole.
    pub(crate) fn store(self, dir: &Path) -> Result<(), ArchiveError> {
        let path = dir.join("chain");
        replace(&path, self.to_text().as_bytes()).map_err(|e| ArchiveError::io(&path, e))
    }

    fn to_text(self) -> String {
        let ChainHead { seq, link } = self.head;
        match self.checkpoint {
            None => format!("{{\"v\":1,\"seq\":{seq},\"link\":\"{link}\"}}\n"),
            Some(digest) => {
                format!("{{\"v\":2,\"seq\":{seq},\"link\":\"{link}\",\"checkpoint\":\"{digest}\"}}\n")
            }
        }
    }
}

/// Bytes of `D/chain` that are read.
const MAX_CHAIN_FILE: u64 = 4096;

/// `sha256(salt ‖ content)`: binds the content without giving anything of it away once the salt is gone.
pub(crate) fn commitment(salt: &[u8], content: &[u8]) -> Digest {
    Digest::from_bytes(Sha256::new_with_prefix(salt).chain_update(content).finalize().into())
}

/// `sha256(seq ‖ prev ‖ commitment)`, `seq` as 8 bytes big-endian, the digests as 32 bytes each.
pub(crate) fn link(seq: u64, prev: Digest, commitment: Digest) -> Digest {
    let hash = Sha256::new_with_prefix(seq.to_be_bytes());
    Digest::from_bytes(hash.chain_update(prev.as_bytes()).chain_update(commitment.as_bytes()).finalize().into())
}
