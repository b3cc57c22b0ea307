use std::collections::HashSet;
use std::time::Duration;

use comity_policy::{RobotsLife, WallTime};
use comity_robots::{Evidence, RuleSet};

use super::breach::{Breach, DelayClock, NoRobots, Since};
use super::chain::MovedBy;
use super::examination::Errand;
use crate::log::Sighting;
use crate::robots_step::{announced_delay, minute};

/// Grace for a client whose life of a robots.txt began when it had the whole answer, not at its head.
const GRACE: Duration = Duration::from_secs(60);

/// What one client has been told by one origin, and what it did.
#[derive(Debug, Default)]
pub(super) struct View {
    standing: Standing,
    /// What stood before the last change of rules.
    before: Option<Option<RuleSet>>,
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
    pause: Option<Pause>,
    last_arrival: Option<(u64, u64)>,
    last_head: Option<(u64, u64)>,
    pub(super) tally: Tally,
}

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

#[derive(Debug, Default)]
enum Standing {
    #[default]
    Unknown,
    /// `None`: no rules.
    Rules(Option<RuleSet>),
    /// Disallow all; with what was known before.
    Unreachable(Option<Option<RuleSet>>),
}

#[derive(Clone, Copy, Debug)]
struct Pause {
    request: u64,
    from_us: u64,
    asked: Duration,
}

impl View {
    /// What was wrong with a page request.
    pub(super) fn judge(&self, seen: &Sighting, transit: Duration) -> Option<Breach> {
        let age = Duration::from_micros(seen.arrived_us.saturating_sub(self.since_us));
        let without = |because| Some(Breach::PageWithoutRobots { because, robots_request: self.robots_request });
        match &self.standing {
            Standing::Unknown => without(NoRobots::NotAnswered),
            Standing::Rules(_) if age > self.life + GRACE => without(NoRobots::Expired),
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

    /// The hours in which the origin wants visits, if a page request came outside them.
    pub(super) fn hours(&self, wall: WallTime) -> Option<Breach> {
        let window = self.rules()?.visit_time().filter(|window| !window.contains(minute(wall)))?;
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
        let unheard = self.doubtful && errand == Errand::Robots;
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

    /// The pause that a request did not wait out.
    pub(super) fn pause(&self, seen: &Sighting, transit: Duration) -> Option<Breach> {
        let pause = self.pause?;
        let waited = Duration::from_micros(seen.arrived_us.saturating_sub(pause.from_us));
        let left_us = micros(pause.asked.saturating_sub(waited));
        let breach = Breach::DuringPause { after_request: pause.request, asked_s: pause.asked.as_secs(), left_us };
        (left_us > 0 && waited >= transit).then_some(breach)
    }

    /// The good answer that a request for robots.txt had no need to repeat.
    pub(super) fn again(&mut self, seen: &Sighting) -> Option<Breach> {
        let Standing::Rules(_) = self.standing else { return None };
        let age_us = seen.arrived_us.saturating_sub(self.own_since_us);
        let breach = Breach::RobotsAgain { first_request: self.robots_request?, age_us, life_us: micros(self.life) };
        // In the last tenth of a life it is a refresh, which spares the next page the wait (design §6).
        let lives = Duration::from_micros(age_us) < self.life - self.life / 10;
        (lives && !self.doubtful).then_some(breach)
    }

    /// True while a good answer lives.
    pub(super) fn is_known(&self, now_us: u64) -> bool {
        let age = Duration::from_micros(now_us.saturating_sub(self.since_us));
        matches!(self.standing, Standing::Rules(_)) && age < self.life
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
            let pause = Pause { request: seen.number, from_us: at_us, asked: asked.min(Duration::from_secs(86_400)) };
            let ends = |pause: Pause| pause.from_us.saturating_add(micros(pause.asked));
            if self.pause.is_none_or(|old| ends(old) <= ends(pause)) {
                self.pause = Some(pause);
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
        let perhaps_known = self.doubtful && self.is_known(at_us);
        let own_since_us = if perhaps_known { self.own_since_us } else { at_us };
        self.doubtful = moved_by == MovedBy::PerhapsOthers;
        self.learn(rules, life, seen, at_us);
        self.own_since_us = own_since_us;
    }

    /// A good answer: the file, or that there is none.
    pub(super) fn learn(&mut self, rules: Option<RuleSet>, life: Duration, seen: &Sighting, at_us: u64) {
        self.before = match std::mem::replace(&mut self.standing, Standing::Rules(rules)) {
            Standing::Rules(old) => Some(old),
            Standing::Unknown | Standing::Unreachable(_) => None,
        };
        self.began(life, seen, at_us);
    }

    /// 304: what is known lives on.
    pub(super) fn confirm(&mut self, life: Duration, seen: &Sighting, at_us: u64) {
        match std::mem::take(&mut self.standing) {
            Standing::Rules(rules) | Standing::Unreachable(Some(rules)) => self.learn(rules, life, seen, at_us),
            unknown => self.standing = unknown,
        }
    }

    /// A failed try. Changes nothing before the life of a good answer ends, nor the start of a run of failures.
    pub(super) fn fail(&mut self, seen: &Sighting, at_us: u64) {
        if self.is_known(at_us) || matches!(self.standing, Standing::Unreachable(_)) {
            return;
        }
        let stale = match std::mem::take(&mut self.standing) {
            Standing::Rules(rules) => Some(rules),
            Standing::Unknown | Standing::Unreachable(_) => None,
        };
        self.standing = Standing::Unreachable(stale);
        self.began(Duration::ZERO, seen, at_us);
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

    fn began(&mut self, life: Duration, seen: &Sighting, at_us: u64) {
        self.since_us = at_us;
        self.own_since_us = at_us;
        self.life = life;
        self.robots_request = Some(seen.number);
        self.heard_us = seen.ended_us.unwrap_or(at_us);
    }

    fn refused(&self, rules: Option<&RuleSet>, seen: &Sighting) -> Option<Breach> {
        let (rule, line) = refusal(rules, seen)?;
        Some(Breach::RefusedTarget { rule, line, robots_request: self.robots_request.unwrap_or(0) })
    }
}

/// The rule that refuses a request's target: pattern and line.
fn refusal(rules: Option<&RuleSet>, seen: &Sighting) -> Option<(String, u32)> {
    match rules?.evidence(seen.request.target()) {
        Evidence::Rule(rule) if !Evidence::Rule(rule).allowed() => Some((rule.pattern().into_owned(), rule.line())),
        Evidence::Rule(_) | Evidence::NoRule | Evidence::RobotsTxt => None,
    }
}

pub(super) fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
