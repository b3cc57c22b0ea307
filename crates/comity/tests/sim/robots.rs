use std::time::Duration;

use comity::policy::WallTime;
use comity_testweb::{Answer, Coding, Site, Target};

use crate::plan::Dice;

/// Gives a site a robots.txt of some kind; with hours of the day if `hours`.
pub(crate) fn drawn(dice: &Dice, site: Site, n: usize, sites: usize, (start, hours): (WallTime, bool)) -> Site {
    let rules = || Answer::text(rules(dice, start, hours));
    let lives = |answer: Answer| answer.field("Cache-Control", "max-age=300");
    // Redirects lead to even sites, whose file does not change: of two requests for one that does, nobody but the client
    // knows which was for whom.
    let even = 2 * dice.below((sites as u64).div_ceil(2) - 1);
    let other = usize::try_from(even).unwrap() + if n as u64 == even { 2 } else { 0 };
    let other = Target::at(other, "/robots.txt");
    let kind = dice.below(24);
    match if n.is_multiple_of(2) && [6, 7, 12].contains(&kind) { 20 } else { kind } {
        0 => site,
        1 => site.robots_answer(Answer::status(dice.pick(&[401, 403, 404, 410]))),
        2 => site.robots_answer(Answer::redirect(dice.pick(&[301, 302, 307, 308]), other)),
        3 => chain(dice, site, rules()),
        4 => site.robots_answer(Answer::redirect(302, "/robots.txt")),
        5 => site.robots_answers([busy(dice), busy(dice), rules()]),
        6 => site.robots_cycle([lives(rules()), busy(dice), lives(Answer::status(404)), busy(dice), lives(rules())]),
        7 => site.robots_cycle([busy(dice), lives(rules())]),
        8 => site.robots_answer(Answer::status(503)),
        9 => site.robots_answers([broken(dice), rules()]),
        10 => site.robots_answers([broken(dice), broken(dice), rules()]),
        11 => site.robots_answer(Answer::text("User-agent: *\nCrawl-delay: 400\n")),
        // New rules after five minutes, and again.
        12 => site.robots_cycle([lives(rules()), lives(rules()), lives(rules())]),
        13 => site.robots_answer(rules().coding(dice.pick(&[Coding::Gzip, Coding::Deflate, Coding::Brotli]))),
        14 => site.robots_answer(rules().trickle(10, dice.millis(100, 900))),
        15 => site.robots_answer(lives(rules())),
        16 => site.robots(""),
        _ => site.robots_answer(rules()),
    }
}

/// A redirect chain on the own host: one hop to six, of which the sixth is one too many.
fn chain(dice: &Dice, site: Site, rules: Answer) -> Site {
    let hops = dice.between(1, 6);
    let hop = |n: u64| Answer::redirect(302, Target::here(format!("/r{n}.txt")));
    let slow = |answer: Answer| if dice.percent(20) { answer.field("Retry-After", "90") } else { answer };
    let start = site.robots_answer(hop(1));
    let between = (1..hops).fold(start, |site, n| site.page(format!("/r{n}.txt"), slow(hop(n + 1))));
    between.page(format!("/r{hops}.txt"), rules)
}

fn busy(dice: &Dice) -> Answer {
    match dice.below(4) {
        0 => Answer::retry_after(429, dice.between(0, 100)),
        1 => Answer::retry_at(503, Duration::from_secs(dice.between(1, 40))),
        2 => Answer::status(dice.pick(&[500, 502, 503])),
        _ => Answer::retry_after(503, dice.between(1, 40)),
    }
}

fn broken(dice: &Dice) -> Answer {
    let rules = Answer::text("User-agent: *\nAllow: /\n# and more that never comes\n");
    match dice.below(7) {
        0 => Answer::reset(),
        1 => Answer::silence(),
        2 => rules.cut_after(dice.between(0, 150)),
        3 => Answer::raw(&b"SSH-2.0-OpenSSH_9.9\r\n"[..]),
        4 => rules.field("Content-Encoding", "gzip"),
        5 => rules.with_status(206),
        _ => rules.delay(Duration::from_secs(20)),
    }
}

fn rules(dice: &Dice, start: WallTime, hours: bool) -> String {
    let mut text = if dice.percent(20) {
        "User-agent: otherbot\nDisallow: /\n\nUser-agent: simbot\n".to_owned()
    } else {
        "User-agent: *\n".to_owned()
    };
    if dice.percent(60) {
        let tenths = if dice.percent(80) { dice.between(2, 30) } else { dice.between(31, 300) };
        text.push_str(&format!("Crawl-delay: {}.{}\n", tenths / 10, tenths % 10));
    }
    if dice.percent(8) {
        let rate = format!("Request-rate: 1/{}", dice.between(1, 20));
        let window = window(dice, start);
        text.push_str(&if hours { format!("{rate} {window}\n") } else { format!("{rate}\n") });
    }
    if dice.percent(8) {
        let line = format!("Visit-time: {}\n", window(dice, start));
        text.push_str(if hours { &line } else { "" });
    }
    for rule in ["Disallow: /p/1$", "Disallow: /p/*3$", "Disallow: /p/4", "Allow: /p/43", "Disallow: /x/"] {
        if dice.percent(30) {
            text.push_str(rule);
            text.push('\n');
        }
    }
    if dice.percent(5) {
        text.push_str("Disallow: /\n");
    }
    text
}

/// A window that opens or closes within minutes of the start, or lasts all the time.
fn window(dice: &Dice, start: WallTime) -> String {
    let (.., hour, minute, _, _) = start.civil();
    let now = u64::from(hour * 60 + minute) + 24 * 60;
    let (first, last) = match dice.below(3) {
        0 => (now + dice.between(1, 8), now + dice.between(9, 40)),
        1 => (now - dice.between(1, 60), now + dice.between(0, 6)),
        _ => (now - 100, now + 600),
    };
    let clock = |minute: u64| format!("{:02}{:02}", minute / 60 % 24, minute % 60);
    format!("{}-{}", clock(first), clock(last))
}
