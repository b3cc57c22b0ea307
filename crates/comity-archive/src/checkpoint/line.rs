use std::fmt;

use comity_policy::Digest;
use data_encoding::BASE64URL_NOPAD;
use ring::signature::{ED25519, UnparsedPublicKey};
use serde::{Deserialize, Serialize};

use super::CheckpointSigner;
use crate::digests::sha256;

/// What a signature covers begins with this line: no signature of another kind fits (our choice).
const SIGNED_AS: &str = "comity-checkpoint/1\n";

/// One line of `D/checkpoints.jsonl`: the chain's place at an instant, and the sums of files that will not change again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Its number, from 0.
    pub n: u64,
    /// Digest of the checkpoint before; 32 zero bytes for the first.
    pub prev: Digest,
    /// When, RFC 3339 in UTC.
    pub at: String,
    /// How many record lines the chain had.
    pub lines: u64,
    /// Link of the last of them; 32 zero bytes for none.
    pub link: Digest,
    /// SHA-256 of `D/crawl.toml` as it held.
    pub config: Option<Digest>,
    /// What `D/evidence/index.jsonl` held.
    pub evidence: Prefix,
    /// Files that were closed since the checkpoint before.
    pub files: Vec<FileSum>,
    /// SHA-256 of the line up to here; covers the public key, too.
    pub digest: Digest,
    /// Who signed it.
    pub signed: Option<Signed>,
}

/// The first bytes of a file that only grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// How many.
    pub bytes: u64,
    /// Their SHA-256.
    pub sha256: Digest,
}

/// A file as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSum {
    /// Its final name, relative to the crawl directory.
    pub path: String,
    /// Its length.
    pub bytes: u64,
    /// Its SHA-256.
    pub sha256: Digest,
}

/// A signature and whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// The public key, 32 bytes in base64url.
    pub key: String,
    /// The Ed25519 signature in base64url, over `comity-checkpoint/1`, a line end, and the digest in hex.
    pub signature: String,
}

/// Why a text is no checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointError(String);

impl fmt::Display for CheckpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for CheckpointError {}

/// The part that the digest covers, members in this order.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    v: u32,
    n: u64,
    prev: String,
    at: String,
    lines: u64,
    link: String,
    config: Option<String>,
    evidence: PrefixWire,
    files: Vec<FileWire>,
    key: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PrefixWire {
    bytes: u64,
    sha256: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileWire {
    path: String,
    bytes: u64,
    sha256: String,
}

#[derive(Deserialize)]
struct Tail {
    digest: String,
    signature: Option<String>,
}

impl Checkpoint {
    /// Seals the checkpoint: computes its digest, and signs it.
    #[must_use]
    pub(crate) fn seal(mut self, signer: Option<&dyn CheckpointSigner>) -> Self {
        let key = signer.map(CheckpointSigner::public);
        self.digest = sha256(self.body(key.as_deref()).as_bytes());
        self.signed = signer.zip(key).map(|(signer, key)| {
            let signature = BASE64URL_NOPAD.encode(&signer.sign(signed_text(self.digest).as_bytes()));
            Signed { key, signature }
        });
        self
    }

    /// Reads one line without its line end, and checks its digest and its signature. Strict: exactly the text that is
    /// written is taken.
    ///
    /// # Errors
    /// When it is anything else, or was changed.
    pub fn parse(text: &str) -> Result<Self, CheckpointError> {
        let fail = |problem: String| CheckpointError(problem);
        let (body_text, _) = text.rsplit_once(",\"digest\":").ok_or_else(|| fail("it has no digest".to_owned()))?;
        let body: Body = serde_json::from_str(&format!("{body_text}}}")).map_err(|e| fail(e.to_string()))?;
        let tail: Tail = serde_json::from_str(text).map_err(|e| fail(e.to_string()))?;
        if body.v != 1 {
            return Err(fail(format!("version {} is not known, 1 is", body.v)));
        }
        let hex = |text: &str| text.parse::<Digest>().map_err(|e| fail(e.to_string()));
        let file = |f: FileWire| Ok(FileSum { sha256: hex(&f.sha256)?, path: f.path, bytes: f.bytes });
        let signed = match (body.key, tail.signature) {
            (None, None) => None,
            (Some(key), Some(signature)) => Some(Signed { key, signature }),
            _ => return Err(fail("key and signature go together".to_owned())),
        };
        let checkpoint = Self {
            n: body.n,
            prev: hex(&body.prev)?,
            at: body.at,
            lines: body.lines,
            link: hex(&body.link)?,
            config: body.config.as_deref().map(hex).transpose()?,
            evidence: Prefix { bytes: body.evidence.bytes, sha256: hex(&body.evidence.sha256)? },
            files: body.files.into_iter().map(file).collect::<Result<_, _>>()?,
            digest: hex(&tail.digest)?,
            signed,
        };
        if checkpoint.to_text() != text {
            return Err(fail("it is not in its one written form".to_owned()));
        }
        if sha256(body_text.as_bytes()) != checkpoint.digest {
            return Err(fail("its digest does not cover it: it was changed".to_owned()));
        }
        checkpoint.check_signature()?;
        Ok(checkpoint)
    }

    /// The line as it is written, without its line end.
    #[must_use]
    pub fn to_text(&self) -> String {
        let body = self.body(self.signed.as_ref().map(|signed| signed.key.as_str()));
        let signature = match &self.signed {
            Some(signed) => format!("{:?}", signed.signature),
            None => "null".to_owned(),
        };
        format!("{body},\"digest\":\"{}\",\"signature\":{signature}}}", self.digest)
    }

    fn body(&self, key: Option<&str>) -> String {
        let file = |f: &FileSum| FileWire { path: f.path.clone(), bytes: f.bytes, sha256: f.sha256.to_string() };
        let body = Body {
            v: 1,
            n: self.n,
            prev: self.prev.to_string(),
            at: self.at.clone(),
            lines: self.lines,
            link: self.link.to_string(),
            config: self.config.map(|digest| digest.to_string()),
            evidence: PrefixWire { bytes: self.evidence.bytes, sha256: self.evidence.sha256.to_string() },
            files: self.files.iter().map(file).collect(),
            key: key.map(ToOwned::to_owned),
        };
        // Strings and numbers only: it cannot fail.
        let text = serde_json::to_string(&body).unwrap_or_default();
        text.strip_suffix('}').unwrap_or_default().to_owned()
    }

    fn check_signature(&self) -> Result<(), CheckpointError> {
        let Some(signed) = &self.signed else { return Ok(()) };
        let bytes = |text: &str| BASE64URL_NOPAD.decode(text.as_bytes());
        let fail = |problem: &str| CheckpointError(problem.to_owned());
        let key = bytes(&signed.key).map_err(|_| fail("its key is not base64url"))?;
        let signature = bytes(&signed.signature).map_err(|_| fail("its signature is not base64url"))?;
        UnparsedPublicKey::new(&ED25519, key)
            .verify(signed_text(self.digest).as_bytes(), &signature)
            .map_err(|_| fail("its signature is not of its key and its digest"))
    }
}

fn signed_text(digest: Digest) -> String {
    format!("{SIGNED_AS}{digest}")
}
