use std::fmt::Write as _;

use comity_policy::Digest;
use data_encoding::BASE64URL_NOPAD;
use ring::signature::{ED25519, UnparsedPublicKey};
use serde::{Deserialize, Serialize};

use crate::CheckpointSigner;
use crate::digests::sha256;

/// What a signature covers begins with this line: no signature of another kind fits (our choice).
const SIGNED_AS: &str = "comity-erasure/1\n";

/// What was erased, why, and for whom: part of the record of errand `erasure`. It names lines by their numbers and
/// nothing by its content. Without this record a tombstone is a forgery.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErasureRecord {
    /// Lines whose record named what was erased as the page that led to them: number, and the salted commitment to the
    /// record that now stands in the tombstone.
    pub amended: Vec<(u64, String)>,
    /// When.
    pub at: String,
    /// Digests of configurations in `D/configs` that named it, and went although records name them.
    #[serde(default)]
    pub configs: Vec<String>,
    /// Digests of copies in the evidence that went although lines name them.
    pub copies: Vec<String>,
    /// `urn:uuid:…`; every tombstone carries it.
    pub id: String,
    /// The public key that signed, `x` of a JWK.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// `origin`, `url`, `path`, `payload_digest`, `payloads_before` or `records_before`.
    pub kind: String,
    /// Lines that became tombstones: first and last number of each run, in order.
    pub lines: Vec<(u64, u64)>,
    /// SHA-256 of a random salt, which only the receipt holds, and what was named; for an age, the moment itself.
    pub named: String,
    /// Which of [`Self::parts`] this is, from 1.
    pub part: u32,
    /// In how many records the erasure is written: each holds at most 20,000 entries.
    pub parts: u32,
    /// Lines that stay and whose payload went: first and last number of each run, in order.
    pub payloads: Vec<(u64, u64)>,
    /// Why, for people.
    pub reason: String,
    /// The request that it answers: the caller's reference.
    pub request: String,
    /// Sightings that went from the evidence's index.
    pub sightings: u64,
    /// Ed25519, base64url, over `comity-erasure/1`, a line end, and in hex the SHA-256 of this object without its
    /// signature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

impl ErasureRecord {
    /// Signs it, where there is a key.
    #[must_use]
    pub(crate) fn sign(mut self, signer: Option<&dyn CheckpointSigner>) -> Self {
        self.key = signer.map(CheckpointSigner::public);
        self.signature = None;
        self.signature =
            signer.map(|signer| BASE64URL_NOPAD.encode(&signer.sign(signed_text(self.digest()).as_bytes())));
        self
    }

    /// What is wrong with its signature; nothing where it has neither key nor signature.
    pub(crate) fn wrong_signature(&self) -> Option<&'static str> {
        let (key, signature) = match (&self.key, &self.signature) {
            (None, None) => return None,
            (Some(key), Some(signature)) => (key, signature),
            _ => return Some("key and signature go together"),
        };
        let decoded = |text: &str| BASE64URL_NOPAD.decode(text.as_bytes()).ok();
        let fits = decoded(key).zip(decoded(signature)).is_some_and(|(key, signature)| {
            UnparsedPublicKey::new(&ED25519, key).verify(signed_text(self.digest()).as_bytes(), &signature).is_ok()
        });
        (!fits).then_some("its signature is not of its key and its content")
    }

    fn digest(&self) -> Digest {
        let unsigned = Self { signature: None, ..self.clone() };
        // Texts and numbers only: it cannot fail.
        sha256(serde_json::to_string(&unsigned).unwrap_or_default().as_bytes())
    }
}

fn signed_text(digest: Digest) -> String {
    let mut text = SIGNED_AS.to_owned();
    let _ = write!(text, "{digest}");
    text
}

/// Sorted numbers as runs: first and last of each.
pub(crate) fn runs(numbers: impl IntoIterator<Item = u64>) -> Vec<(u64, u64)> {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => runs.push((number, number)),
        }
    }
    runs
}
