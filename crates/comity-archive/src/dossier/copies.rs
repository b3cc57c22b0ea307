use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;

use comity_policy::Digest;
use comity_url::Origin;

use super::DossierCopy;
use super::bundle::Bundle;
use super::withheld::origin_of;
use crate::checkpoint::EVIDENCE_INDEX;
use crate::digests::sha256;
use crate::evidence::{MAX_COPY, MAX_INDEX_LINE};
use crate::{ArchiveError, Sighting};

/// Evidence of one origin: what was seen there, and the copies that its decisions rest on.
pub(super) struct Kept<'a> {
    dir: &'a Path,
    /// Index lines as they are written, and what they say.
    lines: Vec<(String, Sighting)>,
    digests: BTreeSet<Digest>,
}

impl<'a> Kept<'a> {
    pub(super) fn of(dir: &'a Path, origin: &Origin, named: &BTreeSet<Digest>) -> Result<Self, ArchiveError> {
        let mut kept = Self { dir, lines: Vec::new(), digests: named.clone() };
        let path = dir.join(EVIDENCE_INDEX);
        let mut index = match File::open(&path) {
            Ok(file) => BufReader::new(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(kept),
            Err(error) => return Err(ArchiveError::io(&path, error)),
        };
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = index.by_ref().take(MAX_INDEX_LINE).read_until(b'\n', &mut line);
            if read.map_err(|e| ArchiveError::io(&path, e))? == 0 {
                return Ok(kept);
            }
            // A line that cannot be read is `verify`'s finding; here it speaks for nobody.
            let Ok(seen) = serde_json::from_slice::<Sighting>(&line) else { continue };
            if origin_of(&seen.url).as_ref() == Some(origin) {
                kept.digests.extend(seen.digest.as_deref().and_then(|hex| hex.parse::<Digest>().ok()));
                kept.lines.push((String::from_utf8_lossy(&line).trim_end().to_owned(), seen));
            }
        }
    }

    /// Writes the index lines and the bytes of each copy.
    pub(super) fn write(self, bundle: &mut Bundle) -> Result<Vec<DossierCopy>, ArchiveError> {
        let mut seen: BTreeMap<Digest, Vec<Sighting>> = BTreeMap::new();
        bundle.add(EVIDENCE_INDEX, |to| self.lines.iter().try_for_each(|(line, _)| writeln!(to, "{line}")))?;
        for (_, one) in self.lines {
            if let Some(digest) = one.digest.as_deref().and_then(|hex| hex.parse().ok()) {
                seen.entry(digest).or_default().push(one);
            }
        }
        let mut copies = Vec::new();
        for digest in self.digests {
            let name = name(digest);
            let bytes = read(&self.dir.join(&name), digest)?;
            if let Some(bytes) = &bytes {
                bundle.add(&name, |to| to.write_all(bytes))?;
            }
            let bytes = bytes.map(|bytes| bytes.len() as u64);
            copies.push(DossierCopy { digest, bytes, seen: seen.remove(&digest).unwrap_or_default() });
        }
        Ok(copies)
    }
}

fn name(digest: Digest) -> String {
    let hex = digest.to_string();
    format!("evidence/{}/{hex}", hex.get(..2).unwrap_or_default())
}

/// The bytes of a copy; `None` when they are not there any more.
fn read(path: &Path, digest: Digest) -> Result<Option<Vec<u8>>, ArchiveError> {
    let mut bytes = Vec::new();
    match File::open(path).and_then(|file| file.take(MAX_COPY).read_to_end(&mut bytes)) {
        Ok(_) if sha256(&bytes) == digest => Ok(Some(bytes)),
        Ok(_) => {
            let problem = "its bytes are not those of its name: `comity verify` tells more".to_owned();
            Err(ArchiveError::Chain { path: path.to_owned(), problem })
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(ArchiveError::io(path, error)),
    }
}
