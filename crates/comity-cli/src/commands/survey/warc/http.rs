use comity_fetch::decode_stored;

/// Decoded bytes that are taken of a body.
const MOST: usize = 2 << 20;
/// Fields that are read of a head.
const MOST_FIELDS: usize = 200;

/// A captured response: its head, and its body without transfer coding and content coding, wherever a tool left them.
#[derive(Clone, Debug)]
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) fields: Vec<(String, Vec<u8>)>,
    pub(super) body: Vec<u8>,
    /// The body is longer than what was taken.
    pub(super) cut: bool,
}

impl Response {
    /// `None` when the block does not begin as a response.
    pub(super) fn parse(block: &[u8]) -> Option<Self> {
        let (head, body) = split(block)?;
        let mut lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        let first = String::from_utf8_lossy(lines.next()?).into_owned();
        let mut words = first.split_ascii_whitespace();
        words.next().filter(|version| version.to_ascii_uppercase().starts_with("HTTP/"))?;
        let status = words.next()?.parse().ok()?;
        let fields = lines.take(MOST_FIELDS).filter_map(|line| {
            let colon = line.iter().position(|byte| *byte == b':')?;
            let (name, value) = line.split_at_checked(colon)?;
            let value = value.get(1..)?.trim_ascii().to_vec();
            Some((String::from_utf8_lossy(name).trim().to_ascii_lowercase(), value))
        });
        let mut response = Self { status, fields: fields.collect(), body: Vec::new(), cut: false };
        response.take(body);
        Some(response)
    }

    /// The first value of a field, its name in lower case.
    pub(super) fn field(&self, name: &str) -> Option<&str> {
        let value = self.fields.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_slice());
        value.and_then(|value| str::from_utf8(value).ok())
    }

    fn take(&mut self, body: &[u8]) {
        let is_chunked = |value: &str| value.to_ascii_lowercase().contains("chunked");
        // A tool may have taken the coding off and left its field.
        let whole = self.field("transfer-encoding").is_some_and(is_chunked).then(|| unchunk(body)).flatten();
        let whole = whole.as_deref().unwrap_or(body);
        let decoded = match self.field("content-encoding") {
            Some(coding) => decode_stored(coding, whole, MOST + 1),
            None => whole.get(..=MOST).unwrap_or(whole).to_vec(),
        };
        // Likewise: a body that was stored decoded under the field of its coding.
        self.body = if decoded.is_empty() && !whole.is_empty() { whole.to_vec() } else { decoded };
        self.cut = self.body.len() > MOST;
        self.body.truncate(MOST);
    }
}

/// Head and body; a head without body ends where the block does.
fn split(block: &[u8]) -> Option<(&[u8], &[u8])> {
    let crlf = block.windows(4).position(|end| end == b"\r\n\r\n").map(|at| (at, 4));
    let lf = block.windows(2).position(|end| end == b"\n\n").map(|at| (at, 2));
    let (at, len) = [crlf, lf].into_iter().flatten().min().unwrap_or((block.len(), 0));
    Some((block.get(..at)?, block.get(at + len..)?))
}

/// The chunks of a body, as far as they come; `None` when it does not begin with one.
fn unchunk(mut body: &[u8]) -> Option<Vec<u8>> {
    let (mut whole, mut any) = (Vec::new(), false);
    while let Some(end) = body.iter().position(|byte| *byte == b'\n').filter(|end| *end < 1024) {
        let line = String::from_utf8_lossy(body.get(..end)?).into_owned();
        let size = line.split(';').next().unwrap_or_default().trim();
        let Ok(size) = usize::from_str_radix(size, 16) else { break };
        any = true;
        let rest = body.get(end + 1..)?;
        whole.extend_from_slice(rest.get(..size).unwrap_or(rest));
        if size == 0 || rest.len() <= size {
            break;
        }
        body = rest.get(size..)?.trim_ascii_start();
    }
    any.then_some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_read_however_a_tool_stored_them() {
        let rows: [(&[u8], u16, &[u8]); 7] = [
            (b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nUser-agent: *\n", 200, b"User-agent: *\n"),
            (
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nUser-\r\n9;x=y\r\nagent: *\n\r\n0\r\n\r\n",
                200,
                b"User-agent: *\n",
            ),
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nUser-agent: *\n", 200, b"User-agent: *\n"),
            (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\nUser-agent: *\n", 200, b"User-agent: *\n"),
            (b"HTTP/1.0 404 Not Found\n\nno", 404, b"no"),
            (b"HTTP/2 301\r\nlocation: /moved\r\n\r\n", 301, b""),
            (b"HTTP/1.1 204 No Content\r\n", 204, b""),
        ];
        for (block, status, body) in rows {
            let response = Response::parse(block).unwrap();
            assert_eq!((response.status, response.body.as_slice()), (status, body), "{}", block.escape_ascii());
        }
        assert!(Response::parse(b"GET / HTTP/1.1\r\n\r\n").is_none());
        assert!(Response::parse(b"").is_none());
    }
}
