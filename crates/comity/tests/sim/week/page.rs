//! The pages of the week: of four kinds, by how they change and what they say of it.

use std::fmt::Write as _;

use super::net::path;

const DAY_US: u64 = 86_400_000_000;

/// A representation, as a server would send it now.
pub(crate) struct Page {
    kind: &'static str,
    /// Name of the field, and its value.
    validator: Option<(&'static str, String)>,
    body: String,
}

/// A validator of page `page` in the version of `day`, by its kind: one in four changes every day and has an `ETag`; one never
/// changes and has an `ETag`, one `Last-Modified`, one neither.
pub(crate) fn validator(page: u32, day: u64) -> Option<(&'static str, String)> {
    match page % 4 {
        0 => Some(("ETag", format!("\"{page}-{day}\""))),
        1 => Some(("ETag", format!("W/\"{page}\""))),
        2 => Some(("Last-Modified", "Mon, 30 Nov 2026 00:00:00 GMT".to_owned())),
        _ => None,
    }
}

/// The day in which a moment of the crawl lies.
pub(crate) const fn day(now_us: u64) -> u64 {
    now_us / DAY_US
}

impl Page {
    /// A page now. The front page leads to all others, the one that may not be fetched among them.
    pub(crate) fn of(page: u32, pages: u32, now_us: u64) -> Self {
        let version = if page.is_multiple_of(4) { day(now_us) } else { 0 };
        let mut body = format!("<!doctype html><title>{page}</title><p>Page {page} of the week, version {version}");
        for linked in if page == 0 { 1..pages + 1 } else { 0..0 } {
            write!(body, " <a href={}>{linked}</a>", path(linked, pages)).unwrap();
        }
        Self { kind: "text/html", validator: validator(page, version), body }
    }

    /// What the client holds is this very page (RFC 9110 §13.1).
    pub(crate) fn is_held_by(&self, [tag, date]: [Option<&str>; 2]) -> bool {
        let held = tag.or(date);
        self.validator.as_ref().is_some_and(|(_, value)| held == Some(value.as_str()))
    }

    pub(crate) fn answer(self, is_known: bool) -> String {
        let Self { kind, validator, body } = self;
        let validator = validator.map(|(name, value)| format!("{name}: {value}\r\n")).unwrap_or_default();
        if is_known {
            return format!("HTTP/1.1 304 Not Modified\r\n{validator}\r\n");
        }
        let length = body.len();
        format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n{validator}Content-Length: {length}\r\n\r\n{body}")
    }
}

/// The rules of an origin, which never change.
pub(crate) fn robots(delay: u64) -> Page {
    let body = format!("User-agent: *\nCrawl-delay: {delay}\nDisallow: /private/\n");
    Page { kind: "text/plain", validator: Some(("ETag", format!("\"rules-{delay}\""))), body }
}
