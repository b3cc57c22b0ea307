//! Signed places of the chain: what a crawl directory held when a file was closed, or a minute had passed.

mod line;
mod log;
mod sum;

use std::fmt;

pub use line::{Checkpoint, CheckpointError, FileSum, Prefix, Signed};
pub(crate) use log::{CheckpointLog, MAX_CHECKPOINTS_FILE, Now};
pub(crate) use sum::sum_file;

/// The file of the checkpoints, below the crawl directory.
pub(crate) const CHECKPOINTS: &str = "checkpoints.jsonl";
/// The index of the evidence, below the crawl directory.
pub(crate) const EVIDENCE_INDEX: &str = "evidence/index.jsonl";

/// What signs checkpoints: a key that outlives the crawl. Passed in, so that this crate reads no secrets.
pub trait CheckpointSigner: Send + Sync + fmt::Debug {
    /// The public half of the Ed25519 key, its 32 bytes in base64url without padding: `x` of a JWK (RFC 8037).
    fn public(&self) -> String;
    /// The Ed25519 signature (RFC 8032) of these bytes, 64 bytes.
    fn sign(&self, bytes: &[u8]) -> Vec<u8>;
}
