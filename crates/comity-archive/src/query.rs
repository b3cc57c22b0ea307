//! What is written of the queries of URLs: they may hold what is about a person.

use std::borrow::Cow;
use std::sync::Arc;

use comity_policy::{Decision, Errand, NamedLicence};
use comity_signals::RslCarrier;
use comity_url::CrawlUrl;

use crate::digests::sha256;
use crate::{Basis, Event, Fetched, NotFetched, Target};

/// What of a URL's query is written, wherever a record or a WARC file names the URL (docs/decisions/0083).
///
/// It stands for the URL that was asked for, the one it was found on, and `Location` and `Content-Location` of answers. Bodies and other
/// fields are as they were received.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueryForm {
    /// The query.
    #[default]
    Keep,
    /// In its place `comity-query=` and 32 hex digits: the begin of the SHA-256 of the whole URL. The same URL is the same text. Whoever
    /// can guess the query can try whether it was this one.
    Hash,
    /// Nothing, and no question mark.
    Drop,
}

/// Begins what stands in place of a query.
const MARK: &str = "comity-query=";
/// Hex digits behind it: 128 bits.
const DIGITS: usize = 32;

impl QueryForm {
    /// What records say of a URL whose query is not there: `hashed` or `dropped`; `None` for one that was kept.
    #[must_use]
    pub const fn word(self) -> Option<&'static str> {
        match self {
            Self::Keep => None,
            Self::Hash => Some("hashed"),
            Self::Drop => Some("dropped"),
        }
    }

    /// The form that [`Self::word`] names.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Hash, Self::Drop].into_iter().find(|form| form.word() == Some(word))
    }

    /// A URL, or a reference to one, as it is written. What was written so before is no exception: a site may name its own URLs like that.
    #[must_use]
    pub fn text(self, text: &str) -> Cow<'_, str> {
        if self == Self::Keep {
            return Cow::Borrowed(text);
        }
        // A fragment is no part of what is asked for, and may say as much as the query: it goes, whatever stands before it.
        let before = text.split_once('#').map_or(text, |(before, _)| before);
        let Some((path, _)) = before.split_once('?') else { return Cow::Borrowed(before) };
        let mut written = path.to_owned();
        if self == Self::Hash {
            let digest = sha256(before.as_bytes()).to_string();
            written.push('?');
            written.push_str(MARK);
            written.push_str(digest.get(..DIGITS).unwrap_or(&digest));
        }
        Cow::Owned(written)
    }

    /// A URL as it is written; without anything in place of its query where that would make it longer than URLs may be; the root of its
    /// origin where that is no URL either, which is no case known.
    #[must_use]
    pub fn url(self, url: &CrawlUrl) -> CrawlUrl {
        match self.text(url.as_str()) {
            Cow::Borrowed(_) => url.clone(),
            Cow::Owned(text) => CrawlUrl::parse(&text)
                .or_else(|_| CrawlUrl::parse(&Self::Drop.text(url.as_str())))
                .or_else(|_| CrawlUrl::parse(&format!("{}/", url.origin())))
                .unwrap_or_else(|_| url.clone()),
        }
    }

    /// Path and query that an outcome was judged by, where its URL is written otherwise: what other agents meet is said of them.
    pub(crate) fn judged(self, event: &Event) -> Option<&str> {
        let url = match event {
            Event::Fetched(fetched) => &fetched.capture.url,
            Event::NotFetched(outcome) => match &outcome.target {
                Target::Url(url) => url,
                Target::Text(_) => return None,
            },
        };
        url.query().filter(|_| self != Self::Keep).map(|_| url.request_target())
    }

    /// An outcome as it is written: what of it comes from the archive, too (`earlier`), which may have been begun with another form.
    pub(crate) fn event(self, event: Cow<'_, Event>) -> Cow<'_, Event> {
        if self == Self::Keep {
            return event;
        }
        let mut event = event.into_owned();
        match &mut event {
            Event::Fetched(fetched) => self.fetched(fetched),
            Event::NotFetched(outcome) => self.not_fetched(outcome),
        }
        Cow::Owned(event)
    }

    fn fetched(self, event: &mut Fetched) {
        let Fetched { capture, context, earlier, errand, .. } = event;
        if let Errand::Judged(decision) = errand {
            self.decision(decision);
        }
        // Of a run before this one it may be written so already, and of one that kept queries it is not.
        if let Some(earlier) = earlier.as_mut().filter(|earlier| !(self == Self::Hash && stands_for_one(&earlier.url)))
        {
            earlier.url = self.url(&earlier.url);
        }
        if capture.url.query().is_some() {
            context.query = self;
        }
        context.via = context.via.as_ref().map(|url| self.url(url));
        for (_, value) in capture.fields.iter_mut().filter(|(name, _)| names_a_url(name.as_bytes())) {
            if let Some(written) = self.reference(&capture.url, value) {
                *value = written.into();
            }
        }
        capture.url = self.url(&capture.url);
    }

    fn not_fetched(self, event: &mut NotFetched) {
        let NotFetched { target, context, basis, .. } = event;
        if let Basis::Decision(decision) = basis {
            self.decision(decision);
        }
        if has_query(target.as_str()) {
            context.query = self;
        }
        context.via = context.via.as_ref().map(|url| self.url(url));
        *target = match &*target {
            Target::Url(url) => Target::Url(self.url(url)),
            Target::Text(text) => Target::Text(self.text(text).into_owned()),
        };
    }

    /// A licence within a page stands where the page does.
    fn decision(self, decision: &mut Arc<Decision>) {
        let is_within = |licence: &NamedLicence| licence.carrier == RslCarrier::Inline && licence.url.query().is_some();
        if decision.site.licences.iter().any(is_within) {
            for licence in Arc::make_mut(decision).site.licences.iter_mut().filter(|licence| is_within(licence)) {
                licence.url = self.url(&licence.url);
            }
        }
    }

    /// The value of a field that names a URL, as it is written: whole, as the URL that it leads to; `None` where it stays.
    fn reference(self, base: &CrawlUrl, value: &[u8]) -> Option<String> {
        if self == Self::Keep || !may_say_more(value) {
            return None;
        }
        let text = String::from_utf8_lossy(value);
        Some(match base.join(text.trim()) {
            Ok(url) => self.url(&url).as_str().to_owned(),
            Err(_) => self.text(&text).into_owned(),
        })
    }

    /// The first line of a request for `url`, which is as it is written.
    pub(crate) fn request_line(self, line: &[u8], url: &CrawlUrl) -> Option<Vec<u8>> {
        let from = line.iter().position(|b| *b == b'?').filter(|_| self != Self::Keep)?;
        let end = line.iter().rposition(|b| *b == b' ').filter(|end| *end > from).unwrap_or(line.len());
        let (before, after) = (line.get(..from)?, line.get(end..)?);
        let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
        Some([before, query.as_bytes(), after].concat())
    }
}

/// Fields of an answer whose whole value is a URL: the next that is asked for, or another name of this one.
pub(crate) fn names_a_url(name: &[u8]) -> bool {
    [&b"location"[..], b"content-location"].iter().any(|field| name.eq_ignore_ascii_case(field))
}

/// Whether the value of such a field may name more than a path.
pub(crate) fn may_say_more(value: &[u8]) -> bool {
    value.iter().any(|b| matches!(b, b'?' | b'#'))
}

fn has_query(text: &str) -> bool {
    text.split('#').next().is_some_and(|before| before.contains('?'))
}

/// Whether the query of a URL of the archive's stands for another.
pub(crate) fn stands_for_one(url: &CrawlUrl) -> bool {
    let digits = url.query().and_then(|query| query.strip_prefix(MARK));
    digits.is_some_and(|digits| digits.len() == DIGITS && digits.bytes().all(|b| b.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_written_as_its_form_says() {
        let hashed = |text: &str| QueryForm::Hash.text(text).into_owned();
        let rows = [
            ("http://a.test/x?name=Ada", "http://a.test/x"),
            ("http://a.test/x?", "http://a.test/x"),
            ("http://a.test/x?a=?b", "http://a.test/x"),
            ("/x?a#b?c", "/x"),
            ("http://a.test/x", "http://a.test/x"),
            ("http://a.test/x#a?b", "http://a.test/x"),
            ("http://a.test/x#name=Ada", "http://a.test/x"),
            ("/x#?name=Ada", "/x"),
            ("#name=Ada", ""),
        ];
        for (text, dropped) in rows {
            assert_eq!(QueryForm::Keep.text(text), text);
            assert_eq!(QueryForm::Drop.text(text), dropped, "{text}");
            let once = hashed(text);
            assert_eq!(once.split('?').next(), dropped.split('?').next(), "{text}");
            assert_eq!(once.contains('?'), has_query(text), "{text}");
            assert!(!once.contains("Ada"), "{once}");
        }
        let ada = hashed("http://a.test/x?name=Ada");
        assert_eq!(ada.len(), "http://a.test/x?".len() + MARK.len() + DIGITS, "{ada}");
        assert_ne!(ada, hashed("http://a.test/x?name=Bob"));
        // A site may name a URL as another is written: these are two pages.
        assert_ne!(ada, hashed(&ada));
        assert_ne!(ada.split_once('?').unwrap().1, hashed("http://a.test/y?name=Ada").split_once('?').unwrap().1);
    }

    #[test]
    fn a_hash_makes_no_other_page_of_a_long_url() {
        let path = "a".repeat(comity_url::MAX_CRAWL_URL_BYTES - "http://a.test/?x".len());
        let url = CrawlUrl::parse(&format!("http://a.test/{path}?x")).unwrap();
        assert_eq!(QueryForm::Hash.url(&url).as_str(), format!("http://a.test/{path}"));
    }

    #[test]
    fn a_redirect_is_written_as_the_request_that_follows_it() {
        let base = CrawlUrl::parse("http://a.test/one/two?x").unwrap();
        for (form, location) in
            [(QueryForm::Hash, "../three?q=1"), (QueryForm::Drop, "../three?q=1"), (QueryForm::Hash, " /three?q=1 ")]
        {
            let next = form.url(&base.join(location).unwrap());
            assert_eq!(form.reference(&base, location.as_bytes()).as_deref(), Some(next.as_str()), "{location}");
        }
        for form in [QueryForm::Hash, QueryForm::Drop] {
            assert_eq!(form.reference(&base, b"/three#?name=Ada").as_deref(), Some("http://a.test/three"));
            assert_eq!(form.reference(&base, b"#name=Ada").as_deref(), Some(form.url(&base).as_str()));
        }
        assert_eq!(QueryForm::Drop.reference(&base, b"/three"), None);
        assert_eq!(QueryForm::Keep.reference(&base, b"/three?q"), None);
    }

    #[test]
    fn request_lines_name_what_is_written() {
        let url = CrawlUrl::parse("http://a.test/x?name=Ada").unwrap();
        let line = |form: QueryForm, line: &[u8]| {
            form.request_line(line, &form.url(&url)).map(|line| String::from_utf8(line).unwrap())
        };
        let dropped = line(QueryForm::Drop, b"GET /x?name=Ada HTTP/1.1");
        assert_eq!(dropped.as_deref(), Some("GET /x HTTP/1.1"));
        // As a proxy is asked.
        let hashed = line(QueryForm::Hash, b"GET http://a.test/x?name=Ada HTTP/1.1").unwrap();
        assert_eq!(hashed, format!("GET {} HTTP/1.1", QueryForm::Hash.url(&url)));
        assert_eq!(line(QueryForm::Keep, b"GET /x?name=Ada HTTP/1.1"), None);
        assert_eq!(line(QueryForm::Drop, b"GET /x HTTP/1.1"), None);
    }
}
