use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use comity_policy::Digest;
use sha2::{Digest as _, Sha256};

use super::{CHECKPOINTS, Checkpoint, CheckpointSigner, EVIDENCE_INDEX, FileSum, Prefix, sum_file};
use crate::chain::GENESIS;
use crate::names::{INDEX_END, RECORDS_END, WARC_ENDS};
use crate::{ArchiveError, ChainHead};

/// The largest file of checkpoints that is read: a line of 1 KiB for each of a million files.
pub(crate) const MAX_CHECKPOINTS_FILE: u64 = 1 << 30;

/// Files in one checkpoint, at most: with names of 255 bytes a line is a third of what is read as one (our choice).
const MOST_FILES: usize = 1000;

/// Folder and end of every file that is summed when it is closed.
const FAMILIES: [(&str, &str); 4] =
    [("records", RECORDS_END), ("warc", WARC_ENDS[0]), ("warc", WARC_ENDS[1]), ("warc", INDEX_END)];

/// Writes checkpoints: append only, each line whole and synced, or cut off again.
#[derive(Debug)]
pub(crate) struct CheckpointLog {
    dir: PathBuf,
    file: File,
    last: Option<Checkpoint>,
    /// Files that a checkpoint holds the sum of.
    summed: BTreeSet<String>,
    /// Sums of closed files that the next checkpoint will hold.
    known: BTreeMap<String, FileSum>,
    evidence: IndexSum,
}

/// The running sum of the evidence's index, whole lines only.
#[derive(Debug, Default)]
struct IndexSum {
    hash: Sha256,
    bytes: u64,
}

impl CheckpointLog {
    /// Opens `D/checkpoints.jsonl`, which is created when missing. A last line that a crash cut short is cut off.
    ///
    /// # Errors
    /// When it cannot be read or written, is larger than is read, or its lines do not hold together.
    pub(crate) fn open(dir: &Path) -> Result<Self, ArchiveError> {
        let path = dir.join(CHECKPOINTS);
        let wrong = |e: io::Error| ArchiveError::io(&path, e);
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(&path).map_err(wrong)?;
        // Cut there, it would go on as if the rest had never been.
        if file.metadata().map_err(wrong)?.len() > MAX_CHECKPOINTS_FILE {
            let problem = format!(
                "it is above {MAX_CHECKPOINTS_FILE} bytes, the most that is read; nothing was changed. Start in another directory"
            );
            return Err(chain(&path, problem));
        }
        let mut text = Vec::new();
        (&mut file).take(MAX_CHECKPOINTS_FILE).read_to_end(&mut text).map_err(wrong)?;
        let whole = text.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
        if whole < text.len() {
            file.set_len(whole as u64).map_err(wrong)?;
        }
        let (summed, known, evidence) = (BTreeSet::new(), BTreeMap::new(), IndexSum::default());
        let mut log = Self { dir: dir.to_owned(), file, last: None, summed, known, evidence };
        for line in text.get(..whole).unwrap_or_default().split_inclusive(|b| *b == b'\n') {
            let line = std::str::from_utf8(line).unwrap_or_default().trim_end_matches('\n');
            let next = Checkpoint::parse(line).map_err(|e| chain(&path, format!("checkpoint {}: {e}", log.next())))?;
            if next.n != log.next() || next.prev != log.last.as_ref().map_or(GENESIS, |last| last.digest) {
                return Err(chain(&path, format!("checkpoint {} does not follow the one before", next.n)));
            }
            log.summed.extend(next.files.iter().map(|file| file.path.clone()));
            log.last = Some(next);
        }
        Ok(log)
    }

    /// The digest of the last one.
    pub(crate) fn digest(&self) -> Option<Digest> {
        self.last.as_ref().map(|last| last.digest)
    }

    /// How many record lines the last one covers.
    pub(crate) fn lines(&self) -> u64 {
        self.last.as_ref().map_or(0, |last| last.lines)
    }

    /// Writes one, unless it would say what the last one says; several of the same place, where more than [`MOST_FILES`] are
    /// new. Sums every file that no checkpoint has summed yet, but those
    /// in `open`: files of an earlier run, too, which nobody will write to again.
    ///
    /// # Errors
    /// When a file cannot be read, or the line not be written; it is cut off again then.
    pub(crate) fn add(&mut self, now: &Now<'_>) -> Result<(), ArchiveError> {
        let files = self.closed_files(now.open)?;
        let index = self.dir.join(EVIDENCE_INDEX);
        let evidence = self.evidence.extend(&index).map_err(|e| ArchiveError::io(&index, e))?;
        let (lines, link) = now.head.map_or((0, GENESIS), |head| (head.seq + 1, head.link));
        let same = self.last.as_ref().is_some_and(|last| {
            last.lines == lines && last.config == now.config && last.evidence == evidence && files.is_empty()
        });
        if same {
            return Ok(());
        }
        let mut files = files.into_iter();
        loop {
            let draft = Checkpoint {
                n: self.next(),
                prev: self.digest().unwrap_or(GENESIS),
                at: now.at.clone(),
                lines,
                link,
                config: now.config,
                evidence,
                files: files.by_ref().take(MOST_FILES).collect(),
                digest: GENESIS,
                signed: None,
            };
            let sealed = draft.seal(now.signer);
            self.write(&sealed).map_err(|e| ArchiveError::io(&self.dir.join(CHECKPOINTS), e))?;
            self.summed.extend(sealed.files.iter().map(|file| file.path.clone()));
            self.last = Some(sealed);
            if files.len() == 0 {
                return Ok(());
            }
        }
    }

    /// The sum of a file that was just closed, for the next one.
    pub(crate) fn knows(&mut self, sum: FileSum) {
        self.known.insert(sum.path.clone(), sum);
    }

    /// What is written is safe against a power cut.
    ///
    /// # Errors
    /// When the device refuses.
    pub(crate) fn sync(&self) -> Result<(), ArchiveError> {
        self.file.sync_all().map_err(|e| ArchiveError::io(&self.dir.join(CHECKPOINTS), e))
    }

    /// The next one sums these files anew, and the evidence's index from its begin.
    pub(crate) fn forget(&mut self, names: &[String]) {
        self.evidence = IndexSum::default();
        for name in names {
            self.summed.remove(name);
            self.known.remove(name);
        }
    }

    fn next(&self) -> u64 {
        self.last.as_ref().map_or(0, |last| last.n + 1)
    }

    fn write(&mut self, checkpoint: &Checkpoint) -> io::Result<()> {
        let end = self.file.metadata()?.len();
        let line = format!("{}\n", checkpoint.to_text());
        // The first one of a new crawl says nothing of what is there: it is made safe with the first records.
        let is_first = checkpoint.lines == 0 && checkpoint.n == 0 && checkpoint.files.is_empty();
        let sync = |file: &File| if is_first { Ok(()) } else { file.sync_all() };
        self.file.write_all(line.as_bytes()).and_then(|()| sync(&self.file)).inspect_err(|_| {
            // The next open cuts it off, should this fail too.
            let _ = self.file.set_len(end);
        })
    }

    fn closed_files(&mut self, open: &[String]) -> Result<Vec<FileSum>, ArchiveError> {
        let mut sums = Vec::new();
        for (folder, end) in FAMILIES {
            let folder_path = self.dir.join(folder);
            let mut names = names_in(&folder_path, end).map_err(|e| ArchiveError::io(&folder_path, e))?;
            names.sort();
            for name in names {
                let path = format!("{folder}/{name}");
                if self.summed.contains(&path) || open.contains(&path) {
                    continue;
                }
                if let Some(sum) = self.known.remove(&path) {
                    sums.push(sum);
                    continue;
                }
                let on_disk = folder_path.join(&name);
                let (bytes, sha256) = sum_file(&on_disk).map_err(|e| ArchiveError::io(&on_disk, e))?;
                sums.push(FileSum { path, bytes, sha256 });
            }
        }
        Ok(sums)
    }
}

/// What a checkpoint is made of.
#[derive(Debug)]
pub(crate) struct Now<'a> {
    pub(crate) at: String,
    pub(crate) head: Option<ChainHead>,
    pub(crate) config: Option<Digest>,
    /// Files that are still written to, by their final names below the crawl directory.
    pub(crate) open: &'a [String],
    pub(crate) signer: Option<&'a dyn CheckpointSigner>,
}

impl IndexSum {
    /// Takes in what came to the index since; makes it safe against a power cut first, which a checkpoint must outlive.
    fn extend(&mut self, path: &Path) -> io::Result<Prefix> {
        match File::open(path) {
            Ok(mut file) => {
                if file.metadata()?.len() > self.bytes {
                    file.sync_all()?;
                    file.seek(SeekFrom::Start(self.bytes))?;
                    self.read(BufReader::with_capacity(64 * 1024, file))?;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        Ok(Prefix { bytes: self.bytes, sha256: Digest::from_bytes(self.hash.clone().finalize().into()) })
    }

    fn read(&mut self, mut reader: BufReader<File>) -> io::Result<()> {
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line)? > 0 && line.last() == Some(&b'\n') {
            self.hash.update(&line);
            self.bytes += line.len() as u64;
            line.clear();
        }
        Ok(())
    }
}

/// Closed files of a family: one that keeps its `.open` name, as a torn one does, will be cut. A folder that is not there has
/// none.
fn names_in(folder: &Path, end: &str) -> io::Result<Vec<String>> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(end) {
            names.push(name);
        }
    }
    Ok(names)
}

fn chain(path: &Path, problem: String) -> ArchiveError {
    ArchiveError::Chain { path: path.to_owned(), problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Now<'_> = Now { at: String::new(), head: None, config: None, open: &[], signer: None };

    fn text(dir: &Path) -> String {
        std::fs::read_to_string(dir.join(CHECKPOINTS)).unwrap()
    }

    /// The longest name of a file there is.
    fn name(n: usize, end: &str) -> String {
        format!("{n:0>width$}{end}", width = 255 - end.len())
    }

    #[test]
    fn many_files_are_told_in_lines_that_can_be_read() {
        for count in [0, 1, 999, 1000, 1001, 2500] {
            let dir = tempfile::tempdir().unwrap();
            std::fs::create_dir(dir.path().join("records")).unwrap();
            for n in 0..count {
                std::fs::write(dir.path().join("records").join(name(n, RECORDS_END)), b"x").unwrap();
            }
            let mut log = CheckpointLog::open(dir.path()).unwrap();
            log.add(&NOW).unwrap();
            let written = text(dir.path());
            assert_eq!(written.lines().count(), count.div_ceil(1000).max(1), "{count}");
            assert!(written.lines().all(|line| line.len() < 1 << 20), "{count}");
            let files: usize = written.lines().map(|line| Checkpoint::parse(line).unwrap().files.len()).sum();
            assert_eq!(files, count);
            // Neither this one nor the next has anything to add.
            log.add(&NOW).unwrap();
            CheckpointLog::open(dir.path()).unwrap().add(&NOW).unwrap();
            assert_eq!(text(dir.path()), written, "{count}");
        }
    }

    #[test]
    fn a_file_that_keeps_its_open_name_is_not_summed() {
        let dir = tempfile::tempdir().unwrap();
        for (folder, end) in FAMILIES {
            std::fs::create_dir_all(dir.path().join(folder)).unwrap();
            std::fs::write(dir.path().join(folder).join(format!("a{end}.open")), b"x").unwrap();
            std::fs::write(dir.path().join(folder).join(format!("b{end}")), b"x").unwrap();
        }
        CheckpointLog::open(dir.path()).unwrap().add(&NOW).unwrap();
        let files = Checkpoint::parse(text(dir.path()).trim_end()).unwrap().files;
        let wanted = FAMILIES.map(|(folder, end)| format!("{folder}/b{end}"));
        assert_eq!(files.iter().map(|file| file.path.clone()).collect::<Vec<_>>(), wanted);
    }

    #[test]
    fn a_file_above_what_is_read_is_refused_and_left_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(CHECKPOINTS);
        CheckpointLog::open(dir.path()).unwrap().add(&NOW).unwrap();
        File::options().write(true).open(&path).unwrap().set_len(MAX_CHECKPOINTS_FILE + 1).unwrap();
        let error = CheckpointLog::open(dir.path()).unwrap_err();
        assert!(matches!(error, ArchiveError::Chain { .. }), "{error}");
        assert_eq!(path.metadata().unwrap().len(), MAX_CHECKPOINTS_FILE + 1);
    }
}
