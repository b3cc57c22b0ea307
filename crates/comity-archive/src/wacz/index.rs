use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Lines, Write};
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::Wacz;
use crate::ArchiveError;
use crate::digests::sha256;
use crate::index::index_path;
use crate::recovery::index_of;

/// Lines of a block: what a reader has to fetch to find one (at most 3,000 by the format; our choice).
const BLOCK: usize = 1000;

/// Merges the sorted indexes of these WARC files into a compressed one with its secondary index; gives the number of lines.
pub(super) fn write(wacz: &mut Wacz, warcs: &[PathBuf]) -> Result<u64, ArchiveError> {
    let mut merged = Merged::open(warcs)?;
    let mut blocks = Blocks::default();
    wacz.add("indexes/index.cdx.gz", |to| {
        loop {
            let lines: Vec<String> = merged.by_ref().take(BLOCK).collect::<io::Result<_>>()?;
            if lines.is_empty() {
                return Ok(());
            }
            to.write_all(&blocks.compress(&lines)?)?;
        }
    })?;
    wacz.add("indexes/index.idx", |to| to.write_all(blocks.index.as_bytes()))?;
    Ok(blocks.lines)
}

/// The secondary index: where which block lies.
struct Blocks {
    index: String,
    offset: u64,
    lines: u64,
}

impl Default for Blocks {
    fn default() -> Self {
        let index = "!meta 0 {\"format\": \"cdxj-gzip-1.0\", \"filename\": \"index.cdx.gz\"}\n".to_owned();
        Self { index, offset: 0, lines: 0 }
    }
}

impl Blocks {
    fn compress(&mut self, lines: &[String]) -> io::Result<Vec<u8>> {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::new(6));
        for line in lines {
            gzip.write_all(line.as_bytes())?;
            gzip.write_all(b"\n")?;
        }
        let block = gzip.finish()?;
        let key = lines.first().and_then(|line| line.split_once(" {")).map(|(key, _)| key).unwrap_or_default();
        let (offset, length, digest) = (self.offset, block.len(), sha256(&block));
        self.index +=
            &format!("{key} {{\"offset\": {offset}, \"length\": {length}, \"digest\": \"sha256:{digest}\"}}\n");
        self.offset += block.len() as u64;
        self.lines += lines.len() as u64;
        Ok(block)
    }
}

/// The lines of sorted files in one order.
struct Merged {
    files: Vec<Lines<Box<dyn BufRead>>>,
    /// The next line of each file that has one.
    next: BinaryHeap<Reverse<(String, usize)>>,
}

impl Merged {
    fn open(warcs: &[PathBuf]) -> Result<Self, ArchiveError> {
        let mut merged = Self { files: Vec::new(), next: BinaryHeap::new() };
        for warc in warcs {
            let folder = warc.parent().unwrap_or(warc);
            let name = warc.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let path = index_path(folder, &name);
            let index: Box<dyn BufRead> = match File::open(&path) {
                Ok(file) => Box::new(BufReader::new(file)),
                // Made for this export only: what a crawl directory holds is sealed, and no reader adds to it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    Box::new(Cursor::new(index_of(warc, &name)?.into_text()))
                }
                Err(error) => return Err(ArchiveError::io(&path, error)),
            };
            merged.files.push(index.lines());
            merged.advance(merged.files.len() - 1).map_err(|e| ArchiveError::io(&path, e))?;
        }
        Ok(merged)
    }

    fn advance(&mut self, file: usize) -> io::Result<()> {
        if let Some(line) = self.files.get_mut(file).and_then(Iterator::next) {
            self.next.push(Reverse((line?, file)));
        }
        Ok(())
    }
}

impl Iterator for Merged {
    type Item = io::Result<String>;

    fn next(&mut self) -> Option<Self::Item> {
        let Reverse((line, file)) = self.next.pop()?;
        Some(self.advance(file).map(|()| line))
    }
}
