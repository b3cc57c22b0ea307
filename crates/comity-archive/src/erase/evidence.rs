use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};

use super::journal::EvidencePlan;
use super::named::Needle;
use super::{Depth, Erasure, Named};
use crate::checkpoint::EVIDENCE_INDEX;
use crate::disk::sync_folder;
use crate::{ArchiveError, EvidenceKind, QueryForm, Sighting};

/// The longest index line that is read: a URL of 65,534 bytes, escaped.
const MAX_LINE: u64 = 512 * 1024;
/// The largest copy that is searched.
const MAX_COPY: u64 = 64 << 20;

/// What goes from the evidence: it is kept unless it is what was named. `path` is the URL that pages went under whose query is not known. Gives how many of the copies that stay name it, too.
pub(super) fn plan(
    dir: &Path,
    erasure: &Erasure,
    needle: Option<&Needle>,
    (rested_on, path): (&BTreeSet<String>, Option<&str>),
) -> Result<(EvidencePlan, u64), ArchiveError> {
    let mut plan = EvidencePlan::default();
    let is_named = |sighting: &Sighting| match (&erasure.named, erasure.depth) {
        (Named::Payload(digest), _) => sighting.digest.as_deref() == Some(&*digest.to_string()),
        (named @ (Named::Url(_) | Named::Path(_) | Named::Origin(_)), Depth::Records) => {
            named.is_text(&sighting.url, None) || named.is_text(&sighting.url, QueryForm::Hash.word())
        }
        _ => false,
    };
    // Within a page a licence stands where the page is written, and goes with it.
    let is_of_url = matches!(erasure.named, Named::Url(_) | Named::Path(_)) && erasure.depth == Depth::Records;
    let is_within =
        |sighting: &Sighting| is_of_url && sighting.kind == EvidenceKind::Licence && path == Some(&*sighting.url);
    let (mut urls, mut licences) = (BTreeSet::new(), BTreeSet::new());
    let (mut gone, mut kept) = (BTreeSet::new(), BTreeSet::new());
    each_sighting(dir, |_, sighting| {
        let is_named = is_named(&sighting);
        if !is_named && !is_within(&sighting) {
            kept.extend(sighting.digest);
            return Ok(());
        }
        plan.sightings += 1;
        gone.extend(sighting.digest);
        if !is_named {
            licences.insert(sighting.url);
        } else if !matches!(erasure.named, Named::Payload(_)) {
            urls.insert(sighting.url);
        }
        Ok(())
    })?;
    plan.licences = licences.into_iter().collect();
    plan.urls = urls.into_iter().collect();
    if let Named::Payload(digest) = &erasure.named {
        plan.digests = vec![digest.to_string()];
    }
    plan.copies = gone.difference(&kept).cloned().collect();
    plan.named = plan.copies.iter().filter(|digest| rested_on.contains(*digest)).cloned().collect();
    let mut mentioning = 0;
    for digest in kept.iter().filter(|_| erasure.depth == Depth::Records) {
        let path = path_of(dir, digest);
        let mut bytes = Vec::new();
        let read = File::open(&path).and_then(|file| file.take(MAX_COPY).read_to_end(&mut bytes));
        mentioning += u64::from(read.is_ok() && needle.is_some_and(|needle| needle.finds(&bytes)));
    }
    Ok((plan, mentioning))
}

/// Does it. Whatever was done before is passed over.
pub(super) fn carry_out(dir: &Path, plan: &EvidencePlan) -> Result<(), ArchiveError> {
    if plan.sightings == 0 {
        return Ok(());
    }
    let path = dir.join(EVIDENCE_INDEX);
    let wrong = |e: io::Error| ArchiveError::io(&path, e);
    let set = |texts: &'_ [String]| texts.iter().cloned().collect::<BTreeSet<String>>();
    let (urls, licences, digests) = (set(&plan.urls), set(&plan.licences), set(&plan.digests));
    let tmp = path.with_extension("jsonl.tmp");
    let mut to = io::BufWriter::new(File::create(&tmp).map_err(wrong)?);
    each_sighting(dir, |line, sighting| {
        let goes = urls.contains(sighting.url.as_str())
            || sighting.kind == EvidenceKind::Licence && licences.contains(sighting.url.as_str())
            || sighting.digest.as_deref().is_some_and(|digest| digests.contains(digest));
        if goes { Ok(()) } else { to.write_all(line) }
    })?;
    let file = to.into_inner().map_err(|e| wrong(e.into_error()))?;
    file.sync_all().and_then(|()| std::fs::rename(&tmp, &path)).map_err(wrong)?;
    sync_folder(&dir.join("evidence")).map_err(wrong)?;
    // A copy goes only when no sighting names it any more: the other way round a kill would leave a line without its copy.
    for digest in &plan.copies {
        let copy = path_of(dir, digest);
        match std::fs::remove_file(&copy) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(ArchiveError::io(&copy, error)),
            Err(_) => {}
            Ok(()) => sync_folder(copy.parent().unwrap_or(dir)).map_err(|e| ArchiveError::io(&copy, e))?,
        }
    }
    Ok(())
}

fn each_sighting(dir: &Path, mut each: impl FnMut(&[u8], Sighting) -> io::Result<()>) -> Result<(), ArchiveError> {
    let path = dir.join(EVIDENCE_INDEX);
    let wrong = |e: io::Error| ArchiveError::io(&path, e);
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(wrong(error)),
    };
    let (mut reader, mut line) = (BufReader::new(file), Vec::new());
    loop {
        line.clear();
        if (&mut reader).take(MAX_LINE).read_until(b'\n', &mut line).map_err(wrong)? == 0 || line.last() != Some(&b'\n')
        {
            // What a kill left of a last line is no sighting.
            return Ok(());
        }
        let sighting = serde_json::from_slice(&line).map_err(|e| wrong(e.into()))?;
        each(&line, sighting).map_err(wrong)?;
    }
}

fn path_of(dir: &Path, digest: &str) -> PathBuf {
    dir.join("evidence").join(digest.get(..2).unwrap_or_default()).join(digest)
}
