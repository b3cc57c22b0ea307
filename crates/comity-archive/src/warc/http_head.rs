use comity_policy::{Capture, Protocol};

use crate::QueryForm;
use crate::query::{may_say_more, names_a_url};

/// What stands in place of a secret (design §10).
pub(crate) const WITHHELD: &str = "(withheld)";

/// An HTTP head as a WARC block holds it: the wire bytes, changed only where they would lie about the stored body,
/// give away a secret, or lead readers astray.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredHead {
    /// With its closing empty line.
    pub(crate) bytes: Vec<u8>,
    /// The first line as received, when it had to be rewritten.
    pub(crate) original_start: Option<String>,
    /// True when line ends, stray controls or lines without a colon had to be mended.
    pub(crate) mended: bool,
}

/// The method of the request that was sent; `GET` when the head does not say.
pub(crate) fn method(capture: &Capture) -> String {
    let word = capture.request_head.split(|b| *b == b' ').next().unwrap_or_default();
    let is_token = !word.is_empty() && word.len() <= 32 && word.iter().all(u8::is_ascii_uppercase);
    if is_token { String::from_utf8_lossy(word).into_owned() } else { "GET".to_owned() }
}

/// The request head with its secrets withheld, of a capture that is written in this form; `None` when nothing was sent.
pub(crate) fn request(capture: &Capture, form: QueryForm) -> Option<StoredHead> {
    if capture.request_head.is_empty() {
        return None;
    }
    let mut lines = Lines::parse(&capture.request_head);
    for field in &mut lines.fields {
        if is_secret(field.name()) {
            field.value_becomes(WITHHELD);
        }
    }
    if let Some(line) = form.request_line(&lines.start, &capture.url) {
        lines.start = line;
    }
    let standard = lines.start.ends_with(b" HTTP/1.1") || lines.start.ends_with(b" HTTP/1.0");
    let original = (!standard).then(|| {
        let line = format!("{} {} HTTP/1.1", method(capture), capture.url.request_target());
        lines.replace_start(line)
    });
    Some(lines.into_stored(original))
}

/// The response head, true to the stored body (practice B of the archive reference §3), of a capture that is written in this form;
/// `None` when none came.
pub(crate) fn response(capture: &Capture, form: QueryForm) -> Option<StoredHead> {
    let status = capture.status?;
    let mut lines = if capture.response_head.is_empty() {
        (capture.protocol == Protocol::H2).then(|| Lines::of_fields(capture))?
    } else {
        Lines::parse(&capture.response_head)
    };
    if form != QueryForm::Keep {
        lines.write_urls(&capture.fields);
    }
    let original = (!is_status_line(&lines.start)).then(|| lines.replace_start(format!("HTTP/1.1 {status:03} ")));
    lines.tell_the_truth(&capture.body, may_have_body(capture, status));
    let serialised = capture.response_head.is_empty();
    Some(lines.into_stored(original.filter(|_| !serialised)))
}

/// RFC 9112 §6.3: answers to HEAD, 1xx, 204 and 304 have no body, whatever their fields say.
fn may_have_body(capture: &Capture, status: u16) -> bool {
    !(method(capture) == "HEAD" || matches!(status, 100..=199 | 204 | 304)) || !capture.body.is_empty()
}

/// Request fields whose values are replaced before anything is written (design §10).
fn is_secret(name: &[u8]) -> bool {
    const SECRETS: [&[u8]; 3] = [b"authorization", b"cookie", b"cookie2"];
    SECRETS.iter().any(|secret| name.eq_ignore_ascii_case(secret))
        || name.get(..6).is_some_and(|start| start.eq_ignore_ascii_case(b"proxy-"))
}

/// `HTTP/1.x NNN reason`, with the space after the code (some readers split on it).
fn is_status_line(line: &[u8]) -> bool {
    let Some((version, rest)) = line.split_at_checked(8) else { return false };
    matches!(version, b"HTTP/1.1" | b"HTTP/1.0")
        && matches!(rest, [b' ', a, b, c, b' ', ..] if [a, b, c].iter().all(|d| d.is_ascii_digit()))
}

struct Lines {
    start: Vec<u8>,
    fields: Vec<Field>,
    mended: bool,
}

/// One field line, with the lines that continue it.
struct Field {
    line: Vec<u8>,
}

impl Lines {
    fn parse(head: &[u8]) -> Self {
        let mut lines = Self { start: Vec::new(), fields: Vec::new(), mended: true };
        let mut mended = false;
        for (at, raw) in head.split(|b| *b == b'\n').enumerate() {
            let line = raw.strip_suffix(b"\r").unwrap_or(raw);
            if line.is_empty() && at > 0 {
                // The empty line: regular when it ends in CRLF too. What follows it is no head.
                lines.mended = mended || raw.is_empty();
                break;
            }
            mended |= line.len() == raw.len() || line.iter().any(|b| is_stray(*b));
            let line: Vec<u8> = line.iter().map(|b| if is_stray(*b) { b' ' } else { *b }).collect();
            if at == 0 { lines.start = line } else { mended |= lines.push(line) }
        }
        lines
    }

    /// Adds a line; true when it had to be mended.
    fn push(&mut self, line: Vec<u8>) -> bool {
        if line.iter().all(|b| b.is_ascii_whitespace()) {
            return true; // Some readers take a line of blanks for the end of the head.
        }
        if matches!(line.first(), Some(b' ' | b'\t'))
            && let Some(last) = self.fields.last_mut()
        {
            last.line.extend_from_slice(b"\r\n");
            last.line.extend_from_slice(&line);
            return false;
        }
        let whole = line.contains(&b':') && !matches!(line.first(), Some(b' ' | b'\t'));
        let line = match line.trim_ascii_start() {
            line if line.contains(&b':') => line.to_vec(),
            line => [b"X-Crawler-Line: ", line].concat(),
        };
        self.fields.push(Field { line });
        !whole
    }

    /// The fields of an h2 response: names stay lower case, nothing is invented (archive reference §3).
    fn of_fields(capture: &Capture) -> Self {
        let field = |(name, value): &(String, bytes::Bytes)| {
            let line = [name.as_bytes(), b": ", value].concat();
            Field { line: line.into_iter().map(|b| if is_stray(b) || b == b'\n' { b' ' } else { b }).collect() }
        };
        let fields = capture.fields.iter().filter(|(name, _)| !name.is_empty() && !name.starts_with(':'));
        Self { start: Vec::new(), fields: fields.map(field).collect(), mended: false }
    }

    /// Sets the first line; gives back the one it replaces.
    fn replace_start(&mut self, line: String) -> String {
        let old = std::mem::replace(&mut self.start, line.into_bytes());
        String::from_utf8_lossy(&old).into_owned()
    }

    /// Writes the URLs that fields name as the capture has them, once: a reference is resolved against the URL that was asked for.
    fn write_urls(&mut self, written: &[(String, bytes::Bytes)]) {
        let mut written = written.iter().filter(|(name, _)| names_a_url(name.as_bytes()));
        for field in self.fields.iter_mut().filter(|field| names_a_url(field.name())) {
            let value = written.next().filter(|(name, _)| field.name().eq_ignore_ascii_case(name.as_bytes()));
            if may_say_more(field.value()) {
                let value = value.map(|(_, value)| String::from_utf8_lossy(value));
                field.value_becomes(&value.unwrap_or_default());
            }
        }
    }

    /// Renames what no longer matches the stored body and writes its true length.
    fn tell_the_truth(&mut self, body: &comity_policy::Spool, may_have_body: bool) {
        let is = |field: &Field, name: &str| field.name().eq_ignore_ascii_case(name.as_bytes());
        let coded = self.fields.iter().any(|f| is(f, "transfer-encoding"));
        let lengths: Vec<_> = self.fields.iter().filter(|f| is(f, "content-length")).map(|f| f.length()).collect();
        let wrong = coded || lengths.iter().any(|stated| *stated != Some(body.len()));
        let rewrite = may_have_body && wrong;
        let mut at = None;
        for (n, field) in self.fields.iter_mut().enumerate() {
            let te = is(field, "transfer-encoding");
            if te || (rewrite && is(field, "content-length")) {
                field.line.splice(..0, *b"X-Crawler-");
                at = Some(n + 1);
            }
        }
        if let (true, Some(at)) = (rewrite, at) {
            self.fields.insert(at, Field { line: format!("Content-Length: {}", body.len()).into_bytes() });
        }
    }

    fn into_stored(self, original_start: Option<String>) -> StoredHead {
        let mut bytes = self.start;
        bytes.extend_from_slice(b"\r\n");
        for field in &self.fields {
            bytes.extend_from_slice(&field.line);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(b"\r\n");
        StoredHead { bytes, original_start, mended: self.mended }
    }
}

impl Field {
    fn name(&self) -> &[u8] {
        self.line.split(|b| *b == b':').next().unwrap_or_default().trim_ascii()
    }

    fn value(&self) -> &[u8] {
        self.line.iter().position(|b| *b == b':').and_then(|at| self.line.get(at + 1..)).unwrap_or_default()
    }

    fn value_becomes(&mut self, value: &str) {
        let name = self.name().to_vec();
        self.line = [&name[..], b": ", value.as_bytes()].concat();
    }

    /// The stated length, when the value is one number (repeated values of one number count as one).
    fn length(&self) -> Option<u64> {
        let (_, value) = self.line.split_at_checked(self.line.iter().position(|b| *b == b':')? + 1)?;
        let text = std::str::from_utf8(value).ok()?;
        let mut numbers = text.split(',').map(|part| {
            let digits = part.trim();
            digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse::<u64>().ok()).flatten()
        });
        let first = numbers.next()??;
        numbers.all(|n| n == Some(first)).then_some(first)
    }
}

/// RFC 9110 §5.5: CR, LF and NUL in a field are replaced by a space before further use.
const fn is_stray(byte: u8) -> bool {
    matches!(byte, b'\r' | 0)
}
