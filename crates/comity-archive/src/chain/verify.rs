use std::fmt;
use std::io::{BufRead, Read};

use super::{ChainHead, Content, GENESIS, Line, LineError, commitment, link};

/// The longest record line that is read.
pub(crate) const MAX_LINE_BYTES: u64 = 8 * 1024 * 1024;

/// What a chain looks like that holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChainReport {
    /// Lines read.
    pub lines: u64,
    /// Of these, tombstones of erased records.
    pub erased: u64,
    /// The last line; compare it with [`ChainHead::load`], or the end may be missing.
    pub head: Option<ChainHead>,
}

/// The first place where a chain does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainFault {
    /// How many lines before it hold.
    pub after: u64,
    /// What is wrong with the next.
    pub problem: String,
}

impl fmt::Display for ChainFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.after, self.problem)
    }
}

impl std::error::Error for ChainFault {}

/// Checks a chain line by line, from its first.
#[derive(Debug, Default)]
pub struct ChainVerifier {
    report: ChainReport,
}

impl ChainVerifier {
    /// Checks from the line after `head` on.
    pub(crate) const fn after(head: Option<ChainHead>) -> Self {
        Self { report: ChainReport { lines: 0, erased: 0, head } }
    }

    /// Takes in the next line.
    ///
    /// # Errors
    /// The first thing that does not hold: number, link to the line before, commitment to the content, own link.
    pub fn step(&mut self, line: &Line) -> Result<(), ChainFault> {
        let (seq, prev) = self.report.head.map_or((0, GENESIS), |head| (head.seq + 1, head.link));
        if line.seq != seq {
            return Err(self.fault(format!("number {} where {seq} is due", line.seq)));
        }
        if line.prev != prev {
            return Err(self.fault("it does not follow the line before".to_owned()));
        }
        if let Content::Kept { salt, body } = &line.content
            && commitment(salt, body.as_bytes()) != line.commitment
        {
            return Err(self.fault("its content is not what was committed to".to_owned()));
        }
        if link(seq, prev, line.commitment) != line.link {
            return Err(self.fault("its link does not cover number, predecessor and commitment".to_owned()));
        }
        self.report.lines += 1;
        self.report.erased += u64::from(matches!(line.content, Content::Erased(_)));
        self.report.head = Some(line.head());
        Ok(())
    }

    /// What held so far.
    #[must_use]
    pub const fn report(&self) -> ChainReport {
        self.report
    }

    fn fault(&self, problem: String) -> ChainFault {
        ChainFault { after: self.report.lines, problem }
    }
}

/// Checks a whole chain, given as the text of record lines (JSONL, inflated).
///
/// Costs one SHA-256 over every byte; memory for one line.
///
/// # Errors
/// The first line that does not hold, cannot be read, is longer than 8 MiB or lacks its line end.
pub fn verify_chain(mut reader: impl BufRead) -> Result<ChainReport, ChainFault> {
    let mut verifier = ChainVerifier::default();
    let mut text = Vec::new();
    loop {
        text.clear();
        let read = reader.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut text);
        read.map_err(|e| verifier.fault(e.to_string()))?;
        if text.is_empty() {
            return Ok(verifier.report());
        }
        let line = parse(&text).map_err(|e| verifier.fault(e.to_string()))?;
        verifier.step(&line)?;
    }
}

/// A line with its line end.
pub(crate) fn parse(text: &[u8]) -> Result<Line, LineError> {
    let text = text.strip_suffix(b"\n").ok_or_else(|| LineError("the line has no end".to_owned()))?;
    let text = std::str::from_utf8(text).map_err(|_| LineError("the line is not UTF-8".to_owned()))?;
    Line::parse(text)
}
