//! Holds each origin's requests against what it had asked for.

use std::collections::BTreeMap;
use std::time::Duration;

use comity::policy::WallTime;

use super::addresses;
use super::copies::Copies;
use super::floors::Floors;
use super::heard::Heard;
use super::limits::Limits;
use super::lives::{InForce, Lives, after};
use super::report::{Audit, Kind, Violation};
use super::requests::{Request, Wire};

/// What milliseconds cut off hide: one of the begin, one of the head (our choice).
pub(super) const ROUNDED_MS: i64 = 2;

/// Examines everything that was sent.
pub(super) fn examine(wire: &Wire, copies: &Copies, (floors, limits): (&Floors, &Limits), audit: &mut Audit) {
    addresses::examine(wire, limits, audit);
    let mut origins: BTreeMap<&str, (Vec<&Request>, Vec<&Request>)> = BTreeMap::new();
    for request in &wire.requests {
        audit.requests += 1;
        audit.span(request.at);
        origins.entry(&request.origin).or_default().0.push(request);
        match &request.robots_for {
            Some(origin) => {
                audit.robots_requests += 1;
                origins.entry(origin).or_default().1.push(request);
            }
            None => audit.page_requests += 1,
        }
    }
    for (origin, (requests, hops)) in origins {
        audit.origins += u64::from(!requests.is_empty());
        let lives = Lives::of(origin, (wire, &hops, &requests), copies, audit);
        let mut last: Option<WallTime> = None;
        let mut heard = Heard::default();
        for request in requests {
            heard.examine(request, (last, limits), wire, audit);
            let in_force = lives.at(request.at);
            gap(request, last, &in_force, floors.of(request), wire, audit);
            let ended = after(request.at, request.head_ms);
            last = last.max(Some(ended));
            if request.robots_for.is_none() {
                page(request, &in_force, wire, audit);
            }
        }
    }
}

/// A delay runs from the head of the answer before, or its failure.
fn gap(
    request: &Request,
    last: Option<WallTime>,
    in_force: &InForce<'_>,
    floor: Duration,
    wire: &Wire,
    audit: &mut Audit,
) {
    let Some(last) = last else { return };
    let gap = request.at.unix_millis() - last.unix_millis();
    audit.gaps += 1;
    audit.tightest_gap_ms = Some(audit.tightest_gap_ms.map_or(gap, |tightest| tightest.min(gap)));
    if request.lifted.iter().any(|scope| scope == "rate") {
        return;
    }
    let asked = match in_force {
        InForce::Rules(copy) => copy.pace.delay_at(request.at).unwrap_or_default(),
        InForce::Absent | InForce::Erased | InForce::Nothing(_) => Duration::ZERO,
    };
    let (delay, whose) = if asked > floor { (asked, "robots.txt") } else { (floor, "our own floor") };
    let delay = i64::try_from(delay.as_millis()).unwrap_or(i64::MAX);
    // Where nobody asks for a delay, requests may overlap.
    if delay > 0 && gap + ROUNDED_MS < delay {
        let problem = format!("{gap} ms after the answer before it, {whose} asks for {delay} ms");
        audit.add(Violation::at(Kind::TooSoon, request, wire, problem));
    }
}

fn page(request: &Request, in_force: &InForce<'_>, wire: &Wire, audit: &mut Audit) {
    if request.patient || request.lifted.iter().any(|scope| scope.starts_with("robots")) {
        audit.excepted += 1;
        return;
    }
    match in_force {
        InForce::Absent => {}
        InForce::Erased => audit.erased += 1,
        InForce::Nothing(why) => {
            audit.add(Violation::at(Kind::PageWithoutRobots, request, wire, (*why).to_owned()));
        }
        InForce::Rules(copy) => {
            let verdict = copy.rules.verdict(&request.target);
            if request.is_cut {
                let path = request.target.split(|byte| *byte == b'?').next().unwrap_or_default();
                let may_allow = copy.rules.with_any_query(path).may_allow();
                if !may_allow {
                    let problem = format!("{}: it refuses the path with every query", copy.digest);
                    audit.add(Violation::at(Kind::RefusedTarget, request, wire, problem));
                } else if !verdict.allowed {
                    audit.queries += 1;
                }
            } else if let (false, Some(rule)) = (verdict.allowed, &verdict.rule) {
                let problem = format!("line {} of {}: {}", rule.line, copy.digest, rule.pattern);
                audit.add(Violation::at(Kind::RefusedTarget, request, wire, problem));
            }
            if copy.rules.visit_time().is_some_and(|hours| !hours.contains(minute(request.at))) {
                let problem = "robots.txt wants visits at other hours".to_owned();
                audit.add(Violation::at(Kind::OutsideVisitTime, request, wire, problem));
            }
        }
    }
}

/// Minute of the day, UTC.
fn minute(at: WallTime) -> u16 {
    u16::try_from(at.unix_millis().rem_euclid(86_400_000) / 60_000).unwrap_or(0)
}
