mod schedule;

use std::collections::{HashMap, HashSet};

use comity_policy::{Instant, OriginPace, Overlap, Ready, Reason, Turn};
use comity_url::{Origin, UrlKey};

use super::domains::{Domains, Shifts};
use super::left::{self, Place};
use super::roster::Roster;
use super::visits::Visits;
use crate::key::queue_key;
use crate::rest::{OriginRecord, Rest, Row};
use crate::scheduler::Waking;
use crate::seen::SeenSet;
use crate::totals::Totals;
use crate::{
    Ending, Keyspace, LeasedUrl, Offer, Offered, QueuedUrl, Scheduler, Settlement, Spent, Store, StoreError, Summary,
    WriteBatch,
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
    /// Where in `changes.touched` an origin stands.
    places: HashMap<Origin, usize>,
    taken: HashSet<UrlKey>,
    /// Records of origins that are not in memory, read ahead.
    ahead: HashMap<Origin, Option<Box<OriginRecord>>>,
    domains: Domains,
    /// Whose next visit was looked at.
    hinted: HashSet<UrlKey>,
    new_origins: u64,
    /// Where the next URL that leaves is kept until its record is safe; `None` where no records are written.
    pub(super) left: Option<Place>,
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

/// An origin whose counts change.
#[derive(Debug)]
struct Touched {
    record: OriginRecord,
    before: Summary,
    home: Home,
    /// Whether the store had a record of it.
    stored: bool,
}

/// Where an origin is, and will be after the commit.
#[derive(Debug)]
enum Home {
    /// In memory, or new to it.
    Memory,
    /// It sleeps on.
    Asleep,
    /// It sleeps, and comes to memory as this record.
    Wakes(Box<OriginRecord>, Waking),
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
        let (places, taken, hinted) = (HashMap::new(), HashSet::new(), HashSet::new());
        let domains = Domains::default();
        Self {
            store,
            scheduler,
            seen,
            roster,
            visits,
            changes,
            places,
            taken,
            ahead: HashMap::new(),
            domains,
            hinted,
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
        self.places.reserve(origins.len());
        for origin in &origins {
            if !self.scheduler.knows(origin) {
                let record = self.roster.record(self.store, origin)?;
                // Most are new, and a place without a record is small.
                self.ahead.insert((*origin).clone(), record.map(Box::new));
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
        let mut shifts = Shifts::default();
        let mut totals = self.changes.totals;
        let before = self.scheduler.totals();
        // Those that come to memory now draw theirs first: one when they wake, one when something new waits.
        self.changes.last_ticket += (self.changes.touched.len() + self.changes.appended.len()) as u64;
        for (origin, touched) in &mut self.changes.touched {
            totals.subtract(&touched.before);
            totals.add(&touched.record.summary);
            shifts.note(origin, &touched.before, &touched.record.summary);
            totals.origins += u64::from(!touched.stored);
            if touched.record.row.is_none() && touched.record.summary.queued() > 0 {
                self.changes.last_ticket += 1;
                let row = self.roster.row(self.scheduler.latest(), self.changes.last_ticket);
                touched.record.row = Some(row);
                self.changes.batch.insert(Keyspace::Due, row.to_key(), origin.as_str().as_bytes().to_vec());
            }
            let key = origin.as_str().as_bytes().to_vec();
            self.changes.batch.insert(Keyspace::Origin, key, touched.record.encode());
        }
        shifts.write(self.store, &self.domains, &mut self.changes.batch)?;
        if !self.changes.seen.is_empty() {
            let prints = self.changes.seen.iter().flat_map(|key| key.to_bytes()).collect();
            let key = self.roster.next_commit().to_be_bytes().to_vec();
            self.changes.batch.insert(Keyspace::Seen, key, prints);
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
        if let Some(reason) = self.spent_by_domain(&origin)? {
            return Ok(self.turn_away(reason));
        }
        let place = place.unwrap_or_else(|| self.introduce(&origin));
        self.domains.take(&origin);
        let priority = offer.priority;
        let sequence = self.at(place).record.summary.admit(priority);
        self.append(place, priority, sequence, &QueuedUrl::from(offer));
        Ok(Offered::New)
    }

    /// Which budget of an origin's domain is spent.
    fn spent_by_domain(&mut self, origin: &Origin) -> Result<Option<Reason>, StoreError> {
        let config = self.scheduler.config();
        let (pages, queued) = self.domains.of(self.store, origin)?;
        if pages >= config.pages_per_domain {
            return Ok(Some(Reason::UrlBudgetDomain));
        }
        Ok((queued >= config.queued_per_domain).then_some(Reason::UrlBudgetPending))
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
        self.changes.batch.insert(Keyspace::Queue, queue_key(&origin, priority, sequence), queued.encode());
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
        if let Some(place) = self.places.get(origin) {
            return Ok(Some(*place));
        }
        Ok(self.look_up(origin)?.map(|found| self.enter(origin, found)))
    }

    fn enter(&mut self, origin: &Origin, touched: Touched) -> usize {
        let place = self.changes.touched.len();
        self.changes.touched.push((origin.clone(), touched));
        self.places.insert(origin.clone(), place);
        place
    }

    /// The changes at a place that [`Ledger::enter`] gave.
    fn at(&mut self, place: usize) -> &mut Touched {
        &mut self.changes.touched[place].1
    }

    fn look_up(&mut self, origin: &Origin) -> Result<Option<Touched>, StoreError> {
        if let Some((summary, row, stored)) = self.scheduler.resident(origin) {
            let record = OriginRecord { summary: summary.clone(), row, rest: None };
            return Ok(Some(Touched { before: summary.clone(), record, home: Home::Memory, stored }));
        }
        let known = match self.ahead.remove(origin) {
            Some(known) => known.map(|record| *record),
            None => self.roster.record(self.store, origin)?,
        };
        let Some(record) = known else { return Ok(None) };
        let home =
            self.roster.waking(&record).map_or(Home::Asleep, |waking| Home::Wakes(Box::new(record.clone()), waking));
        let rest = if matches!(home, Home::Asleep) { record.rest.clone() } else { None };
        let before = record.summary.clone();
        Ok(Some(Touched { record: OriginRecord { rest, ..record }, before, home, stored: true }))
    }

    /// An origin that nobody has heard of: kept in memory while there is room, put to sleep at once otherwise.
    fn introduce(&mut self, origin: &Origin) -> usize {
        let most = self.scheduler.config().resident_origins.max(1) as usize;
        let in_memory = self.scheduler.residents() + usize::try_from(self.new_origins).unwrap_or(usize::MAX);
        self.new_origins += 1;
        let mut touched = Touched::unknown();
        if in_memory >= most {
            touched.home = Home::Asleep;
            touched.record.rest = Some(Box::new(self.roster.untold(self.scheduler.latest())));
        }
        self.enter(origin, touched)
    }
}

impl Touched {
    fn unknown() -> Self {
        Self { record: OriginRecord::default(), before: Summary::default(), home: Home::Memory, stored: false }
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

/// Nothing was told yet.
pub(super) fn untold(run: u64, since: Instant) -> Rest {
    let turn = Turn { ready: Ready { at: Instant::START, clock: Reason::Ok }, overlap: Overlap::AfterHead };
    Rest {
        run,
        since,
        turn,
        robots: None,
        hold: None,
        park: None,
        refusals: 0,
        pace: OriginPace::default(),
        waiting: Vec::new(),
        deferred: Vec::new(),
        damaged: Vec::new(),
    }
}

/// A key of the run under way.
pub(super) const fn row(run: u64, at: Instant, ticket: u64) -> Row {
    Row { run, at, ticket }
}
