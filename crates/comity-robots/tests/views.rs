//! The parsed file, line by line.

use comity_robots::{Dialect, ExtensionKind, MAX_BYTES, Robots, RuleKind};

const FILE: &str = "\
Sitemap: https://e.test/1.xml # first
Host: e.test
User-agent: FooBot/2.1
  User-agent :  .nobody
Crawl-delay: 5
User-agent: *
Disallow: /a
site-map:2.xml
Allow:
Noindex: /n

User-agent: BarBot
Content-Usage: /p train-ai=n
disalow /é
";

#[test]
fn groups_with_lines_and_columns() {
    let robots = Robots::parse(FILE.as_bytes());
    let groups: Vec<_> = robots.groups().collect();
    let agents = |at: usize| groups[at].agents().map(|a| (a.token(), a.line(), a.value_column())).collect::<Vec<_>>();
    assert_eq!(agents(0), [(Some("FooBot"), 3, 13), (None, 4, 17), (Some("*"), 6, 13)]);
    assert_eq!(agents(1), [(Some("BarBot"), 12, 13)]);
    let rules = |at: usize| {
        let shown = groups[at].rules().map(|r| (r.kind(), r.text().into_owned(), r.line(), r.key_column()));
        shown.collect::<Vec<_>>()
    };
    assert_eq!(rules(0), [(RuleKind::Disallow, "/a".into(), 7, 1), (RuleKind::Allow, String::new(), 9, 1)]);
    assert_eq!(rules(1), [(RuleKind::Disallow, "/é".into(), 14, 1)]);
    assert_eq!((groups.len(), groups[0].line(), groups[1].line()), (2, 3, 12));
    assert_eq!(groups[0].agents().nth(1).map(|a| (a.key_column(), a.text().into_owned())), Some((3, ".nobody".into())));
}

#[test]
fn sitemaps_stand_anywhere() {
    let robots = Robots::parse(FILE.as_bytes());
    let sitemaps: Vec<_> = robots.sitemaps().map(|(url, line)| (url.into_owned(), line)).collect();
    assert_eq!(sitemaps, [("https://e.test/1.xml".to_owned(), 1), ("2.xml".to_owned(), 8)]);
}

#[test]
fn other_records_and_their_agents() {
    let robots = Robots::parse(FILE.as_bytes());
    let shown: Vec<_> = robots
        .extensions()
        .map(|e| {
            let access: Vec<_> = e.access_agents().map(|a| a.line()).collect();
            let usage: Vec<_> = e.usage_agents().map(|a| a.line()).collect();
            (e.kind(), e.line(), access, usage)
        })
        .collect();
    let wanted = [
        (ExtensionKind::Host, 2, vec![], vec![]),
        (ExtensionKind::CrawlDelay, 5, vec![3, 4], vec![3, 4]),
        (ExtensionKind::Noindex, 10, vec![3, 4, 6], vec![6]),
        (ExtensionKind::ContentUsage, 13, vec![12], vec![12]),
    ];
    assert_eq!(shown, wanted);
    assert_eq!(robots.groups().map(|group| group.extensions().count()).collect::<Vec<_>>(), [2, 1]);
}

#[test]
fn five_hundred_kibibytes_and_no_more() {
    let line = "User-agent: *\nDisallow: /in\n";
    let mut text = format!("{line}{}", "#".repeat(MAX_BYTES - line.len() - 16));
    text.push_str("\nDisallow: /cut");
    assert_eq!(text.len(), MAX_BYTES - 1);
    let last = |tail: &str| {
        let robots = Robots::parse(format!("{text}{tail}").as_bytes());
        let rules = robots.rules(&["FooBot"], Dialect::Standard);
        (robots.truncated(), robots.bytes_seen(), rules.allows(b"/cut"), rules.allows(b"/cutX"), rules.allows(b"/in"))
    };
    assert_eq!(last(""), (false, MAX_BYTES - 1, false, false, false));
    assert_eq!(last("X"), (false, MAX_BYTES, true, false, false));
    assert_eq!(
        last("XY\nAllow: /in"),
        (true, MAX_BYTES - 1 + 13, true, false, false),
        "the cut line is read as far as it got"
    );
}
