//! Every tombstone against the record of the erasure that says why it is one, and the other way round.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;

use comity_policy::Digest;

use super::pair::PairEnd;
use super::report::{Checked, Fault, FaultKind, Faults};
use crate::ErasureRecord;
use crate::erase::journal::JOURNAL;

/// The number of an erasure: the 128 bits of its `urn:uuid:…`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ErasureId(u128);

impl ErasureId {
    pub(super) fn parse(urn: &str) -> Option<Self> {
        let hex: String = urn.strip_prefix("urn:uuid:")?.split('-').collect();
        u128::from_str_radix(&hex, 16).ok().filter(|_| hex.len() == 32).map(Self)
    }
}

/// Something that stands for what was erased.
#[derive(Debug)]
pub(super) struct Tomb {
    /// The line that it is, or that names it.
    pub(super) seq: u64,
    pub(super) by: Option<ErasureId>,
    pub(super) what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// A line.
    Line,
    /// A line in which a record with this commitment stands.
    Amended(Digest),
    /// The WARC metadata of such a line.
    Metadata,
    /// The WARC response of a line that stays.
    Payload,
}

/// A record of an erasure.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) seq: u64,
    pub(super) erasure: ErasureRecord,
}

/// All that the records of one erasure name.
#[derive(Debug, Default)]
struct Erased {
    lines: Vec<(u64, u64)>,
    payloads: Vec<(u64, u64)>,
    amended: HashMap<u64, Option<Digest>>,
    /// The first record of it.
    seq: u64,
}

pub(super) fn check(
    dir: &Path,
    ends: &[PairEnd],
    (shrunk, key): (bool, Option<&str>),
    checked: &mut Checked,
) -> Faults {
    let mut faults = Faults::default();
    if dir.join(JOURNAL).exists() {
        let problem = "an erasure was begun and not done to its end: the next start of the crawl, or `comity erase`, does the rest";
        faults.file(FaultKind::Erasure, JOURNAL, problem);
    }
    let erased = events(ends, key, checked, &mut faults);
    for end in ends {
        for tomb in &end.tombs {
            checked.amended += u64::from(matches!(tomb.what, What::Amended(_)));
            checked.payloads_erased += u64::from(tomb.what == What::Payload);
            if let Some(problem) = forged(tomb, &erased) {
                let (kind, file) = (FaultKind::Erasure, end.name.clone());
                faults.add(Fault { kind, file, offset: None, seq: Some(tomb.seq), url: None, problem });
            }
        }
    }
    undone(ends, &erased, &mut faults);
    let events = || ends.iter().flat_map(|end| &end.erasures).map(|event| &event.erasure);
    if shrunk && !events().any(|erasure| erasure.sightings > 0) {
        let problem = "a checkpoint names a shorter index than the one before, and no erasure says why";
        faults.file(FaultKind::EvidenceIndex, "evidence/index.jsonl", problem);
    }
    let copies: HashSet<&str> = events().flat_map(|erasure| &erasure.copies).map(String::as_str).collect();
    for (digest, (fault, count)) in ends.iter().flat_map(|end| &end.lost_copies) {
        if !copies.contains(&*digest.to_string()) {
            (0..*count).for_each(|_| faults.add(fault.clone()));
        }
    }
    faults
}

/// Configurations that went.
pub(super) fn configs(ends: &[PairEnd]) -> BTreeSet<Digest> {
    let erasures = ends.iter().flat_map(|end| &end.erasures);
    erasures.flat_map(|event| &event.erasure.configs).filter_map(|hex| hex.parse().ok()).collect()
}

/// What each erasure says, and what is wrong with its records.
fn events(
    ends: &[PairEnd],
    key: Option<&str>,
    checked: &mut Checked,
    faults: &mut Faults,
) -> HashMap<ErasureId, Erased> {
    let (mut all, mut parts) = (HashMap::<ErasureId, Erased>::new(), BTreeMap::<String, Vec<u32>>::new());
    for (end, Event { seq, erasure }) in ends.iter().flat_map(|end| end.erasures.iter().map(move |event| (end, event)))
    {
        checked.erasures += 1;
        let mut say = |kind: FaultKind, problem: String| {
            faults.add(Fault { kind, file: end.name.clone(), offset: None, seq: Some(*seq), url: None, problem });
        };
        let Some(id) = ErasureId::parse(&erasure.id) else {
            say(FaultKind::Erasure, "its id is none".to_owned());
            continue;
        };
        if let Some(problem) = erasure.wrong_signature() {
            say(FaultKind::Erasure, format!("the record of an erasure: {problem}"));
        }
        if key.is_some() && erasure.key.as_deref() != key {
            let by =
                erasure.key.as_deref().map_or_else(|| "it is not signed".to_owned(), |by| format!("{by} signed it"));
            say(FaultKind::Signer, format!("the record of an erasure: {by}"));
        }
        let one = all.entry(id).or_insert_with(|| Erased { seq: *seq, ..Erased::default() });
        one.lines.extend(&erasure.lines);
        one.payloads.extend(&erasure.payloads);
        one.amended.extend(erasure.amended.iter().map(|(seq, hex)| (*seq, hex.parse().ok())));
        let found = parts.entry(format!("{}/{}", erasure.id, erasure.parts)).or_default();
        found.push(erasure.part);
    }
    for (name, mut found) in parts {
        found.sort_unstable();
        let count = name.rsplit('/').next().and_then(|count| count.parse::<u32>().ok()).unwrap_or_default();
        if !found.iter().copied().eq(1..=count) {
            faults.file(FaultKind::Erasure, "records", format!("{name}: of its parts {found:?} are there"));
        }
    }
    for one in all.values_mut() {
        one.lines.sort_unstable();
        one.payloads.sort_unstable();
    }
    all
}

/// What is wrong with a tombstone.
fn forged(tomb: &Tomb, erased: &HashMap<ErasureId, Erased>) -> Option<String> {
    let Some(erasure) = tomb.by.and_then(|id| erased.get(&id)) else {
        return Some("a tombstone, and no record of an erasure that says why".to_owned());
    };
    let is_named = match tomb.what {
        What::Line => holds(&erasure.lines, tomb.seq),
        What::Amended(commitment) => erasure.amended.get(&tomb.seq) == Some(&Some(commitment)),
        What::Metadata => erasure.amended.contains_key(&tomb.seq),
        What::Payload => holds(&erasure.payloads, tomb.seq),
    };
    let is_named = is_named && tomb.seq < erasure.seq;
    (!is_named).then(|| format!("a tombstone of {:?}, which its erasure does not name", tomb.what))
}

/// Whatever an erasure names must be gone.
fn undone(ends: &[PairEnd], erased: &HashMap<ErasureId, Erased>, faults: &mut Faults) {
    let tombs = || ends.iter().flat_map(|end| &end.tombs);
    let of = |wanted: fn(&What) -> bool| -> HashSet<u64> {
        tombs().filter(|tomb| wanted(&tomb.what)).map(|tomb| tomb.seq).collect()
    };
    let lines = of(|what| *what == What::Line);
    let amended = of(|what| matches!(what, What::Amended(_)));
    let payloads = of(|what| *what == What::Payload);
    let mut say = |seq: u64, problem: &str| {
        let (kind, file, problem) = (FaultKind::Erasure, "records".to_owned(), problem.to_owned());
        faults.add(Fault { kind, file, offset: None, seq: Some(seq), url: None, problem });
    };
    // The first of an erasure: a forged run may be as long as it likes.
    for one in erased.values() {
        for seq in each(&one.lines).filter(|seq| !lines.contains(seq)).take(1) {
            say(seq, "an erasure names this line, and it is not erased");
        }
        for seq in one.amended.keys().filter(|seq| !amended.contains(seq) && !lines.contains(seq)) {
            say(*seq, "an erasure names this line, and it is as it was");
        }
        for seq in each(&one.payloads).filter(|seq| !payloads.contains(seq) && !lines.contains(seq)).take(1) {
            say(seq, "an erasure names the payload of this line, and it is there");
        }
    }
}

fn holds(runs: &[(u64, u64)], seq: u64) -> bool {
    let at = runs.partition_point(|(first, _)| *first <= seq);
    at.checked_sub(1).and_then(|at| runs.get(at)).is_some_and(|(_, last)| seq <= *last)
}

fn each(runs: &[(u64, u64)]) -> impl Iterator<Item = u64> {
    runs.iter().flat_map(|(first, last)| *first..=*last)
}
