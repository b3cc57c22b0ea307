//! Files written to hurt. No time is asserted: with a slow matcher or a quadratic parser these would not end.

use comity_robots::{Dialect, MAX_BYTES, MAX_GROUP_TOKENS, MAX_NOTES, Robots};

fn fill(head: &str, line: &str) -> String {
    format!("{head}{}", line.repeat(MAX_BYTES / line.len()))
}

/// A rule with many stars that never matches a path of many letters.
fn starred(stars: usize, number: usize) -> String {
    format!("Disallow: /{}b{number}\n", "a*".repeat(stars))
}

#[test]
fn many_rules_of_many_stars() {
    let path = [b"/", "a".repeat(2000).as_bytes()].concat();
    for stars in [1, 4, 64, 1000, 8000] {
        let count = MAX_BYTES / starred(stars, 10_000).len();
        let rules: String = (0..count).map(|number| starred(stars, number)).collect();
        let robots = Robots::parse(format!("User-agent: *\n{rules}").as_bytes());
        for dialect in [Dialect::Standard, Dialect::Google] {
            let set = robots.rules(&["FooBot"], dialect);
            assert!(set.rule_count() >= count - 1, "{stars} stars: {} rules of {count}", set.rule_count());
            assert!(set.allows(&path), "{stars} stars");
        }
    }
}

#[test]
fn pieces_that_almost_match() {
    let piece = "a".repeat(500);
    let robots = fill("User-agent: *\n", &format!("Disallow: /*{piece}b*{piece}c$\n"));
    let path = [b"/", "a".repeat(4000).as_bytes()].concat();
    let set = Robots::parse(robots.as_bytes()).rules(&["FooBot"], Dialect::Standard);
    assert!(set.allows(&path));
    assert_eq!(set.rule_count(), 1, "a repeated rule is kept once");
    assert!(set.heap_bytes() < 2000, "and so is its text: {}", set.heap_bytes());
}

#[test]
fn many_agents_groups_and_tokens() {
    let agents: String = (0..20_000).map(|number| format!("User-agent: a{}\n", letters(number))).collect();
    let robots = Robots::parse(format!("{agents}User-agent: FooBot\nDisallow: /\n").as_bytes());
    let tokens: Vec<String> = (0..50).map(|number| format!("b{}", letters(number))).collect();
    let mut chain: Vec<&str> = tokens.iter().map(String::as_str).collect();
    chain.push("FooBot");
    let set = robots.rules(&chain, Dialect::Standard);
    assert!(!set.allows(b"/x"));
    assert_eq!(set.group_tokens().len(), MAX_GROUP_TOKENS);

    let groups = fill("", "user-agent:*\nallow:/\n");
    let robots = Robots::parse(groups.as_bytes());
    assert_eq!(robots.groups().count(), MAX_BYTES / 21);
    let set = robots.rules(&["FooBot"], Dialect::Standard);
    assert_eq!((set.rule_count(), set.group_tokens().len()), (1, 1));

    let last = format!("{groups}user-agent:*\ndisallow:/x\n");
    let last = last.get(last.len() - MAX_BYTES..).unwrap();
    let rule = Robots::parse(last.as_bytes()).rules(&["FooBot"], Dialect::Standard).verdict(b"/x").rule.unwrap();
    assert_eq!(rule.line, rule.group_line + 1, "also the last of very many groups has its own line");
}

#[test]
fn lines_without_end_and_without_meaning() {
    for line in ["\n", "\r", ":\n", "a:\n", "#", "\0", " ", "x y\n", "disallow\n", "user-agent:\n", "<p>:"] {
        let set =
            Robots::parse(fill("User-agent: *\nDisallow: /x\n", line).as_bytes()).rules(&["Foo"], Dialect::Standard);
        assert!(!set.allows(b"/x"), "{line:?}");
    }
}

#[test]
fn notes_are_bounded() {
    let set = Robots::parse(fill("User-agent: *\n", "Crawl-delay: x\n").as_bytes()).rules(&["Foo"], Dialect::Standard);
    assert_eq!((set.notes().len(), set.crawl_delay()), (MAX_NOTES, None));
}

/// A number in letters, as tokens hold no digits.
fn letters(number: u32) -> String {
    number.to_string().bytes().map(|digit| char::from(digit - b'0' + b'a')).collect()
}
