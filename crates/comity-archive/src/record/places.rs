//! Where the bytes of an event lie, and how bytes from outside are written.

use serde::{Deserialize, Serialize};

/// Where the WARC records of the event lie. Offsets and lengths are compressed bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WarcPlaces {
    /// Final name of the file.
    pub file: String,
    /// Where the metadata record begins.
    pub metadata_offset: u64,
    /// The request record.
    pub request: Option<WarcPlace>,
    /// The response record.
    pub response: Option<WarcPlace>,
}

/// One WARC record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WarcPlace {
    /// Its `WARC-Record-ID`, without angle brackets.
    pub id: String,
    /// Length of its gzip member.
    pub length: u64,
    /// Where its gzip member begins.
    pub offset: u64,
}

/// Bytes from outside: text where they are UTF-8, else `{"base64": "…"}`. Nothing is lost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RawText {
    /// UTF-8.
    Text(String),
    /// Anything else.
    Bytes {
        /// Base64 of the bytes (RFC 4648 §4).
        base64: String,
    },
}

impl RawText {
    /// Wraps bytes from outside.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        std::str::from_utf8(bytes).map_or_else(
            |_| Self::Bytes { base64: data_encoding::BASE64.encode(bytes) },
            |text| Self::Text(text.to_owned()),
        )
    }
}
