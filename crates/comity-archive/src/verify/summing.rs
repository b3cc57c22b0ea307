use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use comity_policy::Digest;
use sha2::{Digest as _, Sha256};

/// A file whose bytes are summed as they are read.
#[derive(Debug)]
pub(super) struct Summing {
    file: File,
    hash: Option<Sha256>,
    bytes: u64,
}

impl Summing {
    /// Opens a file; without `summed` its bytes are only counted.
    pub(super) fn open(path: &Path, summed: bool) -> io::Result<BufReader<Self>> {
        let file = File::open(path)?;
        let hash = summed.then(Sha256::new);
        Ok(BufReader::with_capacity(256 * 1024, Self { file, hash, bytes: 0 }))
    }

    /// Reads what is left; gives length and sum of the whole file.
    pub(super) fn finish(reader: BufReader<Self>) -> io::Result<(u64, Option<Digest>)> {
        let mut summing = reader.into_inner();
        io::copy(&mut summing, &mut io::sink())?;
        Ok((summing.bytes, summing.hash.map(|hash| Digest::from_bytes(hash.finalize().into()))))
    }
}

impl Read for Summing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read(buffer)?;
        if let (Some(hash), Some(read)) = (&mut self.hash, buffer.get(..n)) {
            hash.update(read);
        }
        self.bytes += n as u64;
        Ok(n)
    }
}
