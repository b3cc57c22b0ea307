//! A store that is one file, to which every batch is appended, and its rows in memory.
//!
//! | what happens | what is lost |
//! |---|---|
//! | the process is killed | nothing that was acknowledged: a batch is handed to the system before that. Half a batch at the end is cut off |
//! | the power goes | what was not synced. Where the disk kept a later block and lost an earlier one, the file is refused |
//! | the disk changes a byte | the file is refused; but where it was a length, all behind it counts as not yet arrived, and is cut off |
//! | the disk is full | the batch is taken back, and the crawl ends |
//!
//! It holds every row in memory and never gets shorter: for crawls of some ten thousand URLs. [`DiskStore`] has neither bound.
//!
//! A batch in the file: length (4 bytes, little-endian), checksum (8), then its changes: keyspace (1), length of the key (4), key,
//! then 0 for a deletion, or 1, length of the value (4), value.
//!
//! [`DiskStore`]: comity::frontier::DiskStore

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io::{ErrorKind, Write as _};
use std::ops::Bound;
use std::path::Path;

use comity::frontier::{Keyspace, Row, Store, StoreError, WriteBatch};
use xxhash_rust::xxh3::xxh3_64;

type Rows = BTreeMap<Keyspace, BTreeMap<Vec<u8>, Vec<u8>>>;

/// See the module.
#[derive(Debug)]
pub(crate) struct LogStore {
    file: File,
    /// Bytes of whole batches.
    len: u64,
    /// What was half written could not be taken back: nothing more is appended.
    is_broken: bool,
    rows: Rows,
}

impl LogStore {
    /// Opens the store, or makes a new one.
    ///
    /// # Errors
    /// When another process holds it, when it cannot be read, when a batch in the middle is not what was written.
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        let file = File::options().create(true).append(true).open(path).map_err(StoreError::Io)?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => StoreError::Held(path.display().to_string()),
            TryLockError::Error(error) => StoreError::Io(error),
        })?;
        let bytes = std::fs::read(path).map_err(StoreError::Io)?;
        let (mut rows, mut rest) = (Rows::new(), bytes.as_slice());
        while let Some((batch, after)) = framed(rest) {
            match batch.and_then(decode) {
                Some(batch) => apply(&mut rows, &batch),
                // The last one: its bytes had not all arrived.
                None if after.is_empty() => break,
                None => {
                    let at = bytes.len() - rest.len();
                    return Err(StoreError::Format(format!("{}: the batch at byte {at} is damaged", path.display())));
                }
            }
            rest = after;
        }
        let len = (bytes.len() - rest.len()) as u64;
        file.set_len(len).map_err(StoreError::Io)?;
        Ok(Self { file, len, is_broken: false, rows })
    }
}

impl Store for LogStore {
    fn commit(&mut self, batch: WriteBatch) -> Result<(), StoreError> {
        if self.is_broken {
            return Err(StoreError::Closed);
        }
        let frame = encode(&batch)?;
        if let Err(error) = self.file.write_all(&frame) {
            self.is_broken = self.file.set_len(self.len).is_err();
            return Err(match error.kind() {
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded => StoreError::Full("the queue".to_owned()),
                _ => StoreError::Io(error),
            });
        }
        self.len += frame.len() as u64;
        apply(&mut self.rows, &batch);
        Ok(())
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        self.file.sync_data().map_err(StoreError::Io)
    }

    fn get(&self, space: Keyspace, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.rows.get(&space).and_then(|rows| rows.get(key)).cloned())
    }

    fn peek(&self, space: Keyspace, from: &[u8], until: &[u8], limit: usize) -> Result<Vec<Row>, StoreError> {
        let Some(rows) = self.rows.get(&space).filter(|_| from < until) else { return Ok(Vec::new()) };
        let range = rows.range::<[u8], _>((Bound::Included(from), Bound::Excluded(until)));
        Ok(range.take(limit).map(|(key, value)| (key.clone(), value.clone())).collect())
    }
}

fn apply(rows: &mut Rows, batch: &WriteBatch) {
    for (space, key) in batch.deletes() {
        rows.entry(space).or_default().remove(key);
    }
    for (space, key, value) in batch.inserts() {
        rows.entry(space).or_default().insert(key.to_vec(), value.to_vec());
    }
}

/// A batch as it stands in the file.
fn encode(batch: &WriteBatch) -> Result<Vec<u8>, StoreError> {
    let deletes = batch.deletes().map(|(space, key)| (space, key, None));
    let inserts = batch.inserts().map(|(space, key, value)| (space, key, Some(value)));
    let mut body = Vec::new();
    for (space, key, value) in deletes.chain(inserts) {
        body.push(number(space)?);
        body.extend(length(key)?);
        body.extend(key);
        body.push(u8::from(value.is_some()));
        if let Some(value) = value {
            body.extend(length(value)?);
            body.extend(value);
        }
    }
    let mut frame = length(&body)?.to_vec();
    frame.extend(xxh3_64(&body).to_le_bytes());
    frame.extend(body);
    Ok(frame)
}

fn number(space: Keyspace) -> Result<u8, StoreError> {
    let at = Keyspace::ALL.iter().position(|one| *one == space).and_then(|at| u8::try_from(at).ok());
    at.ok_or_else(|| StoreError::Format("a keyspace that this store does not know".to_owned()))
}

fn length(bytes: &[u8]) -> Result<[u8; 4], StoreError> {
    let length = u32::try_from(bytes.len()).map_err(|_| StoreError::Format("a batch above 4 GiB".to_owned()))?;
    Ok(length.to_le_bytes())
}

/// The first batch, if it is what was written, and what comes after it; `None` at the end.
fn framed(bytes: &[u8]) -> Option<(Option<&[u8]>, &[u8])> {
    if bytes.is_empty() {
        return None;
    }
    let Some((body, sum, after)) = split(bytes) else { return Some((None, &[])) };
    Some(((xxh3_64(body) == sum).then_some(body), after))
}

fn split(bytes: &[u8]) -> Option<(&[u8], u64, &[u8])> {
    let (length, bytes) = bytes.split_first_chunk()?;
    let (sum, bytes) = bytes.split_first_chunk()?;
    let (body, after) = bytes.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)?;
    Some((body, u64::from_le_bytes(*sum), after))
}

fn decode(mut body: &[u8]) -> Option<WriteBatch> {
    let mut batch = WriteBatch::default();
    while !body.is_empty() {
        let space = *Keyspace::ALL.get(usize::from(take(&mut body, 1)?.first().copied()?))?;
        let key = counted(&mut body)?;
        match take(&mut body, 1)? {
            [0] => batch.delete(space, key),
            [1] => batch.insert(space, key, counted(&mut body)?),
            _ => return None,
        }
    }
    Some(batch)
}

fn counted(body: &mut &[u8]) -> Option<Vec<u8>> {
    let length = u32::from_le_bytes(take(body, 4)?.try_into().ok()?);
    take(body, usize::try_from(length).ok()?).map(<[u8]>::to_vec)
}

fn take<'a>(body: &mut &'a [u8], bytes: usize) -> Option<&'a [u8]> {
    let (taken, rest) = body.split_at_checked(bytes)?;
    *body = rest;
    Some(taken)
}
