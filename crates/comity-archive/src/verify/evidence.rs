use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::Path;

use comity_policy::Digest;
use sha2::{Digest as _, Sha256};

use super::parallel::parallel;
use super::report::{Checked, Fault, FaultKind, Faults};
use super::seals::Seals;
use super::tree::names;
use crate::Sighting;
use crate::checkpoint::{EVIDENCE_INDEX, sum_file};

/// The longest index line: a URL of 65,534 bytes, escaped.
const MAX_LINE: u64 = 512 * 1024;

/// Checks every copy against its name, and the index line by line. Gives the digests of the copies that hold.
pub(super) fn check(
    dir: &Path,
    seals: &Seals,
    (closed, threads): (bool, usize),
    checked: &mut Checked,
    faults: &mut Faults,
) -> io::Result<HashSet<Digest>> {
    let copies = copies(dir, threads, checked, faults)?;
    let sighted = index(dir, seals, &copies, checked, faults)?;
    for digest in copies.keys().filter(|digest| !sighted.contains(digest)) {
        let name = format!("evidence/{}", path_of(*digest));
        if closed {
            faults.file(FaultKind::Added, name, "no line of the index names this copy");
        } else {
            faults.unsealed(name, "no line of the index names it, as after a kill");
        }
    }
    Ok(copies.into_keys().filter(|digest| sighted.contains(digest)).collect())
}

/// Digest and length of every copy that is what its name says.
fn copies(dir: &Path, threads: usize, checked: &mut Checked, faults: &mut Faults) -> io::Result<BTreeMap<Digest, u64>> {
    let folder = dir.join("evidence");
    let mut all = Vec::new();
    for shelf in names(&folder)?.into_iter().filter(|name| name != "index.jsonl") {
        if !folder.join(&shelf).is_dir() {
            faults.file(FaultKind::Added, format!("evidence/{shelf}"), "it is no part of the evidence");
            continue;
        }
        all.extend(names(&folder.join(&shelf))?.into_iter().map(|name| format!("{shelf}/{name}")));
    }
    let sums = parallel(&all, threads, |name| sum_file(&folder.join(name)));
    let mut found = BTreeMap::new();
    for (name, sum) in all.iter().zip(sums) {
        let (bytes, sha256) = sum?;
        if *name == path_of(sha256) {
            checked.copies += 1;
            checked.copy_bytes += bytes;
            found.insert(sha256, bytes);
        } else if name.ends_with(".tmp") {
            faults.unsealed(format!("evidence/{name}"), "a copy that was not finished, as after a kill");
        } else {
            let kind = if named(name).is_some() { FaultKind::Evidence } else { FaultKind::Added };
            faults.file(kind, format!("evidence/{name}"), "its bytes are not those of its name");
        }
    }
    Ok(found)
}

/// The digest that a copy's path names.
fn named(path: &str) -> Option<Digest> {
    let (shelf, name) = path.split_once('/')?;
    name.parse().ok().filter(|_| name.starts_with(shelf))
}

fn path_of(digest: Digest) -> String {
    let hex = digest.to_string();
    format!("{}/{hex}", hex.get(..2).unwrap_or_default())
}

/// Gives the digests that are named.
fn index(
    dir: &Path,
    seals: &Seals,
    copies: &BTreeMap<Digest, u64>,
    checked: &mut Checked,
    faults: &mut Faults,
) -> io::Result<HashSet<Digest>> {
    let mut sighted = HashSet::new();
    let file = match File::open(dir.join(EVIDENCE_INDEX)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if seals.prefixes.iter().any(|prefix| prefix.bytes > 0) {
                faults.file(FaultKind::Missing, EVIDENCE_INDEX, "a checkpoint holds its sum, and it is not there");
            }
            return Ok(sighted);
        }
        Err(error) => return Err(error),
    };
    let mut reader = BufReader::new(file);
    let (mut hash, mut bytes, mut line) = (Sha256::new(), 0_u64, Vec::new());
    let mut prefixes = seals.prefixes.iter().skip_while(|prefix| prefix.bytes == 0).peekable();
    loop {
        line.clear();
        let read = (&mut reader).take(MAX_LINE).read_until(b'\n', &mut line)? as u64;
        if read == 0 {
            break;
        }
        if line.last() != Some(&b'\n') {
            faults.unsealed(EVIDENCE_INDEX, "its last line was cut off, as by a kill");
            break;
        }
        checked.sightings += 1;
        if let Err(problem) = sighting(&line, copies, &mut sighted) {
            let (kind, file) = (FaultKind::EvidenceIndex, EVIDENCE_INDEX.to_owned());
            faults.add(Fault { kind, file, offset: Some(bytes), seq: None, url: None, problem });
        }
        hash.update(&line);
        bytes += read;
        if let Some(prefix) = prefixes.next_if(|prefix| prefix.bytes <= bytes) {
            let sum = Digest::from_bytes(hash.clone().finalize().into());
            if prefix.bytes != bytes || prefix.sha256 != sum {
                let problem = "what came before is not what a checkpoint holds the sum of".to_owned();
                let (kind, file) = (FaultKind::EvidenceIndex, EVIDENCE_INDEX.to_owned());
                faults.add(Fault { kind, file, offset: Some(bytes), seq: None, url: None, problem });
            }
        }
    }
    if prefixes.next().is_some() {
        let problem = format!("it ends at byte {bytes}, before the place of a checkpoint");
        faults.file(FaultKind::EvidenceIndex, EVIDENCE_INDEX, problem);
    }
    let summed = seals.prefixes.last().map_or(0, |prefix| prefix.bytes);
    if seals.kept && bytes > summed {
        faults.unsealed(EVIDENCE_INDEX, format!("no checkpoint covers its last {} bytes yet", bytes - summed));
    }
    Ok(sighted)
}

fn sighting(line: &[u8], copies: &BTreeMap<Digest, u64>, sighted: &mut HashSet<Digest>) -> Result<(), String> {
    let text = line.strip_suffix(b"\n").unwrap_or(line);
    let sighting: Sighting = serde_json::from_slice(text).map_err(|e| e.to_string())?;
    if serde_json::to_vec(&sighting).ok().as_deref() != Some(text) {
        return Err("it is not in its one written form".to_owned());
    }
    let Some(hex) = &sighting.digest else { return Ok(()) };
    let digest: Digest = hex.parse().map_err(|_| format!("{hex:?} is no digest"))?;
    sighted.insert(digest);
    match copies.get(&digest) {
        Some(bytes) if *bytes == sighting.bytes => Ok(()),
        Some(bytes) => Err(format!("the copy has {bytes} bytes, {} are stated", sighting.bytes)),
        None => Err(format!("the copy {hex} of {} is not there, or not what it was", sighting.url)),
    }
}
