//! How alike pages are: a fingerprint of their text that changes little when the text does.

mod budget;
mod sketch;

pub use self::budget::{DuplicateBudget, LinkAllowance};
pub use self::sketch::TextSketch;

/// A simhash of 64 bits (Charikar, 2002) over word shingles: pages whose texts differ little have fingerprints that differ
/// in few bits, unrelated ones in about 32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Likeness(pub u64);

impl Likeness {
    /// Bits in which near-duplicates differ at most. Our choice: stricter than the 3 of Manku, Jain and Das Sarma (2007), since
    /// menus and footers make the pages of one site alike.
    pub const NEAR: u32 = 2;

    /// Bits in which two fingerprints differ.
    #[must_use]
    pub const fn distance(self, other: Self) -> u32 {
        (self.0 ^ other.0).count_ones()
    }

    /// Whether two pages are near-duplicates.
    #[must_use]
    pub const fn is_near(self, other: Self) -> bool {
        self.distance(other) <= Self::NEAR
    }
}
