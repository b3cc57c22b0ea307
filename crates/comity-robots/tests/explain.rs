//! Explanations: the winner is the verdict's, and other readers are told apart.

mod shared;

use comity_robots::{
    Chain, Dialect, Explanation, KnownAgent, Robots, RuleKind, RuleVia, Selected, Why, request_target,
};
use shared::{corpus, gunzip, untar};

const BOTH: [Dialect; 2] = [Dialect::Standard, Dialect::Google];

fn explain(text: &str, tokens: &[&str], target: &str) -> Explanation {
    Chain::new(tokens).explain(&Robots::parse(text.as_bytes()), Dialect::Standard, target.as_bytes())
}

/// What the page docs/robots.md shows: file, agent, path, allowed, line that decides, and the lines by which a first-match
/// reader and the first-listed group go (0 for none).
type Shown = (&'static str, &'static str, &'static str, bool, u32, u32, u32);

const SHOWN: [Shown; 24] = [
    ("User-agent: *\nAllow: /p\nDisallow: /", "Bot", "/page", true, 2, 2, 2),
    ("User-agent: *\nDisallow: /\nAllow: /p", "Bot", "/page", true, 3, 2, 3),
    ("User-agent: *\nAllow: /folder\nDisallow: /folder", "Bot", "/folder/page", true, 2, 2, 2),
    ("User-agent: *\nDisallow: /folder\nAllow: /folder", "Bot", "/folder/page", true, 3, 2, 3),
    ("User-agent: *\nAllow: /\nDisallow: /*.php$", "Bot", "/index.php", false, 3, 2, 3),
    ("User-agent: *\nDisallow: /admin", "Bot", "/Admin/settings", true, 0, 0, 0),
    ("User-agent: *\nDisallow: /search", "Bot", "/search-results", false, 2, 2, 2),
    ("User-agent: *\nDisallow: /search", "Bot", "/searchable-inventory", false, 2, 2, 2),
    ("User-agent: *\nDisallow: /Category/", "Bot", "/category/", true, 0, 0, 0),
    ("User-agent: *\nDisallow: /*?sort=", "Bot", "/shoes?color=red&sort=price", true, 0, 0, 0),
    ("User-agent: *\nDisallow: /*sort=", "Bot", "/shoes?color=red&sort=price", false, 2, 2, 2),
    ("User-agent: *\nDisallow: /*&sort=", "Bot", "/shoes?color=red&sort=price", false, 2, 2, 2),
    ("User-agent: *\nDisallow: /*.pdf$", "Bot", "/report.pdf", false, 2, 2, 2),
    ("User-agent: *\nDisallow: /*.pdf$", "Bot", "/report.pdf?download=1", true, 0, 0, 0),
    ("User-agent: *\nDisallow: /shop\nAllow: /shop/public", "Bot", "/shop/public/item", true, 3, 2, 3),
    ("User-agent: *\nAllow: /shop/public\nDisallow: /shop", "Bot", "/shop/public/item", true, 2, 2, 2),
    (HIDDEN, "Googlebot", "/cart", true, 0, 0, 3),
    (HIDDEN, "Googlebot", "/internal/docs/a", true, 6, 6, 2),
    (HIDDEN, "OtherBot", "/cart", false, 3, 3, 3),
    ("User-agent: Googlebot\nDisallow: /g\nUser-agent: *\nDisallow: /", "Googlebot-Image", "/g", false, 2, 2, 2),
    ("User-agent: Googlebot\nDisallow: /g\nUser-agent: *\nDisallow: /", "Googlebot-Image", "/x", true, 0, 0, 0),
    ("User-agent: Other\nDisallow: /g\nUser-agent: *\nDisallow: /", "Googlebot-Image", "/x", false, 4, 4, 4),
    (
        "User-agent: Googlebot-Image\nAllow: /\nUser-agent: Googlebot\nDisallow: /",
        "Googlebot-Image",
        "/x",
        true,
        2,
        2,
        2,
    ),
    ("User-agent: *\nDisallow: /", "AdsBot-Google", "/x", true, 0, 0, 0),
];

const HIDDEN: &str =
    "User-agent: *\nDisallow: /internal/\nDisallow: /cart\n\nUser-agent: Googlebot\nAllow: /internal/docs/\n";

#[test]
fn the_table_of_examples() {
    for (text, agent, path, allowed, line, first_match, first_group) in SHOWN {
        let robots = Robots::parse(text.as_bytes());
        let chain = KnownAgent::find(agent).map_or_else(|| Chain::new(&[agent]), Chain::of);
        for dialect in BOTH {
            let found = chain.explain(&robots, dialect, path.as_bytes());
            let lines = [
                found.verdict.rule.as_ref().map_or(0, |rule| rule.line),
                found.first_match.rule.as_ref().map_or(0, |rule| rule.line),
                found.first_group.rule.as_ref().map_or(0, |rule| rule.line),
            ];
            assert_eq!(
                (found.verdict.allowed, lines),
                (allowed, [line, first_match, first_group]),
                "{agent} {path} {text}"
            );
        }
    }
}

#[test]
fn why_the_winner_won() {
    let rows = [
        ("User-agent: *\nDisallow: /\nAllow: /p", "/page", "longer than disallow: / of line 2 (1 octet)"),
        (
            "User-agent: *\nAllow: /p\nDisallow: /p",
            "/page",
            "allow wins at equal length over disallow: /p of line 3 (2 octets)",
        ),
        ("User-agent: *\nDisallow: /p\nDisallow: /", "/page", "no matching rule says otherwise"),
        ("User-agent: *\nDisallow: /q", "/page", "no rule of the group matches, so it is allowed"),
        ("User-agent: x\nDisallow: /q", "/q", "no group applies, so nothing is forbidden"),
        ("User-agent: *\nDisallow: /", "/robots.txt", "/robots.txt is always allowed (RFC 9309 §2.2.2)"),
    ];
    for (text, path, wanted) in rows {
        assert_eq!(explain(text, &["Bot"], path).why.to_string(), wanted, "{text}");
    }
}

#[test]
fn every_match_in_order_of_priority() {
    let text = "User-agent: a\nUser-agent: b\nDisallow: /x\nAllow: /\nDisallow:\n\nUser-agent: B/1\nAllow: /x*z\nDisallow: /x*y\nDisallow: /y\n";
    let found = explain(text, &["none", "b"], "/xyz");
    let rules: Vec<_> =
        found.matches.iter().map(|r| (r.kind, r.pattern.as_str(), r.line, r.group_line, r.priority)).collect();
    let (allow, disallow) = (RuleKind::Allow, RuleKind::Disallow);
    let wanted =
        [(allow, "/x*z", 8, 7, 4), (disallow, "/x*y", 9, 7, 4), (disallow, "/x", 3, 1, 2), (allow, "/", 4, 1, 1)];
    assert_eq!(rules, wanted);
    assert!(matches!(found.why, Why::AllowAtTie(_)));
    assert_eq!(found.selected, Selected::Token("b".into()));
    let groups: Vec<_> = found.groups.iter().map(|group| (group.line, group.agents.clone(), group.rules)).collect();
    assert_eq!(groups, [(1, vec![("a".into(), 1), ("b".into(), 2)], 3), (7, vec![("B".into(), 7)], 3)]);
    assert!(found.first_match.differs && found.first_group.differs && !found.other_dialect.differs);
}

#[test]
fn the_other_dialect_and_index_html() {
    let found = explain("User-agent: *\nDisallow: /admin\n", &["Bot"], "/%61dmin");
    assert!(!found.verdict.allowed && found.other_dialect.allowed && found.other_dialect.differs);
    let found = explain("User-agent: *\nDisallow: /d/\nAllow: /d/index.html\n", &["Bot"], "/d/");
    assert_eq!(found.matches[0].via, RuleVia::IndexHtml);
    assert!(found.verdict.allowed);
    let found = explain("User-agent: *\nDisallow: /\n", &["Bot"], "/robots.txt?x");
    assert!(found.verdict.allowed && found.first_match.allowed && found.other_dialect.differs);
}

/// The explanation is made by another way than the compiled rules: it names the same winner everywhere.
#[test]
fn the_corpus_is_explained_as_it_is_judged() {
    let (Some(archive), Some(table)) = (corpus("robots-corpus/robots.tar.gz"), corpus("robots-corpus/verdicts.tsv.gz"))
    else {
        return;
    };
    let files = untar(&gunzip(&archive));
    let table = String::from_utf8(gunzip(&table)).unwrap();
    let (mut asked, mut differ) = (0, [0; 3]);
    let mut parsed = (String::new(), Robots::parse(b""));
    // Every eighth question: an explanation holds every rule against the target, and compiles the file anew.
    for row in table.lines().skip(1).step_by(8) {
        let fields: Vec<_> = row.split('\t').collect();
        if parsed.0 != fields[0] {
            parsed = (fields[0].to_owned(), Robots::parse(&files[&format!("robots/{}", fields[0])]));
        }
        for (dialect, wanted) in [(Dialect::Standard, fields[5]), (Dialect::Google, fields[3])] {
            let found = Chain::new(&[fields[1]]).explain(&parsed.1, dialect, &request_target(fields[2]));
            assert_eq!(found.matches.first(), found.verdict.rule.as_ref(), "{row}");
            assert_eq!(found.verdict.allowed, wanted == "1", "{row}");
            asked += 1;
            for (count, reading) in
                differ.iter_mut().zip([&found.first_match, &found.first_group, &found.other_dialect])
            {
                *count += usize::from(reading.differs);
            }
        }
    }
    println!("{asked} explained; first match, first group, other dialect differ {differ:?} times");
    assert!(asked > 6_000);
}
