//! A record of the queue in parts, and back again, byte by byte.

use super::entry::{Entry, Packed};
use super::prints::Prints;
use crate::queued::{Cursor, RecordError, put_number};

// The head begins with a form: these bits, and the two flags of the record in the lowest two. A value as it is has no head.
const FLAGS: u8 = 3;
/// The record is of version 2.
const VISITED: u8 = 4;
const HOPS: u8 = 8;
const ATTEMPTS: u8 = 16;
/// The fingerprint is named by its place in the seen-set.
const NAMED: u8 = 32;

/// Packs a value of the queue ([`QueuedUrl`](crate::QueuedUrl) says how it is written): of its URL only what comes behind the
/// origin, which the key has. `place` knows where fingerprints lie. What is not such a record stays as it is.
pub(super) fn pack(key: &[u8], value: &[u8], place: impl FnOnce(&[u8; 16]) -> Option<usize>) -> Packed {
    match parts(key, value, place) {
        Ok(packed) => packed,
        Err(_) => Packed { text: value.to_vec(), ..Packed::default() },
    }
}

/// Where a packed record says that its fingerprint lies.
pub(super) fn named(packed: &Packed) -> Option<usize> {
    let mut cursor = Cursor(&packed.head);
    let head = Head::read(&mut cursor).ok()?;
    head.is_named.then(|| cursor.number().ok()).flatten().and_then(|place| usize::try_from(place).ok())
}

fn parts(key: &[u8], value: &[u8], place: impl FnOnce(&[u8; 16]) -> Option<usize>) -> Result<Packed, RecordError> {
    let mut cursor = Cursor(value);
    let [version, flags] = cursor.array()?;
    if !matches!(version, 1 | 2) || flags & !FLAGS != 0 {
        return Err(RecordError::Version(version));
    }
    let depth = u32::from_be_bytes(cursor.array()?);
    let hops = cursor.byte()?;
    let attempts = u32::from_be_bytes(cursor.array()?);
    let print: [u8; 16] = cursor.array()?;
    let length = u16::from_be_bytes(cursor.array()?);
    let url = cursor.take(length.into())?;
    let path = url.strip_prefix(origin_in(key)).ok_or(RecordError::Field("url"))?;
    let place = place(&print);
    let set = [(VISITED, version == 2), (HOPS, hops > 0), (ATTEMPTS, attempts > 0), (NAMED, place.is_some())];
    let mut head = Vec::with_capacity(24);
    head.push(set.into_iter().filter(|flag| flag.1).fold(flags, |form, flag| form | flag.0));
    put_number(&mut head, depth.into());
    if hops > 0 {
        head.push(hops);
    }
    if attempts > 0 {
        put_number(&mut head, attempts.into());
    }
    match place {
        Some(place) => put_number(&mut head, place as u64),
        None => head.extend(print),
    }
    Ok(Packed { head, text: path.to_vec(), second: cursor.0.to_vec() })
}

/// The value of a row as it was given.
pub(super) fn unpack(entry: &Entry, prints: &Prints) -> Vec<u8> {
    let Packed { head, text, second } = &entry.value;
    if head.is_empty() {
        return text.clone();
    }
    let origin = origin_in(&entry.key);
    // A head is read as it was written a moment ago; nobody else writes one.
    let mut cursor = Cursor(head);
    let Ok(read) = Head::read(&mut cursor) else { return text.clone() };
    let print = if read.is_named {
        let place = cursor.number().ok().and_then(|place| usize::try_from(place).ok());
        place.and_then(|place| prints.at(place)).copied().unwrap_or_default()
    } else {
        cursor.array().unwrap_or_default()
    };
    let mut out = Vec::with_capacity(29 + origin.len() + text.len() + second.len());
    out.extend([if read.is_visited { 2 } else { 1 }, read.flags]);
    out.extend(read.depth.to_be_bytes());
    out.push(read.hops);
    out.extend(read.attempts.to_be_bytes());
    out.extend(print);
    // It was one of 16 bits.
    out.extend(u16::try_from(origin.len() + text.len()).unwrap_or(u16::MAX).to_be_bytes());
    out.extend(origin);
    out.extend(text);
    out.extend(second);
    out
}

/// What stands in a head before the fingerprint.
struct Head {
    flags: u8,
    is_visited: bool,
    is_named: bool,
    depth: u32,
    hops: u8,
    attempts: u32,
}

impl Head {
    fn read(cursor: &mut Cursor<'_>) -> Result<Self, RecordError> {
        let form = cursor.byte()?;
        let small = |number: u64| u32::try_from(number).map_err(|_| RecordError::Length);
        Ok(Self {
            flags: form & FLAGS,
            is_visited: form & VISITED != 0,
            is_named: form & NAMED != 0,
            depth: small(cursor.number()?)?,
            hops: if form & HOPS != 0 { cursor.byte()? } else { 0 },
            attempts: if form & ATTEMPTS != 0 { small(cursor.number()?)? } else { 0 },
        })
    }
}

/// The origin that a key of the queue begins with.
fn origin_in(key: &[u8]) -> &[u8] {
    key.iter().position(|byte| *byte == 0).and_then(|end| key.get(..end)).unwrap_or(key)
}
