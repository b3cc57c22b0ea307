use std::fmt;
use std::sync::Arc;

use data_encoding::BASE64URL_NOPAD;
use ring::error::KeyRejected;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use super::KeyError;

/// An Ed25519 key that signs requests. Clones share it; `Debug` shows its thumbprint, never the key.
#[derive(Clone)]
pub struct SigningKey {
    pair: Arc<Ed25519KeyPair>,
    /// The public half in base64url.
    x: String,
    thumbprint: String,
}

impl SigningKey {
    /// The key whose private half is `seed` (RFC 8032 §5.1.5).
    ///
    /// # Errors
    /// [`KeyError::Broken`], when the library refuses it.
    pub fn from_seed(seed: &[u8; 32]) -> Result<Self, KeyError> {
        Ok(Self::of(Ed25519KeyPair::from_seed_unchecked(seed).map_err(broken)?))
    }

    /// Reads PKCS#8 in PEM (RFC 8410, as `openssl genpkey -algorithm ed25519` writes it) or a JWK (RFC 8037).
    ///
    /// # Errors
    /// Everything of [`KeyError`] that is about the key itself: none or several, encrypted, of another kind, public
    /// only, broken, or published by an RFC.
    pub fn parse(text: &[u8]) -> Result<Self, KeyError> {
        let jwk = text.trim_ascii_start().first() == Some(&b'{');
        let key = if jwk { Self::from_jwk(text)? } else { Self::from_pem(text)? };
        if PUBLISHED.contains(&key.x.as_str()) { Err(KeyError::TestKey) } else { Ok(key) }
    }

    /// The JWK thumbprint (RFC 7638, RFC 8037 appendix A.3) in base64url: the `keyid` of signatures.
    #[must_use]
    pub fn thumbprint(&self) -> &str {
        &self.thumbprint
    }

    /// The public half in base64url: `x` of the JWK.
    #[must_use]
    pub fn public(&self) -> &str {
        &self.x
    }

    /// The Ed25519 signature of these bytes, 64 bytes: for texts that are no requests. They must begin with a line that says
    /// what they are, so that no signature serves for anything else.
    #[must_use]
    pub fn sign_bytes(&self, bytes: &[u8]) -> Vec<u8> {
        self.sign(bytes).as_ref().to_vec()
    }

    /// Signs these bytes.
    pub(crate) fn sign(&self, bytes: &[u8]) -> ring::signature::Signature {
        self.pair.sign(bytes)
    }

    fn from_pem(text: &[u8]) -> Result<Self, KeyError> {
        let keys = PrivateKeyDer::pem_slice_iter(text)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| KeyError::Broken(error.to_string()))?;
        match keys.as_slice() {
            [] if contains(text, b"BEGIN ENCRYPTED PRIVATE KEY") => Err(KeyError::Encrypted),
            [] => Err(KeyError::NoKey),
            [PrivateKeyDer::Pkcs8(key)] => {
                // Files of `openssl` hold no public half to check against.
                let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(key.secret_pkcs8_der()).map_err(broken)?;
                Ok(Self::of(pair))
            }
            [PrivateKeyDer::Pkcs1(_)] => Err(KeyError::OtherKind("RSA".to_owned())),
            [_] => Err(KeyError::OtherKind("elliptic curve".to_owned())),
            several => Err(KeyError::SeveralKeys(several.len())),
        }
    }

    fn from_jwk(text: &[u8]) -> Result<Self, KeyError> {
        // The library's own words may quote the input, which is a secret.
        let place = |error: serde_json::Error| format!("no JWK, at line {}, column {}", error.line(), error.column());
        let jwk: Jwk = serde_json::from_slice(text).map_err(|error| KeyError::Broken(place(error)))?;
        let secret = jwk.d.map(Zeroizing::new);
        if (jwk.kty.as_str(), jwk.crv.as_deref()) != ("OKP", Some("Ed25519")) {
            return Err(KeyError::OtherKind(jwk.crv.unwrap_or(jwk.kty)));
        }
        let seed = half(secret.as_ref().ok_or(KeyError::PublicOnly)?, "d")?;
        let public = half(jwk.x.as_deref().unwrap_or_default(), "x")?;
        Ok(Self::of(Ed25519KeyPair::from_seed_and_public_key(&seed, &public).map_err(broken)?))
    }

    fn of(pair: Ed25519KeyPair) -> Self {
        let x = BASE64URL_NOPAD.encode(pair.public_key().as_ref());
        let canonical = format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}"#);
        let thumbprint = BASE64URL_NOPAD.encode(&Sha256::digest(canonical.as_bytes()));
        Self { pair: Arc::new(pair), x, thumbprint }
    }
}

/// The public halves of the example keys of RFC 9421 B.1.4 and RFC 8037 A.1 (draft: test keys MUST NOT be used).
const PUBLISHED: [&str; 2] =
    ["JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs", "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"];

/// The members of an Ed25519 JWK; others, such as `kid` and `use`, are not needed.
#[derive(Deserialize)]
struct Jwk {
    kty: String,
    crv: Option<String>,
    x: Option<String>,
    d: Option<String>,
}

/// A half of a key: base64url, with or without padding.
fn half(text: &str, member: &str) -> Result<Zeroizing<Vec<u8>>, KeyError> {
    let wrong = || KeyError::Broken(format!("member \"{member}\" is not 32 bytes in base64url"));
    let bytes = BASE64URL_NOPAD.decode(text.trim_end_matches('=').as_bytes()).map_err(|_| wrong())?;
    if bytes.len() == 32 { Ok(Zeroizing::new(bytes)) } else { Err(wrong()) }
}

fn broken(rejected: KeyRejected) -> KeyError {
    match rejected.to_string().as_str() {
        "WrongAlgorithm" => KeyError::OtherKind("not Ed25519".to_owned()),
        "InconsistentComponents" => {
            KeyError::Broken("its private and its public half do not belong together".to_owned())
        }
        other => KeyError::Broken(other.to_owned()),
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

impl PartialEq for SigningKey {
    fn eq(&self, other: &Self) -> bool {
        self.x == other.x
    }
}

impl Eq for SigningKey {}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey").field("thumbprint", &self.thumbprint).finish_non_exhaustive()
    }
}
