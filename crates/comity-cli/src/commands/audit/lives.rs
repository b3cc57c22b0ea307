//! What an origin's robots.txt said, and from when to when it spoke.

use std::time::Duration;

use comity::policy::{AskedPace, Digest, WallTime};
use comity_robots::{Robots, RuleSet};
use comity_url::CrawlUrl;

use super::copies::{Copies, Seen};
use super::examine::ROUNDED_MS;
use super::report::{Audit, Kind, Violation};
use super::requests::{Agent, Request, Wire};

/// A copy is not used for longer (RFC 9309 §2.4).
const LIFE: Duration = Duration::from_secs(24 * 3600);
/// How long after the end of its exchange an answer counts as received (our choice).
const SETTLED_MS: i64 = 1_000;
/// Redirects of a robots.txt that are followed (RFC 9309 §2.3.1.2).
const MAX_HOPS: usize = 5;

/// The answers of one origin's robots.txt, in order.
#[derive(Debug, Default)]
pub(super) struct Lives {
    answers: Vec<Answer>,
}

#[derive(Debug)]
struct Answer {
    /// When its head came, and the end of its exchange.
    at: WallTime,
    end: WallTime,
    said: Said,
}

#[derive(Debug)]
enum Said {
    Rules(Box<Copy>),
    /// No restrictions: 4xx, or redirects without end.
    Absent,
    /// What was known holds on.
    NotModified,
    Unreachable,
    /// What it said is not known any more.
    Erased,
}

/// A robots.txt in force.
#[derive(Debug)]
pub(super) struct Copy {
    pub(super) digest: Digest,
    pub(super) rules: RuleSet,
    pub(super) pace: AskedPace,
}

/// What was in force at an instant.
#[derive(Debug)]
pub(super) enum InForce<'a> {
    Rules(&'a Copy),
    Absent,
    /// What was erased.
    Erased,
    /// Nothing: why.
    Nothing(&'static str),
}

impl Lives {
    /// Follows the robots.txt of `origin` through its hops, and takes in what an earlier crawl had seen. `requests`: those
    /// to the origin, hops for other origins among them.
    pub(super) fn of(
        origin: &str,
        (wire, hops, requests): (&Wire, &[&Request], &[&Request]),
        copies: &Copies,
        audit: &mut Audit,
    ) -> Self {
        let mut lives = Self::default();
        let agent = hops.first().and_then(|hop| wire.agents.get(hop.file)).or_else(|| wire.agents.first());
        let Some(agent) = agent else { return lives };
        let robots_url = format!("{origin}/robots.txt");
        let mut visited: Vec<String> = Vec::new();
        for hop in hops {
            if hop.url == robots_url {
                visited.clear();
            } else if visited.is_empty() && lives.is_begin_erased(copies) {
                visited.push(hop.url.clone());
            } else if visited.last().is_none_or(|last| *last != hop.url) {
                let problem = format!("asked as a hop of {robots_url}, which had not led there");
                audit.add(Violation::at(Kind::RefusedTarget, hop, wire, problem));
                continue;
            }
            let Some(said) = lives.hop(hop, &mut visited, agent, copies) else { continue };
            if let Some(problem) = differs(hop, &said, copies) {
                audit.add(Violation::at(Kind::CopyDiffers, hop, wire, problem));
            }
            let end = after(hop.at, hop.total_ms.max(hop.head_ms));
            lives.answers.push(Answer { at: after(hop.at, hop.head_ms), end, said });
        }
        lives.answers.sort_by_key(|answer| answer.at);
        let mut recalled = Vec::new();
        let first = hops.iter().chain(requests).map(|request| request.at).min();
        for seen in copies.at(&robots_url) {
            // A redirect may have led another origin's visit here: its answer speaks for that origin.
            if hops.iter().chain(requests).any(|one| one.url == robots_url && one.at == seen.at) {
                continue;
            }
            // What an earlier crawl had seen is recalled before anything is asked. Later on, each answer has its exchange.
            if first.is_none_or(|first| seen.at < first) {
                let said = recall(seen, agent, copies);
                recalled.push(Answer { at: seen.at, end: seen.at, said });
            } else if !copies.erased.lines && !lives.repeats(seen) {
                // Where lines were erased, its exchange may be among them: it speaks for nothing, and nobody is accused for it.
                audit.add(Violation {
                    kind: Kind::CopyDiffers,
                    url: robots_url.clone(),
                    at: seen.at.to_string(),
                    place: "evidence/index.jsonl".to_owned(),
                    problem: "a sighting that no exchange in the WARC files bears out: it is not believed".to_owned(),
                });
            }
        }
        lives.answers.splice(..0, recalled);
        lives.answers.sort_by_key(|answer| answer.at);
        lives
    }

    /// Whether what led to a hop may have been erased.
    fn is_begin_erased(&self, copies: &Copies) -> bool {
        copies.erased.lines || self.answers.last().is_some_and(|last| matches!(last.said, Said::Erased))
    }

    /// Whether a sighting says once more what an exchange was answered, and when: a crawl that goes on recalls what its last run knew.
    /// Such a sighting makes no copy live longer.
    fn repeats(&self, seen: &Seen) -> bool {
        let mut known = None;
        self.answers.iter().any(|answer| {
            known = match &answer.said {
                Said::Rules(copy) => Some(Some(copy.digest)),
                Said::Absent => Some(None),
                Said::NotModified => known,
                Said::Unreachable | Said::Erased => None,
            };
            let came = answer.at <= after(seen.at, ROUNDED_MS) && seen.at <= after(answer.end, SETTLED_MS);
            came && known == Some(seen.digest)
        })
    }

    /// What one hop says; `None` when it leads on.
    fn hop(&self, hop: &Request, visited: &mut Vec<String>, agent: &Agent, copies: &Copies) -> Option<Said> {
        let Some(status) = hop.status else {
            let is_erased = copies.erased.has_answer(&hop.url, hop.at);
            return Some(if is_erased { Said::Erased } else { Said::Unreachable });
        };
        if matches!(status, 301 | 302 | 303 | 307 | 308) {
            let base = CrawlUrl::parse(&hop.url).ok()?;
            let Some(next) = hop.location.as_deref().and_then(|to| CrawlUrl::join(&base, to).ok()) else {
                return Some(Said::Unreachable);
            };
            // The last place is where it leads.
            if visited.is_empty() {
                visited.push(hop.url.clone());
            }
            if visited.len() > MAX_HOPS || visited.iter().any(|url| url == next.as_str()) {
                return Some(Said::Absent);
            }
            visited.push(next.as_str().to_owned());
            return None;
        }
        let seen = copies.at(&hop.url).iter().find(|seen| seen.at == hop.at);
        Some(match (status, seen) {
            (304, _) => Said::NotModified,
            (200..=299, Some(seen)) => said(status, seen.digest, agent, copies),
            (400..=428 | 430..=499, _) => Said::Absent,
            (300..=399, _) => Said::Absent,
            _ => Said::Unreachable,
        })
    }

    /// What held at `at`, when it may be used that long.
    pub(super) fn at(&self, at: WallTime) -> InForce<'_> {
        let known = self.answers.partition_point(|answer| answer.at <= at);
        let mut nothing = "robots.txt had not been answered";
        let mut renewed = None;
        for answer in self.answers.get(..known).unwrap_or_default().iter().rev() {
            let since = renewed.unwrap_or(answer.at);
            if at.since(since) > LIFE {
                return InForce::Nothing("its robots.txt had not been asked for a day");
            }
            match &answer.said {
                Said::Rules(copy) => return InForce::Rules(copy),
                Said::Absent => return InForce::Absent,
                Said::Erased => return InForce::Erased,
                Said::NotModified => renewed = renewed.or(Some(answer.at)),
                Said::Unreachable => nothing = "its robots.txt was unreachable",
            }
        }
        InForce::Nothing(nothing)
    }
}

/// How the evidence of an answer is not the answer in the WARC.
fn differs(hop: &Request, said: &Said, copies: &Copies) -> Option<String> {
    let is_seen = copies.at(&hop.url).iter().any(|seen| seen.at == hop.at);
    if !is_seen && matches!(hop.status, Some(200..=299)) {
        return Some("it was answered, and the evidence holds no sighting of it".to_owned());
    }
    let (Said::Rules(copy), Some(body)) = (said, &hop.body) else { return None };
    let is_whole = || copies.bytes(copy.digest).is_some_and(|bytes| bytes.len() < comity_robots::MAX_BYTES);
    (copy.digest.to_string() != *body && is_whole())
        .then(|| format!("the evidence holds {} for it, the WARC {body}", copy.digest))
}

/// What is left of an answer whose exchange is gone. Where a redirect led is not in the evidence.
fn recall(seen: &Seen, agent: &Agent, copies: &Copies) -> Said {
    match (seen.status, seen.digest) {
        (304, None) => Said::NotModified,
        (301 | 302 | 303 | 307 | 308, None) if copies.erased.lines => Said::Erased,
        (status, digest) => said(status, digest, agent, copies),
    }
}

fn said(status: u16, digest: Option<Digest>, agent: &Agent, copies: &Copies) -> Said {
    match (status, digest) {
        (_, Some(digest)) => match copies.bytes(digest) {
            Some(bytes) => Said::Rules(Box::new(copy(digest, &bytes, agent))),
            None if copies.erased.has(digest) => Said::Erased,
            None => Said::Unreachable,
        },
        (400..=428 | 430..=499, None) => Said::Absent,
        _ => Said::Unreachable,
    }
}

fn copy(digest: Digest, bytes: &[u8], agent: &Agent) -> Copy {
    let tokens: Vec<&str> = agent.tokens.iter().map(String::as_str).collect();
    let rules = Robots::parse(bytes).rules(&tokens, agent.dialect);
    let pace = AskedPace::of(std::slice::from_ref(&rules));
    Copy { digest, rules, pace }
}

/// So many milliseconds after.
pub(super) fn after(at: WallTime, millis: i64) -> WallTime {
    WallTime::from_unix_millis(at.unix_millis().saturating_add(millis))
}
