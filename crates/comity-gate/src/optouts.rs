//! Opt-out files: JSON lines, only ever appended to, by any number of writers (docs/decisions/0017).

mod line;
mod live;
mod reading;

use std::fmt;
use std::fs::OpenOptions;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use comity_policy::{OptOutLine, OptOuts};

pub(crate) use live::LiveOptOuts;
pub use reading::OptOutReading;

/// Opt-out files that were read without a fault: what a gate begins with. Empty by default.
///
/// A file that does not exist yet is no fault: it holds nothing until somebody writes to it.
#[derive(Clone, Debug, Default)]
pub struct OptOutFiles {
    files: Vec<OpenFile>,
}

/// One file as it was read last.
#[derive(Clone, Debug)]
struct OpenFile {
    path: PathBuf,
    /// The path as text, for evidence.
    name: Arc<str>,
    stamp: Stamp,
    held: OptOuts,
    unfinished: Option<u64>,
    /// The fault that was told last, so that it is not told at every look.
    told: Option<String>,
}

/// What shows that a file changed: length and time of modification; `None` when it is not there.
type Stamp = Option<(u64, Option<std::time::SystemTime>)>;

/// What is wrong with an opt-out file: the file, the line where there is one, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptOutFault {
    /// `FILE` or `FILE:LINE`.
    pub place: String,
    /// What is wrong.
    pub what: String,
}

impl OptOutFiles {
    /// Reads every file; one named twice is read once. Blocks on the disk.
    ///
    /// # Errors
    /// The first line that cannot be read, or a file that cannot be opened or is too large.
    pub fn open(paths: &[PathBuf]) -> Result<Self, OptOutFault> {
        let mut files: Vec<OpenFile> = Vec::new();
        for path in paths {
            if files.iter().all(|file| file.path != *path) {
                files.push(OpenFile::read(path)?);
            }
        }
        Ok(Self { files })
    }

    /// What an operator should know: files that do not exist yet, last lines without an end.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        self.files.iter().filter_map(OpenFile::note).collect()
    }

    /// What the files hold together.
    #[must_use]
    pub fn optouts(&self) -> OptOuts {
        Self::together(&self.files)
    }

    fn together(files: &[OpenFile]) -> OptOuts {
        let mut all = OptOuts::default();
        files.iter().for_each(|file| all.join(&file.held));
        all
    }
}

impl OpenFile {
    fn read(path: &Path) -> Result<Self, OptOutFault> {
        let stamp = stamp(path);
        let reading = OptOutReading::of(path)?;
        match reading.faults.into_iter().next() {
            Some(fault) => Err(fault),
            None => Ok(Self {
                path: path.to_owned(),
                name: reading.name,
                stamp,
                held: reading.optouts,
                unfinished: reading.unfinished,
                told: None,
            }),
        }
    }

    fn note(&self) -> Option<String> {
        match (self.stamp, self.unfinished) {
            (None, _) => Some(format!("{} does not exist yet: nobody is opted out there", self.name)),
            (Some(_), Some(line)) => {
                Some(format!("{}:{line} has no line end yet: it is read once it has one", self.name))
            }
            (Some(_), None) => None,
        }
    }
}

fn stamp(path: &Path) -> Stamp {
    std::fs::metadata(path).ok().map(|found| (found.len(), found.modified().ok()))
}

impl OptOutFault {
    fn of(path: &Path, error: impl fmt::Display) -> Self {
        Self { place: path.display().to_string(), what: error.to_string() }
    }
}

impl fmt::Display for OptOutFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

impl std::error::Error for OptOutFault {}

/// Appends one line in a single write and waits until the disk has it. Any number of processes may do so at once.
///
/// A last line that somebody left without an end gets one first, so that it spoils nobody else's.
///
/// # Errors
/// When the file, or the folder for it, cannot be made or written.
pub fn append_optout(path: &Path, line: &OptOutLine) -> Result<(), OptOutFault> {
    let wrong = |error: std::io::Error| OptOutFault::of(path, error);
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(wrong)?;
    }
    let mut file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(wrong)?;
    let text = format!("{}{}\n", if is_torn(&mut file).map_err(wrong)? { "\n" } else { "" }, line::text(line));
    // One write: the system appends it as a whole, and no other writer's line comes between.
    let written = file.write(text.as_bytes()).map_err(wrong)?;
    if written != text.len() {
        return Err(OptOutFault::of(path, "the disk took only a part of the line: make room and add it again"));
    }
    file.sync_all().map_err(wrong)
}

/// True when the file ends in the middle of a line.
fn is_torn(file: &mut std::fs::File) -> std::io::Result<bool> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}
