//! Rule sets as bytes.

mod shared;

use comity_robots::{Dialect, RuleSet, StoredError};
use proptest::prelude::*;
use shared::{corpus, gunzip, untar};

const FILE: &[u8] = b"Content-Signal: search=yes\nUser-agent: FooBot\nUser-agent: Bar\nDisallow: /a%c3%a9*x$\nAllow: /\nAllow: /i/index.html\n\
Crawl-delay: 2.5\nCrawl-delay: x\nRequest-rate: 1/10m 1300-1659\nVisit-time: 0400-0845\nContent-Usage: /p train-ai=n\nLicense: l\n\
User-agent: FooBot\nLicense: l\nUser-agent: Other\nDisallow: /only-in-access\n";

fn comes_back(set: &RuleSet) {
    let bytes = set.to_bytes();
    let back = RuleSet::from_bytes(&bytes);
    assert_eq!(back.as_ref(), Ok(set));
    assert_eq!(back.map(|back| back.to_bytes()), Ok(bytes));
}

#[test]
fn a_set_of_everything_comes_back() {
    for dialect in [Dialect::Standard, Dialect::Google] {
        let set = RuleSet::parse(FILE, &["FooBot"], dialect);
        assert!(!set.notes().is_empty() && !set.signals().is_empty() && !set.file_signals().is_empty());
        assert!(set.request_rate().is_some_and(|rate| rate.window.is_some()) && set.visit_time().is_some());
        assert_ne!(set.usage_verdict(b"/only-in-access"), set.verdict(b"/only-in-access"));
        comes_back(&set);
        comes_back(&RuleSet::parse(FILE, &["Nobody"], dialect));
        comes_back(&RuleSet::parse(b"user-agent: *\ndisallow: *\n", &["Nobody"], dialect));
    }
}

#[test]
fn every_set_of_the_corpus_comes_back() {
    let Some(archive) = corpus("robots-corpus/robots.tar.gz") else { return };
    for file in untar(&gunzip(&archive)).values() {
        comes_back(&RuleSet::parse(file, &["Googlebot"], Dialect::Standard));
    }
}

#[test]
fn what_is_no_set_is_refused() {
    let bytes = RuleSet::parse(FILE, &["FooBot"], Dialect::Standard).to_bytes();
    assert_eq!(RuleSet::from_bytes(b""), Err(StoredError::Foreign));
    assert_eq!(RuleSet::from_bytes(b"CRS"), Err(StoredError::Foreign));
    assert_eq!(RuleSet::from_bytes(b"CRS\x01"), Err(StoredError::Version { found: 1 }));
    let long = [&bytes[..], &vec![0; comity_robots::MAX_STORED_BYTES]].concat();
    assert_eq!(RuleSet::from_bytes(&long), Err(StoredError::TooLong));
    for length in 4..bytes.len() {
        assert_eq!(RuleSet::from_bytes(&bytes[..length]), Err(StoredError::Damaged), "cut at {length}");
    }
    for place in 4..bytes.len() {
        let mut changed = bytes.clone();
        changed[place] ^= 0x10;
        assert_eq!(RuleSet::from_bytes(&changed), Err(StoredError::Damaged), "changed at {place}");
    }
}

/// The check sum of the format, so that changed bytes get past it.
fn summed(mut body: Vec<u8>) -> Vec<u8> {
    let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3);
    let sum = body.iter().fold(0xCBF2_9CE4_8422_2325, step);
    body.extend(sum.to_le_bytes());
    body
}

#[test]
fn a_changed_set_with_the_right_sum_is_refused_or_whole() {
    let bytes = RuleSet::parse(FILE, &["FooBot"], Dialect::Standard).to_bytes();
    let body = &bytes[..bytes.len() - 8];
    assert_eq!(summed(body.to_vec()), bytes);
    let mut read = 0;
    for place in 4..body.len() {
        for bit in 0..8 {
            let mut changed = body.to_vec();
            changed[place] ^= 1 << bit;
            let changed = summed(changed);
            if let Ok(set) = RuleSet::from_bytes(&changed) {
                read += 1;
                assert_eq!(set.to_bytes(), changed, "{place}");
                assert!(set.verdict(b"/a").rule.is_none_or(|rule| rule.priority > 0));
            }
        }
    }
    assert!(read > 0, "a letter of a pattern may change");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_a_set_or_none(body in prop::collection::vec(any::<u8>(), 0..200)) {
        let bytes = summed([&b"CRS\x02"[..], &body].concat());
        if let Ok(set) = RuleSet::from_bytes(&bytes) {
            prop_assert_eq!(set.to_bytes(), bytes);
        }
    }

    #[test]
    fn both_ways_of_parsing_give_one_set(
        words in prop::collection::vec(prop::sample::select(vec![
            "user-agent: a\n", "User-Agent : *\n", "useragent b\n", "disallow: /x\n", "Allow:/y # z\n", "disallowaitraining: n\n",
            "content-signal: a=b\n", "crawl-delay: 3\n", "sitemap: s\n", "junk\n", "\n", "host: h\r", "user-agent: ab/1\n",
        ]), 0..24),
    ) {
        let text = words.concat();
        for tokens in [&["a"][..], &["b", "a"], &["none"], &[], &["ab", "*"]] {
            let one = RuleSet::parse(text.as_bytes(), tokens, Dialect::Standard);
            let all = comity_robots::Robots::parse(text.as_bytes()).rules(tokens, Dialect::Standard);
            prop_assert_eq!(&one, &all);
            comes_back(&one);
        }
    }
}
