use comity_url::Origin;

use crate::listing::QueuePlace;
use crate::rest::origin_of;

/// The key of a queued URL: `origin ‖ 0 ‖ priority ‖ sequence`, the sequence big-endian, so that key order is serving
/// order within an origin. No origin holds a 0, so no origin's keys lie among another's.
pub(crate) fn queue_key(origin: &Origin, priority: u8, sequence: u64) -> Vec<u8> {
    let mut key = Vec::with_capacity(origin.as_str().len() + 10);
    put_queue_key(&mut key, origin, priority, sequence);
    key
}

/// Appends what [`queue_key`] gives.
pub(crate) fn put_queue_key(key: &mut Vec<u8>, origin: &Origin, priority: u8, sequence: u64) {
    key.extend_from_slice(origin.as_str().as_bytes());
    key.extend([0, priority]);
    key.extend(sequence.to_be_bytes());
}

/// Where the keys of `priority` with a sequence below `until` end; `None`: all of the priority.
pub(crate) fn queue_end(origin: &Origin, priority: u8, until: Option<u64>) -> Vec<u8> {
    match (until, priority.checked_add(1)) {
        (Some(sequence), _) => queue_key(origin, priority, sequence),
        (None, Some(next)) => queue_key(origin, next, 0),
        (None, None) => origin_end(origin),
    }
}

/// Where the keys of an origin end.
pub(crate) fn origin_end(origin: &Origin) -> Vec<u8> {
    let mut key = origin.as_str().as_bytes().to_vec();
    key.push(1);
    key
}

/// Priority and sequence of a key of `origin`; `None` for a key that is none.
pub(crate) fn place_of(origin: &Origin, key: &[u8]) -> Option<(u8, u64)> {
    let rest = key.strip_prefix(origin.as_str().as_bytes())?.strip_prefix(&[0])?;
    let (priority, sequence) = rest.split_first()?;
    Some((*priority, u64::from_be_bytes(sequence.try_into().ok()?)))
}

/// Where a key of the queue says that its URL stands; `None` for a key that is none.
pub(crate) fn place_in(key: &[u8]) -> Option<QueuePlace> {
    let end = key.iter().position(|byte| *byte == 0)?;
    let origin = origin_of(key.get(..end)?)?;
    let (priority, sequence) = place_of(&origin, key)?;
    Some(QueuePlace { origin, priority, sequence })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_sort_by_origin_priority_sequence_and_read_back() {
        let origins = ["http://a.test", "http://a.test:81", "http://ab.test", "https://a.test"];
        let mut keys = Vec::new();
        for origin in origins.map(|text| Origin::parse(text).unwrap()) {
            for (priority, sequence) in [(0, 0), (0, 256), (0, u64::MAX), (1, 0), (255, 255)] {
                let key = queue_key(&origin, priority, sequence);
                assert_eq!(place_of(&origin, &key), Some((priority, sequence)));
                assert_eq!(place_in(&key), Some(QueuePlace { origin: origin.clone(), priority, sequence }));
                assert!(key < queue_end(&origin, priority, None), "{origin} {priority} {sequence}");
                keys.push(key);
            }
            assert!(queue_end(&origin, 255, None) <= origin_end(&origin));
        }
        assert!(keys.is_sorted());
    }
}
