//! What an origin's own answers ask for: to be left alone for a time, and to be asked more slowly when it is slow.

use std::time::Duration;

use comity::policy::{Politeness, WallTime};

use super::examine::ROUNDED_MS;
use super::limits::Limits;
use super::lives::after;
use super::report::{Audit, Kind, Violation};
use super::requests::{Request, Wire};

/// What had its permit when an answer came may leave within this time of it (our choice).
const UNDER_WAY_MS: i64 = 100;

/// The answers of one origin, in the order of their heads.
#[derive(Debug, Default)]
pub(super) struct Heard<'a> {
    /// Requests whose heads are not taken in yet.
    open: Vec<&'a Request>,
    /// From when to when it wants to be left alone, and what said so.
    pause: Option<(WallTime, WallTime, &'a str)>,
    /// The smoothed time of its answers, never more than what the crawl had, in microseconds; `None` before the first.
    latency_us: Option<i64>,
    file: Option<usize>,
}

impl<'a> Heard<'a> {
    /// Examines a request, and remembers it. `last`: when the last head before it came.
    pub(super) fn examine(
        &mut self,
        request: &'a Request,
        (last, limits): (Option<WallTime>, &Limits),
        wire: &Wire,
        audit: &mut Audit,
    ) {
        self.take_in(request.at, limits, audit);
        if self.file != Some(request.file) {
            // A new process may know less of the origin.
            let first = self.file.is_none() && request.file == 0 && limits.from_nothing;
            self.latency_us = if first { None } else { Some(0) };
            self.file = Some(request.file);
        }
        self.open.push(request);
        if request.lifted.iter().any(|scope| scope == "rate") {
            return;
        }
        if let Some((_, until, url)) = self.pause.filter(|(since, until, _)| {
            after(*since, UNDER_WAY_MS) <= request.at && after(request.at, ROUNDED_MS) < *until
        }) {
            let problem = format!("{url} had asked to be left alone until {until}");
            audit.add(Violation::at(Kind::DuringPause, request, wire, problem));
        }
        if let (Some(last), true) = (last, limits.is_adaptive(request)) {
            self.adaptive(request, last, wire, audit);
        }
    }

    /// Twice the smoothed time, at most half a minute, from head to begin.
    fn adaptive(&self, request: &Request, last: WallTime, wire: &Wire, audit: &mut Audit) {
        let cap = i64::try_from(Politeness::ADAPTIVE_CAP.as_millis()).unwrap_or(i64::MAX);
        let asked = (self.latency_us.unwrap_or(0) * 2 / 1000).min(cap);
        let gap = request.at.unix_millis() - last.unix_millis();
        if asked > 0 && gap + ROUNDED_MS < asked {
            let problem = format!("{gap} ms after the answer before it; its answers take {} ms", asked / 2);
            audit.add(Violation::at(Kind::Adaptive, request, wire, problem));
        }
    }

    /// Takes in every answer whose head came before this instant.
    fn take_in(&mut self, until: WallTime, limits: &Limits, audit: &mut Audit) {
        let head = |request: &Request| after(request.at, request.head_ms);
        let (mut come, open) = self.open.drain(..).partition::<Vec<_>, _>(|request| head(request) <= until);
        self.open = open;
        come.sort_by_key(|request| head(request));
        for request in come {
            if let Some(wait) = waits(request) {
                audit.pauses += 1;
                let until = head(request).after(wait.min(Politeness::RETRY_AFTER_CAP));
                if self.pause.is_none_or(|(_, known, _)| known < until) {
                    self.pause = Some((head(request), until, &request.url));
                }
            }
            if limits.is_adaptive(request) {
                self.smooth(request);
            }
        }
    }

    /// As the pacer does, but never above it: the milliseconds are cut, and a robots.txt may be asked for by a pacer that has
    /// forgotten what it knew.
    fn smooth(&mut self, request: &Request) {
        let Some(new) = request.latency_ms.map(|ms| ms.saturating_mul(1000)) else { return };
        let smoothed = self.latency_us.map_or(new, |old| old - old / 4 + new / 4);
        self.latency_us = Some(if request.robots_for.is_some() { smoothed.min(new) } else { smoothed });
    }
}

/// How long an answer asks to be left alone (RFC 9110 §10.2.3). Zero is no time; an answer through a proxy may be the proxy's own.
fn waits(request: &Request) -> Option<Duration> {
    let told = request.retry_after.filter(|wait| !wait.is_zero() && request.address.is_some())?;
    matches!(request.status, Some(300..=399 | 429 | 503)).then_some(told)
}
