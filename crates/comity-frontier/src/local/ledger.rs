mod schedule;
mod touched;

use std::collections::{HashMap, HashSet};

use comity_policy::{Instant, Reason};
use comity_url::{Origin, UrlKey};

use self::touched::{Home, Touched};
use super::domains::Domains;
use super::left::{self, Place};
use super::roster::Roster;
use super::visits::Visits;
use crate::key::{put_queue_key, queue_key};
use crate::rest::{OriginRecord, Rest, Row};
use crate::seen::SeenSet;
use crate::totals::Totals;
use crate::{
    Ending, Keyspace, LeasedUrl, Offer, Offered, QueuedUrl, Scheduler, Settlement, Spent, Store, StoreError, WriteBatch,
};

/// One atomic commit under way: what changes in the store, and what the scheduler learns once it is written.
#[derive(Debug)]
pub(super) struct Ledger<'a, S> {
    store: &'a S,
    scheduler: &'a Scheduler,
    seen: &'a SeenSet,
    roster: &'a Roster,
    visits: &'a Visits,
    changes: Changes,
    known: HashMap<Origin, Known>,
    taken: HashSet<UrlKey>,
    /// Records of origins that are not in memory, read ahead.
    ahead: Vec<OriginRecord>,
    domains: Domains,
    /// Whose next visit was looked at.
    hinted: HashSet<UrlKey>,
    new_origins: u64,
    /// Where the next URL that leaves is kept until its record is safe; `None` where no records are written.
    pub(super) left: Option<Place>,
}

/// What a ledger knows of an origin.
#[derive(Clone, Copy, Debug)]
enum Known {
    /// It is not in memory, and the store has no record of it.
    Nobody,
    /// It is not in memory, and its record stands there in `ahead`.
    Ahead(usize),
    /// Its changes stand there in `changes.touched`.
    Touched(usize),
}

/// What a ledger comes to.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// To commit.
    pub(super) batch: WriteBatch,
    /// In the order in which they were met: nothing depends on the order of a map (invariant 13).
    touched: Vec<(Origin, Touched)>,
    /// Records appended: origin, priority, sequence.
    appended: Vec<(Origin, u8, u64)>,
    seen: Vec<UrlKey>,
    /// Keys by time of the next visits that were written.
    scheduled: Vec<Vec<u8>>,
    returned: u64,
    /// Where URLs that left are kept until their records are safe.
    pub(super) left: Vec<Place>,
    totals: Totals,
    last_ticket: u64,
    turned_away: u64,
}

impl<'a, S: Store> Ledger<'a, S> {
    pub(super) fn new(
        store: &'a S,
        scheduler: &'a Scheduler,
        seen: &'a SeenSet,
        roster: &'a Roster,
        visits: &'a Visits,
    ) -> Self {
        let changes =
            Changes { totals: scheduler.totals(), last_ticket: scheduler.last_ticket(), ..Changes::default() };
        Self {
            store,
            scheduler,
            seen,
            roster,
            visits,
            changes,
            known: HashMap::new(),
            taken: HashSet::new(),
            ahead: Vec::new(),
            domains: Domains::default(),
            hinted: HashSet::new(),
            new_origins: 0,
            left: None,
        }
    }

    /// These URLs are about to be offered: what the store knows of their origins and domains is read in the order in which it
    /// lies there, which costs a part of reading it in the order of the offers.
    pub(super) fn expect<'o>(&mut self, offers: impl Iterator<Item = &'o Offer>) -> Result<(), StoreError> {
        if self.scheduler.queued() >= self.scheduler.config().queued {
            return Ok(());
        }
        let mut origins: Vec<&Origin> =
            offers.filter(|offer| !self.seen.contains(offer.key)).map(|offer| offer.url.origin()).collect();
        origins.sort_unstable_by(|one, other| one.as_str().cmp(other.as_str()));
        origins.dedup();
        self.known.reserve(origins.len());
        for origin in &origins {
            if !self.scheduler.knows(origin) {
                let known = match self.roster.record(self.store, origin)? {
                    Some(record) => {
                        self.ahead.push(record);
                        Known::Ahead(self.ahead.len() - 1)
                    }
                    None => Known::Nobody,
                };
                self.known.insert((*origin).clone(), known);
            }
        }
        self.domains.expect(self.store, &origins)
    }

    /// Takes one URL in, unless it was seen or a budget is spent.
    pub(super) fn offer(&mut self, offer: Offer) -> Result<Offered, StoreError> {
        let key = offer.key;
        if self.seen.contains(key) || self.taken.contains(&key) {
            if let Some(hint) = offer.hint {
                self.hear(key, hint)?;
            }
            return Ok(Offered::Seen);
        }
        let offered = self.queue(offer)?;
        if offered == Offered::New {
            self.taken.insert(key);
            self.changes.seen.push(key);
        }
        Ok(offered)
    }

    /// Writes what a settlement changes, and gives what became of its links.
    pub(super) fn settle(
        &mut self,
        leased: &LeasedUrl<'_>,
        settlement: &mut Settlement,
    ) -> Result<Vec<Offered>, StoreError> {
        self.spend(leased.origin, settlement.spent())?;
        match settlement {
            Settlement::Done { links, .. } => self.done(leased, std::mem::take(links)),
            Settlement::Again { ending, links, revisit, .. } => {
                let links = std::mem::take(links).into_iter().map(|link| self.offer(link)).collect::<Result<_, _>>()?;
                self.schedule(leased, *ending, revisit)?;
                self.leave(leased, *ending)?;
                Ok(links)
            }
            Settlement::Refused { .. } => self.leave(leased, Ending::Refused).map(|()| Vec::new()),
            Settlement::Failed { .. } => self.leave(leased, Ending::Failed).map(|()| Vec::new()),
            Settlement::Retry { .. } => {
                if leased.runs {
                    self.count_attempt(leased.origin, leased.priority, leased.sequence)?;
                }
                Ok(Vec::new())
            }
            Settlement::Snooze { .. } => Ok(Vec::new()),
        }
    }

    fn spend(&mut self, origin: &Origin, spent: Spent) -> Result<(), StoreError> {
        if spent != Spent::default() {
            self.changes.totals.spend(spent);
            self.touch(origin)?.record.summary.receive(spent.bytes);
        }
        Ok(())
    }

    /// Counts an attempt in the record of a URL. One that cannot be read stays as it is: it is told when it is read next.
    pub(super) fn count_attempt(&mut self, origin: &Origin, priority: u8, sequence: u64) -> Result<(), StoreError> {
        let key = queue_key(origin, priority, sequence);
        if let Some(queued) = self.record(&key)? {
            let attempts = queued.attempts.saturating_add(1);
            self.changes.batch.insert(Keyspace::Queue, key, QueuedUrl { attempts, ..queued }.encode());
        }
        Ok(())
    }

    /// A record of the queue, if it can be read.
    fn record(&self, key: &[u8]) -> Result<Option<QueuedUrl>, StoreError> {
        let bytes = self.store.get(Keyspace::Queue, key)?;
        Ok(bytes.and_then(|bytes| QueuedUrl::decode(&bytes).ok()))
    }

    /// Everything that changed, with the counts.
    pub(super) fn close(mut self) -> Result<Changes, StoreError> {
        let mut totals = self.changes.totals;
        let before = self.scheduler.totals();
        // Those that come to memory now draw theirs first: one when they wake, one when something new waits.
        self.changes.last_ticket += (self.changes.touched.len() + self.changes.appended.len()) as u64;
        for (origin, touched) in &mut self.changes.touched {
            totals.subtract(&touched.before);
            totals.add(&touched.record.summary);
            if touched.shifts() {
                let domain = touched.domain.map_or_else(|| self.domains.place(self.store, origin), Ok)?;
                self.domains.shift(domain, &touched.before, &touched.record.summary);
            }
            totals.origins += u64::from(!touched.stored);
            if touched.record.row.is_none() && touched.record.summary.queued() > 0 {
                self.changes.last_ticket += 1;
                let row = self.roster.row(self.scheduler.latest(), self.changes.last_ticket);
                touched.record.row = Some(row);
                self.changes.batch.put(
                    Keyspace::Due,
                    |out| row.put_key(out),
                    |out| out.extend_from_slice(name(origin)),
                );
            }
            let record = &touched.record;
            let put = |out: &mut Vec<u8>| out.extend_from_slice(name(origin));
            self.changes.batch.put(Keyspace::Origin, put, |out| record.encode_into(out));
        }
        self.domains.write(&mut self.changes.batch);
        if !self.changes.seen.is_empty() {
            let (key, seen) = (self.roster.next_commit().to_be_bytes(), &self.changes.seen);
            let prints = |out: &mut Vec<u8>| seen.iter().for_each(|key| out.extend(key.to_bytes()));
            self.changes.batch.put(Keyspace::Seen, |out| out.extend(key), prints);
        }
        if totals != before {
            self.changes.totals = totals;
            self.changes.batch.insert(Keyspace::Meta, super::open::TOTALS.to_vec(), totals.encode());
        }
        Ok(self.changes)
    }

    fn done(&mut self, leased: &LeasedUrl<'_>, links: Vec<Offer>) -> Result<Vec<Offered>, StoreError> {
        let mut requeued = false;
        let mut offered = Vec::with_capacity(links.len());
        for link in links {
            // A redirect from one spelling of a page to another has the page's own fingerprint: it is seen, but what
            // it stands for was never fetched. The bound on redirects in a row ends a loop of spellings.
            let is_same = !requeued && link.hops > 0 && link.key == leased.key;
            let respelled = is_same && self.differs(leased, &link)?;
            let answer = if respelled { self.queue(link)? } else { self.offer(link)? };
            requeued |= respelled && answer == Offered::New;
            offered.push(answer);
        }
        self.leave(leased, Ending::Done)?;
        Ok(offered)
    }

    /// True unless `link` is the very URL that was fetched.
    fn differs(&self, leased: &LeasedUrl<'_>, link: &Offer) -> Result<bool, StoreError> {
        let key = queue_key(leased.origin, leased.priority, leased.sequence);
        let fetched = if leased.runs { self.record(&key)? } else { None };
        Ok(fetched.is_some_and(|queued| queued.url != link.url))
    }

    fn leave(&mut self, leased: &LeasedUrl<'_>, ending: Ending) -> Result<(), StoreError> {
        let key = queue_key(leased.origin, leased.priority, leased.sequence);
        if let Some(place) = self.left {
            self.keep_for_now(place, &key, ending)?;
        }
        self.changes.batch.delete(Keyspace::Queue, key);
        let lows = if leased.runs { self.scheduler.lows(leased.origin) } else { Vec::new() };
        let summary = &mut self.touch(leased.origin)?.record.summary;
        summary.end(leased.priority, ending);
        lows.into_iter().for_each(|(priority, low)| summary.rise(priority, low));
        Ok(())
    }

    /// Keeps what leaves the queue, for the case that a power cut takes its record.
    fn keep_for_now(&mut self, place: Place, key: &[u8], ending: Ending) -> Result<(), StoreError> {
        if let Some(record) = self.store.get(Keyspace::Queue, key)? {
            self.changes.batch.insert(Keyspace::Left, place.key(), left::encode(ending, key, &record));
            self.changes.left.push(place);
            self.left = Some(place.after());
        }
        Ok(())
    }

    /// Appends to the queue, if the budgets allow.
    fn queue(&mut self, offer: Offer) -> Result<Offered, StoreError> {
        let config = self.scheduler.config();
        let origin = offer.url.origin().clone();
        let waiting = self.scheduler.queued() + self.changes.totals.scheduled;
        let queued = waiting + self.changes.appended.len() as u64;
        if queued >= config.queued {
            return Ok(self.turn_away(Reason::UrlBudgetQueue));
        }
        let (most_pages, most_bytes, most_origins) = (config.pages_per_origin, config.bytes_per_origin, config.origins);
        let known = self.scheduler.origins() + self.new_origins;
        let place = match self.find(&origin)? {
            Some(place) if self.at(place).record.summary.pages() >= most_pages => {
                return Ok(self.turn_away(Reason::UrlBudgetPages));
            }
            Some(place) if self.at(place).record.summary.bytes() >= most_bytes => {
                return Ok(self.turn_away(Reason::UrlBudgetBytes));
            }
            None if known >= most_origins => return Ok(self.turn_away(Reason::UrlBudgetQueue)),
            None if most_pages == 0 => return Ok(self.turn_away(Reason::UrlBudgetPages)),
            place => place,
        };
        let domain = place.and_then(|place| self.at(place).domain);
        let domain = domain.map_or_else(|| self.domains.place(self.store, &origin), Ok)?;
        if let Some(reason) = self.spent_by_domain(domain) {
            return Ok(self.turn_away(reason));
        }
        let place = place.unwrap_or_else(|| self.introduce(&origin));
        self.at(place).domain = Some(domain);
        self.domains.take(domain);
        let priority = offer.priority;
        let sequence = self.at(place).record.summary.admit(priority);
        self.append(place, priority, sequence, &QueuedUrl::from(offer));
        Ok(Offered::New)
    }

    /// Which budget of a domain is spent.
    fn spent_by_domain(&self, domain: usize) -> Option<Reason> {
        let config = self.scheduler.config();
        let (pages, queued) = self.domains.of(domain);
        if pages >= config.pages_per_domain {
            return Some(Reason::UrlBudgetDomain);
        }
        (queued >= config.queued_per_domain).then_some(Reason::UrlBudgetPending)
    }

    /// Writes a record that was counted to the origin at `place`.
    fn append(&mut self, place: usize, priority: u8, sequence: u64, queued: &QueuedUrl) {
        let origin = queued.url.origin().clone();
        let touched = self.at(place);
        match (&touched.home, touched.record.rest.as_mut()) {
            (Home::Asleep, Some(rest)) => rest.append(priority, sequence),
            // Written by an earlier run: when it wakes, everything that is queued counts as waiting.
            (Home::Asleep, None) => {}
            _ => self.changes.appended.push((origin.clone(), priority, sequence)),
        }
        let key = |out: &mut Vec<u8>| put_queue_key(out, &origin, priority, sequence);
        self.changes.batch.put(Keyspace::Queue, key, |out| queued.encode_into(out));
    }

    const fn turn_away(&mut self, reason: Reason) -> Offered {
        self.changes.turned_away += 1;
        Offered::Refused(reason)
    }

    /// An origin that is known already.
    fn touch(&mut self, origin: &Origin) -> Result<&mut Touched, StoreError> {
        let place = match self.find(origin)? {
            Some(place) => place,
            None => self.enter(origin, Touched::unknown()),
        };
        Ok(self.at(place))
    }

    /// Where the changes of an origin stand, if it is known.
    fn find(&mut self, origin: &Origin) -> Result<Option<usize>, StoreError> {
        let record = match self.known.get(origin) {
            Some(Known::Touched(place)) => return Ok(Some(*place)),
            Some(Known::Nobody) => None,
            Some(Known::Ahead(place)) => self.ahead.get_mut(*place).map(std::mem::take),
            None => match self.scheduler.resident(origin) {
                Some((summary, row, stored)) => {
                    let found = Touched::resident(summary, row, stored);
                    return Ok(Some(self.enter(origin, found)));
                }
                None => self.roster.record(self.store, origin)?,
            },
        };
        Ok(record.map(|record| {
            let waking = self.roster.waking(&record);
            self.enter(origin, Touched::sleeper(record, waking))
        }))
    }

    fn enter(&mut self, origin: &Origin, touched: Touched) -> usize {
        let place = self.changes.touched.len();
        self.changes.touched.push((origin.clone(), touched));
        self.known.insert(origin.clone(), Known::Touched(place));
        place
    }

    /// The changes at a place that [`Ledger::enter`] gave.
    fn at(&mut self, place: usize) -> &mut Touched {
        &mut self.changes.touched[place].1
    }

    /// An origin that nobody has heard of: kept in memory while there is room, put to sleep at once otherwise.
    fn introduce(&mut self, origin: &Origin) -> usize {
        let most = self.scheduler.config().resident_origins.max(1) as usize;
        let in_memory = self.scheduler.residents() + usize::try_from(self.new_origins).unwrap_or(usize::MAX);
        self.new_origins += 1;
        let mut touched = Touched::unknown();
        if in_memory >= most {
            touched.home = Home::Asleep;
            touched.record.rest = Some(Box::new(Rest::untold(self.roster.run(), self.scheduler.latest())));
        }
        self.enter(origin, touched)
    }
}

impl Changes {
    /// Tells the schedule what was committed of it.
    pub(super) fn schedule(&mut self, visits: &mut Visits) {
        self.scheduled.drain(..).for_each(|key| visits.note(&key));
        visits.returned += std::mem::take(&mut self.returned);
    }

    /// Tells everybody what was committed. True when an origin woke that may have been the next sleeper to be due.
    pub(super) fn apply(self, scheduler: &mut Scheduler, seen: &mut SeenSet, roster: &mut Roster) -> bool {
        scheduler.set_totals(self.totals);
        let mut woke = false;
        for (origin, touched) in self.touched {
            let OriginRecord { summary, row, .. } = touched.record;
            match touched.home {
                Home::Asleep => {
                    if touched.stored {
                        continue;
                    }
                    if let Some(row) = row {
                        roster.note_new(row, &origin);
                        woke = true;
                    }
                }
                Home::Memory => scheduler.adopt(&origin, summary, row),
                Home::Wakes(record, waking) => {
                    woke = true;
                    scheduler.recall(&origin, *record, waking);
                    scheduler.adopt(&origin, summary, row);
                }
            }
        }
        for (origin, priority, sequence) in self.appended {
            scheduler.append(&origin, priority, sequence);
        }
        scheduler.skip_tickets(self.last_ticket);
        if !self.seen.is_empty() {
            roster.committed();
            for key in self.seen {
                seen.insert(key);
            }
        }
        scheduler.turn_away(self.turned_away);
        woke
    }
}

/// An origin's key.
fn name(origin: &Origin) -> &[u8] {
    origin.as_str().as_bytes()
}

/// A key of the run under way.
pub(super) const fn row(run: u64, at: Instant, ticket: u64) -> Row {
    Row { run, at, ticket }
}
