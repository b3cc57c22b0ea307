//! Bytes of a document that come in pieces and are not done with yet.

use memchr::memmem;

/// What is held of them. What is done with is passed over, and moved out of the way only when it outweighs the rest: so no more bytes
/// are moved than came, however many are passed over one by one.
#[derive(Debug, Default)]
pub(crate) struct Held {
    bytes: Vec<u8>,
    /// Bytes at the front that are done with.
    done: usize,
    /// Bytes that were moved or searched, for tests of what hostile documents cost.
    #[cfg(test)]
    pub(crate) work: std::cell::Cell<usize>,
}

impl Held {
    /// Takes the next bytes.
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        let rest = self.rest().len();
        if self.done > rest {
            self.bytes.drain(..self.done);
            self.done = 0;
            #[cfg(test)]
            self.work.update(|work| work + rest);
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// What is not done with.
    pub(crate) fn rest(&self) -> &[u8] {
        self.bytes.get(self.done..).unwrap_or_default()
    }

    /// Passes over so many bytes.
    pub(crate) fn pass(&mut self, bytes: usize) {
        self.done = self.done.saturating_add(bytes).min(self.bytes.len());
    }

    /// Where in the rest, at `from` or behind it, `wanted` begins.
    pub(crate) fn find(&self, from: usize, wanted: &[u8]) -> Option<usize> {
        let rest = self.rest().get(from..)?;
        let found = memmem::find(rest, wanted);
        #[cfg(test)]
        self.work.update(|work| work + found.map_or(rest.len(), |at| at + wanted.len()));
        found.map(|at| from + at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_moved_than_came() {
        // Pieces, and what is passed over after each: nothing, all, and about half.
        for (piece, pass) in [(7, 0), (7, 7), (7, 3), (7, 4), (1, 1), (100, 99)] {
            let (mut held, mut came, mut passed) = (Held::default(), 0_usize, 0_usize);
            for _ in 0..1000 {
                let bytes: Vec<u8> = (came..came + piece).map(|n| u8::try_from(n % 251).unwrap()).collect();
                held.take(&bytes);
                held.pass(pass);
                (came, passed) = (came + piece, passed + pass);
                assert_eq!(held.rest().len(), came - passed);
                assert_eq!(held.rest().first().copied(), (came > passed).then(|| u8::try_from(passed % 251).unwrap()));
                assert!(held.bytes.len() <= 2 * (came - passed) + 2 * piece, "{piece}, {pass}: {}", held.bytes.len());
            }
            assert!(held.work.get() <= came, "{piece}, {pass}: {}", held.work.get());
            held.pass(usize::MAX);
            assert!(held.rest().is_empty() && held.find(1, b"x").is_none());
        }
    }
}
