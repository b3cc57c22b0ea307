use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use comity::policy::Digest;
use comity_archive::{ChainHead, ChainVerifier, Checkpoint, Line, Record, read_records};

/// What is wrong with the chain: no report is made of it.
pub(super) type Broken = String;

/// The places that the directory names outside of its records: they are read before the records, which may grow meanwhile.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// The line that `D/chain` names.
    head: Option<ChainHead>,
    /// Links by how many lines there were.
    links: HashMap<u64, (u64, Digest)>,
    /// Lines that the last checkpoint speaks for, the configuration it names, and how many there are.
    pub(super) sealed: u64,
    pub(super) config: Option<Digest>,
    pub(super) checkpoints: u64,
    /// Checkpoints by the key that signed them, in the order in which keys first appear.
    pub(super) keys: Vec<(String, u64)>,
}

/// The chain as it was read.
#[derive(Debug, Default)]
pub(super) struct Chain {
    pub(super) lines: u64,
    pub(super) tombstones: u64,
    pub(super) head: Option<ChainHead>,
    /// Frames that a kill cut short; no acknowledged line was in them.
    pub(super) torn: Vec<String>,
}

impl Places {
    /// # Errors
    /// When a checkpoint or `D/chain` is not what was written.
    pub(super) fn read(dir: &Path) -> Result<Self, Broken> {
        let mut places = Self { head: ChainHead::load(dir).map_err(|e| e.to_string())?, ..Self::default() };
        let path = dir.join("checkpoints.jsonl");
        if !path.exists() {
            return Ok(places);
        }
        let wrong = |n: u64, why: &dyn std::fmt::Display| format!("checkpoints.jsonl, line {}: {why}", n + 1);
        let mut file = BufReader::new(File::open(&path).map_err(|e| wrong(0, &e))?);
        let mut text = String::new();
        // A last line without its end is being written.
        while file.read_line(&mut text).map_err(|e| wrong(places.checkpoints, &e))? > 0 && text.ends_with('\n') {
            let checkpoint =
                Checkpoint::parse(text.trim_end_matches('\n')).map_err(|e| wrong(places.checkpoints, &e))?;
            places.take(checkpoint);
            text.clear();
        }
        Ok(places)
    }

    fn take(&mut self, checkpoint: Checkpoint) {
        self.checkpoints += 1;
        self.sealed = checkpoint.lines;
        self.config = checkpoint.config;
        self.links.insert(checkpoint.lines, (checkpoint.n, checkpoint.link));
        if let Some(signed) = checkpoint.signed {
            match self.keys.iter_mut().find(|(key, _)| *key == signed.key) {
                Some((_, times)) => *times += 1,
                None => self.keys.push((signed.key, 1)),
            }
        }
    }

    /// Why the line is not the one that was written there.
    fn differs(&self, line: &Line) -> Option<Broken> {
        let named = self.links.get(&(line.seq + 1)).filter(|(_, link)| *link != line.link);
        let other = self.head.filter(|head| head.seq == line.seq && head.link != line.link);
        let by = named.map(|(n, _)| format!("checkpoint {n}")).or_else(|| other.map(|_| "D/chain".to_owned()))?;
        Some(format!("line {} is not the one that {by} names", line.seq))
    }

    /// Lines that have to be there.
    pub(super) fn due(&self) -> u64 {
        self.head.map_or(0, |head| head.seq + 1).max(self.sealed)
    }
}

/// Reads the records in order, up to `lines` of them, and holds them against the chain and the places. Memory: a frame.
///
/// # Errors
/// The first thing that does not hold.
pub(super) fn follow(
    dir: &Path,
    places: &Places,
    lines: Option<u64>,
    mut each: impl FnMut(&Line, Option<Record>),
) -> Result<Chain, Broken> {
    follow_lines(dir, places, lines, |line| {
        each(line, line.record().map_err(|e| e.to_string())?);
        Ok(())
    })
}

/// As [`follow`], for whoever reads the lines with other types.
///
/// # Errors
/// The first thing that does not hold, for `each` too.
pub(super) fn follow_lines(
    dir: &Path,
    places: &Places,
    lines: Option<u64>,
    mut each: impl FnMut(&Line) -> Result<(), Broken>,
) -> Result<Chain, Broken> {
    let (mut chain, mut read) = (ChainVerifier::default(), 0);
    let mut reader = read_records(dir).map_err(|e| e.to_string())?;
    while lines.is_none_or(|lines| read < lines) {
        let Some(line) = reader.next() else { break };
        let line = line.map_err(|e| e.to_string())?;
        chain.step(&line).map_err(|fault| fault.to_string())?;
        if let Some(problem) = places.differs(&line) {
            return Err(problem);
        }
        read += 1;
        each(&line)?;
    }
    if read < places.due() {
        return Err(format!("{read} lines are there, and {} were written: the end is missing", places.due()));
    }
    let report = chain.report();
    let torn = reader.torn().iter().map(ToString::to_string).collect();
    Ok(Chain { lines: read, tombstones: report.erased, head: report.head, torn })
}
