//! What was kept as evidence: the index of sightings, read once.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use comity_archive::Sighting;
use serde::Serialize;

use super::totals::{cut, named};
use crate::commands::report::chain::Broken;

/// The longest line of the index, and the latest sightings that are listed.
const LONGEST: u64 = 512 * 1024;
const SHOWN: usize = 50;

#[derive(Debug, Default)]
pub(super) struct Evidence {
    pub(super) kinds: BTreeMap<String, Kind>,
    /// The latest sightings.
    pub(super) latest: VecDeque<Sighting>,
    pub(super) sightings: u64,
    /// Lines that cannot be read: `comity verify` tells more.
    pub(super) unreadable: u64,
}

/// One kind of file.
#[derive(Debug, Default, Serialize)]
pub(super) struct Kind {
    pub(super) sightings: u64,
    /// Answers without a file.
    pub(super) absent: u64,
    /// Different copies, and their bytes.
    pub(super) copies: u64,
    pub(super) bytes: u64,
    #[serde(skip)]
    known: HashSet<[u8; 16]>,
}

impl Evidence {
    /// # Errors
    /// When the index is there and cannot be read.
    pub(super) fn read(dir: &Path) -> Result<Self, Broken> {
        let path = dir.join("evidence").join("index.jsonl");
        let mut evidence = Self::default();
        if !path.exists() {
            return Ok(evidence);
        }
        let wrong = |e: std::io::Error| format!("{}: {e}", path.display());
        let mut index = BufReader::new(File::open(&path).map_err(wrong)?);
        let mut line = Vec::new();
        while index.by_ref().take(LONGEST).read_until(b'\n', &mut line).map_err(wrong)? > 0 {
            match serde_json::from_slice::<Sighting>(&line) {
                Ok(sighting) => evidence.take(sighting),
                Err(_) => evidence.unreadable += 1,
            }
            line.clear();
        }
        for kind in evidence.kinds.values_mut() {
            kind.copies = kind.known.len() as u64;
            kind.known = HashSet::new();
        }
        Ok(evidence)
    }

    fn take(&mut self, sighting: Sighting) {
        self.sightings += 1;
        let name = serde_json::to_value(sighting.kind).unwrap_or_default();
        let kind: &mut Kind = named(&mut self.kinds, name.as_str().unwrap_or_default());
        kind.sightings += 1;
        match &sighting.digest {
            Some(hex) => {
                let mut head = [0; 16];
                head.iter_mut().zip(hex.bytes()).for_each(|(to, byte)| *to = byte);
                if kind.known.insert(head) {
                    kind.bytes += sighting.bytes;
                }
            }
            None => kind.absent += 1,
        }
        if self.latest.len() == SHOWN {
            self.latest.pop_front();
        }
        self.latest.push_back(Sighting { url: cut(&sighting.url), ..sighting });
    }
}
