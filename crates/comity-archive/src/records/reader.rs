use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use crate::append_file::OPEN_SUFFIX;
use crate::chain::{Line, parse_line};
use crate::counting::Counting;
use crate::names::RECORDS_END;

/// The largest inflated frame that is read.
const MAX_FRAME_BYTES: u64 = 64 * 1024 * 1024;

/// Why record lines cannot be read further.
#[derive(Debug)]
pub struct RecordsError {
    /// The file.
    pub path: PathBuf,
    /// Where the frame begins.
    pub offset: u64,
    /// What is wrong.
    pub problem: String,
}

impl fmt::Display for RecordsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: frame at byte {}: {}", self.path.display(), self.offset, self.problem)
    }
}

impl std::error::Error for RecordsError {}

/// A frame that ends before its end: a crash while it was written. Its lines were never acknowledged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TornFrame {
    /// The file.
    pub path: PathBuf,
    /// Where the frame begins: up to here the file is valid.
    pub offset: u64,
}

impl fmt::Display for TornFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: torn frame at byte {}, its lines were not acknowledged", self.path.display(), self.offset)
    }
}

/// Reads the record lines of a crawl directory in the order of their chain. Memory: one frame.
#[derive(Debug)]
pub struct RecordsReader {
    files: std::vec::IntoIter<PathBuf>,
    open: Option<Frames<BufReader<File>>>,
    lines: std::vec::IntoIter<Line>,
    torn: Vec<TornFrame>,
}

/// The frames of one file, one after the other. Memory: one frame.
#[derive(Debug)]
pub(crate) struct Frames<R> {
    path: PathBuf,
    input: Counting<R>,
}

/// What comes next in a file.
pub(crate) enum Frame {
    Lines(Vec<Line>),
    End,
    Torn(TornFrame),
}

/// The record lines under `dir`, in the order of their chain; a directory without records has none.
///
/// # Errors
/// When the folder or the begin of a file cannot be read.
pub fn read_records(dir: &Path) -> Result<RecordsReader, RecordsError> {
    read_records_from(dir, 0)
}

/// As [`read_records`], from the first line of the file that holds line `seq`: earlier files are opened, not read.
///
/// # Errors
/// As [`read_records`].
pub fn read_records_from(dir: &Path, seq: u64) -> Result<RecordsReader, RecordsError> {
    let folder = dir.join("records");
    let mut files = Vec::new();
    for path in record_files(&folder).map_err(|e| at(&folder, 0, e))? {
        match first_seq(&path)? {
            Some(seq) => files.push((seq, path)),
            None => files.push((u64::MAX, path)), // Nothing but a torn frame, or empty.
        }
    }
    files.sort();
    let start = files.iter().rposition(|(first, _)| *first <= seq).unwrap_or(0);
    let files: Vec<_> = files.split_off(start).into_iter().map(|(_, path)| path).collect();
    Ok(RecordsReader { files: files.into_iter(), open: None, lines: Vec::new().into_iter(), torn: Vec::new() })
}

impl RecordsReader {
    /// The torn frames met so far: at most one a file, always its last.
    #[must_use]
    pub fn torn(&self) -> &[TornFrame] {
        &self.torn
    }

    /// Reads on until there are lines; false at the end of everything.
    fn refill(&mut self) -> Result<bool, RecordsError> {
        loop {
            let file = match &mut self.open {
                Some(file) => file,
                None => match self.files.next() {
                    Some(path) => self.open.insert(Frames::open(path)?),
                    None => return Ok(false),
                },
            };
            match file.frame()? {
                Frame::Lines(lines) => {
                    self.lines = lines.into_iter();
                    return Ok(true);
                }
                Frame::End => self.open = None,
                Frame::Torn(torn) => {
                    self.torn.push(torn);
                    self.open = None;
                }
            }
        }
    }
}

impl Iterator for RecordsReader {
    type Item = Result<Line, RecordsError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(line) = self.lines.next() {
                return Some(Ok(line));
            }
            match self.refill() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => {
                    self.open = None;
                    return Some(Err(error));
                }
            }
        }
    }
}

impl Frames<BufReader<File>> {
    pub(crate) fn open(path: PathBuf) -> Result<Self, RecordsError> {
        let file = File::open(&path).map_err(|e| at(&path, 0, e))?;
        Ok(Self::new(path, BufReader::with_capacity(64 * 1024, file)))
    }
}

impl<R: BufRead> Frames<R> {
    /// Reads from the start of the file at `path`, which is for messages only.
    pub(crate) const fn new(path: PathBuf, input: R) -> Self {
        Self { input: Counting::new(input), path }
    }

    /// Where the next frame begins.
    pub(crate) const fn offset(&self) -> u64 {
        self.input.consumed()
    }

    /// What is read from.
    pub(crate) fn into_inner(self) -> R {
        self.input.into_inner()
    }

    /// Inflates the next frame and reads its lines.
    pub(crate) fn frame(&mut self) -> Result<Frame, RecordsError> {
        let offset = self.input.consumed();
        if self.input.at_end().map_err(|e| at(&self.path, offset, e))? {
            return Ok(Frame::End);
        }
        let mut text = Vec::new();
        let decoder = zstd::stream::read::Decoder::with_buffer(&mut self.input).map(|d| d.single_frame());
        let read = decoder.and_then(|d| d.take(MAX_FRAME_BYTES + 1).read_to_end(&mut text));
        match read {
            Ok(n) if n as u64 > MAX_FRAME_BYTES => Err(at(&self.path, offset, "larger than 64 MiB")),
            Ok(_) => self.lines(&text, offset).map(Frame::Lines),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Ok(Frame::Torn(TornFrame { path: self.path.clone(), offset }))
            }
            Err(error) => Err(at(&self.path, offset, error)),
        }
    }

    fn lines(&self, text: &[u8], offset: u64) -> Result<Vec<Line>, RecordsError> {
        let lines = text.split_inclusive(|b| *b == b'\n').map(parse_line);
        lines.collect::<Result<_, _>>().map_err(|e| at(&self.path, offset, e))
    }
}

/// Files of `folder`, open ones too, unsorted.
pub(crate) fn record_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.strip_suffix(OPEN_SUFFIX).unwrap_or(name).ends_with(RECORDS_END) {
            files.push(path);
        }
    }
    Ok(files)
}

fn first_seq(path: &Path) -> Result<Option<u64>, RecordsError> {
    Ok(match Frames::open(path.to_owned())?.frame()? {
        Frame::Lines(lines) => lines.first().map(|line| line.seq),
        Frame::End | Frame::Torn(_) => None,
    })
}

fn at(path: &Path, offset: u64, problem: impl fmt::Display) -> RecordsError {
    RecordsError { path: path.to_owned(), offset, problem: problem.to_string() }
}
