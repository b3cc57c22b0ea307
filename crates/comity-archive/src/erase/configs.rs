use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use comity_policy::Digest;

use super::named::Needle;
use crate::ArchiveError;
use crate::disk::sync_folder;

/// The longest configuration that is searched.
const MOST: u64 = 64 << 20;

/// Digests of the configurations in `D/configs` that name it. The one in force stays: it is the operator's to change.
pub(super) fn plan(dir: &Path, needle: &Needle, in_force: Option<Digest>) -> Result<Vec<String>, ArchiveError> {
    let folder = dir.join("configs");
    let wrong = |e: io::Error| ArchiveError::io(&folder, e);
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(wrong(error)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(wrong)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some(Ok(digest)) = name.strip_suffix(".toml").map(str::parse::<Digest>) else { continue };
        let mut text = Vec::new();
        File::open(&path).and_then(|file| file.take(MOST).read_to_end(&mut text)).map_err(wrong)?;
        if Some(digest) != in_force && needle.finds(&text) {
            found.push(digest.to_string());
        }
    }
    found.sort();
    Ok(found)
}

/// Removes them. Whatever went before is passed over.
pub(super) fn carry_out(dir: &Path, digests: &[String]) -> Result<(), ArchiveError> {
    let folder = dir.join("configs");
    for digest in digests {
        let path: PathBuf = folder.join(format!("{digest}.toml"));
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(ArchiveError::io(&path, error)),
            _ => {}
        }
    }
    if digests.is_empty() { Ok(()) } else { sync_folder(&folder).map_err(|e| ArchiveError::io(&folder, e)) }
}
