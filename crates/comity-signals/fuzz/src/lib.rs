//! Laws that hold for any bytes: run by the fuzzer, and on the seeds by a plain test.

#![allow(clippy::unwrap_used, reason = "a law that fails panics, which is the finding")]

use comity_robots::{Dialect, Robots};
use comity_signals::{
    AiTxt, Carriers, HeadFacts, OthersTokens, PaymentDemand, Preferences, Profile, Purpose, Reservation,
    ResourceReader, ResourceSignals, RobotsSignals, RslCarrier, RslConditions, RslDocument, SignalOptions, Statement,
    TdmReading, Tdmrep, TrustTxt, UnixSeconds, Verdict,
};

const ORIGIN: &str = "https://site.test";
const TOKEN: &str = "FuzzBot";
const TARGETS: [&[u8]; 4] = [b"/", b"/a", b"/a/b.jpg?c=d", b"/open/x"];

fn options(profile: Profile) -> SignalOptions {
    SignalOptions { profile, others_tokens: OthersTokens::Deny { least: 1 }, ..SignalOptions::default() }
}

/// What is kept is small, and what is derived only denies.
fn bounded(statements: &[Statement]) {
    assert!(statements.len() < 256);
    for statement in statements {
        assert!(statement.raw.len() <= 8192 && statement.path.as_ref().is_none_or(|path| path.len() <= 8192));
        assert!(statement.verdict == Verdict::Denied || !(statement.derived || statement.conditional));
    }
}

/// The cautious profile adds denials and nothing else.
fn only_denies(literal: &Preferences, cautious: &Preferences) {
    for purpose in Purpose::ALL {
        let (said, more) = (literal.verdict(purpose), cautious.verdict(purpose));
        assert!(said == more || more == Verdict::Denied, "{purpose}: {said} became {more}");
    }
}

/// Only a whole JSON array permits; what is kept is bounded.
pub fn tdmrep(bytes: &[u8]) {
    let file = Tdmrep::parse(bytes, ORIGIN);
    assert!(file.rule_count() <= Tdmrep::MAX_RULES);
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let is_array = serde_json::from_slice::<Vec<serde_json::Value>>(text).is_ok();
    for target in TARGETS {
        let reading = TdmReading::of_file(&file, target, options(Profile::Cautious));
        bounded(&reading.statements);
        assert!(reading.effective() != Some(Reservation::NotReserved) || is_array);
        assert!(reading.policy.is_none() || reading.effective() == Some(Reservation::Reserved));
        let literal = TdmReading::of_file(&file, target, options(Profile::Literal));
        only_denies(&Preferences::combine(&literal.statements), &Preferences::combine(&reading.statements));
    }
}

/// Only what conforms permits, and no document type does.
pub fn rsl(bytes: &[u8]) {
    let document = RslDocument::parse(bytes);
    let declares = bytes.windows(9).any(|window| window == b"<!DOCTYPE");
    for target in TARGETS {
        for carrier in [RslCarrier::Robots, RslCarrier::Inline] {
            let read = |profile, conditions: &RslConditions| {
                document.read(ORIGIN, target, carrier, conditions, options(profile)).statements
            };
            let none = RslConditions::default();
            let (literal, cautious) = (read(Profile::Literal, &none), read(Profile::Cautious, &none));
            bounded(&cautious);
            only_denies(&Preferences::combine(&literal), &Preferences::combine(&cautious));
            let permits = cautious.iter().any(|statement| statement.verdict == Verdict::Allowed);
            // A document type may also stand within a comment or a text, where it declares nothing.
            let quoted = bytes.windows(4).any(|window| window == b"<!--" || window == b"<![C");
            assert!(!permits || (document.is_conformant() && (!declares || quoted)));
            // Conditions that are met only open.
            let met = ["attribution", "free", "crawl", "use", "training", "server", "reporting", "custom"];
            let met = RslConditions { satisfies: met.map(str::to_owned).to_vec(), ..none };
            let more = Preferences::combine(&read(Profile::Literal, &met));
            for purpose in Purpose::ALL {
                let before = Preferences::combine(&literal).verdict(purpose);
                assert!(before != Verdict::Allowed || more.verdict(purpose) == Verdict::Allowed);
            }
        }
    }
}

fn all(
    robots: Option<&RobotsSignals>,
    fields: &[(String, Vec<u8>)],
    profile: Profile,
    target: &[u8],
) -> ResourceSignals {
    let (conditions, head) = (RslConditions::default(), HeadFacts::default());
    let reader = ResourceReader { token: TOKEN, image: false, options: options(profile), conditions: &conditions };
    let carriers = Carriers {
        origin: ORIGIN,
        target,
        robots,
        tdmrep: None,
        ai_txt: None,
        trust_txt: None,
        fields,
        head: &head,
        licences: &[],
    };
    reader.read(&carriers, UnixSeconds(1_796_000_000))
}

/// Lines about uses never change access, and say nothing where access is refused.
pub fn lines(bytes: &[u8]) {
    let robots = Robots::parse(bytes);
    let signals = RobotsSignals::compile(&robots, &[TOKEN], Dialect::Standard);
    let rules = robots.rules(&[TOKEN], Dialect::Standard);
    for target in TARGETS {
        let (literal, cautious) =
            (all(Some(&signals), &[], Profile::Literal, target), all(Some(&signals), &[], Profile::Cautious, target));
        assert_eq!(cautious.access, rules.allows(target));
        assert!(cautious.access || cautious.preferences == Preferences::none());
        bounded(cautious.preferences.statements());
        only_denies(&literal.preferences, &cautious.preferences);
        for class in &cautious.others {
            assert!(class.denied.iter().all(|token| class.named.contains(token)));
        }
    }
}

/// Fields, a line each, name and value cut at the first colon.
pub fn fields(bytes: &[u8]) {
    let lines = bytes.split(|byte| *byte == b'\n').take(64);
    let fields: Vec<(String, Vec<u8>)> = lines
        .filter_map(|line| {
            let colon = line.iter().position(|byte| *byte == b':')?;
            Some((String::from_utf8_lossy(&line[..colon]).trim().to_owned(), line[colon + 1..].trim_ascii().to_vec()))
        })
        .collect();
    let (literal, cautious) =
        (all(None, &fields, Profile::Literal, b"/a"), all(None, &fields, Profile::Cautious, b"/a"));
    bounded(cautious.preferences.statements());
    only_denies(&literal.preferences, &cautious.preferences);
    assert!(cautious.licences.documents.iter().all(|pointer| pointer.url.to_ascii_lowercase().starts_with("https://")));
    // One robots rule more never lifts anything.
    let more = [&fields[..], &[("X-Robots-Tag".to_owned(), b"noindex, noai, nofollow".to_vec())]].concat();
    let more = all(None, &more, Profile::Cautious, b"/a");
    assert!(!more.constraints.follow && more.preferences.verdict(Purpose::Search) == Verdict::Denied);
    for purpose in Purpose::ALL {
        let before = cautious.preferences.verdict(purpose);
        assert!(before != Verdict::Denied || more.preferences.verdict(purpose) == Verdict::Denied);
    }
    for status in [200, 402, 502] {
        drop(PaymentDemand::read(status, &fields, None));
    }
}

/// `ai.txt` and `trust.txt`.
pub fn files(bytes: &[u8]) {
    let file = AiTxt::parse(bytes, &[TOKEN]);
    for target in TARGETS {
        let found = file.statement(target);
        assert!(found.is_none() || !file.is_silent());
        bounded(&Vec::from_iter(found));
    }
    bounded(&Vec::from_iter(TrustTxt::parse(bytes).statement().cloned()));
}
