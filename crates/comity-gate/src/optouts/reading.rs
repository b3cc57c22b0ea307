use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use comity_policy::{OptOutLine, OptOuts};

use super::{OptOutFault, line};

/// What an opt-out file holds, with everything in it that could not be read.
#[derive(Clone, Debug)]
pub struct OptOutReading {
    /// The opt-outs that hold by its good lines.
    pub optouts: OptOuts,
    /// Lines that could not be read, in order; the first hundred.
    pub faults: Vec<OptOutFault>,
    /// The number of a last line without an end: somebody may still be writing it, so it is not read.
    pub unfinished: Option<u64>,
    /// The path as text.
    pub name: Arc<str>,
    pub(super) lines: Vec<(u64, OptOutLine)>,
}

/// A file larger than this is refused: a quarter of a million opt-outs fit.
const MOST_BYTES: u64 = 64 << 20;
/// A line longer than this is refused.
const MOST_LINE: usize = 16 << 10;
const MOST_FAULTS: usize = 100;

impl OptOutReading {
    /// Reads a file; one that does not exist is empty. Blank lines are passed over. Blocks on the disk.
    ///
    /// # Errors
    /// When it cannot be opened or read, or has more than 64 MiB.
    pub fn of(path: &Path) -> Result<Self, OptOutFault> {
        let bytes = read_bounded(path)?;
        let name: Arc<str> = path.display().to_string().into();
        let mut reading =
            Self { optouts: OptOuts::default(), faults: Vec::new(), unfinished: None, name, lines: Vec::new() };
        for (number, text) in (1..).zip(bytes.split_inclusive(|b| *b == b'\n')) {
            match text.strip_suffix(b"\n") {
                Some(text) => reading.take(number, text),
                None => reading.unfinished = Some(number),
            }
        }
        let mut optouts = OptOuts::default();
        reading.replay_onto(&mut optouts);
        reading.optouts = optouts;
        Ok(reading)
    }

    /// Applies every good line, in order, to what held before.
    pub(super) fn replay_onto(&self, held: &mut OptOuts) {
        for (number, line) in &self.lines {
            held.apply(line.clone(), &self.name, *number);
        }
    }

    fn take(&mut self, number: u64, text: &[u8]) {
        let read = || {
            if text.len() > MOST_LINE {
                return Err(format!("it is longer than {MOST_LINE} bytes"));
            }
            let text = std::str::from_utf8(text).map_err(|_| "it is not UTF-8".to_owned())?;
            Some(text.trim()).filter(|text| !text.is_empty()).map(line::read).transpose()
        };
        match read() {
            Ok(line) => self.lines.extend(line.map(|line| (number, line))),
            Err(what) if self.faults.len() < MOST_FAULTS => {
                self.faults.push(OptOutFault { place: format!("{}:{number}", self.name), what });
            }
            Err(_) => {}
        }
    }
}

fn read_bounded(path: &Path) -> Result<Vec<u8>, OptOutFault> {
    let mut bytes = Vec::new();
    match File::open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(bytes),
        opened => opened
            .and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes))
            .map_err(|error| OptOutFault::of(path, error))?,
    };
    if bytes.len() as u64 > MOST_BYTES {
        return Err(OptOutFault::of(path, format!("it is larger than {} MiB", MOST_BYTES >> 20)));
    }
    Ok(bytes)
}
