use std::time::Duration;

use comity_testweb::{Answer, Coding, Site, Target};

use crate::hostile;
use crate::plan::Dice;

/// Gives a site a front page and some pages, each with its troubles before it settles.
pub(crate) fn drawn(dice: &Dice, site: Site, sites: usize) -> Site {
    let count = dice.between(2, 10);
    let links = |first: u64| links(dice, first, count, sites);
    let front = Answer::page(links(1));
    let mut site = site.page_answers("/", troubled(dice, front));
    for n in 1..=count {
        let settled = match dice.below(24) {
            0 | 1 => Answer::redirect(dice.pick(&[301, 302, 303, 307, 308]), elsewhere(dice, count, sites)),
            2 => Answer::status(404),
            3 => Answer::text("gone").with_status(410),
            4 => Answer::text("out of order").with_status(500),
            5 => Answer::text("x".repeat(30_000)).trickle(3_000, dice.millis(50, 400)),
            6 => Answer::text("y".repeat(3_000)).trickle(100, dice.millis(300, 1500)),
            7 => Answer::page(links(n + 1)).coding(dice.pick(&[Coding::Gzip, Coding::Brotli, Coding::Zstd])),
            8 => Answer::page(links(n + 1)).field("Connection", "close"),
            9 => Answer::page(links(n + 1)).chunked(),
            10 => Answer::page(links(n + 1)).field("RateLimit", format!("\"q\";r={};t=9", dice.below(4))),
            11..=13 => hostile::answer(dice),
            _ => Answer::page(links(n + 1)).bytes(dice.below(20_000)),
        };
        site = site.page_answers(format!("/p/{n}"), troubled(dice, settled));
    }
    site
}

/// The pages after this one, so that all are found, and some elsewhere.
fn links(dice: &Dice, first: u64, count: u64, sites: usize) -> Vec<Target> {
    let last = count.min(first + dice.between(1, 4));
    let mut links: Vec<Target> = (first..=last).map(|n| Target::here(format!("/p/{n}"))).collect();
    links.extend((0..dice.below(3)).map(|_| elsewhere(dice, count, sites)));
    links
}

fn elsewhere(dice: &Dice, count: u64, sites: usize) -> Target {
    let path = match dice.below(6) {
        0 => "/".to_owned(),
        1 => format!("/x/{}", dice.below(5)),
        _ => format!("/p/{}", dice.between(1, count)),
    };
    if dice.percent(50) {
        Target::here(path)
    } else {
        Target::at(usize::try_from(dice.below(sites as u64)).unwrap(), path)
    }
}

/// None, some, or more troubles than there are retries, and then the settled answer.
fn troubled(dice: &Dice, settled: Answer) -> Vec<Answer> {
    let troubles = match dice.below(20) {
        0..=12 => 0,
        13..=16 => 1,
        17 | 18 => 2,
        _ => 4,
    };
    let mut answers: Vec<Answer> = (0..troubles).map(|_| trouble(dice)).collect();
    answers.push(settled);
    answers
}

fn trouble(dice: &Dice) -> Answer {
    let whole = || Answer::text("z".repeat(2000));
    match dice.below(20) {
        0 => Answer::retry_after(429, dice.between(1, 20)),
        1 => Answer::retry_at(429, Duration::from_secs(dice.between(1, 15))),
        2 => Answer::status(429),
        3 => Answer::retry_after(503, dice.between(0, 10)),
        4 => Answer::retry_text(503, dice.pick(&["abc", "-1", "Sun, 06 Nov 1994 08:49:37 GMT"])),
        5 => Answer::status(dice.pick(&[500, 502, 504])),
        6 => Answer::reset(),
        // Within the head, and within the body.
        7 => whole().cut_after(dice.between(0, 60)),
        8 => whole().cut_after(dice.between(200, 1500)),
        9 => whole().chunked().cut_after(dice.between(200, 1500)),
        10 => Answer::silence(),
        11 => whole().delay(Duration::from_secs(dice.between(16, 40))),
        12 => whole().trickle(1, dice.millis(200, 3000)),
        13 => Answer::raw(&b"HTTP/1.1 2000 What\r\n\r\n"[..]),
        14 => Answer::status(429).field("X-RateLimit-Remaining", "0").field("X-RateLimit-Reset", "6"),
        15 => Answer::retry_after(503, 4000),
        _ => hostile::answer(dice),
    }
}
