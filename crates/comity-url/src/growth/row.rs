//! What the guards have counted, as it is kept for a process that goes on.

use std::hash::Hasher as _;

use super::{Counter, Shape, ShapeKind, hash};
use crate::Origin;

/// Bytes of a [`GrowthRow`].
pub const ROW: usize = 32;

/// One step of a count, or one count: bytes for a file. Origins, domains, hosts and shapes are hashes in it, without a key: whoever
/// has the file can try guesses.
///
/// Layout, each number little-endian: origin or domain 8 bytes, shape, host or likeness 8, count 4, error 4 (of pages: pages in all),
/// kind 4 (1 numbers, 2 dates, 3 a host, 4 pages, 5 pages of one likeness), check 4. The check tells a row that was cut or
/// overwritten, and nothing of who wrote it.
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
    Pages(CountedPages),
}

/// Pages of one origin, as guards against near-duplicates count them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountedPages {
    /// Pages in all.
    pub seen: u32,
    /// The fingerprint of a page, and for how many pages like it this counts.
    pub like: Option<(u64, u32)>,
}

impl CountedPages {
    /// Both in one, where they tell of the same pages.
    fn with(self, next: Self) -> Option<Self> {
        let like = match (self.like, next.like) {
            (None, None) => None,
            (Some((first, count)), Some((second, more))) if first == second => {
                Some((first, count.saturating_add(more)))
            }
            _ => return None,
        };
        Some(Self { seen: self.seen.saturating_add(next.seen), like })
    }
}

impl GrowthRow {
    /// An origin as rows name it.
    #[must_use]
    pub fn origin(origin: &Origin) -> u64 {
        hash(origin.as_str())
    }

    /// Of an origin as rows name it.
    #[must_use]
    pub const fn of_pages(about: u64, pages: CountedPages) -> Self {
        Self { about, of: Of::Pages(pages) }
    }

    /// The pages that it counts, and of which origin, as rows name it; `None` where it counts something else.
    #[must_use]
    pub const fn pages(&self) -> Option<(u64, CountedPages)> {
        match self.of {
            Of::Pages(pages) => Some((self.about, pages)),
            Of::Shape(_) | Of::Host(_) => None,
        }
    }

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
        if self.about != next.about {
            return None;
        }
        match (self.of, next.of) {
            (Of::Shape(first), Of::Shape(second)) => {
                let is_same = first.shape == second.shape && first.error == 0 && second.error == 0;
                let both = Counter { count: first.count.saturating_add(second.count), ..first };
                is_same.then(|| Self::of_shape(self.about, both))
            }
            (Of::Pages(first), Of::Pages(second)) => first.with(second).map(|both| Self::of_pages(self.about, both)),
            _ => None,
        }
    }

    /// Its bytes.
    #[must_use]
    pub fn to_bytes(self) -> [u8; ROW] {
        let (name, count, error, kind) = match self.of {
            Of::Shape(Counter { shape: Shape { hash, kind }, count, error }) => (hash, count, error, code(kind)),
            Of::Host(host) => (host, 1, 0, HOST),
            Of::Pages(CountedPages { seen, like: None }) => (0, 0, seen, PAGES),
            Of::Pages(CountedPages { seen, like: Some((print, count)) }) => (print, count, seen, ALIKE),
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
        let (count, error) = (u32::from_le_bytes(*count), u32::from_le_bytes(*error));
        let shape = |kind| Counter { shape: Shape { hash: name, kind }, count, error };
        Some(match u32::from_le_bytes(kind.try_into().ok()?) {
            NUMBERS => Self::of_shape(about, shape(ShapeKind::Numbers)),
            CALENDAR => Self::of_shape(about, shape(ShapeKind::Calendar)),
            HOST => Self::of_host(about, name),
            PAGES => Self::of_pages(about, CountedPages { seen: error, like: None }),
            ALIKE => Self::of_pages(about, CountedPages { seen: error, like: Some((name, count)) }),
            _ => return None,
        })
    }
}

const NUMBERS: u32 = 1;
const CALENDAR: u32 = 2;
const HOST: u32 = 3;
const PAGES: u32 = 4;
const ALIKE: u32 = 5;

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
