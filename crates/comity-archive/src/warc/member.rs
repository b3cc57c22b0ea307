use std::io;
use std::path::Path;

use comity_policy::Spool;

use super::coder::Coder;
use super::grammar::{RecordHeader, WarcType};
use crate::ArchiveError;
use crate::digests::{BlockDigests, each_piece};

/// One record to be written: its header so far, and its block in two parts.
#[derive(Debug)]
pub(crate) struct Outgoing<'a> {
    pub(crate) kind: WarcType,
    pub(crate) header: RecordHeader,
    pub(crate) head: &'a [u8],
    pub(crate) body: &'a Spool,
    pub(crate) digests: &'a BlockDigests,
}

/// Compresses a record to the end of `out`, as a member of its own. After each piece of the body `spill` may take away what
/// `out` holds. After a failure `out` must not be used.
///
/// # Errors
/// When the body cannot be read, or is not as long as when it was digested, and those of `spill`.
pub(crate) fn write_member(
    coder: &mut Coder,
    record: Outgoing<'_>,
    out: &mut Vec<u8>,
    folder: &Path,
    mut spill: impl FnMut(&mut Vec<u8>) -> Result<(), ArchiveError>,
) -> Result<(), ArchiveError> {
    let failed = |source| ArchiveError::io(folder, source);
    let Outgoing { kind, mut header, head, body, digests } = record;
    header.push("WARC-Block-Digest", &digests.block);
    if kind.has_payload() {
        header.push_some("WARC-Payload-Digest", digests.payload.as_deref());
    }
    let header = header.finish(kind, digests.len);
    coder.begin(header.len() as u64 + digests.len + END.len() as u64, out).map_err(failed)?;
    coder.write(header.as_bytes(), out);
    coder.write(head, out);
    let (mut len, mut spilled) = (head.len() as u64, Ok(()));
    let read = each_piece(body, |chunk| {
        coder.write(chunk, out);
        len += chunk.len() as u64;
        // After a failure nothing of the event counts any more: the rest only passes through.
        match spilled {
            Ok(()) => spilled = spill(out),
            Err(_) => out.clear(),
        }
    });
    read.map_err(failed)?;
    spilled?;
    if len != digests.len {
        return Err(failed(io::Error::other("the body changed while it was stored")));
    }
    coder.write(END, out);
    coder.finish(out).map_err(failed)
}

/// What follows every block; not counted in `Content-Length`.
const END: &[u8] = b"\r\n\r\n";
