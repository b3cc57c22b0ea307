use bytes::Bytes;

/// Finds the end of the final response head in the bytes as they arrive, and keeps that head exactly.
///
/// Interim responses (1xx but 101, RFC 9110 §15.2) and empty lines before a head (RFC 9112 §2.2) are passed over.
/// A line ends in CRLF or in a bare LF, as the parser behind it accepts both.
#[derive(Debug)]
pub(crate) struct HeadScan {
    bytes: Vec<u8>,
    /// Bytes looked at, interim responses included.
    looked_at: usize,
    /// Nothing but line ends is on the line so far.
    blank: bool,
    done: bool,
}

impl Default for HeadScan {
    fn default() -> Self {
        Self { bytes: Vec::new(), looked_at: 0, blank: true, done: false }
    }
}

/// Room made at once: most heads are smaller, and growing line by line would copy them several times.
const USUAL_BYTES: usize = 512;

/// How far a scan is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scanned {
    /// The head goes on.
    More,
    /// The head is complete.
    Done,
    /// The head is longer than it may be.
    TooLarge,
}

impl HeadScan {
    /// Takes the next bytes of the connection; what follows the head is not looked at.
    pub(crate) fn push(&mut self, input: &[u8], most: usize) -> Scanned {
        let room = most.saturating_sub(self.looked_at);
        let (mut rest, beyond) = input.split_at_checked(room).unwrap_or((input, &[]));
        while !(self.done || rest.is_empty()) {
            let end = memchr::memchr(b'\n', rest).map(|at| at + 1);
            let (piece, after) = rest.split_at_checked(end.unwrap_or(rest.len())).unwrap_or((rest, &[]));
            if self.bytes.capacity() == 0 {
                self.bytes.reserve(USUAL_BYTES.max(piece.len()));
            }
            self.bytes.extend_from_slice(piece);
            self.looked_at += piece.len();
            self.blank &= is_blank(piece);
            if end.is_some() {
                self.end_line();
            }
            rest = after;
        }
        match self.done {
            true => Scanned::Done,
            false if beyond.is_empty() => Scanned::More,
            false => Scanned::TooLarge,
        }
    }

    /// The head so far; whole once [`Scanned::Done`] was answered.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Hands out the head so far.
    pub(crate) fn take(&mut self) -> Bytes {
        std::mem::take(&mut self.bytes).into()
    }

    /// True once the head is complete.
    pub(crate) const fn is_done(&self) -> bool {
        self.done
    }

    fn end_line(&mut self) {
        if !std::mem::replace(&mut self.blank, true) {
            return;
        }
        if is_blank(&self.bytes) || is_interim(&self.bytes) {
            self.bytes.clear();
        } else {
            self.done = true;
        }
    }
}

fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|byte| matches!(byte, b'\r' | b'\n'))
}

/// True for `HTTP/1.x 1NN` other than 101, which changes the protocol and is final here.
fn is_interim(head: &[u8]) -> bool {
    let status = head.split(|&b| b == b' ').filter(|word| !word.is_empty()).nth(1).unwrap_or_default();
    status.starts_with(b"1") && !status.starts_with(b"101") && head.starts_with(b"HTTP/")
}

/// The fields of a head in wire order, names as received, values without outer blanks.
///
/// As lenient as the parser in front: lines without a colon or with a broken name are passed over, blanks before the
/// colon are dropped, continued lines (RFC 9112 §5.2) are joined by one space.
pub(crate) fn fields(head: &Bytes) -> Vec<(String, Bytes)> {
    let mut fields: Vec<(String, Bytes)> = Vec::with_capacity(16);
    let mut rest = head.as_ref();
    let mut is_start = true;
    while !rest.is_empty() {
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let (line, after) = rest.split_at_checked(end).unwrap_or((rest, &[]));
        rest = after.get(1..).unwrap_or_default();
        if std::mem::take(&mut is_start) {
            continue;
        }
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let continues = line.first().is_some_and(|b| matches!(b, b' ' | b'\t'));
        if continues {
            if let Some((_, value)) = fields.last_mut() {
                *value = [value.as_ref(), line.trim_ascii()].join(&b' ').trim_ascii().to_vec().into();
            }
        } else if let Some((name, value)) = field(line) {
            fields.push((name.to_owned(), head.slice_ref(value)));
        }
    }
    fields
}

fn field(line: &[u8]) -> Option<(&str, &[u8])> {
    let colon = memchr::memchr(b':', line)?;
    let (name, value) = line.split_at_checked(colon)?;
    let name = std::str::from_utf8(name.trim_ascii_end()).ok()?;
    let valid = !name.is_empty() && name.bytes().all(|b| b.is_ascii_graphic());
    valid.then(|| (name, value.get(1..).unwrap_or_default().trim_ascii()))
}

/// An HTTP/2 request as an HTTP/1.1 head (archive reference §3): names in lower case, `:authority` as `host`.
pub(crate) fn of_request<B>(request: &http::Request<B>) -> Vec<u8> {
    let target = request.uri().path_and_query().map_or("/", |path| path.as_str());
    let authority = request.uri().authority().map_or("", |authority| authority.as_str());
    let start = format!("{} {target} HTTP/1.1\r\nhost: {authority}\r\n", request.method());
    with_fields(start.into_bytes(), request.headers())
}

/// An HTTP/2 response head as an HTTP/1.1 head, with an empty reason (archive reference §3).
pub(crate) fn of_response<B>(response: &http::Response<B>) -> Bytes {
    let start = format!("HTTP/1.1 {} \r\n", response.status().as_str());
    with_fields(start.into_bytes(), response.headers()).into()
}

fn with_fields(mut head: Vec<u8>, fields: &http::HeaderMap) -> Vec<u8> {
    for (name, value) in fields {
        head.extend_from_slice(name.as_str().as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(value.as_bytes());
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"\r\n");
    head
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MOST: usize = 1000;

    #[test]
    fn the_final_head_is_kept_exactly() {
        let rows: [(&str, &str, bool); 9] = [
            ("HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody\r\n\r\n", "HTTP/1.1 200 OK\r\nA: b\r\n\r\n", true),
            ("HTTP/1.1 200 OK\nA: b\n\nbody", "HTTP/1.1 200 OK\nA: b\n\n", true),
            ("HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n", true),
            ("\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n", true),
            ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 \r\n\r\n", "HTTP/1.1 204 \r\n\r\n", true),
            ("HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.0 404\r\nB:c\r\n\r\n", "HTTP/1.0 404\r\nB:c\r\n\r\n", true),
            ("HTTP/1.1 101 Switch\r\n\r\nHTTP/1.1 200\r\n\r\n", "HTTP/1.1 101 Switch\r\n\r\n", true),
            ("HTTP/1.1 200 OK\r\nA: b\r\n", "HTTP/1.1 200 OK\r\nA: b\r\n", false),
            ("", "", false),
        ];
        for (wire, head, done) in rows {
            for step in [1, 2, 3, 1000] {
                let mut scan = HeadScan::default();
                wire.as_bytes().chunks(step).for_each(|piece| {
                    scan.push(piece, MOST);
                });
                assert_eq!((scan.bytes(), scan.is_done()), (head.as_bytes(), done), "{wire:?} by {step}");
            }
        }
    }

    #[test]
    fn the_bound_counts_interim_responses_too() {
        let mut scan = HeadScan::default();
        let interim = b"HTTP/1.1 102 Processing\r\n\r\n";
        let answers: Vec<Scanned> = (0..50).map(|_| scan.push(interim, MOST)).collect();
        assert!(answers.contains(&Scanned::TooLarge));
        let mut exact = HeadScan::default();
        assert_eq!(exact.push(b"HTTP/1.1 200\r\n\r\n", 16), Scanned::Done);
        assert_eq!(HeadScan::default().push(b"HTTP/1.1 200\r\n\r\n", 15), Scanned::TooLarge);
    }

    #[test]
    fn fields_keep_order_names_and_repeats() {
        let head = "HTTP/1.1 200 OK\r\nX-One:  a \r\nbroken line\r\nx-one: b\r\nSpace : c\r\nLong: d\r\n  e\r\n\tf\r\nEmpty:\r\n: none\r\n\r\n";
        let found = fields(&Bytes::from_static(head.as_bytes()));
        let found: Vec<(&str, &[u8])> = found.iter().map(|(n, v)| (n.as_str(), v.as_ref())).collect();
        let expected: [(&str, &[u8]); 5] =
            [("X-One", b"a"), ("x-one", b"b"), ("Space", b"c"), ("Long", b"d e f"), ("Empty", b"")];
        assert_eq!(found, expected);
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_pieces_give_one_answer(wire in proptest::collection::vec(any::<u8>(), 0..300), step in 1_usize..50) {
            let mut whole = HeadScan::default();
            whole.push(&wire, MOST);
            let mut pieces = HeadScan::default();
            wire.chunks(step).for_each(|piece| { pieces.push(piece, MOST); });
            prop_assert_eq!(whole.bytes(), pieces.bytes());
            prop_assert!(whole.bytes().len() <= wire.len());
            fields(&Bytes::from(wire));
        }
    }
}
