use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

/// A request head as it came over the wire: nothing decoded, nothing lower-cased.
#[derive(Clone, PartialEq, Eq)]
pub struct Request {
    method: String,
    target: Bytes,
    /// Shared between requests of a connection that repeat them: a log of a million requests stays small.
    fields: Arc<[(String, Bytes)]>,
}

impl Request {
    /// A GET for `target`, as a client of this web would send it: for asking a site what it would answer.
    #[must_use]
    pub fn to(target: &str) -> Self {
        Self { method: "GET".to_owned(), target: Bytes::copy_from_slice(target.as_bytes()), fields: Arc::new([]) }
    }

    /// Reads a head: request line and fields, up to the blank line. Never fails; what is missing stays empty.
    pub(crate) fn read(head: &[u8]) -> Self {
        let mut lines = head.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        let line = lines.by_ref().find(|line| !line.is_empty()).unwrap_or_default();
        let space = |byte: &u8| *byte == b' ';
        let method_end = line.iter().position(space).unwrap_or(line.len());
        let rest = line.get(method_end + 1..).unwrap_or_default();
        // The version is what follows the last blank: a target that holds blanks is seen whole.
        let target = rest.get(..rest.iter().rposition(space).unwrap_or(rest.len())).unwrap_or_default();
        let field = |line: &[u8]| {
            let colon = line.iter().position(|byte| *byte == b':')?;
            let (name, value) = (line.get(..colon)?, line.get(colon + 1..)?);
            Some((text(name).into_owned(), Bytes::copy_from_slice(value.trim_ascii())))
        };
        Self {
            method: text(line.get(..method_end).unwrap_or_default()).into_owned(),
            target: Bytes::copy_from_slice(target),
            fields: lines.filter_map(field).collect(),
        }
    }

    /// Shares the fields of an earlier request where they are the same.
    pub(crate) fn sharing(mut self, earlier: &Self) -> Self {
        if self.fields == earlier.fields {
            self.fields = earlier.fields.clone();
        }
        self
    }

    /// The method as received.
    #[must_use]
    pub fn method(&self) -> &str {
        &self.method
    }

    /// The request target, exactly the bytes received.
    #[must_use]
    pub fn target(&self) -> &[u8] {
        &self.target
    }

    /// The request target as text; bytes that are not UTF-8 replaced.
    #[must_use]
    pub fn target_text(&self) -> Cow<'_, str> {
        text(&self.target)
    }

    /// The target before its first `?`.
    #[must_use]
    pub fn path(&self) -> Cow<'_, str> {
        text(self.target.split(|byte| *byte == b'?').next().unwrap_or_default())
    }

    /// The target behind its first `?`.
    #[must_use]
    pub fn query(&self) -> Option<Cow<'_, str>> {
        let mark = self.target.iter().position(|byte| *byte == b'?')?;
        self.target.get(mark + 1..).map(text)
    }

    /// Field names and values in the order received, names as written.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.fields.iter().map(|(name, value)| (name.as_str(), value.as_ref()))
    }

    /// The first value of a field, its name compared without case; bytes that are not UTF-8 replaced.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<Cow<'_, str>> {
        self.fields.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| text(value))
    }

    /// True for `/robots.txt`, with or without a query.
    #[must_use]
    pub fn is_robots_txt(&self) -> bool {
        matches!(self.target.strip_prefix(b"/robots.txt"), Some([] | [b'?', ..]))
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Request({} {}, {} fields)", self.method, self.target_text(), self.fields.len())
    }
}

fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_taken_as_they_came() {
        let head = b"\r\nGET /a%7e//b?c=d?e#f HTTP/1.1\r\nHOST: h.test\r\nX:  \xffy \r\nno colon\r\n\r\n";
        let request = Request::read(head);
        assert_eq!((request.method(), request.target()), ("GET", &b"/a%7e//b?c=d?e#f"[..]));
        assert_eq!(request.fields().collect::<Vec<_>>(), [("HOST", &b"h.test"[..]), ("X", &b"\xffy"[..])]);
        assert_eq!(request.field("host").as_deref(), Some("h.test"));
        assert_eq!((request.path().as_ref(), request.query().as_deref()), ("/a%7e//b", Some("c=d?e#f")));
        assert_eq!(Request::read(b"GET /a b HTTP/1.1\r\n\r\n").target(), b"/a b");
        for odd in [&b""[..], b"\r\n\r\n", b"GET", b"GET ", b" ", b":\r\n\r\n"] {
            assert!(Request::read(odd).fields().next().is_none(), "{odd:?}");
        }
    }
}
