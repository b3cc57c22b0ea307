use std::fmt;
use std::io::{self, Read};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use comity_url::CrawlUrl;

use crate::{Reason, Vantage, Via, WallTime};

/// What was sent and received in one exchange, as values: what archive and records are made from.
#[derive(Clone, Debug)]
pub struct Capture {
    /// The URL asked for: the very one that was judged.
    pub url: CrawlUrl,
    /// When the exchange began, before connecting: the date of every record of it.
    pub started: WallTime,
    /// The peer really connected to; `None` behind a proxy.
    pub peer: Option<IpAddr>,
    /// From where it was asked.
    pub vantage: Vantage,
    /// The exit that it left through; `None` when it left from here, or no exit was reached.
    pub via: Option<Arc<Via>>,
    /// Protocol on the wire.
    pub protocol: Protocol,
    /// TLS version on the wire, as WARC-Protocol writes it (`tls/1.3`), if there was TLS.
    pub tls: Option<TlsFacts>,
    /// The request head exactly as written, with its closing empty line.
    pub request_head: Bytes,
    /// The response head exactly as received, with its closing empty line; empty when none came.
    pub response_head: Bytes,
    /// HTTP status; `None` when no head came.
    pub status: Option<u16>,
    /// Response fields in wire order, names as received, values as bytes.
    pub fields: Vec<(String, Bytes)>,
    /// The body in its content coding, transfer coding removed.
    pub body: Spool,
    /// Decoded length, as far as it was decoded.
    pub decoded_len: u64,
    /// Why the body ends before its end, if it does.
    pub truncated: Option<Truncation>,
    /// How the exchange failed or was cut; `None` when it is whole.
    pub fault: Option<Reason>,
    /// More about the fault, for people.
    pub detail: Option<String>,
    /// How long its parts took.
    pub timings: Timings,
}

impl Capture {
    /// The first value of a response field, compared case-insensitively, if it is text.
    #[must_use]
    pub fn field<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        self.fields_named(name).next()
    }

    /// Every textual value of a response field in wire order.
    pub fn fields_named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.fields
            .iter()
            .filter(move |(key, _)| key.eq_ignore_ascii_case(name))
            .filter_map(|(_, value)| std::str::from_utf8(value).ok())
    }
}

/// Protocol of an exchange, as `WARC-Protocol` names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// `http/1.0`
    Http10,
    /// `http/1.1`
    #[default]
    Http11,
    /// `h2`
    H2,
}

impl Protocol {
    /// The value of a `WARC-Protocol` field.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Http10 => "http/1.0",
            Self::Http11 => "http/1.1",
            Self::H2 => "h2",
        }
    }
}

/// What a TLS handshake showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFacts {
    /// `tls/1.2` or `tls/1.3`.
    pub version: &'static str,
    /// The cipher suite by its IANA name.
    pub cipher: String,
    /// SHA-256 of the end-entity certificate, lower-case hex.
    pub certificate_sha256: String,
    /// The protocol that both sides agreed on (RFC 7301), `h2` or `http/1.1`; `None` when the site named none.
    pub alpn: Option<String>,
}

/// Why a stored body is shorter than the site's: the values of `WARC-Truncated`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truncation {
    /// A size or ratio limit.
    Length,
    /// A time or rate limit.
    Time,
    /// The connection ended early.
    Disconnect,
    /// Anything else.
    Unspecified,
}

impl Truncation {
    /// The value of a `WARC-Truncated` field.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::Time => "time",
            Self::Disconnect => "disconnect",
            Self::Unspecified => "unspecified",
        }
    }
}

/// How long the parts of an exchange took; `None` where a part did not happen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timings {
    /// Looking up the name, before the turn; only with the first connection that rests on the look-up.
    pub dns: Option<Duration>,
    /// Connecting, TLS included; `None` on a kept connection.
    pub connect: Option<Duration>,
    /// The TLS handshake, a part of connecting.
    pub tls: Option<Duration>,
    /// From the written request to the response head.
    pub head: Option<Duration>,
    /// From the response head to the end of the body.
    pub body: Option<Duration>,
    /// The whole.
    pub total: Duration,
}

/// The bytes of a body, held once: read as often as needed, never copied. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Spool(Held);

#[derive(Clone, Debug)]
enum Held {
    Memory(Bytes),
    Stored(Arc<dyn StoredBody>),
}

/// A body that is kept elsewhere than in memory, for as long as anything points at it.
pub trait StoredBody: Send + Sync + fmt::Debug {
    /// Its length in bytes; it does not change.
    fn length(&self) -> u64;

    /// Reads up to `buffer.len()` bytes from `offset` on; 0 at its end.
    ///
    /// # Errors
    /// When the place where it is kept fails.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
}

impl Default for Held {
    fn default() -> Self {
        Self::Memory(Bytes::new())
    }
}

impl Spool {
    /// A body in memory.
    #[must_use]
    pub const fn in_memory(bytes: Bytes) -> Self {
        Self(Held::Memory(bytes))
    }

    /// A body that is kept elsewhere.
    #[must_use]
    pub fn stored(body: Arc<dyn StoredBody>) -> Self {
        Self(Held::Stored(body))
    }

    /// Its length in bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        match &self.0 {
            Held::Memory(bytes) => bytes.len() as u64,
            Held::Stored(body) => body.length(),
        }
    }

    /// True when there is no body.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes, where they are in memory.
    #[must_use]
    pub const fn memory(&self) -> Option<&Bytes> {
        match &self.0 {
            Held::Memory(bytes) => Some(bytes),
            Held::Stored(_) => None,
        }
    }

    /// The whole of it at once; from memory without a copy.
    ///
    /// # Errors
    /// When a spooled file cannot be read.
    pub fn to_bytes(&self) -> io::Result<Bytes> {
        match &self.0 {
            Held::Memory(bytes) => Ok(bytes.clone()),
            Held::Stored(_) => {
                // Known and fixed: a buffer that grows would be held twice while it is moved.
                let mut bytes = Vec::with_capacity(usize::try_from(self.len()).unwrap_or(0));
                self.reader()?.read_to_end(&mut bytes)?;
                Ok(bytes.into())
            }
        }
    }

    /// Reads it from the start. Several readers may be at work at once.
    ///
    /// # Errors
    /// When the place where it is kept fails; so may each read.
    pub fn reader(&self) -> io::Result<impl Read + use<>> {
        Ok(Reader { spool: self.clone(), at: 0 })
    }
}

struct Reader {
    spool: Spool,
    at: u64,
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = match &self.spool.0 {
            Held::Memory(bytes) => {
                let rest = usize::try_from(self.at).ok().and_then(|at| bytes.get(at..)).unwrap_or_default();
                io::Read::read(&mut &*rest, buffer)?
            }
            Held::Stored(body) => body.read_at(buffer, self.at)?,
        };
        self.at += read as u64;
        Ok(read)
    }
}
