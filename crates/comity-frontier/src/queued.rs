use std::error::Error;
use std::fmt;

use comity_url::{CrawlUrl, UrlKey};

use crate::{Offer, Visited};

/// A URL as the queue keeps it. Its priority and place are in its key.
///
/// Stored form, version 1, numbers big-endian: version (1), flags (1: bit 0 seed, bit 1 via), depth (4), hops (1),
/// attempts (4), fingerprint (16), length of the URL (2), the URL, then the via to the end. Version 2 is the form of a URL
/// that was visited before, or has a hint or user data: the via has its length (2) in front, 0 for none, and behind it stands
/// [`Visited`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuedUrl {
    /// The URL.
    pub url: CrawlUrl,
    /// Its fingerprint.
    pub key: UrlKey,
    /// Links followed from the nearest seed.
    pub depth: u32,
    /// Redirects in a row so far.
    pub hops: u8,
    /// The page that named it.
    pub via: Option<CrawlUrl>,
    /// Given by the operator.
    pub seed: bool,
    /// Attempts used up so far.
    pub attempts: u32,
    /// What its visits so far have shown, and what its author keeps with it; `None` for a URL that is visited once and has
    /// nothing with it.
    pub visited: Option<Box<Visited>>,
}

/// Why a stored record cannot be read.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordError {
    /// Written by a later version.
    Version(u8),
    /// Shorter or longer than it says.
    Length,
    /// A field holds what is never written there.
    Field(&'static str),
}

const VERSION: u8 = 1;
const VISITED: u8 = 2;
const SEED: u8 = 1;
const VIA: u8 = 2;

impl QueuedUrl {
    /// The stored form. About 30 bytes and the two URLs.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let urls = self.url.as_str().len() + self.via.as_ref().map_or(0, |via| via.as_str().len());
        let mut out = Vec::with_capacity(29 + urls);
        self.encode_into(&mut out);
        out
    }

    /// Appends the stored form.
    pub(crate) fn encode_into(&self, out: &mut Vec<u8>) {
        let url = self.url.as_str().as_bytes();
        let via = self.via.as_ref().map(|via| via.as_str().as_bytes());
        // A crawl URL is at most 65,534 bytes long (`comity_url::MAX_CRAWL_URL_BYTES`): nothing is cut here.
        let length = u16::try_from(url.len()).unwrap_or(u16::MAX);
        let flags = if self.seed { SEED } else { 0 } | if via.is_some() { VIA } else { 0 };
        out.extend([if self.visited.is_some() { VISITED } else { VERSION }, flags]);
        out.extend(self.depth.to_be_bytes());
        out.push(self.hops);
        out.extend(self.attempts.to_be_bytes());
        out.extend(self.key.to_bytes());
        out.extend(length.to_be_bytes());
        out.extend(url);
        if self.visited.is_some() {
            out.extend(via.map_or(0, |via| u16::try_from(via.len()).unwrap_or(u16::MAX)).to_be_bytes());
        }
        out.extend(via.unwrap_or_default());
        if let Some(visited) = &self.visited {
            visited.encode_into(out);
        }
    }

    /// Reads the stored form. Any bytes give a value or an error.
    ///
    /// # Errors
    /// When the record is of a later version or is not what [`QueuedUrl::encode`] writes.
    pub fn decode(bytes: &[u8]) -> Result<Self, RecordError> {
        let mut cursor = Cursor(bytes);
        let version = cursor.byte()?;
        if !matches!(version, VERSION | VISITED) {
            return Err(RecordError::Version(version));
        }
        let flags = cursor.byte()?;
        if flags & !(SEED | VIA) != 0 {
            return Err(RecordError::Field("flags"));
        }
        let depth = u32::from_be_bytes(cursor.array()?);
        let hops = cursor.byte()?;
        let attempts = u32::from_be_bytes(cursor.array()?);
        let key = UrlKey::from_bytes(cursor.array()?);
        let length = u16::from_be_bytes(cursor.array()?);
        let url = crawl_url(cursor.take(usize::from(length))?, "url")?;
        let rest = match version {
            VERSION => cursor.take(cursor.0.len())?,
            _ => {
                let length = u16::from_be_bytes(cursor.array()?);
                cursor.take(usize::from(length))?
            }
        };
        let via = if flags & VIA != 0 { Some(crawl_url(rest, "via")?) } else { None };
        if via.is_none() && !rest.is_empty() {
            return Err(RecordError::Length);
        }
        let visited = if version == VISITED { Some(Box::new(Visited::read(&mut cursor)?)) } else { None };
        let seed = flags & SEED != 0;
        if cursor.0.is_empty() {
            Ok(Self { url, key, depth, hops, via, seed, attempts, visited })
        } else {
            Err(RecordError::Length)
        }
    }
}

impl From<Offer> for QueuedUrl {
    fn from(offer: Offer) -> Self {
        let Offer { url, key, depth, hops, via, seed, priority: _, attempts, hint, user_data } = offer;
        let interval = hint.and_then(|hint| hint.interval);
        let visited = (interval.is_some() || user_data.is_some())
            .then(|| Box::new(Visited { user_data, ..Visited::hinted(interval.unwrap_or_default()) }));
        Self { url, key, depth, hops, via, seed, attempts, visited }
    }
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => {
                write!(f, "queue record of version {version}, this build reads {VERSION} and {VISITED}")
            }
            Self::Length => f.write_str("queue record of another length than it says"),
            Self::Field(field) => write!(f, "queue record with a broken {field}"),
        }
    }
}

impl Error for RecordError {}

/// A URL that stands exactly as it was written: one that parses to something else was not written by us.
pub(crate) fn crawl_url(bytes: &[u8], field: &'static str) -> Result<CrawlUrl, RecordError> {
    let text = std::str::from_utf8(bytes).map_err(|_| RecordError::Field(field))?;
    CrawlUrl::parse(text).ok().filter(|url| url.as_str() == text).ok_or(RecordError::Field(field))
}

/// Reads from the front of a slice.
pub(crate) struct Cursor<'a>(pub(crate) &'a [u8]);

impl<'a> Cursor<'a> {
    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], RecordError> {
        let (head, rest) = self.0.split_at_checked(count).ok_or(RecordError::Length)?;
        self.0 = rest;
        Ok(head)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], RecordError> {
        let (head, rest) = self.0.split_first_chunk().ok_or(RecordError::Length)?;
        self.0 = rest;
        Ok(*head)
    }

    /// Reads what [`put_number`] wrote; a longer spelling of the same number is an error.
    pub(crate) fn number(&mut self) -> Result<u64, RecordError> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            let is_last = byte < 0x80;
            if (shift == 63 && bits > 1) || (is_last && bits == 0 && shift > 0) {
                return Err(RecordError::Field("number"));
            }
            number |= bits << shift;
            if is_last {
                return Ok(number);
            }
        }
        Err(RecordError::Field("number"))
    }

    pub(crate) fn byte(&mut self) -> Result<u8, RecordError> {
        self.array::<1>().map(|[byte]| byte)
    }
}

/// Writes a number, seven bits a byte, the lowest first; all but the last with their highest bit set. Most are small.
pub(crate) fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        let [low, ..] = number.to_le_bytes();
        out.push(low | 0x80);
        number >>= 7;
    }
    let [low, ..] = number.to_le_bytes();
    out.push(low);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_back_and_have_one_spelling() {
        let edges = (0..64).flat_map(|bit| [(1_u64 << bit) - 1, 1 << bit, (1 << bit) + 1]).chain([u64::MAX]);
        for number in edges {
            let mut out = Vec::new();
            put_number(&mut out, number);
            assert_eq!(Cursor(&out).number(), Ok(number));
            assert!(Cursor(&out[..out.len() - 1]).number().is_err());
            if let Some(last) = out.last_mut() {
                *last |= 0x80;
            }
            out.push(0);
            assert!(Cursor(&out).number().is_err(), "{number}: one spelling each");
        }
        assert!(Cursor(&[0xff; 12]).number().is_err());
    }
}
