use comity_policy::Ready;
use comity_url::{KEY_RULES_VERSION, Origin};

use crate::key::{origin_end, place_of};
use crate::{Keyspace, Scheduler, Store, StoreError, Summary, WriteBatch};

const FORMAT: &[u8] = b"format";
/// Version of keys and records, and of the rules that make fingerprints.
const VERSION: u16 = 1;
/// Rows read at once.
const PAGE: usize = 1024;

/// Checks the format of a store, writing it into an empty one.
pub(super) fn check_format<S: Store>(store: &mut S) -> Result<(), StoreError> {
    let ours = [VERSION.to_be_bytes(), KEY_RULES_VERSION.to_be_bytes()].concat();
    match store.get(Keyspace::Meta, FORMAT)? {
        Some(theirs) if theirs == ours => Ok(()),
        Some(theirs) => {
            let text = format!("frontier store: format {theirs:?}, this build reads {ours:?}");
            Err(StoreError::Format(text))
        }
        None => {
            let mut batch = WriteBatch::default();
            batch.insert(Keyspace::Meta, FORMAT.to_vec(), ours);
            store.commit(batch)
        }
    }
}

/// Brings every origin of the store back. Reads the counts and not the queue.
pub(super) fn restore<S: Store>(store: &S, scheduler: &mut Scheduler, ready: Ready) -> Result<(), StoreError> {
    let mut from = Vec::new();
    loop {
        let rows = store.peek(Keyspace::Origin, &from, &[0xff], PAGE)?;
        let Some((last, _)) = rows.last() else { return Ok(()) };
        from.clone_from(last);
        from.push(0);
        for (key, value) in rows {
            match origin_of(&key) {
                Some(origin) => {
                    let summary = Summary::decode(&value).or_else(|_| recount(store, &origin))?;
                    scheduler.restore(&origin, summary, ready);
                }
                None => tracing::warn!(key = %String::from_utf8_lossy(&key), "a stored origin cannot be read"),
            }
        }
    }
}

fn origin_of(key: &[u8]) -> Option<Origin> {
    Origin::parse(std::str::from_utf8(key).ok()?).ok()
}

/// Counts an origin's queue anew: summaries are rebuilt when in doubt.
fn recount<S: Store>(store: &S, origin: &Origin) -> Result<Summary, StoreError> {
    tracing::warn!(%origin, "the counts of an origin cannot be read and are rebuilt from its queue");
    let (mut from, until) = (origin.as_str().as_bytes().to_vec(), origin_end(origin));
    from.push(0);
    let mut places = Vec::new();
    loop {
        let rows = store.peek(Keyspace::Queue, &from, &until, PAGE)?;
        let Some((last, _)) = rows.last() else { return Ok(Summary::recount(places.into_iter())) };
        from.clone_from(last);
        from.push(0);
        places.extend(rows.iter().filter_map(|(key, _)| place_of(origin, key)));
    }
}
