//! CDXJ: where which capture lies, a sorted text beside each WARC file, line by line as cdxj-indexer makes it.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use comity_url::{CrawlUrl, Surt};

use crate::ArchiveError;
use crate::disk::replace;
use crate::warc::grammar::WarcType;
use crate::warc::text::is_plain;

/// A file whose index has reached this many bytes is closed before the next event: until then it is held in memory.
const MOST_HELD: usize = 32 << 20;

/// Bytes of a line beside URL, key and file name, about.
const ROUND: usize = 192;

/// What an index line says of a record, but for its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IndexEntry {
    /// `KEY TIME {"url": …, "digest": "…"`.
    begin: String,
}

impl IndexEntry {
    /// The entry of a `response` or `revisit`: target URI and date as its header has them, the HTTP head of its block.
    pub(crate) fn of(kind: WarcType, uri: &str, date: &str, head: &[u8], digest: Option<&str>) -> Self {
        Self::of_key(Surt::of_text(uri).as_str(), kind, uri, date, head, digest)
    }

    /// The same for a URL whose parts are known, `uri` being how its record's header writes it.
    pub(crate) fn of_url(
        url: &CrawlUrl,
        kind: WarcType,
        uri: &str,
        date: &str,
        head: &[u8],
        digest: Option<&str>,
    ) -> Self {
        if uri != url.as_str() {
            return Self::of(kind, uri, date, head, digest);
        }
        Self::of_key(Surt::of(url).as_str(), kind, uri, date, head, digest)
    }

    fn of_key(key: &str, kind: WarcType, uri: &str, date: &str, head: &[u8], digest: Option<&str>) -> Self {
        let mut begin = String::with_capacity(key.len() + uri.len() + ROUND);
        begin.push_str(key);
        begin.push(' ');
        begin.extend(date.chars().filter(char::is_ascii_digit).take(14));
        begin.push_str(" {");
        push_member(&mut begin, "url", uri);
        let mime = match kind {
            WarcType::Revisit => Some("warc/revisit".to_owned()),
            _ => media_type(head),
        };
        if let Some(mime) = mime {
            push_member(&mut begin, "mime", &mime);
        }
        push_member(&mut begin, "status", &status(head));
        if let Some(digest) = digest {
            push_member(&mut begin, "digest", digest);
        }
        Self { begin }
    }

    /// The line, without its end.
    pub(crate) fn line(&self, offset: u64, length: u64, file: &str) -> String {
        let mut line = String::with_capacity(self.begin.len() + file.len() + ROUND);
        line.push_str(&self.begin);
        push_member(&mut line, "length", &length.to_string());
        push_member(&mut line, "offset", &offset.to_string());
        push_member(&mut line, "filename", file);
        line.push('}');
        line
    }
}

/// The index of the open file: its lines with the offsets of their records, and those of the event under way.
#[derive(Debug, Default)]
pub(crate) struct FileIndex {
    lines: Vec<(u64, String)>,
    staged: Vec<(u64, String)>,
    bytes: usize,
}

impl FileIndex {
    pub(crate) const fn is_full(&self) -> bool {
        self.bytes >= MOST_HELD
    }

    pub(crate) fn stage(&mut self, offset: u64, line: String) {
        self.staged.push((offset, line));
    }

    pub(crate) fn take_staged(&mut self) {
        self.bytes += self.staged.iter().map(|(_, line)| line.len()).sum::<usize>();
        self.lines.append(&mut self.staged);
    }

    pub(crate) fn drop_staged(&mut self) {
        self.staged.clear();
    }

    /// Takes back the lines of records from `end` on.
    pub(crate) fn cut(&mut self, end: u64) {
        self.staged.clear();
        self.lines.retain(|(offset, _)| *offset < end);
        self.bytes = self.lines.iter().map(|(_, line)| line.len()).sum();
    }

    /// Writes the sorted lines beside the WARC of this final name, as a whole.
    pub(crate) fn store(self, folder: &Path, warc: &str) -> Result<(), ArchiveError> {
        let path = index_path(folder, warc);
        replace(&path, self.into_text().as_bytes()).map_err(|e: io::Error| ArchiveError::io(&path, e))
    }

    /// The sorted lines, each once.
    pub(crate) fn into_text(self) -> String {
        let mut lines: Vec<String> = self.lines.into_iter().map(|(_, line)| line).collect();
        lines.sort_unstable();
        lines.dedup();
        let mut text = lines.join("\n");
        if !text.is_empty() {
            text.push('\n');
        }
        text
    }
}

/// Where the index of a WARC lies: `X.cdxj` beside `X.warc.gz`.
pub(crate) fn index_path(folder: &Path, warc: &str) -> PathBuf {
    let base = warc.find(".warc").and_then(|at| warc.get(..at)).unwrap_or(warc);
    folder.join(format!("{base}.cdxj"))
}

/// The status of a head whose first line is `HTTP/1.x NNN …`.
fn status(head: &[u8]) -> String {
    let line = head.split(|b| *b == b'\n').next().unwrap_or_default();
    let word = line.split(|b| *b == b' ').nth(1).unwrap_or_default();
    String::from_utf8_lossy(word.trim_ascii()).into_owned()
}

/// The first `Content-Type`, up to its parameters; `None` without one.
fn media_type(head: &[u8]) -> Option<String> {
    for line in head.split(|b| *b == b'\n').skip(1) {
        let Some(colon) = line.iter().position(|b| *b == b':') else { continue };
        let (name, value) = line.split_at(colon);
        if !name.trim_ascii_end().eq_ignore_ascii_case(b"content-type") {
            continue;
        }
        let value = value.get(1..).unwrap_or_default();
        // A line that is no UTF-8 is read as ISO-8859-1, as the tools do.
        let text = match std::str::from_utf8(line) {
            Ok(_) => String::from_utf8_lossy(value).into_owned(),
            Err(_) => value.iter().map(|b| char::from(*b)).collect(),
        };
        let value = text.trim();
        return Some(value.split(|c: char| c == ';' || c.is_whitespace()).next().unwrap_or_default().to_owned());
    }
    None
}

/// Adds a member of the line's JSON, with the blanks and escapes that Python's `json.dumps` writes: all ASCII.
fn push_member(json: &mut String, name: &str, value: &str) {
    if !json.ends_with('{') {
        json.push_str(", ");
    }
    json.push('"');
    json.push_str(name);
    json.push_str("\": \"");
    if is_plain(value) && !value.contains(['"', '\\']) {
        json.push_str(value);
        json.push('"');
        return;
    }
    for c in value.chars() {
        match c {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            '\n' => json.push_str("\\n"),
            '\r' => json.push_str("\\r"),
            '\t' => json.push_str("\\t"),
            '\u{8}' => json.push_str("\\b"),
            '\u{c}' => json.push_str("\\f"),
            ' '..='~' => json.push(c),
            c => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(json, "\\u{unit:04x}");
                }
            }
        }
    }
    json.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_written_as_the_reference_writes_them() {
        let head = b"HTTP/1.1 200 OK\r\nX: y\r\nCONTENT-TYPE : text/html;charset=utf-8\r\n\r\n";
        let entry = IndexEntry::of(
            WarcType::Response,
            "http://www.a.test/B?y=1&x",
            "2026-11-30T09:15:01.250Z",
            head,
            Some("sha1:A"),
        );
        assert_eq!(
            entry.line(12, 345, "f.warc.gz"),
            "test,a)/b?x&y=1 20261130091501 {\"url\": \"http://www.a.test/B?y=1&x\", \"mime\": \"text/html\", \"status\": \"200\", \
             \"digest\": \"sha1:A\", \"length\": \"345\", \"offset\": \"12\", \"filename\": \"f.warc.gz\"}"
        );
    }

    #[test]
    fn media_types_are_cut_and_escaped() {
        let rows: [(&[u8], Option<&str>); 6] = [
            (b"H\r\nContent-Type: text/plain\r\n\r\n", Some("text/plain")),
            (b"H\r\nContent-Type:  a/b c\r\n\r\n", Some("a/b")),
            (b"H\r\nContent-Type: \xe9/x\r\n\r\n", Some("\u{e9}/x")),
            (b"H\r\nContent-Type: \xc3\xa9/x\r\n\r\n", Some("\u{e9}/x")),
            (b"H\r\nContent-Type:\r\nContent-Type: b/c\r\n\r\n", Some("")),
            (b"H\r\nX-Content-Type: b/c\r\n\r\n", None),
        ];
        for (head, expected) in rows {
            assert_eq!(media_type(head).as_deref(), expected, "{}", String::from_utf8_lossy(head));
        }
        let mut json = "{".to_owned();
        push_member(&mut json, "a", "\"\\\u{7f}\u{1f600}\u{e9}\u{1}");
        assert_eq!(json, "{\"a\": \"\\\"\\\\\\u007f\\ud83d\\ude00\\u00e9\\u0001\"");
    }
}
