use std::fmt::{self, Write as _};

use comity_policy::Digest;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{ChainHead, GENESIS, SALT_BYTES, commitment, link};
use crate::Record;
use crate::erase::note::Note;

/// One line of a records file: a record, or the tombstone of an erased one, in its place of the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its number, from 0.
    pub seq: u64,
    /// The link of the line before; 32 zero bytes for the first.
    pub prev: Digest,
    /// `sha256(salt ‖ body)`.
    pub commitment: Digest,
    /// `sha256(seq ‖ prev ‖ commitment)`.
    pub link: Digest,
    /// The content, or what is left of it.
    pub content: Content,
}

/// Bytes of a line around its content, at most.
const ROUND: usize = 384;

/// What a line holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A record.
    Kept {
        /// The random bytes that the commitment begins with.
        salt: Vec<u8>,
        /// The record as canonical JSON (RFC 8785), byte for byte what was committed to.
        body: String,
    },
    /// Salt and body were erased; this note (JSON) stands in their place.
    Erased(String),
}

/// Why a text is no line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineError(pub(super) String);

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for LineError {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire<'a> {
    v: u32,
    seq: u64,
    #[serde(borrow)]
    prev: &'a str,
    #[serde(borrow, default)]
    salt: Option<&'a str>,
    #[serde(borrow)]
    commitment: &'a str,
    #[serde(borrow)]
    link: &'a str,
    #[serde(borrow, default)]
    body: Option<&'a RawValue>,
    #[serde(borrow, default)]
    erased: Option<&'a RawValue>,
}

impl Line {
    /// The line that follows `head`.
    pub(crate) fn following(head: Option<ChainHead>, salt: [u8; SALT_BYTES], body: String) -> Self {
        let commitment = commitment(&salt, body.as_bytes());
        Self::committed(head, (salt, commitment), body)
    }

    /// The same where the commitment, of that salt and body, is known.
    pub(crate) fn committed(
        head: Option<ChainHead>,
        (salt, commitment): ([u8; SALT_BYTES], Digest),
        body: String,
    ) -> Self {
        let (seq, prev) = head.map_or((0, GENESIS), |head| (head.seq + 1, head.link));
        let link = link(seq, prev, commitment);
        Self { seq, prev, commitment, link, content: Content::Kept { salt: salt.to_vec(), body } }
    }

    /// Reads one line without its line end. Strict: exactly the text that [`Self::to_text`] writes is taken.
    ///
    /// # Errors
    /// When it is anything else. Hashes are not checked here: see [`super::verify_chain`].
    pub fn parse(text: &str) -> Result<Self, LineError> {
        let wire: Wire<'_> = serde_json::from_str(text).map_err(|e| LineError(format!("no record line: {e}")))?;
        if wire.v != 1 {
            return Err(LineError(format!("version {} is not known, 1 is", wire.v)));
        }
        let digest = |name: &str, hex: &str| hex.parse::<Digest>().map_err(|e| LineError(format!("{name}: {e}")));
        let content = match (wire.salt, wire.body, wire.erased) {
            (Some(salt), Some(body), None) => Content::Kept { salt: unhex(salt)?, body: body.get().to_owned() },
            (None, None, Some(note)) => Content::Erased(note.get().to_owned()),
            _ => return Err(LineError("a line holds either salt and body, or erased".to_owned())),
        };
        let line = Self {
            seq: wire.seq,
            prev: digest("prev", wire.prev)?,
            commitment: digest("commitment", wire.commitment)?,
            link: digest("link", wire.link)?,
            content,
        };
        if line.to_text() == text {
            Ok(line)
        } else {
            Err(LineError("the line is not in its one written form".to_owned()))
        }
    }

    /// The line as it is written, without its line end.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        self.write_to(&mut text);
        text
    }

    /// Adds it to a text.
    pub(crate) fn write_to(&self, text: &mut String) {
        let Self { seq, prev, commitment, link, content } = self;
        let (Content::Kept { body: value, .. } | Content::Erased(value)) = content;
        text.reserve(value.len() + ROUND);
        // Writing to a text cannot fail.
        let _ = write!(text, "{{\"v\":1,\"seq\":{seq},\"prev\":\"{prev}\"");
        if let Content::Kept { salt, .. } = content {
            text.push_str(",\"salt\":\"");
            data_encoding::HEXLOWER.encode_append(salt, text);
            text.push('"');
        }
        let member = if matches!(content, Content::Kept { .. }) { "body" } else { "erased" };
        let _ = write!(text, ",\"commitment\":\"{commitment}\",\"link\":\"{link}\",\"{member}\":");
        text.push_str(value);
        text.push('}');
    }

    /// The text of the record that the line holds, or that stands in its tombstone; `None` when it was erased.
    #[must_use]
    pub fn standing(&self) -> Option<&str> {
        match &self.content {
            Content::Kept { body, .. } => Some(body),
            Content::Erased(note) => {
                Note::parse(note).and_then(|note| note.amended()).ok().flatten().map(|(body, _)| body)
            }
        }
    }

    /// The record; `None` when it was erased. Of one that was amended by an erasure, what stands in its tombstone.
    ///
    /// # Errors
    /// When the body is of another schema than this version reads.
    pub fn record(&self) -> Result<Option<Record>, LineError> {
        let Some(body) = self.standing() else { return Ok(None) };
        serde_json::from_str(body).map(Some).map_err(|e| LineError(format!("record {}: {e}", self.seq)))
    }

    /// The same line with salt and body erased. Its links stay verifiable.
    ///
    /// # Errors
    /// When `note` is not JSON on one line.
    pub fn erased(&self, note: &str) -> Result<Self, LineError> {
        let json = !note.contains('\n') && serde_json::from_str::<&RawValue>(note).is_ok_and(|raw| raw.get() == note);
        let content = if json {
            Content::Erased(note.to_owned())
        } else {
            return Err(LineError("the note of an erased line is not JSON on one line".to_owned()));
        };
        Ok(Self { content, ..self.clone() })
    }

    /// The chain's head after this line.
    #[must_use]
    pub const fn head(&self) -> ChainHead {
        ChainHead { seq: self.seq, link: self.link }
    }
}

fn unhex(text: &str) -> Result<Vec<u8>, LineError> {
    let bytes = data_encoding::HEXLOWER.decode(text.as_bytes()).map_err(|e| LineError(format!("salt: {e}")))?;
    if bytes.len() < SALT_BYTES {
        return Err(LineError(format!("salt of {} bytes, at least {SALT_BYTES}", bytes.len())));
    }
    Ok(bytes)
}
