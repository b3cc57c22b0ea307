use std::time::Duration;

use bytes::Bytes;

use crate::Coding;

/// Where a link or a redirect points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A reference on the same origin, written into the page as it stands (`/a?b`).
    Here(String),
    /// A path on another origin of the web, by its number; written as an absolute URL.
    At(usize, String),
    /// Written as it stands: an absolute URL outside the web, or nonsense.
    Verbatim(String),
}

impl Target {
    /// A path on the same origin.
    #[must_use]
    pub fn here(path: impl Into<String>) -> Self {
        Self::Here(path.into())
    }

    /// A path on the origin number `site`.
    #[must_use]
    pub fn at(site: usize, path: impl Into<String>) -> Self {
        Self::At(site, path.into())
    }
}

impl From<&str> for Target {
    /// Text starting with `/` is a path here; anything else stays as it stands.
    fn from(text: &str) -> Self {
        if text.starts_with('/') { Self::Here(text.to_owned()) } else { Self::Verbatim(text.to_owned()) }
    }
}

/// One answer of a synthetic site: status, fields, body, and how the wire misbehaves while it is sent.
///
/// A value: nothing is rendered before a request asks for it.
///
/// ```
/// use std::time::Duration;
/// use comity_testweb::{Answer, Coding, Target};
///
/// let busy = Answer::retry_after(503, 7);
/// let away = Answer::redirect(302, Target::at(3, "/private/x"));
/// let slow = Answer::page(["/a", "/b"]).bytes(20_000).coding(Coding::Gzip).delay(Duration::from_millis(50));
/// # let _ = (busy, away, slow);
/// ```
#[derive(Clone, Debug)]
pub struct Answer {
    pub(crate) status: u16,
    pub(crate) content_type: Option<String>,
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) body: Content,
    pub(crate) links: Vec<Target>,
    pub(crate) location: Option<Target>,
    pub(crate) retry_after: Option<RetryAfter>,
    pub(crate) delay: Duration,
    pub(crate) coding: Coding,
    pub(crate) chunked: bool,
    pub(crate) pace: Option<Pace>,
    pub(crate) wire: Wire,
}

/// What stands in the body.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    Empty,
    Bytes(Bytes),
    /// An HTML page with the answer's links, filled up to this many bytes.
    Page(u64),
}

/// The Retry-After field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RetryAfter {
    Seconds(u64),
    /// An HTTP-date this long after the answer's Date.
    Date(Duration),
    /// As written: garbage, a past date.
    Raw(String),
}

/// So many bytes, then a wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    pub(crate) chunk: usize,
    pub(crate) every: Duration,
}

/// What the connection does with the answer.
#[derive(Clone, Debug)]
pub(crate) enum Wire {
    Sound,
    /// Takes the request and never answers.
    Silence,
    /// Takes the request and resets the connection.
    Reset,
    /// Resets after so many bytes of the response, head included.
    Cut(u64),
    /// These bytes instead of a response, then the end of the connection.
    Raw(Bytes),
}

impl Answer {
    /// An empty answer with this status. 1xx and unknown statuses above 999 are answered as 500: send those [`raw`](Self::raw).
    #[must_use]
    pub const fn status(status: u16) -> Self {
        Self {
            status,
            content_type: None,
            fields: Vec::new(),
            body: Content::Empty,
            links: Vec::new(),
            location: None,
            retry_after: None,
            delay: Duration::ZERO,
            coding: Coding::Identity,
            chunked: false,
            pace: None,
            wire: Wire::Sound,
        }
    }

    /// 200 with a plain text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::status(200).content("text/plain; charset=utf-8", text.into())
    }

    /// 200 with an HTML page that holds these links and a little text.
    #[must_use]
    pub fn page<T: Into<Target>>(links: impl IntoIterator<Item = T>) -> Self {
        let mut page = Self::status(200);
        page.content_type = Some("text/html; charset=utf-8".to_owned());
        page.body = Content::Page(0);
        page.links = links.into_iter().map(Into::into).collect();
        page
    }

    /// A redirect with this status and a Location.
    #[must_use]
    pub fn redirect(status: u16, to: impl Into<Target>) -> Self {
        let mut redirect = Self::status(status);
        redirect.location = Some(to.into());
        redirect
    }

    /// This status with `Retry-After: seconds`.
    #[must_use]
    pub fn retry_after(status: u16, seconds: u64) -> Self {
        let mut busy = Self::status(status).content("text/html", "<h1>busy</h1>");
        busy.retry_after = Some(RetryAfter::Seconds(seconds));
        busy
    }

    /// This status with a Retry-After that is an HTTP-date `after` the answer's own Date (whole seconds).
    #[must_use]
    pub fn retry_at(status: u16, after: Duration) -> Self {
        Self { retry_after: Some(RetryAfter::Date(after)), ..Self::retry_after(status, 0) }
    }

    /// This status with a Retry-After written as it stands: `abc`, a past date.
    #[must_use]
    pub fn retry_text(status: u16, value: impl Into<String>) -> Self {
        Self { retry_after: Some(RetryAfter::Raw(value.into())), ..Self::retry_after(status, 0) }
    }

    /// Takes the request and never answers. The connection ends after ten minutes at the latest.
    #[must_use]
    pub fn silence() -> Self {
        let mut silence = Self::status(200);
        silence.wire = Wire::Silence;
        silence
    }

    /// Takes the request and resets the connection.
    #[must_use]
    pub fn reset() -> Self {
        let mut reset = Self::status(200);
        reset.wire = Wire::Reset;
        reset
    }

    /// These very bytes instead of a response, then the end of the connection. The auditor reads status line,
    /// Location-less fields and body of it; a chunked body it counts as broken.
    #[must_use]
    pub fn raw(bytes: impl Into<Bytes>) -> Self {
        Self { wire: Wire::Raw(bytes.into()), ..Self::status(200) }
    }

    /// Replaces content type and body.
    #[must_use]
    pub fn content(mut self, content_type: impl Into<String>, body: impl Into<Bytes>) -> Self {
        self.content_type = Some(content_type.into());
        self.body = Content::Bytes(body.into());
        self
    }

    /// Replaces the status.
    #[must_use]
    pub const fn with_status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// Adds a field. A name or value that HTTP cannot carry makes the answer a 500 that says so. With a Content-Encoding of
    /// your own, the auditor takes the body as one that cannot be decoded: [`coding`](Self::coding) makes sound ones.
    #[must_use]
    pub fn field(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.fields.push((name.into(), value.into()));
        self
    }

    /// Adds a link to a page's body, or declares one that a body of your own holds (for [`crate::Expected`]).
    #[must_use]
    pub fn link(mut self, to: impl Into<Target>) -> Self {
        self.links.push(to.into());
        self
    }

    /// Fills a page with text up to this many bytes; generated while it is sent.
    #[must_use]
    pub fn bytes(mut self, size: u64) -> Self {
        if let Content::Page(least) = &mut self.body {
            *least = size;
        }
        self
    }

    /// Waits so long, on top of the site's latency, before the response head is sent.
    #[must_use]
    pub const fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Codes the body and says so in Content-Encoding. A coded body is held whole while it is sent.
    #[must_use]
    pub const fn coding(mut self, coding: Coding) -> Self {
        self.coding = coding;
        self
    }

    /// Sends the body in chunks instead of with a Content-Length.
    #[must_use]
    pub const fn chunked(mut self) -> Self {
        self.chunked = true;
        self
    }

    /// Resets the connection after so many bytes of the response, head included; a response that is no longer is whole.
    /// [`crate::Expected`] takes it as cut in any case.
    #[must_use]
    pub fn cut_after(mut self, bytes: u64) -> Self {
        self.wire = Wire::Cut(bytes);
        self
    }

    /// Sends the body (of a [`raw`](Self::raw) answer: everything) in pieces of `chunk` bytes, one every `every`.
    #[must_use]
    pub const fn trickle(mut self, chunk: usize, every: Duration) -> Self {
        self.pace = Some(Pace { chunk: if chunk == 0 { 1 } else { chunk }, every });
        self
    }
}
