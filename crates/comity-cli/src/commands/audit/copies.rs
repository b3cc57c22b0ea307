//! What the evidence holds: which robots.txt was seen where, when.

use std::collections::HashMap;
use std::path::Path;

use comity::policy::{Digest, WallTime};
use comity_archive::{EvidenceKind, Sighting};

use super::erasures::Erasures;
use crate::exit::Failure;

/// The sightings of robots.txt, and the copies.
#[derive(Debug)]
pub(super) struct Copies {
    dir: std::path::PathBuf,
    /// By URL, in the order of the index.
    sightings: HashMap<String, Vec<Seen>>,
    /// The same of the files about use, by the word of their errand.
    files: HashMap<(&'static str, String), Vec<Seen>>,
    /// What is not there any more, rightly.
    pub(super) erased: Erasures,
}

/// One sighting.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) at: WallTime,
    pub(super) status: u16,
    pub(super) digest: Option<Digest>,
}

impl Copies {
    pub(super) fn read(dir: &Path) -> Result<Self, Failure> {
        let path = dir.join("evidence/index.jsonl");
        let (mut sightings, mut files) = (HashMap::<String, Vec<Seen>>::new(), HashMap::<_, Vec<Seen>>::new());
        let text = std::fs::read(&path).map_err(|e| Failure::storage(format!("{}: {e}", path.display())))?;
        for line in text.split(|b| *b == b'\n').filter(|line| !line.is_empty()) {
            // A line that cannot be read is `verify`'s finding; here it speaks for nothing.
            let Ok(sighting) = serde_json::from_slice::<Sighting>(line) else { continue };
            let Ok(at) = sighting.fetched.parse() else { continue };
            let digest = sighting.digest.and_then(|hex| hex.parse().ok());
            let seen = Seen { at, status: sighting.status, digest };
            match sighting.kind {
                EvidenceKind::RobotsTxt => sightings.entry(sighting.url).or_default().push(seen),
                kind => files.entry((kind.errand(), sighting.url)).or_default().push(seen),
            }
        }
        Ok(Self { dir: dir.to_owned(), sightings, files, erased: Erasures::read(dir)? })
    }

    /// The sightings at a URL.
    pub(super) fn at(&self, url: &str) -> &[Seen] {
        self.sightings.get(url).map_or(&[], Vec::as_slice)
    }

    /// The sightings of a file about use, by the word of its errand.
    pub(super) fn of_file(&self, errand: &'static str, url: &str) -> &[Seen] {
        self.files.get(&(errand, url.to_owned())).map_or(&[], Vec::as_slice)
    }

    /// The bytes of a copy; `None` when they are not there, or not what they were.
    pub(super) fn bytes(&self, digest: Digest) -> Option<Vec<u8>> {
        use sha2::Digest as _;
        let hex = digest.to_string();
        let bytes = std::fs::read(self.dir.join("evidence").join(hex.get(..2)?).join(&hex)).ok()?;
        (sha2::Sha256::digest(&bytes)[..] == digest.as_bytes()[..]).then_some(bytes)
    }
}
