//! Dated copies of one origin's robots.txt: a file per change, a line of `index.jsonl` per question.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use comity::policy::WallTime;
use comity_gate::{FetchedRobots, RobotsClass};
use comity_url::Origin;
use serde::{Deserialize, Serialize};

use crate::commands::asker::words;
use crate::exit::Failure;

/// The version of an index line.
const VERSION: u32 = 1;
/// Bytes of the index that are read, from its end: some ten thousand questions.
const MOST_INDEX: u64 = 4 << 20;
/// The longest copy read back.
const MOST_COPY: u64 = 1 << 20;

/// The folder of one origin.
#[derive(Debug)]
pub(super) struct Copies {
    folder: PathBuf,
}

/// One question and its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    v: u32,
    /// When it was answered, milliseconds of Unix time.
    fetched_ms: i64,
    /// `parsed`, `absent`, `redirect_limit` or `unreachable`.
    pub(super) class: String,
    pub(super) status: Option<u16>,
    /// SHA-256 of the bytes; null when there is no file.
    pub(super) digest: Option<String>,
    /// Until when a crawler may use this answer; null for one that is none.
    expires_ms: Option<i64>,
    /// The copy, beside the index.
    pub(super) file: Option<String>,
}

impl Entry {
    fn of(found: &FetchedRobots) -> Self {
        let life = found.life.fetched().filter(|_| !matches!(found.class, RobotsClass::Unreachable { .. }));
        let digest = found.file.as_ref().map(|(digest, _)| digest.to_string());
        let name = digest.as_deref().and_then(|hex| hex.get(..8));
        Self {
            v: VERSION,
            fetched_ms: found.at.unix_millis(),
            class: found.class.as_str().to_owned(),
            status: found.class.status(),
            file: name.map(|name| format!("{}-{name}.txt", found.at.digits14())),
            digest,
            expires_ms: life.map(|(_, _, expires)| expires.unix_millis()),
        }
    }

    pub(super) const fn fetched(&self) -> WallTime {
        WallTime::from_unix_millis(self.fetched_ms)
    }

    pub(super) fn expires(&self) -> Option<WallTime> {
        self.expires_ms.map(WallTime::from_unix_millis)
    }

    /// How long a crawler may use it from when it was received.
    fn life(&self) -> Duration {
        self.expires().map_or(Duration::ZERO, |expires| expires.since(self.fetched()))
    }

    /// Rules, or that there are none; not a failure.
    fn is_answer(&self) -> bool {
        self.expires_ms.is_some()
    }

    /// Whether both say the same to crawlers: the same bytes, or no file.
    fn says_as(&self, other: &Self) -> bool {
        self.is_answer() == other.is_answer() && self.digest == other.digest
    }
}

/// The answer of now, and those before it, oldest first.
#[derive(Debug)]
pub(super) struct History {
    pub(super) folder: PathBuf,
    earlier: Vec<Entry>,
    pub(super) now: Entry,
}

impl Copies {
    /// The folder of `origin` in `base`, made when it is missing.
    pub(super) fn open(base: &Path, origin: &Origin) -> Result<Self, Failure> {
        let folder = base.join(words::file_name(origin));
        fs::create_dir_all(&folder).map_err(|error| broken(&folder, &error))?;
        Ok(Self { folder })
    }

    /// Keeps what was found: the file when it is not the one kept last, and a line in any case.
    pub(super) fn keep(self, found: &FetchedRobots) -> Result<History, Failure> {
        let index = self.folder.join("index.jsonl");
        let earlier = read_index(&index).map_err(|error| broken(&index, &error))?;
        let mut now = Entry::of(found);
        let kept = earlier.iter().rev().find(|entry| entry.digest.is_some() && entry.digest == now.digest);
        match (kept.and_then(|entry| entry.file.clone()), &found.file) {
            (Some(file), _) if self.folder.join(&file).is_file() => now.file = Some(file),
            (_, Some((_, bytes))) => self.write(now.file.as_deref().unwrap_or("robots.txt"), bytes)?,
            (_, None) => {}
        }
        append(&index, &now).map_err(|error| broken(&index, &error))?;
        Ok(History { folder: self.folder, earlier, now })
    }

    /// Whole under its name, or not at all.
    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        let (path, tmp) = (self.folder.join(name), self.folder.join(format!("{name}.tmp")));
        fs::write(&tmp, bytes).and_then(|()| fs::rename(&tmp, &path)).map_err(|error| broken(&path, &error))
    }
}

impl History {
    /// The last answer before this one; failures are passed over.
    pub(super) fn before(&self) -> Option<&Entry> {
        self.earlier.iter().rev().find(|entry| entry.is_answer())
    }

    /// How many questions were asked, this one too.
    pub(super) fn count(&self) -> usize {
        self.earlier.len() + 1
    }

    /// Since when the answer has been the one of now, as far as was asked; failures in between are passed over.
    pub(super) fn since(&self) -> WallTime {
        let counts = |entry: &&Entry| !self.now.is_answer() || entry.is_answer();
        let same = self.earlier.iter().rev().filter(counts).take_while(|entry| entry.says_as(&self.now));
        same.last().unwrap_or(&self.now).fetched()
    }

    /// The last answer that was another one than that of now.
    pub(super) fn old(&self) -> Option<&Entry> {
        self.earlier.iter().rev().find(|entry| entry.is_answer() && !entry.says_as(&self.now))
    }

    /// Until when a crawler that asked just before the change may use the old answer; `None` when that is over.
    pub(super) fn old_until(&self) -> Option<WallTime> {
        let until = self.since().after(self.old()?.life());
        (until > self.now.fetched()).then_some(until)
    }

    /// The bytes of an entry: those of the kept copy, none where there was no file.
    pub(super) fn bytes(&self, entry: &Entry) -> Result<Vec<u8>, Failure> {
        let Some(name) = &entry.file else { return Ok(Vec::new()) };
        let path = self.folder.join(name);
        let mut bytes = Vec::new();
        let read = File::open(&path).and_then(|file| file.take(MOST_COPY).read_to_end(&mut bytes));
        read.map_err(|error| broken(&path, &error))?;
        Ok(bytes)
    }
}

/// The entries at the end of the index. A line that cannot be read, torn or of another version, is no entry.
fn read_index(path: &Path) -> io::Result<Vec<Entry>> {
    let mut file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        opened => opened?,
    };
    let start = file.metadata()?.len().saturating_sub(MOST_INDEX);
    file.seek(SeekFrom::Start(start))?;
    let mut text = Vec::new();
    file.take(MOST_INDEX).read_to_end(&mut text)?;
    let entries = text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Entry>(line).ok());
    Ok(entries.filter(|entry| entry.v == VERSION).collect())
}

/// One line in one write, on a line of its own even after a torn one.
fn append(path: &Path, entry: &Entry) -> io::Result<()> {
    let mut line = serde_json::to_vec(entry)?;
    line.push(b'\n');
    let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
    if file.metadata()?.len() > 0 {
        file.seek(SeekFrom::End(-1))?;
        let mut end = [0];
        file.read_exact(&mut end)?;
        if end != *b"\n" {
            line.insert(0, b'\n');
        }
    }
    file.write_all(&line)
}

fn broken(path: &Path, error: &io::Error) -> Failure {
    Failure::storage(format!("{}: {error}", path.display()))
        .hint("copies are kept there; --dir DIR keeps them elsewhere")
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000;

    /// An answer at an hour: a letter for a file, `-` for none, `!` for a failure; lives of 24 hours.
    fn entry(hour: i64, what: &str) -> Entry {
        let answer = what != "!";
        Entry {
            v: VERSION,
            fetched_ms: hour * HOUR,
            class: if answer { "parsed" } else { "unreachable" }.to_owned(),
            status: None,
            digest: (answer && what != "-").then(|| what.to_owned()),
            expires_ms: answer.then_some((hour + 24) * HOUR),
            file: None,
        }
    }

    #[test]
    fn what_was_before_and_how_long_it_may_be_used() {
        let hour = |at: i64| WallTime::from_unix_millis(at * HOUR);
        // (earlier answers by hour, now, before, since, the old one, until when it may be used)
        type Row<'a> = (&'a [(i64, &'a str)], (i64, &'a str), Option<i64>, i64, Option<i64>, Option<i64>);
        let rows: [Row<'_>; 8] = [
            (&[], (5, "a"), None, 5, None, None),
            (&[(1, "a")], (5, "a"), Some(1), 1, None, None),
            (&[(1, "a")], (5, "b"), Some(1), 5, Some(1), Some(29)),
            (&[(1, "a"), (3, "b")], (5, "b"), Some(3), 3, Some(1), Some(27)),
            (&[(1, "a"), (3, "b")], (28, "b"), Some(3), 3, Some(1), None),
            (&[(1, "a"), (2, "!"), (3, "!")], (5, "!"), Some(1), 2, Some(1), Some(26)),
            (&[(1, "a"), (2, "!")], (5, "a"), Some(1), 1, None, None),
            (&[(1, "a")], (5, "-"), Some(1), 5, Some(1), Some(29)),
        ];
        for (earlier, (at, now), before, since, old, until) in rows {
            let history = History {
                folder: PathBuf::new(),
                earlier: earlier.iter().map(|(at, what)| entry(*at, what)).collect(),
                now: entry(at, now),
            };
            let name = format!("{earlier:?}, then {now}");
            assert_eq!(history.before().map(Entry::fetched), before.map(hour), "{name}: before");
            assert_eq!(history.since(), hour(since), "{name}: since");
            assert_eq!(history.old().map(Entry::fetched), old.map(hour), "{name}: old");
            assert_eq!(history.old_until(), until.map(hour), "{name}: until");
        }
    }

    #[test]
    fn a_torn_line_costs_itself_only() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("index.jsonl");
        append(&path, &entry(1, "a")).unwrap();
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"v\":1,\"fetch").unwrap();
        append(&path, &entry(2, "b")).unwrap();
        assert_eq!(read_index(&path).unwrap(), [entry(1, "a"), entry(2, "b")]);
    }
}
