//! The copy of robots.txt that decided, line by line, and what today's parser makes of it.

use std::path::Path;

use comity::config::ConfigFile;
use comity_archive::Record;
use comity_robots::{Dialect, Robots, request_target};
use sha2::Digest as _;

/// Why a line is pointed at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mark {
    /// The rule that decided.
    Decided,
    /// The group begins here.
    Group,
    /// A statement about use.
    Signal,
}

/// A robots.txt as it was kept.
#[derive(Debug)]
pub(crate) struct Copy {
    /// Where it lies, below the crawl directory.
    pub(crate) path: String,
    /// Its lines; the first has number 1.
    pub(crate) lines: Vec<String>,
    /// What the parser of this version makes of it: `the same` or what differs.
    pub(crate) reread: String,
    marks: Vec<(u32, Mark)>,
}

/// The longest copy that is read: what is parsed of a robots.txt, twice.
const MAX_COPY: u64 = 1 << 20;

impl Copy {
    /// The copy that a record names; a text says why there is none.
    pub(crate) fn of(dir: &Path, record: &Record) -> Result<Self, String> {
        let robots = record.robots.as_ref().ok_or("no robots.txt had a part in it")?;
        let hex = robots.digest.as_deref().ok_or("there was no copy")?;
        let (path, bytes) = kept(dir, hex)?;
        let lines = lines(&bytes);
        Ok(Self { path, lines, reread: reread(dir, record, &bytes), marks: marks(record) })
    }

    /// The copy of this digest with marks of many records.
    pub(crate) fn marked(dir: &Path, hex: &str, marks: impl IntoIterator<Item = (u32, Mark)>) -> Result<Self, String> {
        let (path, bytes) = kept(dir, hex)?;
        let mut marks: Vec<(u32, Mark)> = marks.into_iter().collect();
        // Where a line has several, the first counts.
        marks.sort_unstable();
        Ok(Self { path, lines: lines(&bytes), reread: String::new(), marks })
    }

    /// Why a line is pointed at, if it is.
    pub(crate) fn mark(&self, number: u32) -> Option<Mark> {
        self.marks.iter().find(|(line, _)| *line == number).map(|(_, mark)| *mark)
    }

    /// Numbers of the lines that are pointed at, and two around each.
    pub(crate) fn around(&self) -> Vec<u32> {
        let last = u32::try_from(self.lines.len()).unwrap_or(u32::MAX);
        let mut shown: Vec<u32> = self
            .marks
            .iter()
            .flat_map(|(line, _)| line.saturating_sub(2).max(1)..=line.saturating_add(2).min(last))
            .collect();
        shown.sort_unstable();
        shown.dedup();
        shown
    }

    pub(crate) fn line(&self, number: u32) -> &str {
        let at = usize::try_from(number).unwrap_or_default();
        at.checked_sub(1).and_then(|at| self.lines.get(at)).map_or("", String::as_str)
    }
}

/// Place and bytes of a copy, if they are those of its name.
fn kept(dir: &Path, hex: &str) -> Result<(String, Vec<u8>), String> {
    use std::io::Read as _;
    let shelf = hex.get(..2).ok_or("its digest is none")?;
    let path = format!("evidence/{shelf}/{hex}");
    let mut bytes = Vec::new();
    std::fs::File::open(dir.join(&path))
        .and_then(|file| file.take(MAX_COPY).read_to_end(&mut bytes))
        .map_err(|e| format!("{path} cannot be read: {e}"))?;
    if data_encoding::HEXLOWER.encode(&sha2::Sha256::digest(&bytes)) != hex {
        return Err(format!("{path} is not what it was: its bytes are not those of its name"));
    }
    Ok((path, bytes))
}

/// CR, LF and CRLF end a line, as the parser counts them.
fn lines(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n").replace('\r', "\n");
    text.strip_suffix('\n').unwrap_or(&text).split('\n').map(ToOwned::to_owned).collect()
}

/// The lines that a record points at.
pub(crate) fn marks(record: &Record) -> Vec<(u32, Mark)> {
    let decided = record.rule.as_ref().map(|rule| (rule.line, Mark::Decided));
    let groups =
        [record.rule.as_ref().map(|rule| rule.group_line), record.robots.as_ref().and_then(|robots| robots.group_line)];
    let groups = groups.into_iter().flatten().map(|line| (line, Mark::Group));
    let signals = record.signals.iter().filter(|signal| signal.source.starts_with("robots"));
    let signals = signals.filter_map(|signal| Some((signal.place.strip_prefix("line ")?.parse().ok()?, Mark::Signal)));
    decided.into_iter().chain(groups).chain(signals).collect()
}

/// Judges again, by the parser of this version and the dialect of the crawl.
fn reread(dir: &Path, record: &Record, bytes: &[u8]) -> String {
    let file = ConfigFile::read(&dir.join("crawl.toml")).ok();
    let google = file.and_then(|file| file.robots.dialect).is_some_and(|dialect| dialect == "google");
    let dialect = if google { Dialect::Google } else { Dialect::Standard };
    let tokens: Vec<&str> = record.agent.product_tokens.iter().map(String::as_str).collect();
    let verdict = Robots::parse(bytes).rules(&tokens, dialect).verdict(&request_target(&record.url));
    let same = verdict.rule.as_ref().map(|rule| (rule.line, rule.pattern.as_str()))
        == record.rule.as_ref().map(|rule| (rule.line, rule.pattern.as_str()));
    let word = if verdict.allowed { "allowed" } else { "refused" };
    let line = verdict.rule.map_or_else(|| "since no rule matches".to_owned(), |rule| format!("by line {}", rule.line));
    let by = concat!("comity/", env!("CARGO_PKG_VERSION"));
    let as_then = match record.query.as_deref() {
        _ if same => "as then",
        Some(word) => &format!("by the path alone; not recomputable: query {word}"),
        None => "NOT as then",
    };
    format!("{word} {line}, {as_then} ({by}; then {})", record.software)
}
