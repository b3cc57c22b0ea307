//! The schedule as it is stored: by time, and by fingerprint.

use comity_policy::WallTime;
use comity_url::{Origin, UrlKey};

use crate::queued::{Cursor, RecordError};
use crate::{Ending, QueuedUrl};

/// A URL that waits for its next visit.
///
/// Two rows: `t ‖ milliseconds since 1970 (8, big-endian) ‖ origin ‖ 0 ‖ fingerprint` → this, and `k ‖ fingerprint` → that
/// key. Stored form, version 1: version (1), priority (1), how its last visit ended (1), then the URL's record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// The priority that it will have.
    pub(crate) priority: u8,
    /// Under what its origin counts it meanwhile.
    pub(crate) ending: Ending,
    pub(crate) queued: QueuedUrl,
}

const VERSION: u8 = 1;
const BY_TIME: u8 = b't';
const BY_KEY: u8 = b'k';

/// The key of a row by time.
pub(crate) fn due_key(at: WallTime, origin: &Origin, key: UrlKey) -> Vec<u8> {
    let mut out = due_from(at);
    out.extend(origin.as_str().as_bytes());
    out.push(0);
    out.extend(key.to_bytes());
    out
}

/// Behind the rows that are due at `at`.
pub(crate) fn due_until(at: WallTime) -> Vec<u8> {
    due_from(WallTime::from_unix_millis(at.unix_millis().saturating_add(1)))
}

/// No row is due before 1970.
fn due_from(at: WallTime) -> Vec<u8> {
    let mut out = vec![BY_TIME];
    out.extend(at.unix_millis().max(0).to_be_bytes());
    out
}

/// When the row under a key by time is due.
pub(crate) fn time_of(key: &[u8]) -> Option<WallTime> {
    let (at, _) = key.strip_prefix(&[BY_TIME])?.split_first_chunk::<8>()?;
    Some(WallTime::from_unix_millis(i64::from_be_bytes(*at)))
}

/// Where the rows by time begin.
pub(crate) const fn visits_begin() -> &'static [u8] {
    &[BY_TIME]
}

/// Behind all rows by time.
pub(crate) const fn visits_end() -> &'static [u8] {
    &[BY_TIME + 1]
}

/// The key of a row by fingerprint.
pub(crate) fn index_key(key: UrlKey) -> Vec<u8> {
    let mut out = vec![BY_KEY];
    out.extend(key.to_bytes());
    out
}

impl Row {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let ending = match self.ending {
            Ending::Done => 0,
            Ending::Refused => 1,
            Ending::Failed => 2,
        };
        let mut out = vec![VERSION, self.priority, ending];
        out.extend(self.queued.encode());
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, RecordError> {
        let mut cursor = Cursor(bytes);
        match cursor.byte()? {
            VERSION => {}
            other => return Err(RecordError::Version(other)),
        }
        let priority = cursor.byte()?;
        let ending = match cursor.byte()? {
            0 => Ending::Done,
            1 => Ending::Refused,
            2 => Ending::Failed,
            _ => return Err(RecordError::Field("ending")),
        };
        Ok(Self { priority, ending, queued: QueuedUrl::decode(cursor.0)? })
    }
}

#[cfg(test)]
mod tests {
    use comity_url::CrawlUrl;

    use super::*;

    #[test]
    fn keys_sort_by_time_and_read_back() {
        let origins = ["http://a.test", "https://a.test"].map(|text| Origin::parse(text).unwrap());
        let mut keys = Vec::new();
        for millis in [0, 1, 255, 256, 1_796_000_000_000, i64::MAX - 1] {
            let at = WallTime::from_unix_millis(millis);
            for origin in &origins {
                for byte in [0, 1, 0xff] {
                    let key = due_key(at, origin, UrlKey::from_bytes([byte; 16]));
                    assert_eq!(time_of(&key), Some(at));
                    assert!(key < due_until(at) && key >= due_from(at));
                    keys.push(key);
                }
            }
        }
        assert!(keys.is_sorted());
        let first = due_key(WallTime::from_unix_millis(-1), &origins[0], UrlKey::from_bytes([0; 16]));
        assert_eq!(time_of(&first), Some(WallTime::from_unix_millis(0)));
        assert_eq!(time_of(&index_key(UrlKey::from_bytes([0; 16]))), None);
    }

    #[test]
    fn rows_read_back() {
        let url = CrawlUrl::parse("http://a.test/x").unwrap();
        let offer = crate::Offer::seed(url, UrlKey::from_bytes([7; 16]));
        for ending in [Ending::Done, Ending::Refused, Ending::Failed] {
            let row = Row { priority: 3, ending, queued: QueuedUrl::from(offer.clone()) };
            let bytes = row.encode();
            assert_eq!(Row::decode(&bytes), Ok(row));
            assert!((0..bytes.len()).all(|cut| Row::decode(&bytes[..cut]).is_err()));
        }
    }
}
