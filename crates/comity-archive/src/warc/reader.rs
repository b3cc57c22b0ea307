use std::fmt;
use std::io::{BufRead, Read};

use super::open_member::OpenMember;
use super::record::{Grammar, WarcRecord, parse_record};
use crate::counting::Counting;

/// The largest inflated record that is read, unless the caller says otherwise.
const MAX_RECORD_BYTES: u64 = 256 * 1024 * 1024;

/// Reads a WARC file of one gzip member, or one zstd frame, per record. Strict: what a writer may not write is an error, not a guess.
///
/// Memory: one record. A torn member, a wrong CRC, a short block, a missing final CRLF pair or bytes after it end the
/// reading with the offset of the member (archive reference §5: outside checkers overlook these).
#[derive(Debug)]
pub struct WarcReader<R> {
    input: Counting<R>,
    limit: u64,
    failed: bool,
}

/// Why a member is no record.
#[derive(Debug)]
pub struct WarcError {
    /// Where its member begins.
    pub offset: u64,
    /// What is wrong.
    pub damage: Damage,
}

/// What is wrong with a member.
#[non_exhaustive]
#[derive(Debug)]
pub enum Damage {
    /// The file ends inside the member: a crash while it was written.
    Torn,
    /// The gzip stream is broken: header, deflate data, CRC or length.
    Gzip(String),
    /// The zstd frame is broken: header, data or checksum.
    Zstd(String),
    /// The file cannot be read.
    Io(std::io::Error),
    /// The record breaks the grammar of WARC/1.1.
    Grammar(Grammar),
    /// The record is larger than the limit, in bytes.
    TooLarge(u64),
}

impl fmt::Display for WarcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "record at byte {}: {}", self.offset, self.damage)
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Torn => f.write_str("the file ends inside it"),
            Self::Gzip(problem) => write!(f, "gzip: {problem}"),
            Self::Zstd(problem) => write!(f, "zstd: {problem}"),
            Self::Io(error) => write!(f, "{error}"),
            Self::Grammar(problem) => write!(f, "{problem}"),
            Self::TooLarge(limit) => write!(f, "larger than {limit} bytes"),
        }
    }
}

impl std::error::Error for WarcError {}

impl<R: BufRead> WarcReader<R> {
    /// Reads from the start of a file.
    pub const fn new(input: R) -> Self {
        Self { input: Counting::new(input), limit: MAX_RECORD_BYTES, failed: false }
    }

    /// The same reader with another limit for one inflated record, in bytes.
    #[must_use]
    pub const fn with_limit(mut self, limit: u64) -> Self {
        self.limit = limit;
        self
    }

    fn record(&mut self, offset: u64) -> Result<WarcRecord, Damage> {
        let mut text = Vec::new();
        let opened = OpenMember::new(&mut self.input);
        match opened.and_then(|member| member.take(self.limit.saturating_add(1)).read_to_end(&mut text)) {
            Ok(n) if n as u64 > self.limit => return Err(Damage::TooLarge(self.limit)),
            Ok(_) => {}
            Err(error) => return Err(damage(error)),
        }
        parse_record(text, offset, self.input.consumed() - offset).map_err(Damage::Grammar)
    }
}

/// What a failed read of a member says of it.
pub(crate) fn damage(error: std::io::Error) -> Damage {
    use std::io::ErrorKind::{InvalidData, InvalidInput, Other, UnexpectedEof};
    match error.kind() {
        UnexpectedEof => Damage::Torn,
        InvalidData | InvalidInput => Damage::Gzip(error.to_string()),
        // Errors of files have kinds of their own.
        Other => Damage::Zstd(error.to_string()),
        _ => Damage::Io(error),
    }
}

impl<R: BufRead> Iterator for WarcReader<R> {
    type Item = Result<WarcRecord, WarcError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let offset = self.input.consumed();
        let result = match self.input.at_end() {
            Ok(true) => return None,
            Ok(false) => self.record(offset),
            Err(error) => Err(Damage::Io(error)),
        };
        self.failed = result.is_err();
        Some(result.map_err(|damage| WarcError { offset, damage }))
    }
}
