//! URL keys: 128-bit fingerprints of canonical URLs, for the seen-set.

use std::fmt;

use siphasher::sip128::SipHasher24;

use crate::CrawlUrl;
use crate::canonical::canonical_form;

/// Version of the rules that make a [`UrlKey`]: those of [`canonical`](crate::canonical) and the hash.
/// A stored seen-set carries it; a change of either raises it.
pub const KEY_RULES_VERSION: u16 = 1;

/// Makes [`UrlKey`]s: SipHash-2-4 with 128 bits of output over the canonical URL, under a key of the
/// crawl's own, so that no site can prepare two URLs that collide.
#[derive(Clone)]
pub struct KeyHasher {
    key: [u8; 16],
}

impl KeyHasher {
    /// `key`: 16 random bytes, kept with the seen-set for as long as it lives.
    #[must_use]
    pub fn new(key: [u8; 16]) -> Self {
        Self { key }
    }

    /// The key of `url`. Equal for all URLs with one canonical form. About 0.2 µs.
    #[must_use]
    pub fn key(&self, url: &CrawlUrl) -> UrlKey {
        self.hash(&canonical_form(url))
    }

    /// The key of a canonical text.
    pub(crate) fn hash(&self, canonical: &str) -> UrlKey {
        // The reference implementation's 16 output bytes, in their order, on any machine.
        UrlKey::from_bytes(SipHasher24::new_with_key(&self.key).hash(canonical.as_bytes()).as_bytes())
    }
}

/// Without the key: whoever reads it in a log could prepare collisions.
impl fmt::Debug for KeyHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyHasher").finish_non_exhaustive()
    }
}

/// The keyed 128-bit fingerprint of a canonical URL. Only the seen-set uses it (design, invariant 3):
/// two keys made under different hasher keys, or rule versions, mean nothing to each other.
/// Ordered as its bytes are; text form: 32 lower-case hex digits.
// In halves: a u128 is aligned to 16 bytes, which would make every record that holds one larger.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UrlKey {
    high: u64,
    low: u64,
}

impl UrlKey {
    /// The 16 bytes that SipHash gave, most significant first: the stored form, which sorts as the keys do.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 16] {
        self.number().to_be_bytes()
    }

    /// The key whose [`UrlKey::to_bytes`] are `bytes`.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self::of(u128::from_be_bytes(bytes))
    }

    const fn of(number: u128) -> Self {
        Self { high: (number >> 64) as u64, low: number as u64 }
    }

    const fn number(self) -> u128 {
        (self.high as u128) << 64 | self.low as u128
    }
}

impl fmt::Display for UrlKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.number())
    }
}

impl fmt::Debug for UrlKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UrlKey({self})")
    }
}
