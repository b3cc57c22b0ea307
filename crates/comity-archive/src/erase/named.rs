use std::borrow::Cow;

use comity_policy::{Digest, WallTime};
use comity_url::{CrawlUrl, Origin};

use crate::QueryForm;
use crate::query::stands_for_one;
use crate::warc::text::target_uri;

/// What is to be erased.
#[derive(Clone, Debug)]
pub enum Named {
    /// Every visit of a URL. One with a query takes those of its path along of which no query was written: it may be theirs. One without stands
    /// for itself, but in a crawl that writes no queries, for [`Named::Path`].
    Url(CrawlUrl),
    /// Every visit of a URL, whatever its query.
    Path(CrawlUrl),
    /// Everything of an origin.
    Origin(Origin),
    /// A body, by the SHA-256 of its bytes as received.
    Payload(Digest),
    /// Whatever was fetched before that moment.
    Before(WallTime),
}

/// How far an erasure goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Bodies go; what was asked, answered and decided stays.
    Payload,
    /// Record lines and all their WARC records go, too: URL, header fields, decision.
    Records,
}

/// An erasure that is asked for.
#[derive(Clone, Debug)]
pub struct Erasure {
    /// What.
    pub named: Named,
    /// How far.
    pub depth: Depth,
    /// Pages of others that name a URL or an origin in their bodies lose these, too. Without, they are only told.
    pub mentions: bool,
    /// Why, for people: up to 500 characters.
    pub reason: String,
    /// The request that it answers: the caller's reference, up to 200 characters.
    pub request: String,
}

/// Bodies below this are no copies of each other: too many are the same by chance (as for de-duplication).
pub(super) const LEAST_COPY: u64 = 512;

impl Named {
    pub(super) const fn kind(&self, depth: Depth) -> &'static str {
        match (self, depth) {
            (Self::Url(_), _) => "url",
            (Self::Path(_), _) => "path",
            (Self::Origin(_), _) => "origin",
            (Self::Payload(_), _) => "payload_digest",
            (Self::Before(_), Depth::Payload) => "payloads_before",
            (Self::Before(_), Depth::Records) => "records_before",
        }
    }

    /// The text of it.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Url(url) => url.as_str().to_owned(),
            Self::Path(url) => QueryForm::Drop.text(url.as_str()).into_owned(),
            Self::Origin(origin) => origin.as_str().to_owned(),
            Self::Payload(digest) => digest.to_string(),
            Self::Before(at) => at.to_string(),
        }
    }

    /// How texts name it; nothing for what has no name.
    pub(super) fn needle(&self) -> Option<Needle> {
        match self {
            Self::Url(url) => {
                let mut needle = Needle::of_url(url.as_str());
                needle.forms.push(QueryForm::Hash.text(url.as_str()).to_ascii_lowercase());
                needle.forms.dedup();
                Some(needle)
            }
            Self::Path(_) => Some(Needle { any_query: true, ..Needle::of_url(&self.text()) }),
            // The same name without its port, or under the other scheme, is another origin: not told apart here, since a text
            // may name it without either.
            Self::Origin(origin) => {
                Some(Needle { forms: vec![origin.authority().to_ascii_lowercase()], ..Needle::default() })
            }
            Self::Payload(_) | Self::Before(_) => None,
        }
    }

    /// How references without scheme and host name it, on pages of its own origin: by path and query. The path alone, of a URL without a
    /// query, is too common a text: it counts where it begins the value of an attribute, or of a `url()`. Nothing for `/`.
    pub(super) fn relative(&self) -> Option<Relative> {
        let (url, any_query) = match self {
            Self::Url(url) if url.request_target() != "/" => (url, false),
            Self::Path(url) => (url, true),
            _ => return None,
        };
        let is_value = matches!(self, Self::Url(url) if url.query().is_none());
        let written = if is_value { Written::Value } else { Written::Relative };
        let target = url.request_target().to_ascii_lowercase();
        let form = if any_query { format!("{}?", QueryForm::Drop.text(&target)) } else { target };
        let mut forms = vec![form.replace('&', "&amp;"), form];
        forms.dedup();
        let needle = Needle { forms, is_url: true, any_query, written };
        Some(Relative { origin: url.origin().clone(), needle })
    }

    /// Whether a URL is meant, as it was asked for, or waits to be.
    #[must_use]
    pub fn is(&self, url: &CrawlUrl) -> bool {
        match self {
            // Or it is named as it was written.
            Self::Url(wanted) => wanted == url || stands_for_one(wanted) && QueryForm::Hash.url(url) == *wanted,
            Self::Path(wanted) => is_path(wanted, url.as_str()),
            Self::Origin(origin) => url.origin() == origin,
            Self::Payload(_) | Self::Before(_) => false,
        }
    }

    /// Whether captures that were written under this URL may be of what is meant.
    #[must_use]
    pub fn may_be(&self, written: &CrawlUrl) -> bool {
        let forms = [QueryForm::Hash, QueryForm::Drop];
        let is_written = |wanted: &CrawlUrl| forms.iter().any(|form| form.url(wanted) == *written);
        self.is(written) || matches!(self, Self::Url(wanted) if is_path(wanted, written.as_str()) && is_written(wanted))
    }

    /// Whether the URL of a record, or of a sighting, is meant; `query` is what the record says of its query.
    pub(super) fn is_text(&self, url: &str, query: Option<&str>) -> bool {
        match self {
            Self::Url(wanted) => {
                let is_written = || self.written(query).is_some_and(|written| written == url);
                wanted.as_str() == url || query.is_some() && is_path(wanted, url) && is_written()
            }
            Self::Path(_) => self.text() == QueryForm::Drop.text(url),
            Self::Origin(origin) => CrawlUrl::parse(url).is_ok_and(|url| url.origin() == origin),
            Self::Payload(_) | Self::Before(_) => false,
        }
    }

    /// A URL as a record writes it that says this of its query.
    pub(super) fn written(&self, query: Option<&str>) -> Option<String> {
        let form = query.and_then(QueryForm::from_word).unwrap_or_default();
        match self {
            Self::Url(wanted) => Some(form.url(wanted).as_str().to_owned()),
            Self::Path(_) => Some(self.text()),
            _ => None,
        }
    }

    /// The URL without its query that visits were written under whose query is not known.
    pub(super) fn path(&self) -> Option<Cow<'_, str>> {
        let Self::Url(url) = self else { return None };
        url.query().map(|_| QueryForm::Drop.text(url.as_str()))
    }
}

/// Whether a URL differs from another by its query alone.
fn is_path(one: &CrawlUrl, other: &str) -> bool {
    QueryForm::Drop.text(one.as_str()) == QueryForm::Drop.text(other)
}

/// Finds a URL, or the host and port of an origin, in texts. Letter case does not count.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Needle {
    forms: Vec<String>,
    is_url: bool,
    /// Of a URL: whatever query is behind it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    any_query: bool,
    #[serde(skip)]
    written: Written,
}

/// How what is looked for is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Written {
    /// With its host.
    #[default]
    Whole,
    /// Without scheme and host.
    Relative,
    /// The same, and only where a value begins.
    Value,
}

/// Finds references to a URL on pages of its own origin.
#[derive(Clone, Debug)]
pub(super) struct Relative {
    origin: Origin,
    pub(super) needle: Needle,
}

impl Relative {
    /// What finds them on a page.
    pub(super) fn on(&self, page: &str) -> Option<&Needle> {
        // The text settles most.
        let is_of = page.starts_with(self.origin.as_str())
            && CrawlUrl::parse(page).is_ok_and(|url| *url.origin() == self.origin);
        is_of.then_some(&self.needle)
    }

    /// The same in what a record says of a page, where a rule of robots.txt is a value, too.
    pub(super) fn in_record(&self, page: &str) -> Option<&Needle> {
        self.on(page).filter(|needle| needle.written != Written::Value)
    }
}

impl Needle {
    fn of_url(text: &str) -> Self {
        let mut forms = vec![text.to_ascii_lowercase(), target_uri(text).to_ascii_lowercase()];
        forms.dedup();
        Self { forms, is_url: true, any_query: false, written: Written::Whole }
    }

    /// Whether a version that knows nothing of queries takes it for what it is.
    pub(super) const fn is_plain(&self) -> bool {
        !self.any_query
    }

    /// The longest form: what a search in pieces has to carry over, with the byte before and one less than are judged behind.
    pub(crate) fn longest(&self) -> usize {
        self.forms.iter().map(String::len).max().unwrap_or_default() + AFTER
    }

    pub(crate) fn finds(&self, text: &[u8]) -> bool {
        self.finds_in(text, (true, true))
    }

    /// In a piece of a text, which may be its begin and its end. Whatever has neighbours that are not in the piece is passed over:
    /// pieces that overlap by [`Self::longest`] hold it whole.
    pub(super) fn finds_in(&self, text: &[u8], (is_begin, is_end): (bool, bool)) -> bool {
        let text = text.to_ascii_lowercase();
        self.forms.iter().any(|form| {
            let form = form.as_bytes();
            memchr::memmem::find_iter(&text, form).any(|at| {
                let before = at.checked_sub(1).and_then(|at| text.get(at)).copied();
                let after = text.get(at + form.len()..).unwrap_or_default();
                let is_known = (is_begin || before.is_some()) && (is_end || after.len() >= AFTER);
                is_known && self.begins(before) && self.ends(after)
            })
        })
    }

    fn begins(&self, before: Option<u8>) -> bool {
        if self.written == Written::Value {
            return before.is_some_and(|b| matches!(b, b'"' | b'\'' | b'=' | b'('));
        }
        let is_relative = self.written != Written::Whole;
        let is_whole = self.is_url && !is_relative;
        // Behind a slash a path goes on, behind a host another origin.
        is_whole
            || before.is_none_or(|b| b != b'/' || !is_relative)
                && before.is_none_or(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_')))
    }

    fn ends(&self, after: &[u8]) -> bool {
        match after {
            [] => true,
            _ if self.any_query && self.written != Written::Whole => true,
            [b'?', ..] if self.any_query => true,
            [b, ..] if self.is_url => {
                !(b.is_ascii_alphanumeric() || b"-._~%/?&=+:@!$*;,[]|^{}".contains(b) && !is_stop(after))
            }
            [b'.', next, ..] => !(next.is_ascii_alphanumeric() || matches!(next, b'-' | b'_')),
            [b, ..] => !(b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_')),
        }
    }
}

/// Bytes behind a name that are looked at.
const AFTER: usize = 2;

/// A mark that ends a sentence, or what stands around a URL, and not the URL.
fn is_stop(after: &[u8]) -> bool {
    let Some((mark, rest)) = after.split_first() else { return true };
    matches!(mark, b'.' | b',' | b';' | b':' | b'!' | b'?' | b']' | b'}')
        && rest
            .first()
            .is_none_or(|b| b.is_ascii_whitespace() || matches!(b, b'"' | b'\'' | b'<' | b')' | b',' | b'}' | b'\\'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_whole() {
        let origin = Named::Origin(Origin::parse("http://a.test").unwrap()).needle().unwrap();
        let port = Named::Origin(Origin::parse("http://a.test:81").unwrap()).needle().unwrap();
        let url = Named::Url(CrawlUrl::parse("http://a.test/x").unwrap()).needle().unwrap();
        let path = Named::Path(CrawlUrl::parse("http://a.test/x").unwrap()).needle().unwrap();
        let rows: [(&Needle, &str, bool); 20] = [
            (&path, "http://a.test/x?y=1", true),
            (&path, "see http://A.test/x.", true),
            (&path, "http://a.test/xy?y=1", false),
            (&path, "http://a.test/x/", false),
            (&origin, "see http://A.test/x", true),
            (&origin, "a.test", true),
            (&origin, "a.test.", true),
            (&origin, "aa.test", false),
            (&origin, "www.a.test", false),
            (&origin, "a.tests", false),
            (&origin, "a.test.example", false),
            (&port, "http://a.test:81/", true),
            (&port, "http://a.test:812/", false),
            (&port, "http://a.test/", false),
            (&url, "\"http://a.test/x\"", true),
            (&url, "http://a.test/x, and", true),
            (&url, "http://a.test/x#part", true),
            (&url, "http://a.test/xy", false),
            (&url, "http://a.test/x?y", false),
            (&url, "http://a.test/x/", false),
        ];
        for (needle, text, found) in rows {
            assert_eq!(needle.finds(text.as_bytes()), found, "{text}");
        }
    }

    #[test]
    fn references_are_found_by_path_and_query_on_pages_of_the_same_origin() {
        let url = |text: &str| CrawlUrl::parse(text).unwrap();
        let named = Named::Url(url("http://a.test/x?n=1&m=2")).relative().unwrap();
        let path = Named::Path(url("http://a.test/x?n=1")).relative().unwrap();
        assert!(Named::Url(url("http://a.test/")).relative().is_none(), "every page has a / in it");
        for (page, is) in [("http://a.test/", true), ("http://a.test:81/", false), ("http://a.test.example/", false)] {
            assert_eq!(named.on(page).is_some(), is, "{page}");
        }
        let rows = [
            ("href=\"/x?n=1&m=2\"", true, true),
            ("href='/x?n=1&amp;m=2'", true, true),
            ("href=/x?n=1&m=2#y", true, true),
            ("href=/x?n=1&m=23", false, true),
            ("href=/y/x?n=1&m=2", false, false),
            ("http://b.test/x?n=1&m=2", false, false),
            ("//x?n=1&m=2", false, false),
            ("href=/x", false, false),
        ];
        for (text, by_url, by_path) in rows {
            let found = [&named, &path].map(|one| one.needle.finds(text.as_bytes()));
            assert_eq!(found, [by_url, by_path], "{text}");
        }
    }

    #[test]
    fn a_path_alone_is_found_where_it_begins_a_value_and_nowhere_in_records() {
        let named = Named::Url(CrawlUrl::parse("http://a.test/people/j-doe").unwrap()).relative().unwrap();
        let rows = [
            ("<a href=\"/people/j-doe\">", true),
            ("<a href='/People/J-Doe#top'>", true),
            ("<a href=/people/j-doe>", true),
            ("url(/people/j-doe)", true),
            ("<a href=\"/people/j-doe2\">", false),
            ("<a href=\"/people/j-doe/\">", false),
            ("<a href=\"/people/j-doe?x\">", false),
            ("<a href=\"/all/people/j-doe\">", false),
            ("he is at /people/j-doe", false),
            ("/people/j-doe", false),
        ];
        for (text, found) in rows {
            assert_eq!(named.needle.finds(text.as_bytes()), found, "{text}");
        }
        assert!(named.on("http://a.test/").is_some() && named.in_record("http://a.test/").is_none());
    }

    /// One name is enough, as a URL is asked for and as it is written in each form.
    #[test]
    fn a_url_is_meant_in_each_form_that_it_is_written_in() {
        let url = |text: &str| CrawlUrl::parse(text).unwrap();
        let asked = url("http://a.test/x?name=Ada");
        let (hashed, path) = (QueryForm::Hash.url(&asked), QueryForm::Drop.url(&asked));
        let (other, longer) = (url("http://a.test/x?name=Bob"), url("http://a.test/xy?name=Ada"));
        let (by_url, by_hash) = (Named::Url(asked.clone()), Named::Url(hashed.clone()));
        let (plain, any) = (Named::Url(path.clone()), Named::Path(path.clone()));
        // What waits in the queue.
        let rows = [
            (&by_url, [true, false, false]),
            (&by_hash, [true, false, false]),
            (&plain, [false; 3]),
            (&any, [true, true, false]),
        ];
        for (named, meant) in rows {
            assert_eq!([&asked, &other, &longer].map(|url| named.is(url)), meant, "{named:?}");
        }
        assert!(
            plain.is(&path) && any.is(&path) && !by_url.is(&path) && by_url.may_be(&path) && by_url.may_be(&hashed)
        );
        // What records say.
        let written =
            [(&asked, None), (&hashed, Some("hashed")), (&path, Some("dropped")), (&path, None), (&other, None)];
        let rows = [
            (&by_url, [true, true, true, false, false]),
            (&by_hash, [false, true, true, false, false]),
            (&plain, [false, false, true, true, false]),
            (&any, [true; 5]),
        ];
        for (named, meant) in rows {
            assert_eq!(written.map(|(url, query)| named.is_text(url.as_str(), query)), meant, "{named:?}");
        }
    }
}
