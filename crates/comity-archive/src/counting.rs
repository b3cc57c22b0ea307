use std::io::{self, BufRead, Read};

/// A reader that knows how many bytes were consumed from it.
#[derive(Debug)]
pub(crate) struct Counting<R> {
    inner: R,
    consumed: u64,
}

impl<R: BufRead> Counting<R> {
    pub(crate) const fn new(inner: R) -> Self {
        Self::starting_at(inner, 0)
    }

    /// `inner` stands at byte `consumed` of its file.
    pub(crate) const fn starting_at(inner: R, consumed: u64) -> Self {
        Self { inner, consumed }
    }

    pub(crate) fn into_inner(self) -> R {
        self.inner
    }

    pub(crate) const fn consumed(&self) -> u64 {
        self.consumed
    }

    /// True when nothing is left.
    pub(crate) fn at_end(&mut self) -> io::Result<bool> {
        loop {
            match self.inner.fill_buf() {
                Ok(bytes) => return Ok(bytes.is_empty()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl<R: BufRead> Read for Counting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.consumed += n as u64;
        Ok(n)
    }
}

impl<R: BufRead> BufRead for Counting<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.consumed += amount as u64;
        self.inner.consume(amount);
    }
}
