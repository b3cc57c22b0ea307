//! Every code: a file that has the fault, at its place, and one that looks like it and has not.

mod shared;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use comity_robots::{Chain, Dialect, Lint, LintCode, MAX_BYTES, MAX_FINDINGS, Robots, Severity, Why, lint};
use proptest::collection::vec;
use proptest::prelude::*;
use shared::{corpus, gunzip, untar};

/// Code, file with the fault, line and column of the finding, file without it.
type Row = (&'static str, &'static str, (u32, u32), &'static str);

const ROWS: [Row; 54] = [
    (
        "R001",
        "User-agent: *\nDisallow: /internal/\nDisallow: /cart\n\nUser-agent: Googlebot\nAllow: /internal/docs/\n",
        (5, 13),
        "User-agent: *\nDisallow: /cart\nUser-agent: Googlebot\nDisallow: /\n",
    ),
    (
        "R001",
        "User-agent: *\nDisallow: /a\nUser-agent: x\nDisallow:\n",
        (3, 13),
        "User-agent: *\nDisallow: /a\nUser-agent: x\nDisallow: /a\nDisallow: /b\n",
    ),
    ("R002", "User-agent: *\nDisallow: private/\n", (2, 11), "User-agent: *\nDisallow: *private/\nDisallow:\n"),
    ("R002", "User-agent: *\nDisallow:  .pdf\n", (2, 12), "User-agent: *\nDisallow: /*.pdf\n"),
    ("R003", "User-agent: *\nDisallow: /a\nAllow: /a*\n", (2, 11), "User-agent: *\nDisallow: /a\nAllow: /a*b\n"),
    ("R003", "User-agent: *\nAllow: /a\nDisallow: /a\n", (3, 11), "User-agent: *\nAllow: /a\nDisallow: /a/\n"),
    (
        "R003",
        "User-agent: *\nDisallow: /a/\nDisallow: /a/*\n",
        (2, 11),
        "User-agent: *\nDisallow: /a/*\nDisallow: /a/b\n",
    ),
    ("R004", "User-agent: *\nDisallow: /\nAllow: /p\n", (3, 8), "User-agent: *\nAllow: /p\nDisallow: /\n"),
    ("R004", "User-agent: *\nAllow: /\nDisallow: /*.php$\n", (3, 11), "User-agent: *\nDisallow: /*.php$\nAllow: /\n"),
    ("R004", "User-agent: *\nDisallow: /f\nAllow: /f\n", (3, 8), "User-agent: *\nDisallow: /f\nDisallow: /fg\n"),
    (
        "R005",
        "User-agent: *\nDisallow: /search\n",
        (2, 11),
        "User-agent: *\nDisallow: /search/\nDisallow: /x$\nDisallow: /y.html\n",
    ),
    ("R005", "User-agent: *\nDisallow: /*/cart\n", (2, 11), "User-agent: *\nDisallow: /search\nAllow: /searchable\n"),
    (
        "R006",
        "User-agent: *\nDisallow: /Category/\n",
        (2, 11),
        "User-agent: *\nDisallow: /category/\nDisallow: /%C3%A9\n",
    ),
    ("R007", "User-agent: *\nDisallow: /A/\nDisallow: /a/\n", (3, 11), "User-agent: *\nDisallow: /a/\nDisallow: /a/\n"),
    (
        "R008",
        "User-agent: *\nAllow: /page\nDisallow: /page$\n",
        (3, 11),
        "User-agent: *\nAllow: /pag\nDisallow: /page$\n",
    ),
    (
        "R008",
        "User-agent: *\nDisallow: /*bc\nAllow: /ab$\nAllow: /bc$\n",
        (4, 8),
        "User-agent: *\nDisallow: /*\nAllow: /abc$\n",
    ),
    (
        "R009",
        "User-agent: *\nDisallow: /*.pdf$\n",
        (2, 11),
        "User-agent: *\nDisallow: /*.pdf$\nDisallow: /*.pdf?\nDisallow: /a$\n",
    ),
    (
        "R010",
        "User-agent: *\nDisallow: /*?sort=\n",
        (2, 11),
        "User-agent: *\nDisallow: /*?sort=\nDisallow: /*&sort=\nDisallow: /*?\n",
    ),
    ("R010", "User-agent: *\nDisallow: /s?q=\n", (2, 11), "User-agent: *\nDisallow: /*sort=\nDisallow: /s?\n"),
    ("R011", "User-agent: *\nNoindex: /a\n", (2, 1), "User-agent: *\nDisallow: /noindex\n"),
    ("R012", "Host: e.test\n", (1, 1), "User-agent: *\nDisallow: /host\n"),
    ("R013", "User-agent: *\nDisallow:\nClean-param: ref /\n", (3, 1), "# Clean-param: ref\n"),
    ("R014", "User-agent: *\nCrawl-delay: 5\n", (2, 14), "User-agent: bingbot\nCrawl-delay: 5\n"),
    ("R014", "User-agent: Googlebot-Image\nCrawl-delay: 5\n", (2, 14), "Crawl-delay: 5\nUser-agent: *\n"),
    ("R015", "User-agent: bingbot\nCrawl-delay: 301\n", (2, 14), "User-agent: bingbot\nCrawl-delay: 300\n"),
    ("R016", "User-agent: *\nCrawl-delay: [5]\n", (2, 14), "User-agent: *\nCrawl-delay: 2.5\n"),
    ("R017", "User-agent: *\n Disalow: /a\n", (2, 2), "user-AGENT: *\ndisallow: /a\nDisallowAITraining: /a\n"),
    ("R017", "Useragent: *\nDisallow: /a\n", (1, 1), "User-agent : *\nDisallow\t: /a\n"),
    ("R018", "User-agent: *\nDisallow /a\n", (2, 1), "User-agent: *\nDisallow: /a\nallow\n# Disallow /b\n"),
    ("R018", "User-agent: *\nDisallow /a /b\n", (2, 1), "User-agent: *\nallowing many words here\n"),
    ("R019", "User-agent: MJ12bot\nDisallow: /\n", (1, 13), "User-agent: * for all\nDisallow: /\n"),
    ("R019", "User-agent: FooBot/2.1\nDisallow: /\n", (1, 13), "User-agent: FooBot # /2.1\nDisallow: /\n"),
    ("R019", "User-agent: \"Foo\"\nDisallow: /\n", (1, 13), "User-agent: Foo_Bot-x\nDisallow: /\n"),
    ("R019", "User-agent:\nDisallow: /\n", (1, 12), "User-agent: a\nUser-agent: b\nDisallow: /\n"),
    ("R021", "\u{feff}User-agent: *\nDisallow: /a/\n", (1, 1), "User-agent: *\nDisallow: /\u{feff}\n"),
    ("R022", "User-agent: *\nDisallow: /a\0b\n", (2, 13), "User-agent: *\nDisallow: /a%00b\n"),
    ("R025", "\n <!DOCTYPE html><html>\nUser-agent: *\n", (1, 1), "User-agent: *\nDisallow: /<html>\n"),
    (
        "R026",
        "User-agent: *\nContent-Signal: ai-train=no\nDisallow: /a/\n\nUser-agent: Googlebot\nDisallow: /a/\n",
        (2, 1),
        "User-agent: *\nContent-Signal: ai-train=no\nDisallow: /a/\n\nUser-agent: Googlebot\nContent-Signal: search=yes\nDisallow: /a/\nUser-agent: GPTBot\nDisallow: /\n",
    ),
    (
        "R027",
        "User-agent: *\nContent-Signal: ai=no\n",
        (2, 17),
        "User-agent: *\nContent-Signal: Search = YES , use=full\n",
    ),
    ("R027", "User-agent: *\nContent-Usage: /a bots=n\n", (2, 16), "User-agent: *\nContent-Usage: /a train-ai=n\n"),
    (
        "R028",
        "User-agent: *\nContent-Signal: /a search=maybe\n",
        (2, 17),
        "User-agent: *\nContent-Signal: /a search=no\n",
    ),
    (
        "R028",
        "User-agent: *\nContent-Usage: train-ai = n\n",
        (2, 16),
        "User-agent: *\nContent-Usage: train-ai=n, search=y;q=1\n",
    ),
    ("R028", "User-agent: *\nContent-Usage: train-ai=n,\n", (2, 16), "User-agent: *\nContent-Usage: /a\n"),
    ("R028", "License: /licence.xml\n", (1, 10), "License: https://e.test/licence.xml\n"),
    ("R029", "User-agent: google-extended\nDisallow: /\n", (1, 13), "User-agent: GPTBot\nDisallow: /\n"),
    (
        "R030",
        "User-agent: *\nDisallow: https://e.test/a\n",
        (2, 11),
        "User-agent: *\nDisallow: /a?u=https://e.test/a\n",
    ),
    ("R031", "Sitemap: /sitemap.xml\n", (1, 10), "Sitemap: https://e.test/sitemap.xml\n"),
    (
        "R032",
        "Sitemap: https://a.test/s\nSitemap: https://B.test:8/s\n",
        (2, 10),
        "Sitemap: https://a.test/s\nSitemap: http://A.test/t\n",
    ),
    ("R033", "User-agent: *\nDisallow: /a b\n", (2, 11), "User-agent: *\nDisallow: /a%20b \n"),
    ("R034", "User-agent: *\nDisallow: /é/\n", (2, 11), "User-agent: *\nDisallow: /%C3%A9/\n"),
    (
        "R035",
        "Disallow: /a\nUser-agent: *\n",
        (1, 1),
        "Disallow:\nSitemap: https://e.test/s\nUser-agent: *\nDisallow: /a\n",
    ),
    ("R036", "User-agent: *\nDisllow: /a\n", (2, 1), "User-agent: *\nHost: a\nFoo: b\nLicense: https://a/\n"),
    ("R036", "User_agent: *\nDisallow: /a\n", (1, 1), "User agent: *\nDisallow: /a\n"),
    (
        "R037",
        "User-agent: *\nContent-Signal: ai-train=no\n\nUser-agent: GPTBot\nDisallow: /\n",
        (2, 1),
        "User-agent: *\nUser-agent: GPTBot\nCrawl-delay: 5\nDisallow: /\nContent-Signal: ai-train=no\n",
    ),
];

fn run(bytes: &[u8]) -> Lint {
    lint(&Robots::parse(bytes), None)
}

fn has(found: &Lint, code: &str) -> bool {
    found.findings.iter().any(|finding| finding.code.as_str() == code)
}

#[test]
fn every_code_with_and_without_its_fault() {
    let mut failed = Vec::new();
    for (code, with, place, without) in ROWS {
        let found = run(with.as_bytes());
        let finding = found.findings.iter().find(|finding| finding.code.as_str() == code);
        if finding.map(|finding| (finding.line, finding.column)) != Some(place) {
            failed.push(format!("{code} expected at {place:?} in {with:?}: {:#?}", found.findings));
        }
        if has(&run(without.as_bytes()), code) {
            failed.push(format!("{code} not expected in {without:?}: {:#?}", run(without.as_bytes()).findings));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn faults_of_large_and_binary_files() {
    let long = "User-agent: *\nDisallow: /".to_owned() + &"a".repeat(20_000) + "\n";
    let more = "# a comment\n".repeat(MAX_BYTES / 12 + 1) + "User-agent: *\nDisallow: /\n";
    let utf16: Vec<u8> = "\u{feff}User-agent: *\nDisallow: /\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let rules: String = (0..30_000).fold("User-agent: *\nAllow: /\n".to_owned(), |mut text, at| {
        let _ = writeln!(text, "Disallow: /*{at}*$");
        text
    });
    let rows: [(&str, &[u8], (u32, u32)); 4] = [
        ("R023", long.as_bytes(), (2, 16_664)),
        ("R020", more.as_bytes(), (42_667, 1)),
        ("R024", &utf16, (1, 1)),
        ("R038", rules.as_bytes(), (1, 1)),
    ];
    for (code, bytes, place) in rows {
        let found = run(bytes);
        let finding = found.findings.iter().find(|finding| finding.code.as_str() == code);
        assert_eq!(finding.map(|finding| (finding.line, finding.column)), Some(place), "{code}");
    }
    let small = run(b"User-agent: *\nDisallow: /a/\n");
    assert!(small.findings.is_empty(), "{small:?}");
    assert_eq!(run(&utf16).findings.len(), 1, "nothing else is said of a file that cannot be read");
}

#[test]
fn the_tests_reach_every_code() {
    let large = ["R020", "R023", "R024", "R038"];
    for code in LintCode::all() {
        let tested = ROWS.iter().any(|row| row.0 == code.as_str()) || large.contains(&code.as_str());
        assert!(tested, "{code} has no test");
    }
}

#[test]
fn every_code_has_a_section_of_the_page() {
    let path: std::path::PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", "..", "docs", "lints.md"].iter().collect();
    let page = std::fs::read_to_string(path).unwrap();
    for code in LintCode::all() {
        let heading = format!("## {code} {} ({})", code.name(), code.severity().as_str());
        assert!(page.lines().any(|line| line == heading), "docs/lints.md has no section {heading:?}");
    }
    let sections = page.lines().filter(|line| line.starts_with("## R")).count();
    assert_eq!(sections, LintCode::all().count(), "a section of a code that does not exist");
}

#[test]
fn a_host_is_held_against_sitemaps() {
    let robots = Robots::parse(b"Sitemap: https://www.e.test/s\n");
    assert!(has(&lint(&robots, Some("e.test")), "R032"));
    assert!(!has(&lint(&robots, Some("www.e.test")), "R032"));
}

#[test]
fn findings_are_bounded_and_counted() {
    let text = "User-agent: *\n".to_owned() + &"Disallow: a\n".repeat(1000);
    let found = run(text.as_bytes());
    assert_eq!(found.findings.iter().filter(|finding| finding.code.as_str() == "R002").count(), MAX_FINDINGS);
    assert!(found.omitted >= 900, "{}", found.omitted);
    assert_eq!(found.worst(), Some(Severity::Error));
}

#[test]
fn columns_count_the_bytes_of_a_mark() {
    let found = run("\u{feff}Useragent: a/1\nDisallow: /a/\n".as_bytes());
    let places: Vec<_> = found.findings.iter().map(|f| (f.code.as_str(), f.line, f.column)).collect();
    assert_eq!(places, [("R021", 1, 1), ("R017", 1, 4), ("R019", 1, 15)]);
}

#[test]
fn messages_hold_no_control_characters() {
    let found = run(b"User-agent: *\nDisallow: \x1b[31mred\nSitemap: \x07\n");
    assert!(found.findings.len() >= 2);
    for finding in &found.findings {
        let fix = finding.fix.as_deref().unwrap_or_default();
        assert!(!finding.message.chars().chain(fix.chars()).any(char::is_control), "{finding:?}");
    }
}

#[test]
fn the_corpus_is_linted() {
    let Some(archive) = corpus("robots-corpus/robots.tar.gz") else { return };
    let files = untar(&gunzip(&archive));
    let mut by_code: BTreeMap<LintCode, (usize, usize)> = BTreeMap::new();
    let mut by_worst: BTreeMap<Option<Severity>, usize> = BTreeMap::new();
    let mut linted = 0;
    for (_, bytes) in files.iter().filter(|(name, _)| name.starts_with("robots/") && !name.contains("LICENSE")) {
        let found = run(bytes);
        linted += 1;
        *by_worst.entry(found.worst()).or_default() += 1;
        for code in LintCode::all() {
            let count = found.findings.iter().filter(|finding| finding.code == code).count();
            let entry = by_code.entry(code).or_default();
            *entry = (entry.0 + usize::from(count > 0), entry.1 + count);
        }
    }
    println!("{linted} files; worst severity {by_worst:?}");
    for (code, (of_files, findings)) in &by_code {
        println!("{code} {:24} {of_files:5} files {findings:6} findings", code.name());
    }
    assert_eq!(linted, 1096);
}

/// A line of a file: a key, spelled in some way, and a value that means something to one lint or another.
fn line() -> impl Strategy<Value = Vec<u8>> {
    let keys = [
        "User-agent:",
        "Disallow:",
        "Allow",
        "allow:",
        "Crawl-delay:",
        "Content-Signal:",
        "Content-Usage:",
        "Sitemap:",
        "",
        "x:",
    ];
    let values = [
        "*",
        "/a",
        "/A*$",
        "/*?b=",
        "/*.pdf$",
        "search=no",
        "/a ai-train=y,",
        "https://a/b",
        "9",
        "\0",
        "/é",
        "Googlebot/2",
    ];
    let known = (prop::sample::select(keys.to_vec()), prop::sample::select(values.to_vec()));
    prop_oneof![
        4 => known.prop_map(|(key, value)| format!("{key} {value}\n").into_bytes()),
        1 => vec(any::<u8>(), 0..20),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_bytes_are_linted_and_explained(lines in vec(line(), 0..40), target in vec(any::<u8>(), 0..20)) {
        let bytes = lines.concat();
        let robots = Robots::parse(&bytes);
        let found = lint(&robots, Some("a"));
        let last = u32::try_from(bytes.len()).unwrap() + 1;
        prop_assert!(found.findings.iter().all(|finding| (1..=last).contains(&finding.line) && finding.column >= 1));
        for dialect in [Dialect::Standard, Dialect::Google] {
            let explained = Chain::new(&["Googlebot"]).explain(&robots, dialect, &target);
            let decides = explained.matches.first().filter(|_| explained.why != Why::RobotsTxt);
            prop_assert_eq!(explained.verdict.rule.as_ref(), decides);
        }
    }
}
