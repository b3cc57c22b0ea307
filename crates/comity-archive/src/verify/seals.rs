use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::Path;

use comity_policy::Digest;

use super::report::{Checked, Fault, FaultKind, Faults};
use super::tree::{Entry, Pair, Tree};
use crate::chain::{ChainFile, GENESIS};
use crate::checkpoint::{CHECKPOINTS, Checkpoint, FileSum, MAX_CHECKPOINTS_FILE, Prefix, sum_file};

/// The longest checkpoint that is read: a thousand files closed at once.
const MAX_CHECKPOINT: u64 = 1 << 20;

/// What checkpoints and head say that the rest is held against.
#[derive(Debug, Default)]
pub(super) struct Seals {
    /// Places of the chain, by how many lines lie before.
    pub(super) places: Vec<ChainPlace>,
    /// Sums of closed files.
    pub(super) sums: BTreeMap<String, FileSum>,
    /// Lengths and sums of the evidence's index, growing.
    pub(super) prefixes: Vec<Prefix>,
    /// Whether the index became shorter: only an erasure makes it so. What was summed before does not stand then.
    pub(super) shrunk: bool,
    /// The configuration of the last checkpoint.
    pub(super) config: Option<Digest>,
    /// Those of all of them.
    pub(super) configs: BTreeSet<Digest>,
    pub(super) keys: Vec<String>,
    /// Whether there are checkpoints at all: crawls of the first versions have none.
    pub(super) kept: bool,
    /// Whether `D/chain` is there.
    pub(super) head: bool,
}

/// A line that something outside the chain names.
#[derive(Debug)]
pub(super) struct ChainPlace {
    pub(super) lines: u64,
    pub(super) link: Digest,
    pub(super) by: String,
}

impl Seals {
    /// Reads `D/checkpoints.jsonl` and `D/chain`.
    pub(super) fn read(dir: &Path, key: Option<&str>, checked: &mut Checked, faults: &mut Faults) -> io::Result<Self> {
        let mut seals = Self::default();
        let mut digests = BTreeSet::new();
        for checkpoint in checkpoints(dir, faults)? {
            digests.insert(checkpoint.digest);
            seals.take(checkpoint, key, checked, faults);
        }
        if let Some(key) = key.filter(|_| !seals.kept) {
            faults.file(FaultKind::Signer, CHECKPOINTS, format!("there is no checkpoint that {key} could have signed"));
        }
        seals.read_head(dir, &digests, faults);
        seals.places.sort_by_key(|place| place.lines);
        Ok(seals)
    }

    fn take(&mut self, checkpoint: Checkpoint, key: Option<&str>, checked: &mut Checked, faults: &mut Faults) {
        self.kept = true;
        checked.checkpoints += 1;
        let n = checkpoint.n;
        let signer = checkpoint.signed.map(|signed| signed.key);
        checked.signed += u64::from(signer.is_some());
        if key.is_some() && signer.as_deref() != key {
            let by = signer.as_deref().map_or_else(|| "it is not signed".to_owned(), |by| format!("{by} signed it"));
            faults.file(FaultKind::Signer, CHECKPOINTS, format!("checkpoint {n}: {by}"));
        }
        if let Some(signer) = signer.filter(|signer| !self.keys.contains(signer)) {
            self.keys.push(signer);
        }
        let by = format!("checkpoint {n}");
        self.places.push(ChainPlace { lines: checkpoint.lines, link: checkpoint.link, by });
        if self.prefixes.last().is_some_and(|last| checkpoint.evidence.bytes < last.bytes) {
            self.prefixes.clear();
            self.shrunk = true;
        }
        if self.prefixes.last() != Some(&checkpoint.evidence) {
            self.prefixes.push(checkpoint.evidence);
        }
        self.config = checkpoint.config;
        self.configs.extend(checkpoint.config);
        // A later sum stands: whoever changes a closed file by right, to erase from it, says so in a checkpoint.
        self.sums.extend(checkpoint.files.into_iter().map(|sum| (sum.path.clone(), sum)));
    }

    fn read_head(&mut self, dir: &Path, digests: &BTreeSet<Digest>, faults: &mut Faults) {
        let file = match ChainFile::load(dir) {
            Ok(file) => file,
            Err(error) => {
                self.head = true;
                return faults.file(FaultKind::Head, "chain", error);
            }
        };
        let Some(file) = file else {
            if self.places.iter().any(|place| place.lines > 0) {
                faults.file(FaultKind::Missing, "chain", "the head of the chain is not there");
            }
            return;
        };
        self.head = true;
        let (lines, link) = (file.head.seq.saturating_add(1), file.head.link);
        self.places.push(ChainPlace { lines, link, by: "D/chain".to_owned() });
        match file.checkpoint {
            Some(_) if !dir.join(CHECKPOINTS).exists() => {
                faults.file(FaultKind::Missing, CHECKPOINTS, "D/chain names a checkpoint, and there are none");
            }
            Some(named) if !digests.contains(&named) => {
                faults.file(FaultKind::Checkpoint, CHECKPOINTS, "the checkpoint that D/chain names is not there");
            }
            None if self.kept => faults.file(FaultKind::Head, "chain", "it names no checkpoint, and there are some"),
            _ => {}
        }
    }

    /// Number of the first line that was written by a version that keeps checkpoints, and configurations.
    pub(super) fn since(&self) -> Option<u64> {
        self.places.iter().filter(|place| place.by != "D/chain").map(|place| place.lines).min()
    }

    /// True when a kill may have come before its checkpoint: its lines are there, and have no sum either.
    fn is_unsummed(&self, pair: &Pair) -> bool {
        pair.records.as_ref().is_some_and(|records| !self.sums.contains_key(&records.name))
    }

    /// Every file is there that was summed, and none that is closed without a sum.
    pub(super) fn check_files(&self, tree: &Tree, checked: &mut Checked, faults: &mut Faults) -> io::Result<()> {
        let pairs = tree.pairs.values().flat_map(|pair| [&pair.records, &pair.warc]).flatten();
        let present: BTreeMap<&str, &Entry> =
            pairs.chain(&tree.indexes).map(|entry| (entry.name.as_str(), entry)).collect();
        for name in self.sums.keys().filter(|name| !present.contains_key(name.as_str())) {
            faults.file(FaultKind::Missing, name.as_str(), "a checkpoint holds its sum, and it is not there");
        }
        let rolled = tree.youngest().filter(|(_, pair)| self.is_unsummed(pair));
        for (name, entry) in present {
            let summed = self.sums.contains_key(name);
            checked.summed_files += u64::from(summed);
            let is_rolled = rolled.is_some_and(|(base, pair)| pair.has(entry, base));
            if self.kept && !summed && entry.open {
                faults.unsealed(name, "it is still open, and no checkpoint holds its sum");
            } else if self.kept && !summed && is_rolled {
                faults.unsealed(
                    name,
                    "no checkpoint holds its sum, as after a kill between its close and its checkpoint",
                );
            } else if self.kept && !summed {
                faults.file(FaultKind::Added, name, "it was closed, and no checkpoint holds its sum");
            }
        }
        for index in &tree.indexes {
            if let Some(sum) = self.sums.get(&index.name) {
                let (bytes, sha256) = sum_file(&index.path)?;
                check_sum(sum, bytes, Some(sha256), faults);
            }
        }
        Ok(())
    }
}

/// Holds a file against its sum.
pub(super) fn check_sum(sum: &FileSum, bytes: u64, sha256: Option<Digest>, faults: &mut Faults) {
    if bytes != sum.bytes {
        let problem = format!("it has {bytes} bytes, {} when it was closed", sum.bytes);
        faults.file(FaultKind::FileSum, sum.path.as_str(), problem);
    } else if sha256 != Some(sum.sha256) {
        faults.file(FaultKind::FileSum, sum.path.as_str(), "its bytes are not those of when it was closed");
    }
}

/// The checkpoints, up to the first that does not hold.
fn checkpoints(dir: &Path, faults: &mut Faults) -> io::Result<Vec<Checkpoint>> {
    let file = match File::open(dir.join(CHECKPOINTS)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut reader = BufReader::new(file.take(MAX_CHECKPOINTS_FILE));
    let (mut all, mut offset) = (Vec::<Checkpoint>::new(), 0);
    loop {
        let mut text = Vec::new();
        let read = (&mut reader).take(MAX_CHECKPOINT).read_until(b'\n', &mut text)?;
        if read == 0 {
            return Ok(all);
        }
        let Some(text) = text.strip_suffix(b"\n") else {
            faults.unsealed(CHECKPOINTS, "its last line was cut off, as by a kill");
            return Ok(all);
        };
        let prev = all.last().map_or(GENESIS, |last| last.digest);
        let problem = match std::str::from_utf8(text).ok().map(Checkpoint::parse) {
            Some(Ok(next)) if next.n == all.len() as u64 && next.prev == prev => {
                all.push(next);
                offset += read as u64;
                continue;
            }
            Some(Ok(_)) => "it does not follow the one before".to_owned(),
            Some(Err(error)) => error.to_string(),
            None => "it is not UTF-8".to_owned(),
        };
        let problem = format!("checkpoint {}: {problem}", all.len());
        let (kind, file) = (FaultKind::Checkpoint, CHECKPOINTS.to_owned());
        faults.add(Fault { kind, file, offset: Some(offset), seq: None, url: None, problem });
        return Ok(all);
    }
}
