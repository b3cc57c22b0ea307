//! The real frontier and the model, side by side.

use super::*;

/// The real frontier and the model, side by side.
pub(crate) struct Pair {
    real: Option<Local<MemoryStore>>,
    model: Model,
    judge: TestJudge,
    now: u64,
    names: usize,
}

impl Pair {
    pub(crate) fn new(config: SchedulerConfig) -> Self {
        let real = Some(Local::in_memory(config.clone()));
        Self { real, model: Model::new(config), judge: TestJudge::default(), now: 0, names: 0 }
    }

    pub(crate) fn real(&self) -> &Local<MemoryStore> {
        self.real.as_ref().unwrap()
    }

    fn instant(&self, millis: u64) -> Instant {
        Instant::from_micros(self.now + millis * 1000)
    }

    fn turn(&self, told: Told) -> Turn {
        match told {
            Told::Free => free(),
            Told::After(millis) => turn((self.now / 1000) + millis),
        }
    }

    pub(crate) fn play(&mut self, event: Event) {
        match event {
            Event::Offer { origin, count, priority, private } => self.offer(origin, count, priority, private),
            Event::OfferAgain { which } => self.offer_again(which),
            Event::Lease { n } => self.lease(n),
            Event::Late { which, done, turn } => self.late(which, done, turn),
            Event::Spent { which } => self.spent(which),
            Event::Head { which, turn } => self.head(which, turn),
            Event::Renew { which, wait } => self.renew(which, wait),
            Event::Wait { millis } => self.now += millis * 1000,
            Event::WaitLong => self.now += 1_100_000,
            Event::Restart { wait } => self.restart(wait),
            Event::Robots { .. } | Event::RobotsReady { .. } | Event::RobotsHold { .. } | Event::Judge { .. } => {
                self.robots(&event);
            }
            Event::Park { .. } | Event::Release { .. } => self.operator(&event),
            settlement => self.settle(&settlement),
        }
        self.model.watch();
        self.model.check_stats(&ready(self.real().stats(self.instant(0))).unwrap());
    }

    fn fresh(&mut self, origin: usize, count: usize, priority: u8, private: bool) -> Vec<Offer> {
        let folder = if private { "private" } else { "open" };
        let names = self.names..self.names + count;
        self.names += count;
        names.map(|name| Offer { priority, ..offer(&format!("http://{}/{folder}/{name}", host(origin))) }).collect()
    }

    /// Notes new URLs in the model, and gives what each is answered.
    fn admit(&mut self, offers: &[Offer], origin: usize) -> Vec<Offered> {
        let mut answers = Vec::new();
        for offer in offers {
            let (url, priority, answer) = (offer.url.clone(), offer.priority, self.model.answer(origin));
            if answer == Offered::New {
                self.model.urls.push(Url { url, origin, priority, attempts: 0, state: State::Waiting });
            }
            answers.push(answer);
        }
        answers
    }

    fn offer(&mut self, origin: usize, count: usize, priority: u8, private: bool) {
        let offers = self.fresh(origin, count, priority, private);
        let expected = self.admit(&offers, origin);
        assert_eq!(ready(self.real().offer(offers)).unwrap(), expected);
    }

    fn offer_again(&mut self, which: usize) {
        if let Some(url) = pick(&self.model.urls, which) {
            let again = offer(url.url.as_str());
            assert_eq!(ready(self.real().offer(vec![again])).unwrap(), [Offered::Seen]);
        }
    }

    fn lease(&mut self, n: usize) {
        self.judge.told().asked.clear();
        let leased = ready(self.real().lease(n, &self.judge, self.instant(0))).unwrap();
        let asked = std::mem::take(&mut self.judge.told().asked);
        let before: Vec<_> = self.model.leases.keys().copied().collect();
        self.model.check_lease(n, self.now, &asked, &leased);
        let after = &self.model.leases;
        self.model
            .spent
            .extend(before.into_iter().filter(|id| !after.contains_key(id) && !self.model.late.contains_key(id)));
    }

    fn settle(&mut self, event: &Event) {
        let (Event::Done { which, .. }
        | Event::Again { which, .. }
        | Event::Retry { which, .. }
        | Event::Failed { which, .. }
        | Event::Snooze { which, .. }
        | Event::Refused { which }) = event
        else {
            unreachable!("{event:?}")
        };
        let Some((&lease, &LeaseModel { url, .. })) =
            self.model.leases.iter().nth(which % self.model.leases.len().max(1))
        else {
            return;
        };
        let pace = OriginPace::default();
        let mut links = Vec::new();
        let (settlement, told, state) = match *event {
            Event::Done { links: count, turn, bytes, .. } => {
                links = self.fresh(count, count, 1, false);
                let settlement = Settlement::Done {
                    lease,
                    spent: self.receive(url, bytes),
                    links: links.clone(),
                    pace,
                    turn: self.turn(turn),
                };
                (settlement, Some(self.turn(turn)), State::Done)
            }
            Event::Again { links: count, turn, wait, bytes, .. } => {
                links = self.fresh(count, count, 1, false);
                let at = self.now / 1000 + wait;
                let visited = Visited { at: Some(WallTime::from_unix_millis(0)), ..Visited::default() };
                let at_wall = WallTime::from_unix_millis(i64::try_from(at).unwrap());
                let revisit = Box::new(Revisit { at: at_wall, priority: 3, visited });
                let (told, ending) = (Some((pace, self.turn(turn))), Ending::Done);
                let settlement = Settlement::Again {
                    lease,
                    spent: self.receive(url, bytes),
                    ending,
                    links: links.clone(),
                    told,
                    revisit,
                };
                (settlement, Some(self.turn(turn)), State::Scheduled(at))
            }
            Event::Retry { turn, wait, .. } => {
                self.model.urls[url].attempts += 1;
                let state = if wait == 0 { State::Waiting } else { State::Deferred(self.now + wait * 1000) };
                (retry(lease, self.turn(turn), self.instant(wait)), Some(self.turn(turn)), state)
            }
            Event::Failed { turn, .. } => (failed(lease, self.turn(turn)), Some(self.turn(turn)), State::Failed),
            Event::Snooze { turn, wait, .. } => {
                let told = self.turn(turn);
                let until = Ready { at: self.instant(wait).max(told.ready.at), clock: Reason::RateAddress };
                (snooze(lease, told, self.instant(wait)), Some(Turn { ready: until, ..told }), State::Waiting)
            }
            _ => (Settlement::Refused { lease }, None, State::Refused),
        };
        let answers = self.admit(&links, links.len());
        self.close(settlement, url, told, state, answers);
    }

    /// Notes in the model what a visit brought.
    fn receive(&mut self, url: usize, bytes: u64) -> Spent {
        let origin = self.model.urls[url].origin;
        self.model.origins[origin].received += bytes;
        Spent { bytes, ..Spent::default() }
    }

    /// Settles a held lease in both.
    fn close(&mut self, settlement: Settlement, url: usize, told: Option<Turn>, state: State, links: Vec<Offered>) {
        self.model.latest = self.model.latest.max(self.now);
        let lease = settlement.lease();
        self.model.leases.remove(&lease);
        self.model.spent.push(lease);
        self.model.urls[url].state = state;
        if let Some(turn) = told {
            let origin = self.model.urls[url].origin;
            self.model.tell(origin, turn);
        }
        let answers = ready(self.real().settle(vec![settlement], self.instant(0))).unwrap();
        assert_eq!(answers, [Settled::Applied { links }]);
    }

    fn late(&mut self, which: usize, is_done: bool, told: Told) {
        let Some((&lease, &url)) = self.model.late.iter().nth(which % self.model.late.len().max(1)) else { return };
        let turn = self.turn(told);
        self.model.latest = self.model.latest.max(self.now);
        let origin = self.model.urls[url].origin;
        self.model.tell(origin, turn);
        self.model.late.remove(&lease);
        self.model.spent.push(lease);
        if is_done {
            self.model.urls[url].state = State::Done;
        }
        let settlement = if is_done { done(lease, turn) } else { retry(lease, turn, self.instant(50)) };
        let answers = ready(self.real().settle(vec![settlement], self.instant(0))).unwrap();
        assert_eq!(answers, [Settled::Applied { links: vec![] }]);
    }

    fn spent(&mut self, which: usize) {
        let Some(&lease) = pick(&self.model.spent, which) else { return };
        self.model.latest = self.model.latest.max(self.now);
        let settlement = done_with(lease, vec![offer(&format!("http://{}/never", host(0)))], free());
        assert_eq!(ready(self.real().settle(vec![settlement], self.instant(0))).unwrap(), [Settled::Stale]);
        let renewed = ready(self.real().renew(lease, Renewal::until(Instant::NEVER), self.instant(0)));
        assert_eq!(renewed.unwrap(), Renewed::Stale);
    }

    fn head(&mut self, which: usize, told: Told) {
        let turn = self.turn(told);
        let count = self.model.leases.len().max(1);
        let Some((&lease, held)) = self.model.leases.iter_mut().nth(which % count) else { return };
        if held.errand == Errand::Head {
            held.errand = Errand::Body;
        }
        let origin = self.model.urls[held.url].origin;
        self.model.latest = self.model.latest.max(self.now);
        self.model.tell(origin, turn);
        let renewed = ready(self.real().renew(lease, Renewal::head_arrived(turn), self.instant(0)));
        assert_eq!(renewed.unwrap(), Renewed::Held);
    }

    fn renew(&mut self, which: usize, wait: u64) {
        let deadline = self.instant(wait);
        let count = self.model.leases.len().max(1);
        let Some((&lease, held)) = self.model.leases.iter_mut().nth(which % count) else { return };
        held.deadline = deadline.as_micros();
        self.model.latest = self.model.latest.max(self.now);
        let renewed = ready(self.real().renew(lease, Renewal::until(deadline), self.instant(0)));
        assert_eq!(renewed.unwrap(), Renewed::Held);
    }

    fn robots(&mut self, event: &Event) {
        let now = self.instant(0);
        match *event {
            Event::Robots { origin, unknown } => {
                self.model.origins[origin].unknown = unknown;
                let mut told = self.judge.told();
                if unknown {
                    told.unknown.insert(name(origin))
                } else {
                    told.unknown.remove(&name(origin))
                };
            }
            Event::Judge { origin, hold } => {
                self.model.origins[origin].held = hold.map(|wait| wait.map(|wait| wait * 1000));
                let mut told = self.judge.told();
                told.held.remove(&name(origin));
                if let Some(wait) = hold {
                    told.held.insert(name(origin), Hold { reason: Reason::ParkRobots, wait: wait.map(ms) });
                }
            }
            Event::RobotsReady { origin, turn } => {
                let turn = self.turn(turn);
                self.model.latest = self.model.latest.max(self.now);
                let state = &mut self.model.origins[origin];
                (state.told, state.free) = (turn.ready.at.as_micros(), turn.overlap == comity_policy::Overlap::Free);
                (state.robots, state.hold) = (None, None);
                ready(self.real().turn(name(origin), TurnNews::RobotsReady { turn }, now)).unwrap();
            }
            Event::RobotsHold { origin, wait } => {
                self.model.latest = self.model.latest.max(self.now);
                let until = wait.map(|wait| self.instant(wait));
                let state = &mut self.model.origins[origin];
                (state.robots, state.hold) = (None, Some(until.unwrap_or(Instant::NEVER).as_micros()));
                let news = TurnNews::Hold { until, reason: Reason::ParkRobots };
                ready(self.real().turn(name(origin), news, now)).unwrap();
            }
            _ => unreachable!("{event:?}"),
        }
    }

    fn operator(&mut self, event: &Event) {
        let now = self.instant(0);
        match *event {
            Event::Park { origin, wait } => {
                self.model.latest = self.model.latest.max(self.now);
                let until = wait.map(|wait| self.instant(wait));
                self.model.origins[origin].park = Some(until.unwrap_or(Instant::NEVER).as_micros());
                ready(self.real().park(name(origin), Reason::ParkOperator, until, now)).unwrap();
            }
            Event::Release { origin } => {
                self.model.latest = self.model.latest.max(self.now);
                (self.model.origins[origin].park, self.model.origins[origin].hold) = (None, None);
                ready(self.real().release(name(origin), now)).unwrap();
            }
            _ => unreachable!("{event:?}"),
        }
    }

    /// A kill: only the store survives.
    fn restart(&mut self, wait: u64) {
        let store = self.real.take().unwrap().into_store().unwrap();
        let domains = store.peek(Keyspace::Domain, &[], &[0xff], 99).unwrap();
        let domains: Vec<_> = domains.into_iter().map(|(name, row)| (String::from_utf8(name).unwrap(), row)).collect();
        assert_eq!(domains, self.model.domains(), "what is stored of a domain is what its origins hold");
        let turn = Ready { at: self.instant(wait), clock: Reason::RateOrigin };
        self.real = Some(Local::open(store, self.model.config.clone(), turn).unwrap());
        self.model.latest = 0;
        // Who is not due yet sleeps, and is looked for when those in memory that were due before have had their turns.
        self.model.passed_over = None;
        self.model.leases.clear();
        self.model.late.clear();
        self.model.spent.clear();
        for url in &mut self.model.urls {
            if matches!(url.state, State::Deferred(_) | State::Out) {
                url.state = State::Waiting;
            }
        }
        for index in 0..ORIGINS {
            let known = self.model.urls.iter().any(|url| url.origin == index);
            let state = &mut self.model.origins[index];
            let (unknown, held, class, received) = (state.unknown, state.held, state.class, state.received);
            let told = if known { turn.at.as_micros() } else { 0 };
            *state = model::OriginModel { told, unknown, class, held, received, ..model::OriginModel::default() };
        }
    }

    /// Everything allowed, every lease settled: what is queued must all come out.
    pub(crate) fn drain(&mut self) {
        for origin in 0..ORIGINS {
            self.play(Event::Robots { origin, unknown: false });
            self.play(Event::Judge { origin, hold: None });
            self.play(Event::Release { origin });
            self.play(Event::RobotsReady { origin, turn: Told::After(0) });
        }
        for _ in 0..10_000 {
            self.play(Event::Lease { n: 64 });
            while let Some(held) = self.model.leases.values().next() {
                let refusal = held.errand == Errand::Refusal;
                self.play(if refusal {
                    Event::Refused { which: 0 }
                } else {
                    Event::Done { which: 0, links: 0, turn: Told::After(1), bytes: 9 }
                });
            }
            let is_over = |state| matches!(state, State::Done | State::Refused | State::Failed | State::Returned);
            if self.model.urls.iter().all(|url| is_over(url.state)) {
                return self.restart(0);
            }
            self.now += 20_000;
        }
        panic!("these never came out: {:?}", self.model.urls);
    }
}

fn pick<T>(list: &[T], which: usize) -> Option<&T> {
    list.get(which % list.len().max(1))
}
