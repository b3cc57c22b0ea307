//! Counts per registrable domain, in the commit of what they count: hosts may be minted, domains cost money.

use std::collections::{BTreeMap, HashMap};

use comity_url::Origin;

use super::open::recount;
use crate::queued::{Cursor, RecordError, put_number};
use crate::rest::{OriginRecord, origin_of};
use crate::{Keyspace, Store, StoreError, Summary, WriteBatch};

/// What the origins of one domain hold together. In memory only while a commit is made that needs it.
///
/// Stored form, version 1: version (1), then pages and queued as numbers of variable length. A domain of which neither is
/// left has no row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    /// URLs taken, refused ones not counted ([`Summary::pages`]).
    pages: u64,
    /// Records in the queue, leased ones among them.
    queued: u64,
}

/// The domains that one commit looked at, in the order in which it did, with what it adds to them.
#[derive(Debug, Default)]
pub(super) struct Domains {
    /// Where a name stands in `asked`.
    places: HashMap<Box<str>, usize>,
    asked: Vec<Asked>,
}

#[derive(Debug)]
struct Asked {
    /// One that counts for it.
    origin: Origin,
    stored: Counts,
    /// URLs that this commit took.
    taken: u64,
    shift: Shift,
}

/// How the counts of domains change, in the order of their names (invariant 13).
#[derive(Debug, Default)]
pub(super) struct Shifts(BTreeMap<Box<str>, Shift>);

#[derive(Clone, Copy, Debug, Default)]
struct Shift {
    more: Counts,
    less: Counts,
}

const VERSION: u8 = 1;
/// Rows read at once.
const PAGE: usize = 1024;

/// Whom an origin counts for: its registrable domain, private suffixes counting as domains; its host where there is none.
fn name_of(origin: &Origin) -> &str {
    origin.registrable_domain().unwrap_or_else(|| origin.host())
}

impl Domains {
    /// Where an origin's domain stands. Its name is looked up once for each origin of a commit, and then never again.
    pub(super) fn place<S: Store>(&mut self, store: &S, origin: &Origin) -> Result<usize, StoreError> {
        self.place_of(store, origin, name_of(origin))
    }

    fn place_of<S: Store>(&mut self, store: &S, origin: &Origin, name: &str) -> Result<usize, StoreError> {
        if let Some(place) = self.places.get(name) {
            return Ok(*place);
        }
        let stored = Counts::read(store, name)?;
        let place = self.asked.len();
        self.asked.push(Asked { origin: origin.clone(), stored, taken: 0, shift: Shift::default() });
        self.places.insert(name.into(), place);
        Ok(place)
    }

    /// Pages and queued URLs of a domain, with what this commit took. URLs that leave in the same commit are still counted.
    pub(super) fn of(&self, place: usize) -> (u64, u64) {
        let Some(Asked { stored, taken, .. }) = self.asked.get(place) else { return (0, 0) };
        (stored.pages.saturating_add(*taken), stored.queued.saturating_add(*taken))
    }

    /// Reads the counts of these origins' domains ahead, in the order in which they lie in the store.
    pub(super) fn expect<S: Store>(&mut self, store: &S, origins: &[&Origin]) -> Result<(), StoreError> {
        let mut names: Vec<(&str, &Origin)> = origins.iter().map(|origin| (name_of(origin), *origin)).collect();
        names.sort_unstable_by_key(|name| name.0);
        names.dedup_by_key(|name| name.0);
        self.places.reserve(names.len());
        self.asked.reserve(names.len());
        names.into_iter().try_for_each(|(name, origin)| self.place_of(store, origin, name).map(|_| ()))
    }

    /// A URL of the domain is taken with this commit.
    pub(super) fn take(&mut self, place: usize) {
        if let Some(asked) = self.asked.get_mut(place) {
            asked.taken += 1;
        }
    }

    /// The counts of an origin of the domain go from `before` to `after`.
    pub(super) fn shift(&mut self, place: usize, before: &Summary, after: &Summary) {
        if let Some(asked) = self.asked.get_mut(place) {
            asked.shift.note(Counts::of(before), Counts::of(after));
        }
    }

    /// Writes what the domains come to.
    pub(super) fn write(&self, batch: &mut WriteBatch) {
        for Asked { origin, stored, shift, .. } in self.asked.iter().filter(|asked| !asked.shift.is_none()) {
            shift.write(name_of(origin), *stored, batch);
        }
    }
}

impl Shifts {
    /// The counts of an origin go from `before` to `after`.
    pub(super) fn note(&mut self, origin: &Origin, before: &Summary, after: &Summary) {
        let (less, more) = (Counts::of(before), Counts::of(after));
        if less == more {
            return;
        }
        let name = name_of(origin);
        let shift = match self.0.get_mut(name) {
            Some(shift) => shift,
            None => self.0.entry(name.into()).or_default(),
        };
        shift.note(less, more);
    }

    /// Writes what the domains come to.
    pub(super) fn write<S: Store>(self, store: &S, batch: &mut WriteBatch) -> Result<(), StoreError> {
        for (name, shift) in self.0 {
            shift.write(&name, Counts::read(store, &name)?, batch);
        }
        Ok(())
    }
}

impl Shift {
    const fn note(&mut self, less: Counts, more: Counts) {
        self.more.add(more);
        self.less.add(less);
    }

    /// True when it changes nothing.
    fn is_none(&self) -> bool {
        self.more == self.less
    }

    /// Writes what the counts of a domain come to that were `before`.
    fn write(&self, name: &str, before: Counts, batch: &mut WriteBatch) {
        let Self { more, less } = *self;
        let after = Counts {
            pages: before.pages.saturating_add(more.pages).saturating_sub(less.pages),
            queued: before.queued.saturating_add(more.queued).saturating_sub(less.queued),
        };
        if after == before {
            return;
        }
        let key = name.as_bytes();
        if after == Counts::default() {
            batch.delete(Keyspace::Domain, key.to_vec());
        } else {
            batch.put(Keyspace::Domain, |out| out.extend_from_slice(key), |out| after.encode_into(out));
        }
    }
}

impl Counts {
    fn of(summary: &Summary) -> Self {
        Self { pages: summary.pages(), queued: summary.queued() }
    }

    const fn add(&mut self, more: Self) {
        self.pages = self.pages.saturating_add(more.pages);
        self.queued = self.queued.saturating_add(more.queued);
    }

    /// The counts of a domain. Those that cannot be read are counted anew from all origins: for damage only.
    fn read<S: Store>(store: &S, name: &str) -> Result<Self, StoreError> {
        let Some(bytes) = store.get(Keyspace::Domain, name.as_bytes())? else { return Ok(Self::default()) };
        Self::decode(&bytes).or_else(|error| {
            tracing::warn!(domain = name, %error, "the counts of a domain cannot be read and are added up anew");
            let mut counts = Self::default();
            each_origin(store, |origin, summary| {
                if name_of(origin) == name {
                    counts.add(Self::of(summary));
                }
            })?;
            Ok(counts)
        })
    }

    fn encode_into(self, out: &mut Vec<u8>) {
        out.push(VERSION);
        put_number(out, self.pages);
        put_number(out, self.queued);
    }

    fn decode(bytes: &[u8]) -> Result<Self, RecordError> {
        let mut cursor = Cursor(bytes);
        match cursor.byte()? {
            VERSION => {}
            other => return Err(RecordError::Version(other)),
        }
        let counts = Self { pages: cursor.number()?, queued: cursor.number()? };
        if cursor.0.is_empty() { Ok(counts) } else { Err(RecordError::Length) }
    }
}

/// Counts every domain anew from the records of the origins: for a store from before they were counted, and for one that is
/// mended. Begun anew after a kill it does everything once more.
pub(super) fn rebuild<S: Store>(store: &mut S) -> Result<(), StoreError> {
    loop {
        let rows = store.peek(Keyspace::Domain, &[], &[0xff], PAGE)?;
        if rows.is_empty() {
            break;
        }
        let mut batch = WriteBatch::default();
        rows.into_iter().for_each(|(key, _)| batch.delete(Keyspace::Domain, key));
        store.commit(batch)?;
    }
    let mut from = Vec::new();
    while let Some((page, next)) = origins(store, &from)? {
        let mut shifts = Shifts::default();
        page.iter().for_each(|(origin, summary)| shifts.note(origin, &Summary::default(), summary));
        let mut batch = WriteBatch::default();
        shifts.write(store, &mut batch)?;
        store.commit(batch)?;
        from = next;
    }
    Ok(())
}

fn each_origin<S: Store>(store: &S, mut see: impl FnMut(&Origin, &Summary)) -> Result<(), StoreError> {
    let mut from = Vec::new();
    while let Some((page, next)) = origins(store, &from)? {
        page.iter().for_each(|(origin, summary)| see(origin, summary));
        from = next;
    }
    Ok(())
}

/// Origins with their counts, and where the next page begins.
type Origins = (Vec<(Origin, Summary)>, Vec<u8>);

/// A page of the origins; `None` behind the last.
fn origins<S: Store>(store: &S, from: &[u8]) -> Result<Option<Origins>, StoreError> {
    let rows = store.peek(Keyspace::Origin, from, &[0xff], PAGE)?;
    let Some((last, _)) = rows.last() else { return Ok(None) };
    let mut next = last.clone();
    next.push(0);
    let mut page = Vec::with_capacity(rows.len());
    for (key, value) in rows {
        let Some(origin) = origin_of(&key) else { continue };
        let record = OriginRecord::decode(&value).or_else(|_| recount(store, &origin))?;
        page.push((origin, record.summary));
    }
    Ok(Some((page, next)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_read_back_and_parts_of_them_are_errors() {
        for counts in [Counts::default(), Counts { pages: 300, queued: 7 }, Counts { pages: u64::MAX, queued: 1 << 40 }]
        {
            let mut bytes = Vec::new();
            counts.encode_into(&mut bytes);
            assert_eq!(Counts::decode(&bytes), Ok(counts));
            (0..bytes.len()).for_each(|cut| assert!(Counts::decode(&bytes[..cut]).is_err(), "{counts:?} cut at {cut}"));
        }
        assert_eq!(Counts::decode(&[9, 1, 1]), Err(RecordError::Version(9)));
        assert_eq!(Counts::decode(&[1, 1, 1, 1]), Err(RecordError::Length));
    }

    #[test]
    fn hosts_schemes_and_ports_of_one_domain_count_together_and_addresses_by_themselves() {
        let rows = [
            ("http://a.example.com", "example.com"),
            ("https://b.a.example.com:8443", "example.com"),
            ("https://one.github.io", "one.github.io"),
            ("http://127.0.0.1:81", "127.0.0.1"),
            ("http://[::1]", "[::1]"),
            ("http://localhost", "localhost"),
        ];
        for (origin, name) in rows {
            assert_eq!(name_of(&Origin::parse(origin).unwrap()), name, "{origin}");
        }
    }
}
