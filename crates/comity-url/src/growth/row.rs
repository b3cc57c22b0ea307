//! What the guards have counted, as it is kept for a process that goes on.

use std::hash::Hasher as _;

use super::{Counter, Shape, ShapeKind, hash};

/// Bytes of a [`GrowthRow`].
pub const ROW: usize = 32;

/// One step of a count, or one count: bytes for a file. Origins, domains, hosts and shapes are hashes in it, without a key: whoever
/// has the file can try guesses.
///
/// Layout, each number little-endian: origin or domain 8 bytes, shape or host 8, count 4, error 4, kind 4 (1 numbers, 2 dates, 3 a
/// host), check 4. The check tells a row that was cut or overwritten, and nothing of who wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrowthRow {
    /// An origin or a domain.
    pub(super) about: u64,
    pub(super) of: Of,
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    Shape(Counter),
    Host(u64),
}

impl GrowthRow {
    pub(super) const fn of_shape(about: u64, counter: Counter) -> Self {
        Self { about, of: Of::Shape(counter) }
    }

    pub(super) const fn of_host(about: u64, host: u64) -> Self {
        Self { about, of: Of::Host(host) }
    }

    /// What names the way in which hashes are made here: rows that were made in another way count nothing.
    #[must_use]
    pub fn hashing() -> u64 {
        hash("the shapes of a site")
    }

    /// This row and the next in one, where they count the same.
    #[must_use]
    pub fn with(self, next: &Self) -> Option<Self> {
        let (Of::Shape(first), Of::Shape(second)) = (self.of, next.of) else { return None };
        let is_same = self.about == next.about && first.shape == second.shape && first.error == 0 && second.error == 0;
        let both = Counter { count: first.count.saturating_add(second.count), ..first };
        is_same.then(|| Self::of_shape(self.about, both))
    }

    /// Its bytes.
    #[must_use]
    pub fn to_bytes(self) -> [u8; ROW] {
        let (name, count, error, kind) = match self.of {
            Of::Shape(Counter { shape: Shape { hash, kind }, count, error }) => (hash, count, error, code(kind)),
            Of::Host(host) => (host, 1, 0, HOST),
        };
        let mut bytes = [0; ROW];
        bytes[..8].copy_from_slice(&self.about.to_le_bytes());
        bytes[8..16].copy_from_slice(&name.to_le_bytes());
        bytes[16..20].copy_from_slice(&count.to_le_bytes());
        bytes[20..24].copy_from_slice(&error.to_le_bytes());
        bytes[24..28].copy_from_slice(&kind.to_le_bytes());
        let check = check(&bytes[..28]);
        bytes[28..].copy_from_slice(&check);
        bytes
    }

    /// The row of these bytes; `None` where they are not whole.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; ROW]) -> Option<Self> {
        let (said, stands) = bytes.split_at(28);
        if check(said) != stands {
            return None;
        }
        let (about, rest) = said.split_first_chunk::<8>()?;
        let (name, rest) = rest.split_first_chunk::<8>()?;
        let (count, rest) = rest.split_first_chunk::<4>()?;
        let (error, kind) = rest.split_first_chunk::<4>()?;
        let (about, name) = (u64::from_le_bytes(*about), u64::from_le_bytes(*name));
        let kind = match u32::from_le_bytes(kind.try_into().ok()?) {
            NUMBERS => ShapeKind::Numbers,
            CALENDAR => ShapeKind::Calendar,
            HOST => return Some(Self::of_host(about, name)),
            _ => return None,
        };
        let (count, error) = (u32::from_le_bytes(*count), u32::from_le_bytes(*error));
        Some(Self::of_shape(about, Counter { shape: Shape { hash: name, kind }, count, error }))
    }
}

const NUMBERS: u32 = 1;
const CALENDAR: u32 = 2;
const HOST: u32 = 3;

const fn code(kind: ShapeKind) -> u32 {
    match kind {
        ShapeKind::Numbers => NUMBERS,
        ShapeKind::Calendar => CALENDAR,
    }
}

/// Against cuts and garbage, not against forgers.
fn check(said: &[u8]) -> [u8; 4] {
    let mut hasher = std::hash::DefaultHasher::new();
    hasher.write(said);
    let [a, b, c, d, ..] = hasher.finish().to_le_bytes();
    [a, b, c, d]
}
