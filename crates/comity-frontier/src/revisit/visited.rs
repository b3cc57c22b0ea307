use std::time::Duration;

use comity_policy::{Digest, Validators, WallTime};
use comity_url::CrawlUrl;

use crate::UserData;
use crate::queued::{Cursor, RecordError, crawl_url, put_number};

/// What the visits of a URL so far have shown, kept only where a policy wants it to be visited anew; and what the crawl's author
/// keeps with it. One place for both: most URLs have neither, and pay for neither.
///
/// Stored form, version 1, behind the URL's own record: version (1), flags (1), then what the flags name in their order:
/// last visit (8, milliseconds since 1970 as a number of two's complement), `ETag`, `Last-Modified`, payload digest (32),
/// date of the capture (8), its id, its URL; then interval in milliseconds, and how often it was gone in a row (1). Texts
/// have their length in front; lengths and the interval are of variable length. Version 2 is the form with user data: it stands
/// at the end, its length in front.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Visited {
    /// When it was last asked for; `None`: never so far, and what is known is a hint.
    pub at: Option<WallTime>,
    /// From one visit to the next.
    pub interval: Duration,
    /// What the last whole answer offers to ask anew with (RFC 9110 §8.8), byte for byte.
    pub validators: Validators,
    /// SHA-256 of the body as last received, in its content coding.
    pub payload: Option<Digest>,
    /// Where that body lies in the archive.
    pub capture: Option<CaptureRef>,
    /// Answers 404 or 410 in a row.
    pub gone: u8,
    /// The answer that the validators belong to said nothing of its own use. Where it did, or that is not known, they are not
    /// sent: a 304 repeats neither its fields nor its page, and would be decided without its words.
    pub is_silent: bool,
    /// What the crawl's author keeps with the URL. A record of version 1 has none.
    pub user_data: Option<UserData>,
}

/// The capture that holds a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureRef {
    /// When it began.
    pub date: WallTime,
    /// The id of its WARC record; `None` where there is none.
    pub record_id: Option<Box<str>>,
    /// The URL that it was fetched from; `None`: the visited one.
    pub url: Option<CrawlUrl>,
}

/// The longest `ETag` or `Last-Modified` that is kept, in bytes. Our choice: a longer one is dropped, and the next
/// request is unconditional. Real ones have some forty.
pub const LONGEST_VALIDATOR: usize = 4096;
/// The longest id of a record.
const LONGEST_ID: usize = 256;
/// The longest URL: [`comity_url::MAX_CRAWL_URL_BYTES`] and less than what two bytes count.
const LONGEST_URL: usize = 65_535;

const VERSION: u8 = 1;
const WITH_USER_DATA: u8 = 2;
const AT: u8 = 1;
const ETAG: u8 = 2;
const LAST_MODIFIED: u8 = 4;
const PAYLOAD: u8 = 8;
const CAPTURE: u8 = 16;
const RECORD_ID: u8 = 32;
const URL: u8 = 64;
/// Not set by versions that did not look.
const SILENT: u8 = 128;

impl Visited {
    /// Never visited; the first visit is followed by another one after about `interval`.
    #[must_use]
    pub fn hinted(interval: Duration) -> Self {
        Self { interval, ..Self::default() }
    }

    /// True once it was asked for: then its validators may be sent.
    #[must_use]
    pub const fn is_visited(&self) -> bool {
        self.at.is_some()
    }

    pub(crate) fn encode_into(&self, out: &mut Vec<u8>) {
        let etag = validator(self.validators.etag.as_deref());
        let last_modified = validator(self.validators.last_modified.as_deref());
        let capture = self.capture.as_ref();
        let id = capture.and_then(|capture| capture.record_id.as_deref()).filter(|id| id.len() <= LONGEST_ID);
        let url = capture.and_then(|capture| capture.url.as_ref());
        let set = [
            (AT, self.at.is_some()),
            (ETAG, etag.is_some()),
            (LAST_MODIFIED, last_modified.is_some()),
            (PAYLOAD, self.payload.is_some()),
            (CAPTURE, capture.is_some()),
            (RECORD_ID, id.is_some()),
            (URL, url.is_some()),
            (SILENT, self.is_silent),
        ];
        let version = if self.user_data.is_some() { WITH_USER_DATA } else { VERSION };
        out.extend([version, set.into_iter().filter(|flag| flag.1).fold(0, |flags, flag| flags | flag.0)]);
        put_moment(out, self.at);
        [etag, last_modified].into_iter().flatten().for_each(|text| put_text(out, text));
        out.extend(self.payload.iter().flat_map(|digest| digest.as_bytes()));
        put_moment(out, capture.map(|capture| capture.date));
        id.into_iter().chain(url.map(CrawlUrl::as_str)).for_each(|text| put_text(out, text));
        put_number(out, u64::try_from(self.interval.as_millis()).unwrap_or(u64::MAX));
        out.push(self.gone);
        if let Some(user_data) = &self.user_data {
            put_number(out, user_data.as_bytes().len() as u64);
            out.extend(user_data.as_bytes());
        }
    }

    pub(crate) fn read(cursor: &mut Cursor<'_>) -> Result<Self, RecordError> {
        let version = cursor.byte()?;
        if !matches!(version, VERSION | WITH_USER_DATA) {
            return Err(RecordError::Version(version));
        }
        let flags = cursor.byte()?;
        let has = |flag: u8| flags & flag != 0;
        if has(RECORD_ID | URL) && !has(CAPTURE) {
            return Err(RecordError::Field("flags"));
        }
        let at = if has(AT) { Some(moment(cursor)?) } else { None };
        let etag = if has(ETAG) { Some(text(cursor, LONGEST_VALIDATOR)?.into()) } else { None };
        let last_modified = if has(LAST_MODIFIED) { Some(text(cursor, LONGEST_VALIDATOR)?.into()) } else { None };
        let payload = if has(PAYLOAD) { Some(Digest::from_bytes(cursor.array()?)) } else { None };
        let date = if has(CAPTURE) { Some(moment(cursor)?) } else { None };
        let record_id = if has(RECORD_ID) { Some(text(cursor, LONGEST_ID)?.into()) } else { None };
        let url = if has(URL) { Some(crawl_url(text(cursor, LONGEST_URL)?.as_bytes(), "capture")?) } else { None };
        let capture = date.map(|date| CaptureRef { date, record_id, url });
        let (interval, gone) = (Duration::from_millis(cursor.number()?), cursor.byte()?);
        let (validators, is_silent) = (Validators { etag, last_modified }, has(SILENT));
        let user_data = if version == WITH_USER_DATA { Some(user_data(cursor)?) } else { None };
        Ok(Self { at, interval, validators, payload, capture, gone, is_silent, user_data })
    }
}

fn validator(text: Option<&str>) -> Option<&str> {
    text.filter(|text| text.len() <= LONGEST_VALIDATOR)
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    put_number(out, text.len() as u64);
    out.extend(text.as_bytes());
}

fn put_moment(out: &mut Vec<u8>, moment: Option<WallTime>) {
    out.extend(moment.into_iter().flat_map(|moment| moment.unix_millis().to_be_bytes()));
}

fn moment(cursor: &mut Cursor<'_>) -> Result<WallTime, RecordError> {
    cursor.array().map(i64::from_be_bytes).map(WallTime::from_unix_millis)
}

fn user_data(cursor: &mut Cursor<'_>) -> Result<UserData, RecordError> {
    let length = usize::try_from(cursor.number()?).map_err(|_| RecordError::Field("length"))?;
    UserData::new(cursor.take(length)?).map_err(|_| RecordError::Field("user data"))
}

fn text<'a>(cursor: &mut Cursor<'a>, longest: usize) -> Result<&'a str, RecordError> {
    let length = usize::try_from(cursor.number()?).ok().filter(|length| *length <= longest);
    let bytes = cursor.take(length.ok_or(RecordError::Field("length"))?)?;
    std::str::from_utf8(bytes).map_err(|_| RecordError::Field("text"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_moment() -> impl Strategy<Value = WallTime> {
        any::<i64>().prop_map(WallTime::from_unix_millis)
    }

    fn any_text(longest: usize) -> impl Strategy<Value = Option<Box<str>>> {
        proptest::option::of("[ -~é]{0,60}".prop_map(move |text| text.chars().take(longest).collect::<String>().into()))
    }

    prop_compose! {
        pub(crate) fn any_visited()(
            at in proptest::option::of(any_moment()), interval in any::<u64>(), etag in any_text(60),
            last_modified in any_text(60), payload in proptest::option::of(any::<[u8; 32]>()),
            capture in proptest::option::of((any_moment(), any_text(60), any::<bool>())), gone: u8,
            is_silent: bool, user_data in proptest::option::of(prop::collection::vec(any::<u8>(), 0..60)),
        ) -> Visited {
            let url = |is_other: bool| is_other.then(|| CrawlUrl::parse("http://b.test/other").unwrap());
            let capture = capture.map(|(date, record_id, other)| CaptureRef { date, record_id, url: url(other) });
            let (interval, payload) = (Duration::from_millis(interval), payload.map(Digest::from_bytes));
            let validators = Validators { etag, last_modified };
            let user_data = user_data.map(|bytes| UserData::new(bytes).unwrap());
            Visited { at, interval, validators, payload, capture, gone, is_silent, user_data }
        }
    }

    proptest! {
        #[test]
        fn what_was_seen_reads_back(visited in any_visited()) {
            let mut bytes = Vec::new();
            visited.encode_into(&mut bytes);
            let mut cursor = Cursor(&bytes);
            prop_assert_eq!(Visited::read(&mut cursor), Ok(visited));
            prop_assert!(cursor.0.is_empty());
            for cut in 0..bytes.len() {
                prop_assert!(Visited::read(&mut Cursor(&bytes[..cut])).is_err(), "cut at {}", cut);
            }
        }

        #[test]
        fn any_bytes_are_read_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let mut cursor = Cursor(&bytes);
            if let Ok(visited) = Visited::read(&mut cursor) {
                let mut again = Vec::new();
                visited.encode_into(&mut again);
                prop_assert_eq!(&again[..], &bytes[..bytes.len() - cursor.0.len()]);
            }
        }
    }

    #[test]
    fn a_validator_without_measure_is_dropped() {
        let long = Some("x".repeat(LONGEST_VALIDATOR + 1).into());
        let kept = Some("\"x\"".into());
        let validators = Validators { etag: long, last_modified: kept.clone() };
        let mut bytes = Vec::new();
        Visited { validators, ..Visited::default() }.encode_into(&mut bytes);
        let read = Visited::read(&mut Cursor(&bytes)).unwrap();
        assert_eq!(read.validators, Validators { etag: None, last_modified: kept });
    }
}
