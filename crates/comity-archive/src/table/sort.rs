//! An external sort: what is held at once is bounded, the rest lies in sorted temporary files that are merged.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Lines, Write as _};
use std::path::PathBuf;

use super::rows::Held;
use super::with_end;
use crate::ArchiveError;

/// How much is held at once (our choice).
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Bytes of records that are sorted in memory.
    pub(super) bytes: usize,
    /// Temporary files: so many are merged into one. Each open one takes a window of its decompression, half a MiB.
    pub(super) runs: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { bytes: 64 << 20, runs: 64 }
    }
}

/// Takes lines in any order.
pub(super) struct Sorter {
    path: PathBuf,
    bounds: Bounds,
    held: Vec<Held>,
    bytes: usize,
    runs: Vec<Run>,
    made: u64,
}

/// A sorted temporary file; it is removed when this is dropped.
struct Run(PathBuf);

impl Drop for Run {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.0));
    }
}

impl Sorter {
    /// Temporary files lie beside `path`, whose name theirs begin with.
    pub(super) const fn new(path: PathBuf, bounds: Bounds) -> Self {
        Self { path, bounds, held: Vec::new(), bytes: 0, runs: Vec::new(), made: 0 }
    }

    pub(super) fn push(&mut self, held: Held) -> Result<(), ArchiveError> {
        self.bytes += held.bytes();
        self.held.push(held);
        if self.bytes >= self.bounds.bytes {
            self.spill()?;
        }
        Ok(())
    }

    /// All of them, in order.
    pub(super) fn sorted(mut self) -> Result<Merged, ArchiveError> {
        if !self.runs.is_empty() {
            self.spill()?;
        }
        self.held.sort_unstable();
        Merged::open(self.held, self.runs)
    }

    fn spill(&mut self) -> Result<(), ArchiveError> {
        let mut held = std::mem::take(&mut self.held);
        self.bytes = 0;
        held.sort_unstable();
        let run = self.write(held.into_iter().map(Ok))?;
        self.runs.push(run);
        if self.runs.len() >= self.bounds.runs {
            let merged = Merged::open(Vec::new(), std::mem::take(&mut self.runs))?;
            let run = self.write(merged)?;
            self.runs.push(run);
        }
        Ok(())
    }

    fn write(&mut self, sorted: impl Iterator<Item = Result<Held, ArchiveError>>) -> Result<Run, ArchiveError> {
        let path = with_end(&self.path, &format!(".{:05}", self.made));
        self.made += 1;
        let failed = |e: io::Error| ArchiveError::io(&path, e);
        let file = File::create(&path).map_err(failed)?;
        let run = Run(path.clone());
        let mut to = zstd::Encoder::new(file, 1).map_err(failed)?;
        for held in sorted {
            to.write_all(held?.to_text().as_bytes()).map_err(failed)?;
        }
        to.finish().map_err(failed)?;
        Ok(run)
    }
}

type Texts = Lines<BufReader<zstd::Decoder<'static, BufReader<File>>>>;

/// Sorted runs as one.
pub(super) struct Merged {
    /// What never left memory; then there are no runs.
    held: std::vec::IntoIter<Held>,
    runs: Vec<(Run, Texts)>,
    /// The next of each run that has one.
    next: BinaryHeap<Reverse<(Held, usize)>>,
}

impl Merged {
    fn open(held: Vec<Held>, runs: Vec<Run>) -> Result<Self, ArchiveError> {
        let mut merged = Self { held: held.into_iter(), runs: Vec::new(), next: BinaryHeap::new() };
        for run in runs {
            let texts = File::open(&run.0).and_then(zstd::Decoder::new);
            let texts = texts.map_err(|e| ArchiveError::io(&run.0, e))?;
            merged.runs.push((run, BufReader::new(texts).lines()));
            merged.advance(merged.runs.len() - 1)?;
        }
        Ok(merged)
    }

    fn advance(&mut self, at: usize) -> Result<(), ArchiveError> {
        let Some((run, texts)) = self.runs.get_mut(at) else { return Ok(()) };
        let Some(text) = texts.next() else { return Ok(()) };
        let held = text.and_then(|text| Held::parse(&text).ok_or_else(|| io::ErrorKind::InvalidData.into()));
        self.next.push(Reverse((held.map_err(|e| ArchiveError::io(&run.0, e))?, at)));
        Ok(())
    }
}

impl Iterator for Merged {
    type Item = Result<Held, ArchiveError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(held) = self.held.next() {
            return Some(Ok(held));
        }
        let Reverse((held, at)) = self.next.pop()?;
        Some(self.advance(at).map(|()| held))
    }
}
