//! Does a crawl directory still hold what was written into it? Everything is read again: nothing that the writer
//! remembered counts.
//!
//! Checked are the chain from its first line to its head, every content against its commitment, every checkpoint and its
//! signature, every closed file against the sum of when it was closed, every WARC record's grammar, CRC, length and digests,
//! and that each is the one that its line names: id, place, URL, date, body, request, commitment. Then every copy of the
//! evidence against its name, the index against checkpoints and copies, and the configuration against its digest.
//!
//! | module | what it holds |
//! |---|---|
//! | `report` | [`Verification`], [`Fault`], [`FaultKind`], [`Checked`] |
//! | `tree` | which files are there |
//! | `seals` | checkpoints and head: what the rest is held against |
//! | `pair`, `walk`, `exchange`, `block`, `seen` | one records file and the WARC beside it, in step |
//! | `erasures` | every tombstone against the record that says why, and the other way round |
//! | `evidence`, `configs` | the copies and their index; the configurations that records name |

mod block;
mod configs;
mod erasures;
mod evidence;
mod exchange;
mod pair;
mod parallel;
mod report;
mod seals;
mod seen;
mod summing;
mod tree;
mod walk;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::Path;

pub use report::{Checked, Fault, FaultKind, Verification};

use self::pair::{PairCheck, PairEnd};
use self::parallel::parallel;
use self::report::Faults;
use self::seals::Seals;
use self::tree::{Pair, Tree};
use crate::chain::GENESIS;
use crate::{ArchiveError, ChainHead};

/// How to verify.
#[derive(Clone, Debug, Default)]
pub struct VerifyOptions {
    /// Threads, each of which checks one pair of files at a time; `None`: one for each core.
    pub threads: Option<NonZeroUsize>,
    /// The public key that must have signed every checkpoint, `x` of a JWK; `None` takes any, and none. With one, whatever
    /// no checkpoint covers is a fault ([`FaultKind::Unsealed`]): anybody could have appended it.
    pub key: Option<String>,
}

/// Checks the crawl in `dir`, which nobody may be writing to.
///
/// Costs one pass over all files; memory: a frame of 64 MiB at most for each thread, and 100 bytes for each copy of the
/// evidence.
///
/// # Errors
/// When the directory or a file of it cannot be read at all. What does not hold is no error: see [`Verification::faults`].
pub fn verify(dir: &Path, options: &VerifyOptions) -> Result<Verification, ArchiveError> {
    let at = |e: std::io::Error| ArchiveError::io(dir, e);
    let threads = options.threads.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    let (mut found, mut faults) = (Verification::default(), Faults::default());
    let tree = Tree::read(dir).map_err(at)?;
    let seals = Seals::read(dir, options.key.as_deref(), &mut found.checked, &mut faults).map_err(at)?;
    strangers(&tree, &mut faults);
    seals.check_files(&tree, &mut found.checked, &mut faults).map_err(at)?;
    let copies = evidence::check(dir, &seals, (tree.is_closed(), threads), &mut found.checked, &mut faults);
    let check = PairCheck { seals: &seals, copies: &copies.map_err(at)?, since: seals.since() };
    let pairs: Vec<&Pair> = tree.pairs.values().collect();
    let mut ends = parallel(&pairs, threads, |pair| check.run(pair));
    ends.sort_by_key(|end| end.first.map_or(u64::MAX, |(seq, _)| seq));
    let chain = join(&ends, &seals, &mut faults);
    let erased = erasures::check(dir, &ends, (seals.shrunk, options.key.as_deref()), &mut found.checked);
    found.head = ends.iter().rev().find_map(|end| end.last);
    let config = ends.iter().rev().find(|end| end.last.is_some()).and_then(|end| end.config);
    let mut named = BTreeMap::new();
    for (config, kept) in ends.iter().flat_map(|end| &end.configs) {
        *named.entry(*config).or_insert(false) |= *kept;
    }
    let lost_configs = erasures::configs(&ends);
    for end in ends {
        found.checked.add(&end.checked);
        faults.merge(end.faults);
    }
    faults.merge(chain);
    faults.merge(erased);
    configs::check(dir, [seals.config, config], (&named, &seals.configs), &lost_configs, &mut faults).map_err(at)?;
    unsealed(&seals, &tree, found.head, &mut faults);
    found.sealed = faults.settle(options.key.is_some()) && seals.kept;
    found.keys = seals.keys;
    (found.faults, found.totals, found.notes) = (faults.first, faults.totals, faults.notes);
    Ok(found)
}

fn strangers(tree: &Tree, faults: &mut Faults) {
    for name in &tree.strangers {
        faults.file(FaultKind::Added, name.as_str(), "it is no file of a crawl");
    }
    for name in &tree.leavings {
        faults.unsealed(name.as_str(), "not finished, as after a kill");
    }
    for name in &tree.beside {
        faults.note(format!("{name}: not of the crawl, not looked at"));
    }
}

/// Each file must go on where the one before ended, and the whole reach every place that is named from outside.
fn join(ends: &[PairEnd], seals: &Seals, faults: &mut Faults) -> Faults {
    let mut found = Faults::default();
    let mut before: Option<(ChainHead, bool)> = None;
    for end in ends {
        let Some((seq, prev)) = end.first else { continue };
        let (due, link, known) = before.map_or((0, GENESIS, true), |(head, whole)| (head.seq + 1, head.link, whole));
        // After a fault in the file before, where this one should go on is not known.
        if known && (seq, prev) != (due, link) {
            found.add(Fault {
                kind: FaultKind::Chain,
                file: end.name.clone(),
                offset: Some(0),
                seq: Some(seq),
                url: None,
                problem: format!("its first line is number {seq}; what comes before ends at {due}, or otherwise"),
            });
        }
        before = end.last.map(|head| (head, end.whole)).or(before);
    }
    let lines = before.map_or(0, |(head, _)| head.seq + 1);
    for place in &seals.places {
        if place.lines > lines {
            let problem = format!("{} names line {}, {lines} lines are there", place.by, place.lines - 1);
            faults.file(FaultKind::Cut, "records", problem);
        } else if place.lines == 0 && place.link != GENESIS {
            faults.file(FaultKind::Chain, "checkpoints.jsonl", format!("{} begins with a link", place.by));
        }
    }
    found
}

/// What nothing outside the chain speaks for yet.
fn unsealed(seals: &Seals, tree: &Tree, head: Option<ChainHead>, faults: &mut Faults) {
    let lines = head.map_or(0, |head| head.seq + 1);
    if lines == 0 {
        return;
    }
    if !seals.kept {
        faults.unsealed("checkpoints.jsonl", "there are none: files are held against their lines and digests only");
    } else if let Some(last) = seals.places.iter().filter(|p| p.by != "D/chain").map(|p| p.lines).max()
        && last < lines
    {
        faults.unsealed("records", format!("no checkpoint covers the last {} lines yet", lines - last));
    }
    if !seals.head {
        // Where a checkpoint had covered a line, its absence is a fault already.
        if tree.is_closed() && !seals.kept {
            faults.file(FaultKind::Missing, "chain", "the head of the chain is not there");
        } else {
            faults.note("D/chain is not there, as after a kill in the first second of a crawl".to_owned());
        }
    }
}
