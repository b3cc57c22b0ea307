use std::io::{self, Read};

use bytes::Bytes;
use comity_policy::Capture;

use crate::coding::{Halt, Stack, codings};
use crate::{Fetcher, ResponseHead};

/// Coded bytes are read back this much at a time.
const STEP: usize = 16 << 10;

/// Decodes a body that was stored as it came, under the value of its `Content-Encoding`: at most `most` bytes, and what
/// came before a coding broke. In an unknown coding it is empty, as for [`Fetcher::decode`].
///
/// Costs the decoding, a buffer of what comes, and the memory of the codings' windows (16 MiB at most each).
#[must_use]
pub fn decode_stored(content_encoding: &str, coded: &[u8], most: usize) -> Vec<u8> {
    let field = [("content-encoding".to_owned(), Bytes::copy_from_slice(content_encoding.as_bytes()))];
    let head = ResponseHead { status: 200, fields: &field };
    let stack = codings(&head).ok().and_then(|found| Stack::new(&found, most as u64).ok());
    let mut decoded = Vec::new();
    let mut out = |piece: &[u8]| {
        let room = most.saturating_sub(decoded.len()).min(piece.len());
        decoded.extend_from_slice(piece.get(..room).unwrap_or_default());
        if decoded.len() == most { Err(Halt::Enough) } else { Ok(()) }
    };
    if let Some(mut stack) = stack {
        // Broken, or enough: what came is what there is.
        drop(coded.chunks(STEP).try_for_each(|piece| stack.push(piece, &mut out)));
    }
    decoded
}

impl Fetcher {
    /// Decodes the body of a capture of this fetcher's once more, from its coded bytes: nothing has to be kept twice for
    /// those who want to read it later. Hands it on in pieces; returns how many bytes those were.
    ///
    /// What comes is what the sink was given: a body that was cut ends where it was cut, one in an unknown coding is
    /// empty. Of a coding that broke, or a body of which [`comity_policy::Reason::FetchSpool`] lost a part, it may be a
    /// little less. Costs the decoding, with the memory of its window (16 MiB at most, mostly 32 KiB); blocks where the
    /// body is in a file.
    ///
    /// # Errors
    /// When the file of the body cannot be read.
    pub fn decode(&self, capture: &Capture, take: &mut dyn FnMut(&[u8])) -> io::Result<u64> {
        let head = ResponseHead { status: capture.status.unwrap_or_default(), fields: &capture.fields };
        let stack = codings(&head).ok().and_then(|found| Stack::new(&found, self.max_body()).ok());
        let Some(mut stack) = stack else { return Ok(0) };
        let mut left = capture.decoded_len;
        let mut out = |piece: &[u8]| {
            let fits = usize::try_from(left).unwrap_or(usize::MAX).min(piece.len());
            take(piece.get(..fits).unwrap_or_default());
            left -= fits as u64;
            if left == 0 { Err(Halt::Enough) } else { Ok(()) }
        };
        let mut coded = capture.body.reader()?;
        let mut buffer = vec![0; if capture.decoded_len == 0 { 0 } else { STEP }];
        loop {
            let read = match coded.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read?,
            };
            let piece = buffer.get(..read).unwrap_or_default();
            if piece.is_empty() || stack.push(piece, &mut out).is_err() {
                return Ok(capture.decoded_len - left);
            }
        }
    }

    /// [`Fetcher::decode`] in one piece. A body that is uncoded and in memory is shared, not copied; any other costs a
    /// buffer of [`Capture::decoded_len`] bytes, which [`crate::Limits::max_body`] bounds.
    ///
    /// # Errors
    /// As [`Fetcher::decode`].
    pub fn decoded(&self, capture: &Capture) -> io::Result<Bytes> {
        let head = ResponseHead { status: capture.status.unwrap_or_default(), fields: &capture.fields };
        let uncoded = codings(&head).is_ok_and(|found| found.is_empty());
        if uncoded && capture.body.len() == capture.decoded_len {
            return capture.body.to_bytes();
        }
        let most = capture.decoded_len.min(self.max_body());
        let mut decoded = Vec::with_capacity(usize::try_from(most).unwrap_or(0));
        self.decode(capture, &mut |piece| decoded.extend_from_slice(piece))?;
        Ok(decoded.into())
    }
}
