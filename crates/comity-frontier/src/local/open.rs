use comity_policy::Ready;
use comity_url::{KEY_RULES_VERSION, Origin, UrlKey};

use super::domains;
use super::mend::mend;
use super::roster::{EARLIER_TICKETS, Roster};
use super::visits::Visits;
use crate::key::{origin_end, place_of};
use crate::rest::{OriginRecord, origin_of};
use crate::seen::{SeenHeap, SeenSet};
use crate::totals::Totals;
use crate::{Keyspace, Scheduler, SchedulerConfig, Spent, Store, StoreError, Summary, WriteBatch};

/// Sums over all origins.
pub(super) const TOTALS: &[u8] = b"totals";
/// The key of the fingerprints.
pub(super) const KEY: &[u8] = b"key";
/// The key rules that the fingerprints were made under.
pub(super) const RULES: &[u8] = b"rules";
const FORMAT: &[u8] = b"format";
const RUN: &[u8] = b"run";
/// Version of keys and records; beside it stands that of the rules that make fingerprints.
///
/// Format 3 numbers its commits, keeps what left the queue until the records are safe, and URLs that come back. Format 4 counts
/// what each domain holds. One of format 2 or 3 becomes one.
const VERSION: u16 = 4;
/// Read as they stand, but for what a domain holds, which is counted once.
const OLDER: [u16; 2] = [2, 3];
/// Rows read at once.
const PAGE: usize = 1024;
/// Rows of fingerprints read at once, and their bytes: each holds those of a whole commit, one or many thousands, and beside a
/// page of them stands the set that is made.
const SEEN_PAGE: (usize, usize) = (256, 256 << 10);

/// Fingerprints that room is made for at once: a sum that is damaged must not ask for all memory.
const MOST_ROOM: u64 = 100_000_000;

/// What a frontier knows at its start.
pub(super) struct Opened {
    pub(super) scheduler: Scheduler,
    pub(super) seen: SeenSet,
    pub(super) roster: Roster,
    pub(super) visits: Visits,
}

/// Reads what a store holds: the fingerprints as a whole, the sums, the first sleepers. Not the queue, and not the
/// origins one by one.
pub(super) fn open<S: Store>(store: &mut S, config: SchedulerConfig, ready: Ready) -> Result<Opened, StoreError> {
    check_format(store)?;
    let run = begin_run(store)?;
    let (mut seen, last_commit) = read_seen(store, &config)?;
    let last_commit = mend(store, &mut seen, run, last_commit)?;
    let visits = Visits::open(store, config.epoch)?;
    let mut scheduler = Scheduler::new(config);
    scheduler.set_totals(read_totals(store)?);
    scheduler.skip_tickets(EARLIER_TICKETS);
    let mut roster = Roster::new(run, ready, last_commit);
    roster.look(store, &mut scheduler)?;
    // An earlier process that was killed, or stopped for its disk, may have left commits that no sync followed. This one would
    // not know of them, and a power cut within its first moments would take work that is days old. Nothing is in a new store.
    if run > 1 {
        store.sync()?;
    }
    Ok(Opened { scheduler, seen, roster, visits })
}

/// Checks the format of a store, writing it into an empty one.
fn check_format<S: Store>(store: &mut S) -> Result<(), StoreError> {
    let of = |version: u16| [version.to_be_bytes(), KEY_RULES_VERSION.to_be_bytes()].concat();
    let ours = of(VERSION);
    match store.get(Keyspace::Meta, FORMAT)? {
        Some(theirs) if theirs == ours => Ok(()),
        Some(theirs) if OLDER.iter().any(|older| theirs == of(*older)) => {
            domains::rebuild(store)?;
            write_format(store, ours)
        }
        Some(theirs) => {
            let text = format!(
                "frontier store: format {}, this build reads {}; go on with the version that wrote it, or crawl anew into another directory",
                version(&theirs),
                version(&ours)
            );
            Err(StoreError::Format(text))
        }
        None => {
            if !store.peek(Keyspace::Seen, &[], &[0xff; 9], 1)?.is_empty() {
                let text = "frontier store: it holds URLs and no format: it was damaged, or written by somebody else";
                return Err(StoreError::Format(text.to_owned()));
            }
            write_format(store, ours)
        }
    }
}

fn write_format<S: Store>(store: &mut S, format: Vec<u8>) -> Result<(), StoreError> {
    let mut batch = WriteBatch::default();
    batch.insert(Keyspace::Meta, FORMAT.to_vec(), format);
    store.commit(batch)
}

/// `store version / version of the key rules`.
fn version(bytes: &[u8]) -> String {
    match bytes {
        [a, b, c, d] => format!("{}/{}", u16::from_be_bytes([*a, *b]), u16::from_be_bytes([*c, *d])),
        other => format!("{other:?}"),
    }
}

/// Numbers this opening of the store, one more than the last.
fn begin_run<S: Store>(store: &mut S) -> Result<u64, StoreError> {
    let last = store.get(Keyspace::Meta, RUN)?.and_then(|bytes| Some(u64::from_be_bytes(bytes.try_into().ok()?)));
    let run = last.unwrap_or(0).saturating_add(1);
    let mut batch = WriteBatch::default();
    batch.insert(Keyspace::Meta, RUN.to_vec(), run.to_be_bytes().to_vec());
    store.commit(batch)?;
    Ok(run)
}

fn read_seen<S: Store>(store: &S, config: &SchedulerConfig) -> Result<(SeenSet, u64), StoreError> {
    let admitted =
        store.get(Keyspace::Meta, TOTALS)?.and_then(|bytes| Totals::decode(&bytes).ok()).map(|sums| sums.admitted);
    let mut seen = SeenHeap::new(config.seen, admitted.unwrap_or(0).min(MOST_ROOM));
    let (mut from, mut last_commit) = (Vec::new(), 0);
    loop {
        let rows = store.peek_within(Keyspace::Seen, &from, &[0xff; 9], SEEN_PAGE)?;
        let Some((last, _)) = rows.last() else { return Ok((seen.into_set(), last_commit)) };
        from.clone_from(last);
        from.push(0);
        for (key, prints) in &rows {
            let (prints, rest) = prints.as_chunks::<16>();
            let number = key.as_slice().try_into().map(u64::from_be_bytes);
            let (Ok(number), []) = (number, rest) else {
                let text = "frontier store: a row of the seen-set is not what was written; the store is damaged";
                return Err(StoreError::Format(text.to_owned()));
            };
            last_commit = number;
            for print in prints {
                seen.push(UrlKey::from_bytes(*print));
            }
        }
    }
}

/// The sums; counted anew when they cannot be read.
fn read_totals<S: Store>(store: &S) -> Result<Totals, StoreError> {
    let written = store.get(Keyspace::Meta, TOTALS)?;
    match written.as_deref().map(Totals::decode) {
        Some(Ok(totals)) => Ok(totals),
        Some(Err(_)) => add_up(store),
        None if store.peek(Keyspace::Origin, &[], &[0xff], 1)?.is_empty() => Ok(Totals::default()),
        None => add_up(store),
    }
}

/// Adds up the counts of every origin: summaries are rebuilt when in doubt.
fn add_up<S: Store>(store: &S) -> Result<Totals, StoreError> {
    tracing::warn!("the sums of the frontier cannot be read and are added up anew");
    let (mut totals, mut from) = (Totals { scheduled: scheduled(store)?, ..Totals::default() }, Vec::new());
    loop {
        let rows = store.peek(Keyspace::Origin, &from, &[0xff], PAGE)?;
        let Some((last, _)) = rows.last() else {
            totals.spent = totals.spent_at_least();
            return Ok(totals);
        };
        from.clone_from(last);
        from.push(0);
        for (key, value) in rows {
            let Some(origin) = origin_of(&key) else {
                tracing::warn!(key = %String::from_utf8_lossy(&key), "a stored origin cannot be read");
                continue;
            };
            let record = OriginRecord::decode(&value).or_else(|_| recount(store, &origin))?;
            totals.origins += 1;
            totals.add(&record.summary);
            totals.spend(Spent { pages: 0, bytes: record.summary.bytes() });
        }
    }
}

/// Counts the URLs that come again.
pub(super) fn scheduled<S: Store>(store: &S) -> Result<u64, StoreError> {
    let (mut count, mut from) = (0, b"t".to_vec());
    loop {
        let rows = store.peek(Keyspace::Visit, &from, b"u", PAGE)?;
        let Some((last, _)) = rows.last() else { return Ok(count) };
        from.clone_from(last);
        from.push(0);
        count += rows.len() as u64;
    }
}

/// Counts an origin's queue anew: summaries are rebuilt when in doubt.
pub(super) fn recount<S: Store>(store: &S, origin: &Origin) -> Result<OriginRecord, StoreError> {
    tracing::warn!(%origin, "the counts of an origin cannot be read and are rebuilt from its queue");
    let (mut from, until) = (origin.as_str().as_bytes().to_vec(), origin_end(origin));
    from.push(0);
    let mut places = Vec::new();
    loop {
        let rows = store.peek(Keyspace::Queue, &from, &until, PAGE)?;
        let Some((last, _)) = rows.last() else {
            let summary = Summary::recount(places.into_iter());
            return Ok(OriginRecord { summary, row: None, rest: None });
        };
        from.clone_from(last);
        from.push(0);
        places.extend(rows.iter().filter_map(|(key, _)| place_of(origin, key)));
    }
}

/// A frontier that knows nothing.
pub(super) fn nothing(config: SchedulerConfig, ready: Ready) -> Opened {
    let (seen, visits) = (SeenSet::new(config.seen), Visits::none(config.epoch));
    Opened { scheduler: Scheduler::new(config), seen, roster: Roster::new(1, ready, 0), visits }
}
