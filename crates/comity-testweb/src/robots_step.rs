use std::time::Duration;

use comity_policy::{RobotsLife, WallTime};
use comity_robots::{Dialect, RequestRate, Robots, RuleSet};
use comity_url::CrawlUrl;

use crate::Answer;
use crate::layout::Layout;
use crate::reply::Reply;

/// Redirects followed for one robots.txt (RFC 9309 §2.3.1.2).
pub(crate) const MAX_HOPS: usize = 5;

/// What one answer on the way to a robots.txt means (RFC 9309 §2.3.1; 429 as Google reads it).
#[derive(Debug)]
pub(crate) enum Step {
    /// The file.
    Rules(RuleSet),
    /// No rules: 4xx, a redirect without a usable target.
    Absent,
    /// Disallow all: 429, 5xx, a cut or undecodable body, a dead connection.
    Unreachable,
    /// 304: what was known lives on.
    NotModified,
    /// Look there.
    Redirect(CrawlUrl),
}

/// Reads an answer to a request for `url` that was sent for a robots.txt; `cut`: it did not come whole.
pub(crate) fn step(reply: &Reply, cut: bool, url: &CrawlUrl, layout: &Layout, tokens: &[String]) -> Step {
    let rules = |body: &[u8]| {
        let tokens: Vec<&str> = tokens.iter().map(String::as_str).collect();
        Step::Rules(Robots::parse(body).rules(&tokens, Dialect::Standard))
    };
    // A generated page has no line that could be a rule.
    let Some(answer) = reply.answer() else { return if cut { Step::Unreachable } else { rules(b"") } };
    match answer.seen_status() {
        Some(301 | 302 | 303 | 307 | 308) => {
            let target = answer.redirect_target().and_then(|target| layout.resolve(url, &target));
            target.map_or(Step::Absent, Step::Redirect)
        }
        Some(206) => Step::Unreachable,
        Some(200..=299) => answer.whole_body(cut).map_or(Step::Unreachable, |body| rules(&body)),
        Some(304) => Step::NotModified,
        Some(429) => Step::Unreachable,
        Some(400..=499) => Step::Absent,
        _ => Step::Unreachable,
    }
}

/// How long an answer lives: `max-age` less `Age` inside 5 min .. 24 h, else 24 h (RFC 9309 §2.4; design §6).
pub(crate) fn life(answer: Option<&Answer>) -> Duration {
    let seconds = |text: &str| text.trim().parse::<u64>().ok();
    let asked = answer.and_then(|answer| {
        let control = answer.raw_field("cache-control")?;
        let max_age = control.split(',').find_map(|part| seconds(part.trim().strip_prefix("max-age=")?))?;
        let age = answer.raw_field("age").and_then(|age| seconds(&age)).unwrap_or(0);
        Some(Duration::from_secs(max_age.saturating_sub(age)))
    });
    // An error page that is not to be kept says nothing about the file.
    let absent = answer.and_then(Answer::seen_status).is_some_and(|status| (400..500).contains(&status));
    let asked = asked.filter(|asked| !absent || !asked.is_zero());
    asked.map_or(RobotsLife::LIFE, |asked| asked.clamp(RobotsLife::LEAST_LIFE, RobotsLife::LIFE))
}

/// The largest delay that a rule set asks for at a minute of the day (UTC): Crawl-delay, or a Request-rate in force.
pub(crate) fn announced_delay(rules: &RuleSet, minute: u16) -> Duration {
    let in_force = |rate: &RequestRate| rate.window.is_none_or(|window| window.contains(minute));
    let rate = rules.request_rate().filter(in_force).map(|rate| rate.delay());
    rules.crawl_delay().max(rate).unwrap_or(Duration::ZERO)
}

/// The minute of the day (UTC).
pub(crate) fn minute(at: WallTime) -> u16 {
    let (.., hour, minute, _, _) = at.civil();
    u16::try_from(hour * 60 + minute).unwrap_or(0)
}
