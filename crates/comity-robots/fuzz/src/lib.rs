//! Laws that hold for any bytes: run by the fuzzer, and on the seeds by a plain test.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a law that fails panics, which is the finding")]

use comity_robots::{
    AgentLine, Dialect, MatchedRule, Pattern, Robots, RuleKind, RuleSet, RuleVia, Verdict, check, request_target,
};

const DIALECTS: [Dialect; 2] = [Dialect::Standard, Dialect::Google];

/// Targets that any file is asked for.
const TARGETS: [&[u8]; 9] = [b"/", b"/a", b"/a/b?c=d", b"/index.html", b"/a/", b"", b"?q", b"/%c3%A9%61", b"/\xFF\0*$"];

/// Whom any file is asked for.
const TOKENS: [&[&str]; 5] = [&["a"], &["FooBot", "Googlebot"], &["*"], &[], &["none", "a"]];

/// Any bytes parse, in both ways alike; everything that a file has to say can be read.
pub fn parse(bytes: &[u8]) {
    let robots = Robots::parse(bytes);
    for group in robots.groups() {
        assert!(group.agents().count() > 0);
        assert!(group.rules().all(|rule| rule.line() >= group.line() && rule.value_column() >= 1));
    }
    assert!(robots.sitemaps().all(|(_, line)| line > 0));
    assert!(robots.extensions().all(|extension| extension.key_column() >= 1));
    for (tokens, dialect) in TOKENS.iter().flat_map(|tokens| DIALECTS.map(|dialect| (tokens, dialect))) {
        let set = robots.rules(tokens, dialect);
        assert_eq!(RuleSet::parse(bytes, tokens, dialect), set);
        for target in TARGETS {
            let verdict = set.verdict(target);
            assert_eq!(verdict.allowed, set.allows(target));
            assert_eq!(verdict, set.evidence(target).to_verdict());
            assert_eq!(request_target(target).first(), Some(&b'/'));
        }
    }
    let answer = check(bytes, "a", "/a");
    assert_eq!(answer.allowed, answer.evidence.allowed);
}

/// The verdict and its evidence are those of an obvious judge. The first line is the target, the rest the file.
pub fn matcher(bytes: &[u8]) {
    let split = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let (target, file) = bytes.split_at(split);
    let target = [b"/", target].concat();
    let robots = Robots::parse(file);
    for dialect in DIALECTS {
        let verdict = robots.rules(&["a"], dialect).verdict(&target);
        if verdict.basis == comity_robots::Basis::RobotsTxt {
            assert!(dialect == Dialect::Standard && target.starts_with(b"/robots.txt"));
            continue;
        }
        let wanted = obvious(&robots, &target, dialect);
        let found = verdict.rule.as_ref().map(|rule| (rule.priority, rule.kind, rule.line, rule.via));
        assert_eq!(found, wanted, "{} {dialect:?}", target.escape_ascii());
        assert_eq!(verdict.allowed, wanted.is_none_or(|(_, kind, ..)| kind == RuleKind::Allow));
    }
}

/// Length, kind, line and way of the rule that decides.
type Decisive = (u32, RuleKind, u32, RuleVia);

fn obvious(robots: &Robots, target: &[u8], dialect: Dialect) -> Option<Decisive> {
    let named = |agent: AgentLine<'_>, name: &str| agent.token().is_some_and(|token| token.eq_ignore_ascii_case(name));
    let any_is = |name| robots.groups().any(|group| group.agents().any(|agent| named(agent, name)));
    let name = if any_is("a") { "a" } else { "*" };
    let groups = robots.groups().filter(|group| group.agents().any(|agent| named(agent, name)));
    let target = match dialect {
        Dialect::Standard => Pattern::new(target, dialect).as_bytes().to_vec(),
        Dialect::Google => target.to_vec(),
    };
    let mut best: Option<Decisive> = None;
    for rule in groups.flat_map(|group| group.rules().collect::<Vec<_>>()) {
        let pattern = Pattern::new(rule.value(), dialect).as_bytes().to_vec();
        let mut ways = vec![(pattern.clone(), RuleVia::Pattern)];
        let slash = pattern.iter().rposition(|byte| *byte == b'/').filter(|_| rule.kind() == RuleKind::Allow);
        if let Some(slash) = slash.filter(|slash| pattern[*slash..].starts_with(b"/index.htm")) {
            ways.push(([&pattern[..=slash], b"$"].concat(), RuleVia::IndexHtml));
        }
        for (pattern, via) in ways {
            let length = pattern.len() as u32;
            let rank = |(length, kind, line, _): Decisive| (length, kind == RuleKind::Allow, u32::MAX - line);
            let candidate = (length, rule.kind(), rule.line(), via);
            if length > 0 && fits(&pattern, &target) && best.is_none_or(|best| rank(candidate) > rank(best)) {
                best = Some(candidate);
            }
        }
    }
    best
}

/// Every place of the target that the pattern can have reached, byte by byte (robots.cc does the same).
fn fits(pattern: &[u8], target: &[u8]) -> bool {
    let mut reached = vec![0];
    for (at, byte) in pattern.iter().enumerate() {
        match byte {
            b'$' if at + 1 == pattern.len() => return reached.last() == Some(&target.len()),
            b'*' => reached = (reached[0]..=target.len()).collect(),
            _ => {
                reached =
                    reached.iter().filter(|place| target.get(**place) == Some(byte)).map(|place| place + 1).collect()
            }
        }
        if reached.is_empty() {
            return false;
        }
    }
    true
}

/// What was parsed, printed and parsed again says the same; printed again, it is the same text.
pub fn print(bytes: &[u8]) {
    // A printed key may be longer than the one that was written, and a long line is cut.
    if bytes.len() > 10_000 {
        return;
    }
    let robots = Robots::parse(bytes);
    let text = printed(&robots);
    let again = Robots::parse(&text);
    assert_eq!(printed(&again), text);
    for (tokens, dialect) in TOKENS.iter().flat_map(|tokens| DIALECTS.map(|dialect| (tokens, dialect))) {
        let (one, two) = (robots.rules(tokens, dialect), again.rules(tokens, dialect));
        assert_eq!((one.selected(), one.group_tokens()), (two.selected(), two.group_tokens()));
        assert_eq!((one.rule_count(), one.crawl_delay()), (two.rule_count(), two.crawl_delay()));
        assert_eq!((one.request_rate(), one.visit_time()), (two.request_rate(), two.visit_time()));
        assert_eq!(one.signals().len(), two.signals().len());
        for target in TARGETS {
            assert_eq!(without_lines(one.verdict(target)), without_lines(two.verdict(target)));
            assert_eq!(without_lines(one.usage_verdict(target)), without_lines(two.usage_verdict(target)));
        }
    }
}

fn without_lines(verdict: Verdict) -> Verdict {
    let rule = verdict.rule.map(|rule| MatchedRule { line: 0, group_line: 0, ..rule });
    Verdict { rule, ..verdict }
}

/// Every recognised line by its full name, in order.
fn printed(robots: &Robots) -> Vec<u8> {
    let mut lines: Vec<(u32, u8, Vec<u8>)> = Vec::new();
    let mut add =
        |line, order, key: &str, value: &[u8]| lines.push((line, order, [key.as_bytes(), b":", value].concat()));
    for extension in robots.extensions() {
        add(extension.line(), 0, extension.kind().as_str(), extension.value());
    }
    for group in robots.groups() {
        group.agents().for_each(|agent| add(agent.line(), 1, "user-agent", agent.value()));
        group.rules().for_each(|rule| add(rule.line(), 1, rule.kind().as_str(), rule.value()));
    }
    // A line that is also an extension is a rule by the start of that key.
    lines.sort();
    lines.dedup_by_key(|(line, ..)| *line);
    lines.into_iter().flat_map(|(.., text)| [&text[..], b"\n"].concat()).collect()
}

/// Any bytes are a stored set in its only form, or are refused; a set that was parsed comes back.
pub fn stored(bytes: &[u8]) {
    // The bytes as they are, and with the head and the check sum that let them through.
    let head = [&b"CRS\x02"[..], bytes].concat();
    for stored in [bytes.to_vec(), summed(bytes.to_vec()), summed(head)] {
        if let Ok(set) = RuleSet::from_bytes(&stored) {
            assert_eq!(set.to_bytes(), stored);
            for target in TARGETS {
                assert_eq!(set.verdict(target).allowed, set.allows(target));
            }
        }
    }
    let set = RuleSet::parse(bytes, &["a"], Dialect::Standard);
    assert_eq!(RuleSet::from_bytes(&set.to_bytes()).as_ref(), Ok(&set));
}

/// FNV-1a, as the format asks for.
fn summed(mut body: Vec<u8>) -> Vec<u8> {
    let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3);
    let sum = body.iter().fold(0xCBF2_9CE4_8422_2325, step);
    body.extend(sum.to_le_bytes());
    body
}
