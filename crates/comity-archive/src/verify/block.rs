use comity_policy::Digest;

use super::erasures::ErasureId;
use crate::blocks::{Sha1, Sum, Sums};
use crate::digests::label;
use crate::warc::stream::WarcHead;
use crate::warc::text::end_of_head;

/// The longest HTTP head, or block of WARC fields, that is held to be compared.
const MAX_TEXT: usize = 4 << 20;

/// What is computed over a block while it passes.
#[derive(Debug)]
pub(super) struct Block {
    state: State,
    /// The HTTP head with its closing empty line, or the block of a metadata record.
    pub(super) text: Vec<u8>,
}

#[derive(Debug)]
enum State {
    /// Nothing came yet.
    Begin,
    /// In an HTTP head.
    Head(Sum<Sha1>),
    /// Behind it; how long the payload is so far.
    Payload(Box<Sums>, u64),
    /// Of another kind: one sum.
    Other(Sum<Sha1>),
}

impl Block {
    pub(super) fn new() -> Self {
        Self { state: State::Begin, text: Vec::new() }
    }

    pub(super) fn take(&mut self, head: &WarcHead, piece: &[u8]) {
        let Self { state, text } = self;
        if matches!(state, State::Begin) {
            let is_http = matches!(head.kind(), "request" | "response" | "revisit");
            *state = if is_http { State::Head(Sum::default()) } else { State::Other(Sum::default()) };
        }
        match state {
            State::Begin => {}
            State::Payload(sums, length) => {
                sums.update(piece);
                *length += piece.len() as u64;
            }
            State::Other(sha1) => {
                sha1.update(piece);
                let room = MAX_TEXT.saturating_sub(text.len()).min(piece.len());
                text.extend_from_slice(piece.get(..room).unwrap_or_default());
            }
            State::Head(sha1) => {
                let end = end_of_head(text, piece);
                let (of_head, payload) = piece.split_at_checked(end.unwrap_or(piece.len())).unwrap_or((piece, &[]));
                sha1.update(of_head);
                let room = MAX_TEXT.saturating_sub(text.len()).min(of_head.len());
                text.extend_from_slice(of_head.get(..room).unwrap_or_default());
                if end.is_some() {
                    let mut sums = Sums::after(sha1.clone());
                    sums.update(payload);
                    *state = State::Payload(Box::new(sums), payload.len() as u64);
                }
            }
        }
    }

    pub(super) fn finish(self) -> Facts {
        let Self { state, text } = self;
        match state {
            State::Begin => Facts { sha1: label(Sum::default()), payload: None, text },
            State::Head(sha1) | State::Other(sha1) => Facts { sha1: label(sha1), payload: None, text },
            State::Payload(sums, length) => {
                let Sums { block, payload, payload256 } = *sums;
                let (sha1, sha256) = (label(payload), Digest::from_bytes(payload256.finish()));
                Facts { sha1: label(block), payload: Some(Payload { sha1, sha256, length }), text }
            }
        }
    }
}

/// What a block turned out to be.
#[derive(Debug)]
pub(super) struct Facts {
    /// `sha1:…` of the block.
    pub(super) sha1: String,
    pub(super) payload: Option<Payload>,
    /// The HTTP head, or the fields of a metadata record.
    pub(super) text: Vec<u8>,
}

/// What follows an HTTP head.
#[derive(Debug)]
pub(super) struct Payload {
    pub(super) sha1: String,
    pub(super) sha256: Digest,
    pub(super) length: u64,
}

impl Facts {
    /// What is wrong with the digests that the record states; they must be there.
    pub(super) fn wrong_digest(&self, head: &WarcHead) -> Option<String> {
        let payload = self.payload.as_ref().map(|payload| payload.sha1.as_str());
        let payload = payload.filter(|_| matches!(head.kind(), "request" | "response"));
        let rows = [("WARC-Block-Digest", Some(self.sha1.as_str())), ("WARC-Payload-Digest", payload)];
        rows.into_iter().find_map(|(name, computed)| {
            let computed = computed?;
            match head.field(name) {
                Some(stated) if stated == computed => None,
                Some(stated) => Some(format!("{name} is {stated}, computed {computed}")),
                None => Some(format!("{name} is missing")),
            }
        })
    }

    /// `comity-erasure` of a metadata record: which erasure it stands for.
    pub(super) fn erasure(&self) -> Option<ErasureId> {
        let text = std::str::from_utf8(&self.text).ok()?;
        text.lines().find_map(|line| ErasureId::parse(line.strip_prefix("comity-erasure: ")?))
    }

    /// Whether it holds nothing but that.
    pub(super) fn is_bare(&self) -> bool {
        std::str::from_utf8(&self.text).is_ok_and(|text| text.lines().any(|line| line.starts_with("comity-erased: ")))
    }

    /// `comity-record` of a metadata record: the commitment of its line.
    pub(super) fn commitment(&self) -> Option<Digest> {
        let text = std::str::from_utf8(&self.text).ok()?;
        text.lines().find_map(|line| line.strip_prefix("comity-record: sha256:")?.parse().ok())
    }
}
