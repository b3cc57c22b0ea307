use crate::Request;

/// Request heads longer than this are not recorded (and refused by the server).
pub(crate) const MAX_HEAD_BYTES: usize = 64 * 1024;

/// Finds request heads in the bytes of one connection, body bytes skipped.
#[derive(Debug, Default)]
pub(crate) struct HeadScanner {
    buffer: Vec<u8>,
    /// Body bytes still to come.
    skip: u64,
    /// After a chunked request body or an endless head: nothing more is looked for on this connection.
    blind: bool,
}

impl HeadScanner {
    /// Takes in received bytes and gives the heads that they complete.
    pub(crate) fn feed(&mut self, mut bytes: &[u8]) -> Vec<Request> {
        let mut heads = Vec::new();
        while !bytes.is_empty() && !self.blind {
            bytes = self.skip_body(bytes);
            let Some(end) = self.take_head(&mut bytes) else { continue };
            heads.push(self.close_head(end));
        }
        heads
    }

    fn skip_body<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let skipped = usize::try_from(self.skip).unwrap_or(usize::MAX).min(bytes.len());
        self.skip -= skipped as u64;
        bytes.get(skipped..).unwrap_or_default()
    }

    /// Moves bytes into the buffer up to the end of a head; `Some` with the head's length when it is whole.
    fn take_head(&mut self, bytes: &mut &[u8]) -> Option<usize> {
        while let Some((first, rest)) = bytes.split_first() {
            *bytes = rest;
            if self.buffer.is_empty() && matches!(first, b'\r' | b'\n') {
                continue;
            }
            self.buffer.push(*first);
            if *first == b'\n' && (self.buffer.ends_with(b"\n\r\n") || self.buffer.ends_with(b"\n\n")) {
                return Some(self.buffer.len());
            }
            if self.buffer.len() >= MAX_HEAD_BYTES {
                self.blind = true;
                *bytes = &[];
            }
        }
        None
    }

    fn close_head(&mut self, end: usize) -> Request {
        let request = Request::read(self.buffer.get(..end).unwrap_or_default());
        self.buffer.clear();
        self.blind = request.field("transfer-encoding").is_some();
        self.skip = request.field("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        request
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn heads_are_found_however_the_bytes_arrive() {
        let stream = b"\r\nGET /1 HTTP/1.1\r\nHost: h\r\n\r\nPOST /2 HTTP/1.1\r\nContent-Length: 4\r\n\r\n\r\n\r\nGET /3 HTTP/1.0\n\nGET /4";
        for size in 1..stream.len() {
            let mut scanner = HeadScanner::default();
            let heads: Vec<_> = stream.chunks(size).flat_map(|chunk| scanner.feed(chunk)).collect();
            let targets: Vec<_> = heads.iter().map(|head| head.target_text().into_owned()).collect();
            assert_eq!(targets, ["/1", "/2", "/3"], "in pieces of {size}");
        }
    }

    #[test]
    fn an_endless_head_is_given_up() {
        let mut scanner = HeadScanner::default();
        for _ in 0..100 {
            assert!(scanner.feed(&[b'x'; 4096]).is_empty());
        }
        assert!(scanner.buffer.len() <= MAX_HEAD_BYTES);
    }

    proptest! {
        #[test]
        fn any_bytes_do(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..20)) {
            let mut scanner = HeadScanner::default();
            for piece in pieces {
                scanner.feed(&piece);
            }
        }
    }
}
