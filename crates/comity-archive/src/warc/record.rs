use std::fmt;

use crate::digests::sha1_label;

/// A record as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WarcRecord {
    /// Where its gzip member begins.
    pub offset: u64,
    /// Length of its gzip member.
    pub length: u64,
    /// `1.1` or `1.0`.
    pub version: String,
    /// Field names and values in the order of the file, repeats kept.
    pub fields: Vec<(String, String)>,
    /// Exactly `Content-Length` bytes.
    pub block: Vec<u8>,
}

/// How a record breaks the grammar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grammar(String);

impl Grammar {
    pub(crate) fn new(problem: &str) -> Self {
        Self(problem.to_owned())
    }
}

impl fmt::Display for Grammar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Fields that every record must have (ISO 28500, 5.1).
const MANDATORY: [&str; 4] = ["WARC-Type", "WARC-Record-ID", "WARC-Date", "Content-Length"];

/// Fields that may occur more than once: the first by the standard, the others by wide practice.
const REPEATABLE: [&str; 3] = ["WARC-Concurrent-To", "WARC-Protocol", "WARC-Cipher-Suite"];

impl WarcRecord {
    /// The first value of a field; names are compared case-insensitively.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// Every value of a field, in order.
    pub fn fields_named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.fields.iter().filter(move |(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// `WARC-Type`.
    #[must_use]
    pub fn kind(&self) -> &str {
        self.field("WARC-Type").unwrap_or_default()
    }

    /// HTTP head with its closing empty line, and payload, of a request, a response or a revisit, which has no payload
    /// of its own.
    #[must_use]
    pub fn http(&self) -> Option<(&[u8], &[u8])> {
        if !matches!(self.kind(), "request" | "response" | "revisit") {
            return None;
        }
        let end = self.block.windows(4).position(|w| w == b"\r\n\r\n")? + 4;
        self.block.split_at_checked(end)
    }

    /// Checks the `sha1` digests that the record states; digests of another kind, and the payload digest of a revisit,
    /// whose payload lies elsewhere, are left unchecked.
    ///
    /// # Errors
    /// Names the first digest that is wrong.
    pub fn check_digests(&self) -> Result<(), Grammar> {
        let payload = self.http().map(|(_, payload)| payload).filter(|_| self.kind() != "revisit");
        for (name, bytes) in [("WARC-Block-Digest", Some(&self.block[..])), ("WARC-Payload-Digest", payload)] {
            let stated = self.field(name).filter(|stated| stated.starts_with("sha1:"));
            if let (Some(stated), Some(bytes)) = (stated, bytes)
                && stated != sha1_label(bytes)
            {
                return Err(Grammar(format!("{name} is {stated}, computed {}", sha1_label(bytes))));
            }
        }
        Ok(())
    }
}

/// Parses one inflated member.
pub(crate) fn parse_record(mut text: Vec<u8>, offset: u64, length: u64) -> Result<WarcRecord, Grammar> {
    let fail = |problem: &str| Grammar(problem.to_owned());
    let end = text.windows(4).position(|w| w == b"\r\n\r\n").ok_or_else(|| fail("no empty line ends the header"))?;
    let Head { version, fields, length: len } = parse_head(text.get(..end).unwrap_or_default())?;
    let len = usize::try_from(len).map_err(|_| fail("Content-Length is larger than memory"))?;
    let mut block = text.split_off(end + 4);
    match block.len().checked_sub(4) {
        Some(found) if found == len && block.ends_with(b"\r\n\r\n") => block.truncate(len),
        _ => {
            let problem = "block and closing CRLF pair are";
            return Err(Grammar(format!("{problem} {} bytes, {len} and 4 are stated", block.len())));
        }
    }
    Ok(WarcRecord { offset, length, version, fields, block })
}

/// What a record header says.
pub(crate) struct Head {
    pub(crate) version: String,
    pub(crate) fields: Vec<(String, String)>,
    /// `Content-Length`.
    pub(crate) length: u64,
}

/// Parses a record header, without its closing empty line.
pub(crate) fn parse_head(head: &[u8]) -> Result<Head, Grammar> {
    let head = std::str::from_utf8(head).map_err(|_| Grammar::new("the header is not UTF-8"))?;
    let (version, fields) = parse_header(head)?;
    check_fields(&fields)?;
    let stated = fields.iter().find(|(name, _)| name.eq_ignore_ascii_case("Content-Length"));
    let stated = stated.map(|(_, value)| value.as_str()).unwrap_or_default();
    let digits = stated.bytes().all(|b| b.is_ascii_digit());
    let length = stated.parse().ok().filter(|_| digits).ok_or_else(|| Grammar::new("Content-Length is no number"))?;
    Ok(Head { version, fields, length })
}

pub(super) fn parse_header(head: &str) -> Result<(String, Vec<(String, String)>), Grammar> {
    let mut lines = head.split("\r\n");
    let version = match lines.next() {
        Some("WARC/1.1") => "1.1",
        Some("WARC/1.0") => "1.0",
        other => return Err(Grammar(format!("first line is {:?}", other.unwrap_or_default()))),
    };
    let mut fields = Vec::new();
    for line in lines {
        let (name, value) = line.split_once(':').ok_or_else(|| Grammar(format!("no colon in {line:?}")))?;
        let token = |b: u8| b.is_ascii_graphic() && !b"()<>@,;:\\\"/[]?={}".contains(&b);
        if name.is_empty() || !name.bytes().all(token) {
            return Err(Grammar(format!("{name:?} is no field name")));
        }
        if value.contains(['\r', '\n', '\0']) {
            return Err(Grammar(format!("stray control in {name}")));
        }
        fields.push((name.to_owned(), value.trim_matches([' ', '\t']).to_owned()));
    }
    Ok((version.to_owned(), fields))
}

pub(super) fn check_fields(fields: &[(String, String)]) -> Result<(), Grammar> {
    let count = |wanted: &str| fields.iter().filter(|(name, _)| name.eq_ignore_ascii_case(wanted)).count();
    if let Some(name) = MANDATORY.iter().find(|name| count(name) == 0) {
        return Err(Grammar(format!("{name} is missing")));
    }
    let repeats = |name: &String| REPEATABLE.iter().any(|r| r.eq_ignore_ascii_case(name));
    match fields.iter().find(|(name, _)| !repeats(name) && count(name) > 1) {
        Some((name, _)) => Err(Grammar(format!("{name} occurs {} times", count(name)))),
        None => Ok(()),
    }
}
