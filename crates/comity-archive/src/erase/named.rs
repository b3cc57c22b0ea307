use comity_policy::{Digest, WallTime};
use comity_url::{CrawlUrl, Origin};

use crate::QueryForm;
use crate::warc::text::target_uri;

/// What is to be erased.
#[derive(Clone, Debug)]
pub enum Named {
    /// Every visit of a URL.
    Url(CrawlUrl),
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
            Self::Origin(origin) => origin.as_str().to_owned(),
            Self::Payload(digest) => digest.to_string(),
            Self::Before(at) => at.to_string(),
        }
    }

    /// How texts name it; nothing for what has no name.
    pub(super) fn needle(&self) -> Option<Needle> {
        match self {
            Self::Url(url) => {
                let text = url.as_str();
                let mut forms = vec![text.to_ascii_lowercase(), target_uri(text).to_ascii_lowercase()];
                forms.push(QueryForm::Hash.text(text).to_ascii_lowercase());
                forms.dedup();
                Some(Needle { forms, is_url: true })
            }
            // The same name without its port, or under the other scheme, is another origin: not told apart here, since a text
            // may name it without either.
            Self::Origin(origin) => {
                Some(Needle { forms: vec![origin.authority().to_ascii_lowercase()], is_url: false })
            }
            Self::Payload(_) | Self::Before(_) => None,
        }
    }

    pub(super) fn is_url(&self, url: &str) -> bool {
        match self {
            Self::Url(wanted) => wanted.as_str() == url || QueryForm::Hash.text(wanted.as_str()) == url,
            Self::Origin(origin) => CrawlUrl::parse(url).is_ok_and(|url| url.origin() == origin),
            Self::Payload(_) | Self::Before(_) => false,
        }
    }
}

/// Finds a URL, or the host and port of an origin, in texts. Letter case does not count.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Needle {
    forms: Vec<String>,
    is_url: bool,
}

impl Needle {
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
        self.is_url || before.is_none_or(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_')))
    }

    fn ends(&self, after: &[u8]) -> bool {
        match after {
            [] => true,
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
        let rows: [(&Needle, &str, bool); 16] = [
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
}
