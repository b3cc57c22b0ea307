use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use comity_policy::Digest;

use super::report::{FaultKind, Faults};
use super::tree::names;
use crate::checkpoint::sum_file;

/// Checks `D/crawl.toml`, which must be the configuration that the last checkpoint or the last line names, and `D/configs`,
/// which keeps each under its digest. `named`: those that lines name, and whether they must be kept; `sealed`: those that
/// checkpoints name; `erased`: those that an erasure took.
pub(super) fn check(
    dir: &Path,
    last: [Option<Digest>; 2],
    (named, sealed): (&BTreeMap<Digest, bool>, &BTreeSet<Digest>),
    erased: &BTreeSet<Digest>,
    faults: &mut Faults,
) -> std::io::Result<()> {
    let path = dir.join("crawl.toml");
    let is_known = last.iter().any(Option::is_some);
    if !path.exists() && is_known {
        faults.file(FaultKind::Missing, "crawl.toml", "records name its digest, and it is not there");
    } else if is_known && !last.contains(&Some(sum_file(&path)?.1)) {
        faults.file(FaultKind::Config, "crawl.toml", "neither the last checkpoint nor the last line names its digest");
    }
    let mut kept = BTreeSet::new();
    for name in names(&dir.join("configs"))? {
        let shown = format!("configs/{name}");
        let (_, sha256) = sum_file(&dir.join(&shown))?;
        match name.strip_suffix(".toml").map(str::parse::<Digest>) {
            Some(Ok(digest)) if digest != sha256 => {
                faults.file(FaultKind::Config, shown, "its bytes are not those of its name");
            }
            Some(Ok(_)) if !is_known && named.is_empty() && sealed.is_empty() => {
                faults
                    .unsealed(shown, "there is no line yet that could name it, as after a kill while the crawl began");
            }
            Some(Ok(digest)) if !named.contains_key(&digest) && !sealed.contains(&digest) => {
                faults.file(FaultKind::Added, shown, "no record and no checkpoint names this configuration");
            }
            Some(Ok(digest)) => drop(kept.insert(digest)),
            _ if name.ends_with(".new") => faults.unsealed(shown, "not finished, as after a kill"),
            _ => faults.file(FaultKind::Added, shown, "it is no configuration"),
        }
    }
    let is_lost = |digest: &Digest| !kept.contains(digest) && !erased.contains(digest);
    for (digest, _) in named.iter().filter(|(digest, must)| **must && is_lost(digest)) {
        faults.file(FaultKind::Missing, format!("configs/{digest}.toml"), "records name it, and it is not there");
    }
    Ok(())
}
