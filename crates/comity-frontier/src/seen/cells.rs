//! Where the fingerprints of a table lie.

use memmap2::MmapMut;
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes};

/// Cells of one table, all empty at first.
///
/// Larger ones are pages of their own, given back to the system as a whole when the table has outgrown them. From the
/// allocator all 256 tables, which grow at about the same time, would leave holes of their old size between what others hold:
/// 59 of 220 MB at six million URLs.
#[derive(Debug)]
pub(super) enum Cells<P> {
    Heap(Vec<P>),
    Pages(MmapMut, std::marker::PhantomData<P>),
}

/// Bytes from which on a table has pages of its own.
const LARGE: usize = 8 << 10;

impl<P: Copy + FromBytes + FromZeros + IntoBytes + Immutable> Cells<P> {
    pub(super) const fn none() -> Self {
        Self::Heap(Vec::new())
    }

    /// So many cells, all zero.
    pub(super) fn zeroed(count: usize) -> Self {
        let bytes = count.saturating_mul(size_of::<P>());
        // Where the system gives no pages, the allocator says what that means.
        match (bytes >= LARGE).then(|| MmapMut::map_anon(bytes)) {
            Some(Ok(pages)) => Self::Pages(pages, std::marker::PhantomData),
            _ => Self::Heap(vec![P::new_zeroed(); count]),
        }
    }

    pub(super) fn all(&self) -> &[P] {
        match self {
            Self::Heap(cells) => cells,
            // Pages are aligned for every type, and hold a whole number of cells.
            Self::Pages(pages, _) => <[P]>::ref_from_bytes(pages).unwrap_or_default(),
        }
    }

    pub(super) fn all_mut(&mut self) -> &mut [P] {
        match self {
            Self::Heap(cells) => cells,
            Self::Pages(pages, _) => <[P]>::mut_from_bytes(pages).unwrap_or_default(),
        }
    }

    /// As many cells, with `more` empty ones behind them.
    pub(super) fn lengthen(&mut self, more: usize) {
        let mut longer = Self::zeroed(self.all().len() + more);
        for (new, old) in longer.all_mut().iter_mut().zip(self.all()) {
            *new = *old;
        }
        *self = longer;
    }
}
