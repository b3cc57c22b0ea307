//! The gate's memory on the machine's disk: real files, of which a power cut takes what was not synced.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

/// The logs of the engine, which only appends to them; behind what was written they hold zeros.
#[derive(Debug, Default)]
pub(crate) struct SimState {
    folder: Option<PathBuf>,
    /// How far each was written when the crawl was last made safe.
    safe: BTreeMap<PathBuf, u64>,
    /// When that was, in microseconds of the web.
    at_us: u64,
}

impl SimState {
    /// That of the crawl in `dir`.
    pub(crate) fn of(dir: Option<&Path>) -> Self {
        Self { folder: dir.map(|dir| dir.join("state/gate")), ..Self::default() }
    }

    /// Everything written until now is safe.
    pub(crate) fn synced(&mut self, now_us: u64) {
        self.at_us = now_us;
        for log in self.logs() {
            let from = self.safe.get(&log).copied().unwrap_or(0);
            let end = written_end(&log, from);
            self.safe.insert(log, end);
        }
    }

    /// The power fails: what was written since is gone. Gives the moment from which on nothing is remembered; `None` where
    /// nothing is kept.
    pub(crate) fn cut_power(&mut self) -> Option<u64> {
        self.folder.as_ref()?;
        for log in self.logs() {
            let safe = self.safe.get(&log).copied().unwrap_or(0);
            let end = written_end(&log, safe);
            let mut file = File::options().write(true).open(&log).unwrap();
            file.seek(SeekFrom::Start(safe)).unwrap();
            file.write_all(&vec![0; usize::try_from(end - safe).unwrap()]).unwrap();
        }
        Some(self.at_us)
    }

    fn logs(&self) -> Vec<PathBuf> {
        let entries = self.folder.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.filter(|path| path.extension().is_some_and(|end| end == "jnl")).collect()
    }
}

/// Bytes read at once; no batch of the gate's memory holds as many zeros in a row, but for a robots.txt made of them.
const PIECE: usize = 64 << 10;

/// Behind the last byte that is not zero, looked for from `from` on.
fn written_end(log: &Path, from: u64) -> u64 {
    let mut file = File::open(log).unwrap();
    file.seek(SeekFrom::Start(from)).unwrap();
    let (mut end, mut at) = (from, from);
    loop {
        let mut piece = Vec::with_capacity(PIECE);
        (&file).take(PIECE as u64).read_to_end(&mut piece).unwrap();
        let Some(last) = piece.iter().rposition(|byte| *byte != 0) else { return end };
        end = at + last as u64 + 1;
        at += piece.len() as u64;
    }
}
