//! Makes every decision again from the copies that its record names, and what it kept of the answer.

use std::collections::HashMap;

use comity::policy::{Digest, Reason, RobotsState};
use comity_archive::{DecisionRecord, Record, RobotsRecord, read_records};
use comity_robots::{Dialect, Robots, RuleSet, request_target};
use comity_signals::{PolicyGroups, Purpose, Tdmrep};

use super::copies::Copies;
use super::report::{Audit, Kind, Violation};
use super::signals;
use crate::exit::Failure;

/// Rule sets that are kept compiled.
const MAX_COMPILED: usize = 1024;

/// What a copy says to the tokens of a record, and to uses.
type Compiled = (RuleSet, PolicyGroups);

pub(super) struct Decisions<'a> {
    pub(super) copies: &'a Copies,
    pub(super) dialect: Dialect,
    compiled: HashMap<(Option<Digest>, Vec<String>), Option<Compiled>>,
}

impl<'a> Decisions<'a> {
    pub(super) fn new(copies: &'a Copies, dialect: Dialect) -> Self {
        Self { copies, dialect, compiled: HashMap::new() }
    }

    pub(super) fn examine(&mut self, dir: &std::path::Path, audit: &mut Audit) -> Result<(), Failure> {
        for line in read_records(dir).map_err(|e| Failure::storage(e.to_string()))? {
            let line = line.map_err(|e| Failure::storage(e.to_string()))?;
            let Some(record) = line.record().map_err(|e| Failure::storage(e.to_string()))? else { continue };
            match self.problem(&record) {
                None => audit.decisions_skipped += 1,
                Some(problem) => {
                    audit.decisions += 1;
                    if let Some(problem) = problem {
                        let at = record.decision.as_ref().map_or(&record.time.started, |found| &found.at).clone();
                        let place = format!("record {}", line.seq);
                        let kind = Kind::Decision;
                        audit.add(Violation { kind, url: record.url, at, place, problem });
                    }
                }
            }
        }
        Ok(())
    }

    /// What is wrong with the decision of a record, if anything; `None` when it rests on no copy.
    fn problem(&mut self, record: &Record) -> Option<Option<String>> {
        let (decision, robots) = (record.decision.as_ref()?, record.robots.as_ref()?);
        let digest: Option<Digest> = match &robots.digest {
            Some(hex) => Some(hex.parse().ok()?),
            // Where there is no file, what the answer and tdmrep.json say is judged all the same.
            None if is_open(robots, decision) => None,
            None => return None,
        };
        if decision.optout.is_some() || record.url.len() as u64 != record.url_length {
            return None;
        }
        let tdmrep = match record.tdmrep.as_ref().and_then(|file| file.digest.as_deref()) {
            Some(hex) => match hex.parse().ok().and_then(|digest| self.copies.bytes(digest)) {
                Some(bytes) => Some(Tdmrep::parse(&bytes, origin(&record.url))),
                None if hex.parse().is_ok_and(|digest| self.copies.erased.has(digest)) => return None,
                None => return Some(Some(format!("its tdmrep.json {hex} is not in the evidence"))),
            },
            None => None,
        };
        if digest.is_some_and(|digest| self.copies.bytes(digest).is_none() && self.copies.erased.has(digest)) {
            return None;
        }
        let Some((rules, policies)) = self.rules(digest, &record.agent.product_tokens) else {
            let digest = robots.digest.as_deref().unwrap_or_default();
            return Some(Some(format!("its copy {digest} is not in the evidence")));
        };
        let target = request_target(&record.url);
        let verdict = rules.verdict(&target);
        let lifted = decision.r#override.iter().flat_map(|found| &found.lifted);
        let lifted: Vec<&str> = lifted.map(|one| one.scope.as_str()).collect();
        Some(if lifted.iter().any(|scope| scope.starts_with("robots") || *scope == "signals") {
            None
        } else {
            wrong(record, (rules, policies, tdmrep.as_ref()), &verdict, &target)
        })
    }

    /// The rules of a copy; without one there are none.
    fn rules(&mut self, digest: Option<Digest>, tokens: &[String]) -> Option<&Compiled> {
        if self.compiled.len() >= MAX_COMPILED {
            self.compiled.clear();
        }
        let compile = || {
            let tokens: Vec<&str> = tokens.iter().map(String::as_str).collect();
            let bytes = digest.map_or_else(|| Some(Vec::new()), |digest| self.copies.bytes(digest))?;
            let robots = Robots::parse(&bytes);
            Some((robots.rules(&tokens, self.dialect), PolicyGroups::compile(&robots, self.dialect)))
        };
        self.compiled.entry((digest, tokens.to_vec())).or_insert_with(compile).as_ref()
    }
}

/// No robots.txt, or redirects without end, and nobody who takes that for a refusal.
fn is_open(robots: &RobotsRecord, decision: &DecisionRecord) -> bool {
    let states = [RobotsState::Absent.as_str(), RobotsState::RedirectLimit.as_str()];
    states.contains(&robots.state.as_str()) && decision.reason != Reason::RobotsDisallowAll.code()
}

/// Scheme, host and port of a URL.
fn origin(url: &str) -> &str {
    let end = url.find("://").and_then(|at| url.get(at + 3..)?.find('/').map(|slash| at + 3 + slash));
    end.and_then(|end| url.get(..end)).unwrap_or(url)
}

fn wrong(
    record: &Record,
    (rules, policies, tdmrep): (&RuleSet, &PolicyGroups, Option<&Tdmrep>),
    verdict: &comity_robots::Verdict,
    target: &[u8],
) -> Option<String> {
    let decision = record.decision.as_ref()?;
    let refused = decision.reason == Reason::RobotsDisallow.code();
    if refused == verdict.allowed {
        let says = if verdict.allowed { "allows" } else { "refuses" };
        return Some(format!("it says {}, its copy {says} the URL", decision.reason));
    }
    let stated = record.rule.as_ref().map(|rule| (rule.line, rule.pattern.as_str()));
    let found = verdict.rule.as_ref().map(|rule| (rule.line, rule.pattern.as_str()));
    if stated != found {
        return Some(format!("it names {}, its copy {}", rule(stated), rule(found)));
    }
    let stated = record.robots.as_ref().and_then(|robots| robots.crawl_delay_ms);
    let found = rules.crawl_delay().map(|delay| u64::try_from(delay.as_millis()).unwrap_or(u64::MAX));
    if stated != found {
        return Some(format!("it names a Crawl-delay of {stated:?} ms, its copy {found:?}"));
    }
    if refused {
        return None;
    }
    // A file that speaks about use is asked for whatever it says.
    if record.errand != "page" {
        return None;
    }
    let preferences = signals::preferences(record, (rules, policies), tdmrep, target)?;
    let differs = Purpose::ALL.into_iter().find_map(|purpose| {
        let stated = &decision.purposes.get(purpose.as_str())?.verdict;
        let found = preferences.verdict(purpose);
        (stated != found.as_str())
            .then(|| format!("it says {stated} for {}, its evidence {}", purpose.as_str(), found.as_str()))
    });
    let by_signal = Reason::from_code(&decision.reason)
        .is_some_and(|reason| reason.is_signal() && reason != Reason::SignalUnspecified);
    differs
        .or_else(|| {
            let is_wrong = by_signal && !signals::denies_all(record, &preferences);
            is_wrong.then(|| "it was refused by a signal, and not every purpose is denied".to_owned())
        })
        .or_else(|| {
            // What silence is set to is not known here: it may have refused.
            let is_kept = record.request.is_some() && Reason::from_code(&decision.reason).is_some_and(Reason::is_ok);
            (is_kept && signals::refuses(record, &preferences))
                .then(|| "it was kept, and its evidence denies every purpose".to_owned())
        })
}

fn rule(rule: Option<(u32, &str)>) -> String {
    rule.map_or_else(|| "no rule".to_owned(), |(line, pattern)| format!("line {line}, {pattern:?}"))
}
