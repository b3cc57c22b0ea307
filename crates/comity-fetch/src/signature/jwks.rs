use data_encoding::BASE64URL_NOPAD;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

/// Keys of one directory that are looked at (our choice).
const MOST_KEYS: usize = 64;

/// The Ed25519 keys of a key directory (a JWK set, RFC 7517), by their own thumbprints.
///
/// Belongs to the URL that it was fetched from: a key must never be looked up by its id alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeySet(Vec<PublicKey>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PublicKey {
    pub(super) bytes: Vec<u8>,
    thumbprint: String,
    kid: Option<String>,
    not_before: Option<i64>,
    expires: Option<i64>,
}

#[derive(Deserialize)]
struct Set {
    keys: Vec<serde_json::Value>,
}

#[derive(Deserialize)]
struct Jwk {
    kty: String,
    crv: Option<String>,
    x: Option<String>,
    kid: Option<String>,
    nbf: Option<i64>,
    exp: Option<i64>,
}

impl KeySet {
    /// Bytes of a directory that are worth reading (our choice).
    pub const MAX_BYTES: usize = 64 * 1024;

    /// Reads a JWK set; keys of other kinds, and broken ones, are skipped. `None` when it is none, or too large.
    #[must_use]
    pub fn parse(body: &[u8]) -> Option<Self> {
        if body.len() > Self::MAX_BYTES {
            return None;
        }
        let set: Set = serde_json::from_slice(body).ok()?;
        Some(Self(set.keys.into_iter().take(MOST_KEYS).filter_map(PublicKey::read).collect()))
    }

    /// The key of this id that holds at `now` (Unix seconds): by its thumbprint, else by what the directory calls it.
    pub(super) fn find(&self, id: &str, now: i64) -> Option<&PublicKey> {
        let holds = |key: &&PublicKey| {
            key.not_before.is_none_or(|from| from <= now) && key.expires.is_none_or(|until| now < until)
        };
        let own = self.0.iter().filter(holds).find(|key| key.thumbprint == id);
        own.or_else(|| self.0.iter().filter(holds).find(|key| key.kid.as_deref() == Some(id)))
    }
}

impl PublicKey {
    fn read(value: serde_json::Value) -> Option<Self> {
        let jwk: Jwk = serde_json::from_value(value).ok()?;
        if (jwk.kty.as_str(), jwk.crv.as_deref()) != ("OKP", Some("Ed25519")) {
            return None;
        }
        let x = jwk.x?;
        let bytes =
            BASE64URL_NOPAD.decode(x.trim_end_matches('=').as_bytes()).ok().filter(|bytes| bytes.len() == 32)?;
        Some(Self { thumbprint: thumbprint(&bytes), bytes, kid: jwk.kid, not_before: jwk.nbf, expires: jwk.exp })
    }
}

/// The thumbprint of an Ed25519 key (RFC 7638, RFC 8037 appendix A.3) whose public half is given.
fn thumbprint(public: &[u8]) -> String {
    let canonical = format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{}"}}"#, BASE64URL_NOPAD.encode(public));
    BASE64URL_NOPAD.encode(&Sha256::digest(canonical.as_bytes()))
}

/// The thumbprint of an Ed25519 JWK given as JSON; `None` when it is none.
#[must_use]
pub fn jwk_thumbprint(jwk: &[u8]) -> Option<String> {
    if jwk.len() > KeySet::MAX_BYTES {
        return None;
    }
    serde_json::from_slice(jwk).ok().and_then(PublicKey::read).map(|key| key.thumbprint)
}
