use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;

use comity_robots::ProductToken;
use comity_url::CrawlUrl;

use super::Auditor;
use super::breach::{Breach, Violation};
use super::chain::{Chain, Chains};
use super::clock::ClientClock;
use super::oddity::{has_contact, oddity};
use super::report::{Audit, MAX_VIOLATIONS, OriginAudit};
use super::view::{View, micros};
use crate::live::Live;
use crate::log::{Death, Sighting};
use crate::robots_step::{MAX_HOPS, Step, life, step};

/// One reading of a log.
pub(super) struct Examination<'a> {
    auditor: &'a Auditor,
    clock: ClientClock,
    live: &'a Live,
    log: &'a [Sighting],
    clients: Vec<Client>,
    by_agent: HashMap<Option<String>, usize>,
    views: BTreeMap<(usize, usize), View>,
    addresses: HashMap<(usize, SocketAddr), AddressView>,
    chains: Chains,
    audit: Audit,
}

struct Client {
    agent: Option<String>,
    tokens: Vec<String>,
}

#[derive(Default)]
struct AddressView {
    last: Option<(u64, u64)>,
    open: Vec<usize>,
}

/// One thing that happened.
#[derive(Clone, Copy)]
enum Happened<'a> {
    Arrival(&'a Sighting),
    Answer(&'a Sighting),
    Death(Death),
}

/// What a request was sent for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Errand {
    Robots,
    Page,
}

impl<'a> Examination<'a> {
    pub(super) fn new((auditor, clock): (&'a Auditor, ClientClock), live: &'a Live, log: &'a [Sighting]) -> Self {
        Self {
            auditor,
            clock,
            live,
            log,
            clients: Vec::new(),
            by_agent: HashMap::new(),
            views: BTreeMap::new(),
            addresses: HashMap::new(),
            chains: Chains::default(),
            audit: Audit::default(),
        }
    }

    pub(super) fn run(mut self, deaths: &[Death], lost: u64) -> Audit {
        // Arrivals and answers in the order in which they happened, also where the clock stood still.
        let arrivals = self.log.iter().map(|seen| (seen.arrival, Happened::Arrival(seen)));
        let answers = self.log.iter().filter_map(|seen| Some((seen.answer?, Happened::Answer(seen))));
        let died = deaths.iter().map(|death| (death.order, Happened::Death(*death)));
        let mut events: Vec<(u64, Happened<'_>)> = arrivals.chain(answers).chain(died).collect();
        events.sort_by_key(|(order, _)| *order);
        let mut born = 0;
        for (order, event) in events {
            match event {
                Happened::Arrival(seen) => self.arrival(seen),
                // An answer to a client that is no more tells nobody anything.
                Happened::Answer(seen) if seen.arrival < born => {}
                Happened::Answer(seen) => self.answer(seen),
                Happened::Death(death) => {
                    born = order;
                    self.chains = Chains::default();
                    self.views.values_mut().for_each(|view| view.died(death.at_us, self.log));
                }
            }
        }
        self.report(lost)
    }

    fn arrival(&mut self, seen: &Sighting) {
        let client = self.client(seen);
        self.audit.requests += 1;
        if let Some(oddity) = oddity(seen) {
            self.note(seen, Breach::OddRequest { oddity });
        }
        let Some(site) = seen.site else { return };
        self.address(client, seen);
        let errand = self.errand(client, site, seen);
        let (floor, transit, log) = (self.auditor.floor, self.auditor.transit, self.log);
        let wall = self.live.wall(seen.arrived_us);
        let view = self.views.entry((client, site)).or_default();
        let mut breaches = vec![view.pace((seen, wall), errand, floor, log), view.pause(seen, transit, &self.clock)];
        match errand {
            Errand::Robots => view.tally.robots_requests += 1,
            Errand::Page => {
                breaches.push(view.judge(seen, transit, &self.clock));
                breaches.push(view.hours(wall));
                view.tally.page(seen);
            }
        }
        view.arrived(seen);
        for breach in breaches.into_iter().flatten() {
            self.note(seen, breach);
        }
    }

    /// Tells robots errands from pages, and sends the chains they belong to on their way.
    ///
    /// One request may have been meant for any of several purposes: a hop of this chain or that, the origin's own file.
    /// The log cannot tell, so each may be served by it, and each but one may still ask.
    fn errand(&mut self, client: usize, site: usize, seen: &Sighting) -> Errand {
        let Some(url) = self.url(site, seen) else { return Errand::Page };
        let is_file = seen.request.is_robots_txt();
        let again = self.views.entry((client, site)).or_default().again(seen, &self.clock).filter(|_| is_file);
        let may_be_own = is_file && again.is_none();
        let (hops, owed) = self.chains.expect(client, &url);
        // The own purpose may be among those that are owed.
        let purposes = hops + owed + usize::from(may_be_own && owed == 0);
        if let Some(breach) = again.filter(|_| purposes == 0) {
            self.note(seen, breach);
        } else if !is_file && purposes == 0 {
            return Errand::Page;
        }
        // Without an answer nothing was learnt, and whoever waits waits on.
        if seen.answer.is_some() {
            if may_be_own && hops == 0 && owed == 0 {
                self.chains.forget_doubtful(client, site);
            }
            self.chains.go_on(seen.number, client, &url);
            if may_be_own || (is_file && purposes == 0) {
                self.chains.start(seen.number, site, &url);
            }
            self.chains.share(seen.number, client, &url, purposes);
        }
        Errand::Robots
    }

    fn answer(&mut self, seen: &Sighting) {
        let (Some(site), Some(at_us)) = (seen.site, seen.head_sent_us) else { return };
        let client = self.client(seen);
        self.views.entry((client, site)).or_default().head(seen, at_us);
        for chain in self.chains.answered(seen.number) {
            self.advance(client, chain, seen, at_us);
        }
    }

    fn advance(&mut self, client: usize, chain: Chain, seen: &Sighting, at_us: u64) {
        let (Some(reply), Some(url)) = (&seen.reply, chain.visited.last()) else { return };
        let tokens = self.clients.get(client).map_or(&[][..], |client| &client.tokens);
        let step =
            if seen.head_whole { step(reply, seen.cut, url, &self.live.layout, tokens) } else { Step::Unreachable };
        let life = life(reply.answer());
        let view = self.views.entry((client, chain.site)).or_default();
        match step {
            Step::Rules(rules) => view.learn_from(chain.moved_by, Some(rules), life, seen, at_us),
            Step::Absent => view.learn_from(chain.moved_by, None, life, seen, at_us),
            Step::NotModified => view.confirm(life, seen, at_us),
            Step::Unreachable => {
                view.fail(seen, at_us);
                if chain.visited.len() > 1 && seen.request.is_robots_txt() {
                    self.chains.wait_again(client, chain);
                } else if chain.visited.len() == 1 {
                    self.chains.served_nobody(seen.number, client, url);
                }
            }
            // Too many: counts as absent.
            Step::Redirect(_) if chain.visited.len() > MAX_HOPS => {
                view.learn_from(chain.moved_by, None, life, seen, at_us)
            }
            // A loop is noticed at once, or followed to the same end.
            Step::Redirect(next) if chain.visited.contains(&next) => {
                view.learn_from(chain.moved_by, None, life, seen, at_us);
                self.chains.wait(client, chain, next);
            }
            // Nobody here sees whether it is reached; it has no rules for us.
            Step::Redirect(next) if self.live.layout.site_of(next.origin()).is_none() => view.fail(seen, at_us),
            Step::Redirect(next) => self.chains.wait(client, chain, next),
        }
    }

    fn address(&mut self, client: usize, seen: &Sighting) {
        let log = self.log;
        let view = self.addresses.entry((client, seen.local)).or_default();
        let last = view.last.replace((seen.number, seen.arrived_us));
        let still_open =
            |place: &usize| log.get(*place).is_some_and(|old| old.ended_us.is_none_or(|end| end > seen.arrived_us));
        view.open.retain(still_open);
        view.open.extend(usize::try_from(seen.number));
        let open = view.open.len();
        if let (Some(gap), Some((after_request, at))) = (self.auditor.address_gap, last) {
            let (gap_us, asked_us) = (seen.arrived_us.saturating_sub(at), micros(gap));
            if gap_us < asked_us {
                self.note(seen, Breach::AddressTooSoon { after_request, gap_us, asked_us });
            }
        }
        if let Some(limit) = self.auditor.per_address.filter(|limit| open > *limit) {
            self.note(seen, Breach::AddressCrowded { open, limit });
        }
    }

    fn client(&mut self, seen: &Sighting) -> usize {
        let agent = seen.request.field("user-agent").map(std::borrow::Cow::into_owned);
        if let Some(known) = self.by_agent.get(&agent) {
            return *known;
        }
        if !agent.as_deref().is_some_and(has_contact) {
            self.note(seen, Breach::NoContact { user_agent: agent.clone() });
        }
        let tokens = if self.auditor.tokens.is_empty() {
            agent.as_deref().and_then(|agent| ProductToken::cut(agent).ok()).iter().map(ToString::to_string).collect()
        } else {
            self.auditor.tokens.clone()
        };
        let number = self.clients.len();
        self.clients.push(Client { agent: agent.clone(), tokens });
        self.by_agent.insert(agent, number);
        number
    }

    fn url(&self, site: usize, seen: &Sighting) -> Option<CrawlUrl> {
        let origin = self.live.layout.origin(site)?;
        CrawlUrl::parse(&format!("{origin}{}", seen.request.target_text())).ok()
    }

    fn note(&mut self, seen: &Sighting, breach: Breach) {
        *self.audit.counts.entry(breach.kind()).or_default() += 1;
        if self.audit.violations.len() < MAX_VIOLATIONS {
            let origin = seen.site.and_then(|site| self.live.layout.origin(site)).map(ToString::to_string);
            let target = seen.request.target_text().into_owned();
            let violation = Violation { request: seen.number, at_us: seen.arrived_us, origin, target, breach };
            self.audit.violations.push(violation);
        }
    }

    fn report(mut self, lost: u64) -> Audit {
        let mut active: HashMap<(usize, Option<SocketAddr>), u32> = HashMap::new();
        for ((client, site), view) in &self.views {
            if view.tally.page_requests > 0 {
                *active.entry((*client, self.live.layout.address(*site))).or_default() += 1;
            }
        }
        for ((client, site), view) in &self.views {
            let crowd = active.get(&(*client, self.live.layout.address(*site))).copied().unwrap_or(0);
            let row = self.row(*client, *site, view, crowd);
            let audit = &mut self.audit;
            audit.robots_requests += row.robots_requests;
            audit.page_requests += view.tally.page_requests;
            audit.pages += row.pages;
            audit.distinct_pages += view.tally.answered.len() as u64;
            audit.repeats += view.tally.repeats;
            audit.slots_used += row.slots_used;
            audit.slots_offered += row.slots_offered;
            audit.origins.push(row);
        }
        self.audit.refused_targets = self.audit.count("refused_target");
        self.audit.lost = lost;
        self.audit
    }

    fn row(&self, client: usize, site: usize, view: &View, crowd: u32) -> OriginAudit {
        let tally = &view.tally;
        let gap = self.auditor.address_gap.unwrap_or_default() * crowd;
        let slot_us = micros(tally.delay.max(self.auditor.floor.unwrap_or_default()).max(gap));
        let span = tally.first_page_us.map(|first| tally.last_page_us.saturating_sub(first));
        let slots_offered = match span {
            None => 0,
            Some(span) => span.checked_div(slot_us).map_or(tally.page_requests, |turns| turns + 1),
        };
        OriginAudit {
            origin: self.live.layout.origin(site).map(ToString::to_string).unwrap_or_default(),
            user_agent: self.clients.get(client).and_then(|client| client.agent.clone()).unwrap_or_default(),
            requests: tally.requests,
            robots_requests: tally.robots_requests,
            pages: tally.pages,
            delay_us: micros(tally.delay),
            slot_us,
            slots_used: tally.page_requests,
            slots_offered,
            tightest_gap_us: tally.tightest_gap_us,
        }
    }
}

impl super::view::Tally {
    /// Counts a page request.
    fn page(&mut self, seen: &Sighting) {
        self.page_requests += 1;
        self.first_page_us.get_or_insert(seen.arrived_us);
        self.last_page_us = seen.arrived_us;
        let target = seen.request.target();
        if self.settled.contains(target) {
            self.repeats += 1;
        }
        if let Some(status) = seen.status {
            if (200..=299).contains(&status) {
                self.pages += 1;
                self.answered.insert(target.to_vec());
            }
            if status != 429 && status < 500 {
                self.settled.insert(target.to_vec());
            }
        }
    }
}
