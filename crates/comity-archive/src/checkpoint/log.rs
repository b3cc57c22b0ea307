use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use comity_policy::Digest;
use sha2::{Digest as _, Sha256};

use super::{CHECKPOINTS, Checkpoint, CheckpointSigner, EVIDENCE_INDEX, FileSum, Prefix, sum_file};
use crate::append_file::OPEN_SUFFIX;
use crate::chain::GENESIS;
use crate::names::{INDEX_END, RECORDS_END, WARC_ENDS};
use crate::{ArchiveError, ChainHead};

/// The largest file of checkpoints that is read: a line of 1 KiB for each of a million files.
pub(crate) const MAX_CHECKPOINTS_FILE: u64 = 1 << 30;

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
    /// When it cannot be read or written, or its lines do not hold together.
    pub(crate) fn open(dir: &Path) -> Result<Self, ArchiveError> {
        let path = dir.join(CHECKPOINTS);
        let wrong = |e: io::Error| ArchiveError::io(&path, e);
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(&path).map_err(wrong)?;
        let mut text = Vec::new();
        (&mut file).take(MAX_CHECKPOINTS_FILE).read_to_end(&mut text).map_err(wrong)?;
        let whole = text.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
        if whole < text.len() {
            file.set_len(whole as u64).map_err(wrong)?;
        }
        let mut log =
            Self { dir: dir.to_owned(), file, last: None, summed: BTreeSet::new(), evidence: IndexSum::default() };
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

    /// Writes one, unless it would say what the last one says. Sums every file that no checkpoint has summed yet, but those
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
        let draft = Checkpoint {
            n: self.next(),
            prev: self.digest().unwrap_or(GENESIS),
            at: now.at.clone(),
            lines,
            link,
            config: now.config,
            evidence,
            files,
            digest: GENESIS,
            signed: None,
        };
        let sealed = draft.seal(now.signer);
        self.write(&sealed).map_err(|e| ArchiveError::io(&self.dir.join(CHECKPOINTS), e))?;
        self.summed.extend(sealed.files.iter().map(|file| file.path.clone()));
        self.last = Some(sealed);
        Ok(())
    }

    fn next(&self) -> u64 {
        self.last.as_ref().map_or(0, |last| last.n + 1)
    }

    fn write(&mut self, checkpoint: &Checkpoint) -> io::Result<()> {
        let end = self.file.metadata()?.len();
        let line = format!("{}\n", checkpoint.to_text());
        self.file.write_all(line.as_bytes()).and_then(|()| self.file.sync_all()).inspect_err(|_| {
            // The next open cuts it off, should this fail too.
            let _ = self.file.set_len(end);
        })
    }

    fn closed_files(&self, open: &[String]) -> Result<Vec<FileSum>, ArchiveError> {
        let mut sums = Vec::new();
        for (folder, end) in FAMILIES {
            let folder_path = self.dir.join(folder);
            let mut names = names_in(&folder_path, end).map_err(|e| ArchiveError::io(&folder_path, e))?;
            names.sort();
            for name in names {
                let path = format!("{folder}/{}", name.strip_suffix(OPEN_SUFFIX).unwrap_or(&name));
                if self.summed.contains(&path) || open.contains(&path) {
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

/// Files of a family, open ones too; a folder that is not there has none.
fn names_in(folder: &Path, end: &str) -> io::Result<Vec<String>> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.strip_suffix(OPEN_SUFFIX).unwrap_or(&name).ends_with(end) {
            names.push(name);
        }
    }
    Ok(names)
}

fn chain(path: &Path, problem: String) -> ArchiveError {
    ArchiveError::Chain { path: path.to_owned(), problem }
}
