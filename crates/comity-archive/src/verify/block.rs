use comity_policy::Digest;
use sha1::Sha1;
use sha2::{Digest as _, Sha256};

use super::erasures::ErasureId;
use crate::warc::stream::WarcHead;

/// The longest HTTP head, or block of WARC fields, that is held to be compared.
const MAX_TEXT: usize = 4 << 20;

/// What is computed over a block while it passes.
#[derive(Debug)]
pub(super) struct Block {
    sha1: Sha1,
    payload: Option<(Sha1, Sha256, u64)>,
    /// The HTTP head with its closing empty line, or the block of a metadata record.
    pub(super) text: Vec<u8>,
    is_http: Option<bool>,
}

impl Block {
    pub(super) fn new() -> Self {
        Self { sha1: Sha1::new(), payload: None, text: Vec::new(), is_http: None }
    }

    pub(super) fn take(&mut self, head: &WarcHead, piece: &[u8]) {
        self.sha1.update(piece);
        let is_http = *self.is_http.get_or_insert_with(|| matches!(head.kind(), "request" | "response" | "revisit"));
        if let Some(payload) = &mut self.payload {
            payload.0.update(piece);
            payload.1.update(piece);
            payload.2 += piece.len() as u64;
            return;
        }
        let from = self.text.len().saturating_sub(3);
        let room = MAX_TEXT.saturating_sub(self.text.len()).min(piece.len());
        self.text.extend_from_slice(piece.get(..room).unwrap_or_default());
        if !is_http {
            return;
        }
        let found = self.text.get(from..).and_then(|fresh| fresh.windows(4).position(|w| w == b"\r\n\r\n"));
        if let Some(at) = found {
            let payload = self.text.split_off(from + at + 4);
            let (mut sha1, mut sha256) = (Sha1::new(), Sha256::new());
            sha1.update(&payload);
            sha256.update(&payload);
            self.payload = Some((sha1, sha256, payload.len() as u64));
        }
    }

    pub(super) fn finish(self) -> Facts {
        let payload = self.payload.map(|(sha1, sha256, length)| Payload {
            sha1: label(sha1),
            sha256: Digest::from_bytes(sha256.finalize().into()),
            length,
        });
        Facts { sha1: label(self.sha1), payload, text: self.text }
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

fn label(hash: Sha1) -> String {
    format!("sha1:{}", data_encoding::BASE32.encode(&hash.finalize()))
}
