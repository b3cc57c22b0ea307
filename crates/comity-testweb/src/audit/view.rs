use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use comity_policy::{RobotsLife, WallTime};
use comity_robots::{Evidence, RuleSet};

use super::breach::{Breach, DelayClock, NoRobots, Since};
use super::chain::MovedBy;
use super::clock::ClientClock;
use super::examination::Errand;
use crate::log::Sighting;
use crate::robots_step::{announced_delay, minute};

/// Grace for a client whose life of a robots.txt began when it had the whole answer, not at its head.
const GRACE: Duration = Duration::from_secs(60);

/// What one client has been told by one origin, and what it did.
#[derive(Debug, Default)]
pub(super) struct View {
    told: Told,
    /// What it had been told before, the latest last: what a process that dies did not hear whole, the next one has not heard.
    earlier: VecDeque<Told>,
    pause: Option<Pause>,
    /// Pauses before that one.
    earlier_pauses: VecDeque<Option<Pause>>,
    last_arrival: Option<(u64, u64)>,
    last_head: Option<(u64, u64)>,
    pub(super) tally: Tally,
}

/// Changes that a death may undo: one exchange at a time is under way, and hops of others' chains beside it.
const EARLIER: usize = 8;

/// What a client knows of an origin's robots.txt.
#[derive(Clone, Debug, Default)]
struct Told {
    standing: Standing,
    /// What stood before the last change of rules.
    before: Option<Rules>,
    /// When the standing began.
    since_us: u64,
    /// When the client may first have known a good answer for its own: later ones may have been for others.
    own_since_us: u64,
    life: Duration,
    /// The request whose answer made the standing.
    robots_request: Option<u64>,
    /// When the whole answer with the standing had gone out: its delays are known from here on.
    heard_us: u64,
    /// The good answer came to a request that may have been meant for another origin's robots.txt alone: that the client
    /// knows it for this one is sure only when it asks for a page.
    doubtful: bool,
    /// The process that was told ended at that very moment: perhaps the next one knows only this.
    perhaps: Option<Box<Told>>,
}

/// `None`: no rules.
type Rules = Option<RuleSet>;

/// What becomes rows of the report.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) requests: u64,
    pub(super) robots_requests: u64,
    pub(super) page_requests: u64,
    pub(super) pages: u64,
    pub(super) repeats: u64,
    pub(super) tightest_gap_us: Option<u64>,
    /// The largest delay announced.
    pub(super) delay: Duration,
    pub(super) first_page_us: Option<u64>,
    pub(super) last_page_us: u64,
    /// Targets that got a final answer.
    pub(super) settled: HashSet<Vec<u8>>,
    /// Targets answered 2xx.
    pub(super) answered: HashSet<Vec<u8>>,
}

#[derive(Clone, Debug, Default)]
enum Standing {
    #[default]
    Unknown,
    Rules(Rules),
    /// Disallow all; with what was known before.
    Unreachable(Option<Rules>),
}

#[derive(Clone, Copy, Debug)]
struct Pause {
    request: u64,
    from_us: u64,
    asked: Duration,
    /// Another process than the one that was told remembers it, by civil time.
    recalled: bool,
}

impl View {
    /// What was wrong with a page request.
    pub(super) fn judge(&self, seen: &Sighting, transit: Duration, clock: &ClientClock) -> Option<Breach> {
        let breach = self.told.judge(seen, transit, clock)?;
        self.told.perhaps.as_ref().is_none_or(|told| told.judge(seen, transit, clock).is_some()).then_some(breach)
    }

    /// The hours in which the origin wants visits, if a page request came outside them.
    pub(super) fn hours(&self, wall: WallTime) -> Option<Breach> {
        let window = self.told.rules()?.visit_time().filter(|window| !window.contains(minute(wall)))?;
        let hour = |minute: u16| format!("{:02}:{:02}", minute / 60, minute % 60);
        let (first, last) = (hour(window.first_minute()), hour(window.last_minute()));
        Some(Breach::OutsideVisitTime { first, last, at: wall.to_string() })
    }

    /// What was wrong with the pace, `floor` being the auditor's own wish.
    pub(super) fn pace(
        &mut self,
        (seen, wall): (&Sighting, WallTime),
        errand: Errand,
        floor: Option<Duration>,
        log: &[Sighting],
    ) -> Option<Breach> {
        let unheard = self.told.doubtful && errand == Errand::Robots;
        let announced = if unheard { Duration::ZERO } else { self.delay(seen.arrived_us, wall) };
        self.tally.delay = self.tally.delay.max(announced);
        let (last, arrived) = self.last_arrival?;
        let outstanding = log.get(usize::try_from(last).ok()?).and_then(|last| last.answer) > Some(seen.arrival);
        let from_arrival = (seen.arrived_us.saturating_sub(arrived), last, Since::Arrival);
        let from_head = self.last_head.map(|(last, sent)| (seen.arrived_us.saturating_sub(sent), last, Since::Head));
        let from_nothing = outstanding.then_some((0, last, Since::Outstanding));
        let measured = [from_nothing, from_head, Some(from_arrival)].into_iter().flatten();
        let (gap_us, after_request, since) = measured.min_by_key(|(gap, ..)| *gap)?;
        self.tally.tightest_gap_us = Some(self.tally.tightest_gap_us.map_or(gap_us, |tightest| tightest.min(gap_us)));
        let floor = floor.unwrap_or(Duration::ZERO);
        let clock = if floor > announced { DelayClock::Floor } else { DelayClock::CrawlDelay };
        let asked = floor.max(announced);
        let breach = Breach::TooSoon { clock, after_request, since, gap_us, asked_us: micros(asked) };
        (Duration::from_micros(gap_us) < asked).then_some(breach)
    }

    /// The pause that a request did not wait out. One that is over for the process that asks is over for the next ones too,
    /// wherever their clocks stand: with the answer it is remembered no more.
    pub(super) fn pause(&mut self, seen: &Sighting, transit: Duration, clock: &ClientClock) -> Option<Breach> {
        let pause = self.pause?;
        let truly = seen.arrived_us.saturating_sub(pause.from_us);
        // A process that remembers it has civil time alone; one that was told it has not.
        let by_clock = clock.readings(pause.from_us, seen.arrived_us).into_iter().max();
        let by_clock = by_clock.and_then(|waited| u64::try_from(waited).ok()).unwrap_or(0);
        let waited = Duration::from_micros(if pause.recalled { truly.max(by_clock) } else { truly });
        let left_us = micros(pause.asked.saturating_sub(waited));
        let breach = Breach::DuringPause { after_request: pause.request, asked_s: pause.asked.as_secs(), left_us };
        if left_us == 0 {
            self.pause = None;
        }
        (left_us > 0 && waited >= transit).then_some(breach)
    }

    /// The good answer that a request for robots.txt had no need to repeat.
    pub(super) fn again(&mut self, seen: &Sighting, clock: &ClientClock) -> Option<Breach> {
        let told = &self.told;
        let Standing::Rules(_) = told.standing else { return None };
        let age_us = seen.arrived_us.saturating_sub(told.own_since_us);
        let breach = Breach::RobotsAgain { first_request: told.robots_request?, age_us, life_us: micros(told.life) };
        // In the last tenth of a life it is a refresh, which spares the next page the wait (design §6).
        let young = micros(told.life - told.life / 10);
        let by_clock = u64::try_from(clock.between(told.own_since_us, seen.arrived_us)).unwrap_or(u64::MAX);
        // One that seems to come from the future is over, and a try to ask anew that failed then is made again.
        let is_excused =
            told.doubtful || told.perhaps.is_some() || clock.was_before(told.own_since_us, seen.arrived_us);
        (age_us < young && by_clock < young && !is_excused).then_some(breach)
    }

    /// True while a good answer lives.
    pub(super) fn is_known(&self, now_us: u64) -> bool {
        let age = Duration::from_micros(now_us.saturating_sub(self.told.since_us));
        matches!(self.told.standing, Standing::Rules(_)) && age < self.told.life
    }

    pub(super) fn arrived(&mut self, seen: &Sighting) {
        self.last_arrival = Some((seen.number, seen.arrived_us));
        self.tally.requests += 1;
    }

    pub(super) fn head(&mut self, seen: &Sighting, at_us: u64) {
        self.last_head = Some((seen.number, at_us));
        let reply = seen.reply.as_ref().filter(|_| seen.head_whole);
        let asked = reply.and_then(|reply| reply.answer()?.pause());
        if let Some(asked) = asked {
            // Longer than a day is kept for a day, then one probe is fair (design §7).
            let pause = Pause {
                request: seen.number,
                from_us: at_us,
                asked: asked.min(Duration::from_secs(86_400)),
                recalled: false,
            };
            let ends = |pause: Pause| pause.from_us.saturating_add(micros(pause.asked));
            if self.pause.is_none_or(|old| ends(old) <= ends(pause)) {
                push_bounded(&mut self.earlier_pauses, self.pause.replace(pause));
            }
        }
    }

    /// As [`Self::learn`], from an answer that may have been meant for somebody else.
    pub(super) fn learn_from(
        &mut self,
        moved_by: MovedBy,
        rules: Option<RuleSet>,
        life: Duration,
        seen: &Sighting,
        at_us: u64,
    ) {
        let perhaps_known = self.told.doubtful && self.is_known(at_us);
        let own_since_us = if perhaps_known { self.told.own_since_us } else { at_us };
        self.learn(rules, life, seen, at_us);
        self.told.doubtful = moved_by == MovedBy::PerhapsOthers;
        self.told.own_since_us = own_since_us;
    }

    /// A good answer: the file, or that there is none.
    fn learn(&mut self, rules: Rules, life: Duration, seen: &Sighting, at_us: u64) {
        let before = match &self.told.standing {
            Standing::Rules(old) => Some(old.clone()),
            Standing::Unknown | Standing::Unreachable(_) => None,
        };
        let told = Told { standing: Standing::Rules(rules), before, life, ..self.told.began(seen, at_us) };
        self.told(told);
    }

    /// 304: what is known lives on.
    pub(super) fn confirm(&mut self, life: Duration, seen: &Sighting, at_us: u64) {
        let known = match &self.told.standing {
            Standing::Rules(rules) | Standing::Unreachable(Some(rules)) => rules.clone(),
            Standing::Unknown | Standing::Unreachable(None) => return,
        };
        self.learn(known, life, seen, at_us);
    }

    /// A failed try. Changes nothing before the life of a good answer ends, nor the start of a run of failures.
    pub(super) fn fail(&mut self, seen: &Sighting, at_us: u64) {
        if self.is_known(at_us) || matches!(self.told.standing, Standing::Unreachable(_)) {
            return;
        }
        let stale = match &self.told.standing {
            Standing::Rules(rules) => Some(rules.clone()),
            Standing::Unknown | Standing::Unreachable(_) => None,
        };
        let told = Told { standing: Standing::Unreachable(stale), ..self.told.began(seen, at_us) };
        self.told(told);
    }

    fn told(&mut self, told: Told) {
        push_bounded(&mut self.earlier, std::mem::replace(&mut self.told, told));
    }

    /// The client's process ended: what it had not heard whole before, it did not hear; what it remembers, the next one knows
    /// by civil time.
    pub(super) fn died(&mut self, at_us: u64, log: &[Sighting]) {
        while self.told.robots_request.is_some() && self.told.heard_us > at_us {
            self.told = self.earlier.pop_back().unwrap_or_default();
        }
        if self.told.robots_request.is_some() && self.told.heard_us == at_us {
            let earlier = self.earlier.iter().rev().find(|told| told.heard_us < at_us);
            self.told.perhaps = Some(Box::new(earlier.cloned().unwrap_or_default()));
        }
        let ended = |pause: Pause| log.get(usize::try_from(pause.request).ok()?)?.ended_us;
        while self.pause.is_some_and(|pause| ended(pause).is_none_or(|ended| ended >= at_us)) {
            self.pause = self.earlier_pauses.pop_back().flatten();
        }
        if let Some(pause) = &mut self.pause {
            pause.recalled = true;
        }
    }

    fn delay(&self, at_us: u64, wall: WallTime) -> Duration {
        let delay = self.told.delay(at_us, wall);
        self.told.perhaps.as_ref().map_or(delay, |told| told.delay(at_us, wall).min(delay))
    }
}

impl Told {
    /// What is told from `seen` on, answered at `at_us`; of what stood before, the rules before it.
    fn began(&self, seen: &Sighting, at_us: u64) -> Self {
        Self {
            before: self.before.clone(),
            since_us: at_us,
            own_since_us: at_us,
            robots_request: Some(seen.number),
            heard_us: seen.ended_us.unwrap_or(at_us),
            doubtful: self.doubtful,
            ..Self::default()
        }
    }

    fn judge(&self, seen: &Sighting, transit: Duration, clock: &ClientClock) -> Option<Breach> {
        let age = Duration::from_micros(seen.arrived_us.saturating_sub(self.since_us));
        let without = |because| Some(Breach::PageWithoutRobots { because, robots_request: self.robots_request });
        match &self.standing {
            Standing::Unknown => without(NoRobots::NotAnswered),
            Standing::Rules(_) if self.is_over(seen.arrived_us, clock) => without(NoRobots::Expired),
            Standing::Rules(rules) => {
                let unread =
                    age < transit && self.before.as_ref().is_some_and(|old| refusal(old.as_ref(), seen).is_none());
                if unread { None } else { self.refused(rules.as_ref(), seen) }
            }
            Standing::Unreachable(_) if age < RobotsLife::PATIENCE => without(NoRobots::Unreachable),
            // After 30 days the last copy counts, or nothing (RFC 9309 §2.3.1.4).
            Standing::Unreachable(stale) => self.refused(stale.as_ref().and_then(Option::as_ref), seen),
        }
    }

    fn refused(&self, rules: Option<&RuleSet>, seen: &Sighting) -> Option<Breach> {
        let (rule, line) = refusal(rules, seen)?;
        Some(Breach::RefusedTarget { rule, line, robots_request: self.robots_request.unwrap_or(0) })
    }

    /// The rules that were read last, also while robots.txt cannot be reached: its delays are still known.
    fn rules(&self) -> Option<&RuleSet> {
        match &self.standing {
            Standing::Unknown => None,
            Standing::Rules(rules) => rules.as_ref(),
            Standing::Unreachable(before) => before.as_ref()?.as_ref(),
        }
    }

    fn delay(&self, at_us: u64, wall: WallTime) -> Duration {
        let before = || self.before.as_ref()?.as_ref();
        let rules = if at_us < self.heard_us { before() } else { self.rules() };
        rules.map_or(Duration::ZERO, |rules| announced_delay(rules, minute(wall)))
    }

    /// Its life is over, by every clock; or it comes from the future, and nothing says how long it has lived.
    fn is_over(&self, now_us: u64, clock: &ClientClock) -> bool {
        let most = micros(self.life + GRACE);
        let truly = now_us.saturating_sub(self.since_us);
        clock.readings(self.since_us, now_us).into_iter().all(|reading| match u64::try_from(reading) {
            Ok(by_clock) => truly.min(by_clock) > most,
            Err(_) => true,
        })
    }
}

fn push_bounded<T>(earlier: &mut VecDeque<T>, value: T) {
    if earlier.len() == EARLIER {
        earlier.pop_front();
    }
    earlier.push_back(value);
}

/// The rule that refuses a request's target: pattern and line.
fn refusal(rules: Option<&RuleSet>, seen: &Sighting) -> Option<(String, u32)> {
    match rules?.evidence(seen.request.target()) {
        Evidence::Rule(rule) if !Evidence::Rule(rule).allowed() => Some((rule.pattern().into_owned(), rule.line())),
        Evidence::Rule(_) | Evidence::NoRule | Evidence::RobotsTxt => None,
    }
}

pub(crate) fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
