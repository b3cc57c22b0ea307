/// Follows the frames of an HTTP/2 connection (RFC 9113 §4.1) by their headers alone, in whatever pieces they come.
#[derive(Debug, Default)]
pub(crate) struct FrameScan {
    header: [u8; 9],
    /// Bytes of the frame header so far.
    have: usize,
    /// Bytes of the payload still to come.
    payload: usize,
}

/// What a frame is for, as far as it is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameKind {
    /// A piece of a body.
    Data,
    /// A piece of a head: HEADERS, CONTINUATION, PUSH_PROMISE; bytes of its payload.
    Head(usize),
    /// Everything else: settings, pings, windows, resets, farewells, and what is unknown.
    Control,
}

impl FrameScan {
    /// Takes the next bytes; `each` is told of every frame that begins in them, and ends the scan by `false`.
    pub(crate) fn push(&mut self, mut bytes: &[u8], mut each: impl FnMut(FrameKind) -> bool) -> bool {
        while !bytes.is_empty() {
            let skipped = self.payload.min(bytes.len());
            self.payload -= skipped;
            bytes = bytes.get(skipped..).unwrap_or_default();
            let Some(slot) = self.header.get_mut(self.have..) else { return true };
            let take = slot.len().min(bytes.len());
            for (to, from) in slot.iter_mut().zip(bytes) {
                *to = *from;
            }
            self.have += take;
            bytes = bytes.get(take..).unwrap_or_default();
            if self.have == self.header.len() {
                self.have = 0;
                if !each(self.begin()) {
                    return false;
                }
            }
        }
        true
    }

    fn begin(&mut self) -> FrameKind {
        let [a, b, c, kind, ..] = self.header;
        self.payload = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
        match kind {
            0x0 => FrameKind::Data,
            0x1 | 0x5 | 0x9 => FrameKind::Head(self.payload),
            _ => FrameKind::Control,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_found_in_any_pieces() {
        let frame = |kind: u8, payload: &[u8]| {
            let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
            [&length[1..], &[kind, 0, 0, 0, 0, 1], payload].concat()
        };
        let wire =
            [frame(4, &[]), frame(1, &[7; 300]), frame(0, &[1; 70_000]), frame(9, b"x"), frame(6, &[0; 8])].concat();
        let expected =
            [FrameKind::Control, FrameKind::Head(300), FrameKind::Data, FrameKind::Head(1), FrameKind::Control];
        for step in [1, 2, 5, 9, 10, 1000, 1 << 20] {
            let mut scan = FrameScan::default();
            let mut found = Vec::new();
            for piece in wire.chunks(step) {
                assert!(scan.push(piece, |kind| {
                    found.push(kind);
                    true
                }));
            }
            assert_eq!(found, expected, "by {step}");
        }
        assert!(!FrameScan::default().push(&wire, |kind| kind != FrameKind::Data), "ends when told to");
    }
}
