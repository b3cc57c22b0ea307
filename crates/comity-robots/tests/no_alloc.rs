//! A verdict with its evidence costs no allocation.

use std::hint::black_box;

use allocation_counter::measure;
use comity_robots::{Compiler, Dialect, Robots, RuleSet};

const FILE: &[u8] =
    b"User-agent: *\nDisallow: /a\nAllow: /a/*.html$\nDisallow: /*?q=\nDisallow: /*&sort=*&p=\nAllow: /%c3%a9\n\
Allow: /d/index.html\nDisallow: /d/\nDisallow: /*1\nDisallow: /*2\nDisallow: /*3\nDisallow: /*4\nDisallow: /*5\n\
Disallow: /*6\nDisallow: /*7\nDisallow: /*8\nDisallow: /*9\nDisallow: /*0\n";

fn allocations(set: &RuleSet, target: &[u8]) -> u64 {
    measure(|| {
        black_box(set.evidence(black_box(target)).allowed());
        black_box(set.allows(black_box(target)));
    })
    .count_total
}

#[test]
fn evidence_allocates_nothing() {
    // The counter counts: a verdict owns the pattern of its rule.
    let set = RuleSet::parse(FILE, &["FooBot"], Dialect::Standard);
    assert!(measure(|| drop(black_box(set.verdict(b"/ax")))).count_total > 0);
    let long = [b"/a/", "%c3%A9".repeat(400).as_bytes()].concat();
    let targets: [&[u8]; 12] = [
        b"/",
        b"/a",
        b"/a/b.html",
        b"/x?q=1",
        b"/x?a&sort=1&p=2",
        b"/%C3%A9",
        "/é".as_bytes(),
        b"/d/",
        b"no/slash",
        b"/robots.txt",
        b"/x/123456789",
        &long,
    ];
    for dialect in [Dialect::Standard, Dialect::Google] {
        let set = Robots::parse(FILE).rules(&["FooBot"], dialect);
        for target in targets {
            assert_eq!(allocations(&set, target), 0, "{dialect:?} {}", target.escape_ascii());
        }
    }
}

#[test]
fn a_file_in_room_that_is_kept_costs_the_set_and_its_rules() {
    let mut compiler = Compiler::new();
    let first = compiler.parse(FILE, &["FooBot"], Dialect::Google);
    for file in [FILE, b"user-agent:*\ndisallow:/\n", FILE] {
        let wanted = RuleSet::parse(file, &["FooBot"], Dialect::Google);
        let mut found = None;
        let allocations = measure(|| found = Some(compiler.parse(file, &["FooBot"], Dialect::Google)));
        assert_eq!(found, Some(wanted));
        assert!(allocations.count_total <= 4, "{}", allocations.count_total);
    }
    assert_eq!(first, compiler.parse(FILE, &["FooBot"], Dialect::Google));
    let short = b"user-agent:*\ndisallow:/\n";
    let allocations = measure(|| drop(black_box(compiler.parse(short, &["FooBot"], Dialect::Google))));
    assert_eq!(allocations.count_total, 2);
}

#[test]
fn cloning_a_set_copies_a_pointer() {
    let set = RuleSet::parse(FILE, &["FooBot"], Dialect::Standard);
    assert_eq!(measure(|| drop(black_box(set.clone()))).count_total, 0);
}
