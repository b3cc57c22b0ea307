use std::fmt;
use std::hint::black_box;

use comity_policy::Digest;
use sha2::{Digest as _, Sha256};

/// A password or key, known by its SHA-256 only.
///
/// A fast hash protects a secret that is long and random; whoever can guess the secret can test the guess. Give every
/// customer 32 random bytes, not a word (`openssl rand -hex 32`).
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Digest);

impl Secret {
    /// The secret whose SHA-256 this is.
    #[must_use]
    pub const fn from_digest(digest: Digest) -> Self {
        Self(digest)
    }

    /// True when `given` is the secret. The time taken does not depend on where the two differ.
    #[must_use]
    pub fn is(&self, given: &[u8]) -> bool {
        let given: [u8; 32] = Sha256::digest(given).into();
        let differing = self.0.as_bytes().iter().zip(given).fold(0, |sum, (own, other)| sum | (own ^ other));
        black_box(differing) == 0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_secret_is_the_secret() {
        // printf %s 'p:w:x' | sha256sum
        let digest = "0dde60b3e972abd12fa2543a5f5d95ebde94ca18ff5717fb92e9875cf463fe12";
        let own = Secret::from_digest(digest.parse().unwrap());
        assert!(own.is(b"p:w:x"));
        for other in [&b""[..], b"p:w:", b"p:w:y", b"p:w:x "] {
            assert!(!own.is(other), "{other:?}");
        }
        assert_eq!(format!("{own:?}"), "Secret");
    }
}
