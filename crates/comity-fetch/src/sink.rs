use bytes::Bytes;
use comity_policy::ContentPermit;

/// Where a response goes while it arrives: its head at once, then its decoded body piece by piece.
///
/// Called from within the fetch: it must not block.
pub trait Sink: Send {
    /// The head is complete. Called once, before any chunk; the origin's turn may be freed now.
    fn head(&mut self, head: &ResponseHead<'_>) -> Want;

    /// The next decoded piece of the body, never empty: 16 KiB at most of a coded body, what one read gave of
    /// another (128 KiB at most, unless [`crate::Limits::max_head_bytes`] is raised).
    fn chunk(&mut self, decoded: &[u8]);

    /// What follows is not handed over: its content coding is unknown or broken. Told before [`Sink::keep`] is asked, maybe more
    /// than once; whoever decides by what a body says has to know that it was not heard to its end.
    fn unreadable(&mut self) {}

    /// Whether the body may be kept. Until then it stays in memory; a refusal ends it, and nothing of it is left.
    ///
    /// Asked after each piece while it is [`Keep::Undecided`], when no more may be held in memory, and always at the end:
    /// only then a body leaves the fetch. `Undecided` counts as a refusal where it is no answer.
    fn keep(&mut self, read: Read) -> Keep;
}

/// How far a body was read when it is asked whether it may be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// More is to come, and may be held back.
    Piece,
    /// More is to come, and nothing may be held back any longer: from here on it goes to a file.
    Bound,
    /// It ended, whole or not.
    End,
}

/// The answer to [`Sink::keep`].
#[derive(Debug)]
pub enum Keep {
    /// Not known yet.
    Undecided,
    /// It may be kept, as far as it was read.
    Keep(ContentPermit),
    /// Nothing of it may.
    Refuse,
    /// Nothing of it may, since nothing that was read lets it be: where it was cut that stays a fault, for the rest may say more.
    Silent,
}

impl Keep {
    /// For what is not taken for the declared purposes ([`ContentPermit::unjudged`]).
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "whoever calls it needs an exception of his own")]
    pub const fn unjudged() -> Self {
        Self::Keep(ContentPermit::unjudged())
    }
}

/// What a [`Sink`] wants after it has seen the head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Want {
    /// The body too.
    #[default]
    Body,
    /// Nothing more: the body is left unread, and the connection with it.
    HeadOnly,
    /// As [`Want::HeadOnly`], since its media type is not wanted: `fetch.type`.
    OtherType,
}

/// A response head as it was received.
#[derive(Clone, Copy, Debug)]
pub struct ResponseHead<'a> {
    /// HTTP status, 100 to 999.
    pub status: u16,
    /// Fields in wire order, names as received, values as bytes without outer blanks.
    pub fields: &'a [(String, Bytes)],
}

impl<'a> ResponseHead<'a> {
    /// The first value of a field, its name compared case-insensitively, if it is UTF-8.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&'a str> {
        self.fields_named(name).next()
    }

    /// Every UTF-8 value of a field in wire order.
    pub fn fields_named<'n>(&self, name: &'n str) -> impl Iterator<Item = &'a str> + use<'a, 'n> {
        self.fields
            .iter()
            .filter(move |(key, _)| key.eq_ignore_ascii_case(name))
            .filter_map(|(_, value)| std::str::from_utf8(value).ok())
    }

    /// The Content-Type as received.
    #[must_use]
    pub fn content_type(&self) -> Option<&'a str> {
        self.field("content-type")
    }

    /// The Location of a redirect as received.
    #[must_use]
    pub fn location(&self) -> Option<&'a str> {
        self.field("location")
    }
}

/// A sink that keeps the decoded body: for robots.txt, other small files, and tests.
#[derive(Clone, Debug, Default)]
pub struct Collect {
    /// The decoded body so far, bounded by [`crate::Limits::max_body`].
    pub body: Vec<u8>,
}

impl Sink for Collect {
    fn head(&mut self, _head: &ResponseHead<'_>) -> Want {
        Want::Body
    }

    fn chunk(&mut self, decoded: &[u8]) {
        self.body.extend_from_slice(decoded);
    }

    #[expect(clippy::disallowed_methods, reason = "small files that speak about use, such as robots.txt, and tests")]
    fn keep(&mut self, _read: Read) -> Keep {
        Keep::unjudged()
    }
}

/// A sink that wants nothing but the head.
#[derive(Clone, Copy, Debug, Default)]
pub struct HeadOnly;

impl Sink for HeadOnly {
    fn head(&mut self, _head: &ResponseHead<'_>) -> Want {
        Want::HeadOnly
    }

    fn chunk(&mut self, _decoded: &[u8]) {}

    #[expect(clippy::disallowed_methods, reason = "it has no body")]
    fn keep(&mut self, _read: Read) -> Keep {
        Keep::unjudged()
    }
}
