use std::io::{self, BufRead, Read as _};

use comity_url::Origin;

/// The longest line of a list.
const LONGEST: u64 = 4096;

/// An origin to be asked, and its rank in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) origin: Origin,
    pub(super) rank: Option<u64>,
}

impl Target {
    /// Reads a line: `origin`, `domain`, `rank,origin` or `origin,rank`, separated by comma, semicolon or white space. A bare
    /// domain means https. `None` for an empty line, a comment (`#`), and the heading of a table.
    pub(super) fn parse(line: &str, number: u64) -> Option<Result<Self, String>> {
        let text = line.trim().trim_start_matches('\u{feff}');
        if text.is_empty() || text.starts_with('#') {
            return None;
        }
        let fields = text.split([',', ';', '\t', ' ']).map(|field| field.trim().trim_matches('"'));
        let fields: Vec<&str> = fields.filter(|field| !field.is_empty()).collect();
        let rank = fields.iter().find_map(|field| field.parse::<u64>().ok());
        let site = fields.iter().find(|field| field.parse::<u64>().is_err())?;
        if number == 1 && !site.contains(['.', ':']) && rank.is_none() {
            return None;
        }
        let url = if site.contains("://") { (*site).to_owned() } else { format!("https://{site}") };
        let origin = Origin::parse(&url).map_err(|error| format!("line {number}: {site:?} is no origin: {error}"));
        Some(origin.map(|origin| Self { origin, rank }))
    }
}

/// The lines of a list, one after the other; memory is one line.
pub(super) struct Lines<R> {
    input: R,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    pub(super) const fn new(input: R) -> Self {
        Self { input, number: 0 }
    }

    /// The next target, or what is wrong with the next line that should be one; `None` at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<Result<Target, String>>> {
        loop {
            let mut line = Vec::new();
            self.input.by_ref().take(LONGEST).read_until(b'\n', &mut line)?;
            if line.is_empty() {
                return Ok(None);
            }
            self.number += 1;
            if line.last() != Some(&b'\n') && line.len() as u64 >= LONGEST {
                self.skip()?;
                return Ok(Some(Err(format!("line {} is longer than {LONGEST} bytes", self.number))));
            }
            if let Some(target) = Target::parse(&String::from_utf8_lossy(&line), self.number) {
                return Ok(Some(target));
            }
        }
    }

    fn skip(&mut self) -> io::Result<()> {
        loop {
            let buffer = self.input.fill_buf()?;
            let end = buffer.iter().position(|byte| *byte == b'\n');
            let (used, ended) = end.map_or((buffer.len(), buffer.is_empty()), |at| (at + 1, true));
            self.input.consume(used);
            if ended {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_every_kind_are_read() {
        let origin = |text: &str| Origin::parse(text).unwrap();
        let rows = [
            ("example.com", Some(("https://example.com", None))),
            ("http://example.com:8080", Some(("http://example.com:8080", None))),
            ("17,example.com", Some(("https://example.com", Some(17)))),
            ("\"example.com\",\"17\"", Some(("https://example.com", Some(17)))),
            ("example.com\t17", Some(("https://example.com", Some(17)))),
            ("\u{feff}1;example.com", Some(("https://example.com", Some(1)))),
            ("# a comment", None),
            ("   ", None),
            ("42", None),
        ];
        for (line, wanted) in rows {
            let found = Target::parse(line, 2).map(Result::unwrap);
            assert_eq!(found, wanted.map(|(url, rank)| Target { origin: origin(url), rank }), "{line:?}");
        }
        assert_eq!(Target::parse("domain", 1), None, "a heading");
        assert!(Target::parse("http://a..b/x?", 2).unwrap().is_err());
    }

    #[test]
    fn a_line_without_end_is_told_and_skipped() {
        let text = format!("a.test\n{}\nb.test", "x".repeat(10_000));
        let mut lines = Lines::new(text.as_bytes());
        let mut all = Vec::new();
        while let Some(target) = lines.next().unwrap() {
            all.push(target.map(|target| target.origin.to_string()));
        }
        assert_eq!(all[0], Ok("https://a.test".to_owned()));
        assert_eq!(all[1], Err("line 2 is longer than 4096 bytes".to_owned()));
        assert_eq!(all[2], Ok("https://b.test".to_owned()));
        assert_eq!(all.len(), 3);
    }
}
