use comity_url::Origin;
use serde_json::Value;

use crate::{ArchiveError, Line, Record};

/// The origin of a URL in a record; it may be cut in its path, which comes after.
pub(super) fn origin_of(url: &str) -> Option<Origin> {
    let authority = url.find("://")? + 3;
    let end = url.get(authority..)?.find(['/', '?', '#']).map_or(url.len(), |at| authority + at);
    Origin::parse(url.get(..end)?).ok()
}

/// What a record says of other origins, as JSON pointers: the page that named the URL, the origin whose robots.txt a request
/// was a hop for, the capture of the same bytes elsewhere.
///
/// Not counted in: what the origin itself said, which are its own bytes, such as a redirect, or links.
pub(super) fn of_others(record: &Record, origin: &Origin) -> Vec<&'static str> {
    let other = |url: &str| origin_of(url).as_ref() != Some(origin);
    let mut paths = Vec::new();
    if record.discovery.via.as_deref().is_some_and(other) {
        paths.push(VIA);
    }
    if record.robots.as_ref().is_some_and(|robots| other(&robots.for_origin)) {
        paths.push(ROBOTS);
    }
    if record.response.as_ref().and_then(|response| response.repeats.as_ref()).is_some_and(|one| other(&one.url)) {
        paths.push(REPEATS);
    }
    paths
}

const VIA: &str = "/discovery/via";
const ROBOTS: &str = "/robots";
const REPEATS: &str = "/response/repeats";

/// True when the WARC response of a record names another origin, too: a revisit of what lies there.
pub(super) fn in_response(withheld: &[&str]) -> bool {
    withheld.contains(&REPEATS)
}

/// The record without these parts, and the line that shows it: its place in the chain is proven, its content is not.
pub(super) fn shown(line: &Line, withheld: &[&'static str]) -> Result<(Record, String), ArchiveError> {
    let wrong = |e: serde_json::Error| ArchiveError::io(std::path::Path::new("records"), e.into());
    // Of a line that an erasure amended, what stands in its tombstone.
    let Some(body) = line.standing() else {
        return Err(wrong(serde::de::Error::custom("the line was erased")));
    };
    let mut value: Value = serde_json::from_str(body).map_err(wrong)?;
    for path in withheld {
        if let Some(part) = value.pointer_mut(path) {
            *part = Value::Null;
        }
    }
    let crate::Line { seq, prev, commitment, link, .. } = line;
    let (paths, body) =
        (serde_json::to_string(withheld).map_err(wrong)?, serde_json::to_string(&value).map_err(wrong)?);
    let text = format!(
        "{{\"v\":1,\"seq\":{seq},\"prev\":\"{prev}\",\"commitment\":\"{commitment}\",\"link\":\"{link}\",\
         \"withheld\":{paths},\"shown\":{body}}}"
    );
    // From its text, as everywhere: reading records from a `Value` would be compiled beside it.
    Ok((serde_json::from_str(&body).map_err(wrong)?, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_origin_of_a_url_is_read_from_its_begin() {
        let rows = [
            ("http://a.test/x?y#z", Some("http://a.test")),
            ("https://a.test:8443", Some("https://a.test:8443")),
            ("http://a.test?x", Some("http://a.test")),
            ("http://[::1]:80/%c", Some("http://[::1]")),
            ("mailto:a@b.test", None),
            ("a.test/", None),
            ("://", None),
        ];
        for (url, origin) in rows {
            assert_eq!(origin_of(url).as_ref().map(Origin::as_str), origin, "{url}");
        }
    }
}
