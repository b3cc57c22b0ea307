//! Where blocks lie: in slabs of equal places, so that what one leaves the next one of its size takes.
//!
//! From the allocator blocks that grow and move leave holes between what others hold: a third of all memory at a million URLs.

/// Pieces of memory, most of up to [`LARGEST`] bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Arena {
    /// By size in steps, the smallest first.
    classes: Vec<Class>,
    /// Pieces that are too large for a class.
    large: Vec<Box<[u8]>>,
    free_large: Vec<u32>,
}

/// Places of one size.
#[derive(Clone, Debug, Default)]
struct Class {
    slabs: Vec<Box<[u8]>>,
    free: Vec<u32>,
    /// Places that were ever given out.
    used: u32,
}

/// Names a piece, and says how long it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Piece {
    place: u32,
    len: u32,
}

/// Bytes between two sizes.
const STEP: usize = 64;
/// Bytes of the largest place.
const LARGEST: usize = 1280;
/// Bytes of a slab, of which each table has a last one of each size that is partly used.
const SLAB: usize = 32 << 10;

impl Piece {
    pub(super) const fn is_empty(self) -> bool {
        self.len == 0
    }

    pub(super) const fn len(self) -> usize {
        self.len as usize
    }

    /// Its size in steps; `None` for a large one.
    fn class(self) -> Option<usize> {
        (self.len() <= LARGEST).then(|| self.len().div_ceil(STEP))
    }
}

impl Arena {
    pub(super) fn get(&self, piece: Piece) -> &[u8] {
        let bytes = match piece.class() {
            Some(0) => None,
            Some(steps) => self.classes.get(steps).and_then(|class| class.get(piece.place, steps * STEP)),
            None => self.large.get(piece.place as usize).map(AsRef::as_ref),
        };
        bytes.and_then(|bytes| bytes.get(..piece.len())).unwrap_or_default()
    }

    /// Puts other bytes in the place of a piece; gives the piece that has them.
    pub(super) fn replace(&mut self, old: Piece, bytes: &[u8]) -> Piece {
        let mut new = Piece { place: old.place, len: u32::try_from(bytes.len()).unwrap_or(u32::MAX) };
        if old.class() != new.class() || new.class().is_none() {
            self.free(old);
            new.place = self.place(new);
        }
        match new.class() {
            Some(0) => {}
            Some(steps) => {
                let class = self.classes.get_mut(steps);
                let place = class.and_then(|class| class.get_mut(new.place, steps * STEP));
                if let Some(place) = place.and_then(|place| place.get_mut(..bytes.len())) {
                    place.copy_from_slice(bytes);
                }
            }
            None => {
                if let Some(large) = self.large.get_mut(new.place as usize) {
                    *large = bytes.into();
                }
            }
        }
        new
    }

    pub(super) fn free(&mut self, piece: Piece) {
        match piece.class() {
            Some(0) => {}
            Some(steps) => self.classes.get_mut(steps).into_iter().for_each(|class| class.free.push(piece.place)),
            None => {
                self.large.get_mut(piece.place as usize).into_iter().for_each(|large| *large = Box::default());
                self.free_large.push(piece.place);
            }
        }
    }

    /// A free place for a piece.
    fn place(&mut self, piece: Piece) -> u32 {
        match piece.class() {
            Some(0) => 0,
            Some(steps) => {
                if self.classes.len() <= steps {
                    self.classes.resize(steps + 1, Class::default());
                }
                self.classes.get_mut(steps).map_or(0, |class| class.place(steps * STEP))
            }
            None => self.free_large.pop().unwrap_or_else(|| {
                self.large.push(Box::default());
                u32::try_from(self.large.len() - 1).unwrap_or(u32::MAX)
            }),
        }
    }

    /// Bytes of the places in use, and of the large pieces.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        let of = |(steps, class): (usize, &Class)| (class.used as usize - class.free.len()) * steps * STEP;
        let large: usize = self.large.iter().map(|large| large.len()).sum();
        self.classes.iter().enumerate().map(of).sum::<usize>() + large
    }
}

impl Class {
    fn get(&self, place: u32, size: usize) -> Option<&[u8]> {
        let (slab, at) = at(place, size);
        self.slabs.get(slab)?.get(at..at + size)
    }

    fn get_mut(&mut self, place: u32, size: usize) -> Option<&mut [u8]> {
        let (slab, at) = at(place, size);
        self.slabs.get_mut(slab)?.get_mut(at..at + size)
    }

    fn place(&mut self, size: usize) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            let place = self.used;
            self.used += 1;
            if at(place, size).0 >= self.slabs.len() {
                self.slabs.push(vec![0; SLAB].into());
            }
            place
        })
    }
}

/// Slab of a place, and where in it.
const fn at(place: u32, size: usize) -> (usize, usize) {
    let each = SLAB / size;
    (place as usize / each, place as usize % each * size)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Pieces of any length, changed and freed in any order, keep their bytes, and leave no place behind.
        #[test]
        fn pieces_keep_their_bytes(changes in prop::collection::vec((0_usize..12, 0_usize..1500, any::<u8>()), 0..200)) {
            let mut arena = Arena::default();
            let mut pieces = vec![(Piece::default(), Vec::new()); 12];
            for (at, len, byte) in changes {
                let bytes = vec![byte; len];
                pieces[at] = (arena.replace(pieces[at].0, &bytes), bytes);
                for (piece, bytes) in &pieces {
                    prop_assert_eq!(arena.get(*piece), bytes.as_slice());
                }
            }
            pieces.iter().for_each(|(piece, _)| arena.free(*piece));
            prop_assert_eq!(arena.bytes(), 0);
        }
    }
}
