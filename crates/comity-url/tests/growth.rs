//! Spaces without end: patterns that grow, hosts that are minted.

#![expect(clippy::unwrap_used, reason = "the URLs of the tests are constants")]

use comity_url::{CrawlUrl, GrowthLimits, GrowthRow, HostGrowth, Origin, PatternGrowth, Shape, ShapeKind};
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, prop_assert, prop_assert_eq, proptest};

fn url(text: &str) -> CrawlUrl {
    CrawlUrl::parse(text).unwrap()
}

fn shape(target: &str) -> Option<Shape> {
    Shape::of(&url(&format!("http://h.test{target}")))
}

#[test]
fn urls_of_one_shape_and_of_two() {
    let one = [
        ("/cal/2026/11/30", "/cal/2031/1/2", Some(ShapeKind::Calendar)),
        ("/cal?month=11&year=2026", "/cal?year=1900&month=1", Some(ShapeKind::Calendar)),
        ("/day/2026-11-30", "/day/2027-01-02", Some(ShapeKind::Calendar)),
        ("/ev?from=20261130T100000", "/ev?from=20270102T000000", Some(ShapeKind::Calendar)),
        ("/p/1", "/p/99999", Some(ShapeKind::Numbers)),
        ("/list?page=1&sort=a", "/list?sort=a&page=20", Some(ShapeKind::Numbers)),
        ("/x/0123456789abcdef/y", "/x/a0b1c2d3e4f5a6b7c8d9/y", Some(ShapeKind::Numbers)),
        ("/%70/1", "/p/2", Some(ShapeKind::Numbers)),
        ("/2026/60/x", "/1999/99/x", Some(ShapeKind::Numbers)),
    ];
    for (first, second, kind) in one {
        assert_eq!(shape(first), shape(second), "{first} {second}");
        assert_eq!(shape(first).map(Shape::kind), kind, "{first}");
    }
    let two = [
        ("/2026/11/30/a-title", "/2026/11/30/another"),
        ("/p/1", "/q/1"),
        ("/p/1", "/p/1/"),
        ("/p1", "/p/1"),
        ("/list?page=1", "/list?pages=1"),
        ("/wiki?title=A1", "/wiki?title=B1"),
    ];
    for (first, second) in two {
        assert_ne!(shape(first), shape(second), "{first} {second}");
    }
    for without in ["/", "/about/us", "/wiki?title=Main_Page", "/?q"] {
        assert_eq!(shape(without), None, "{without}");
    }
}

#[test]
fn a_shape_is_spent_on_its_origin_alone_and_by_its_kind() {
    let mut growth = PatternGrowth::new(GrowthLimits { numbers: 10, calendar: 3 });
    let (a, b) = (Origin::parse("http://a.test").unwrap(), Origin::parse("http://b.test").unwrap());
    let (page, day) = (shape("/p/1").unwrap(), shape("/2026/11").unwrap());
    for n in 0..10 {
        assert_eq!(growth.spent(&a, page), None);
        assert_eq!(growth.spent(&a, day), (n >= 3).then_some(3));
        growth.count(&a, page);
        growth.count(&a, day);
    }
    assert_eq!((growth.spent(&a, page), growth.spent(&b, page)), (Some(10), None));
    let mut off = PatternGrowth::new(GrowthLimits { numbers: 0, calendar: 0 });
    for _ in 0..100 {
        off.count(&a, page);
    }
    assert_eq!(off.spent(&a, page), None);
}

#[test]
fn hosts_of_one_domain_are_bounded_those_of_seeds_are_not_counted() {
    let mut hosts = HostGrowth::new(3);
    let host = |name: &str| Origin::parse(&format!("http://{name}")).unwrap();
    hosts.add_seed(&host("seed.a.test"));
    for n in 0..3 {
        assert!(!hosts.is_spent(&host(&format!("x{n}.a.test"))));
        hosts.count(&host(&format!("x{n}.a.test")));
        hosts.count(&host(&format!("x{n}.a.test:8080")));
    }
    for (name, spent) in [
        ("x3.a.test", true),
        ("x0.a.test", false),
        ("x0.a.test:99", false),
        ("seed.a.test", false),
        ("b.test", false),
        ("127.0.0.1", false),
    ] {
        assert_eq!(hosts.is_spent(&host(name)), spent, "{name}");
    }
}

/// A shape of its own for each number.
fn other(n: u32) -> Shape {
    let letters: String = n.to_string().bytes().map(|digit| char::from(digit - b'0' + b'a')).collect();
    shape(&format!("/{letters}/1")).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// However the others come, a shape is refused only after as many URLs of its own.
    #[test]
    fn a_shape_is_never_counted_too_high(others in vec(0_usize..300, 0..2000), own in 0_usize..40) {
        let origin = Origin::parse("http://a.test").unwrap();
        let mut growth = PatternGrowth::new(GrowthLimits { numbers: 20, calendar: 20 });
        let (rare, shapes) = (shape("/rare/1").unwrap(), (0..300).map(other).collect::<Vec<_>>());
        for (n, other) in others.iter().enumerate() {
            growth.count(&origin, shapes[*other]);
            if n < own {
                growth.count(&origin, rare);
            }
        }
        if growth.spent(&origin, rare).is_some() {
            prop_assert!(own >= 20 && others.len() >= 20);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// The rows of what was counted, and those of all that is counted, make the same counts elsewhere: through their bytes, and with
    /// those that follow each other in one.
    #[test]
    fn rows_make_the_same_counts(urls in vec((0..3_u8, 0..90_usize), 1..400), cut in 0..400_usize) {
        let limits = GrowthLimits { numbers: 3, calendar: 2 };
        let (mut first, mut by_steps) = (PatternGrowth::new(limits), PatternGrowth::new(limits));
        let mut last: Option<GrowthRow> = None;
        for (at, (host, name)) in urls.iter().enumerate() {
            let url = url(&format!("http://h{host}.test/{}/1", "x".repeat(name / 2 + 1)));
            let row = first.count(url.origin(), Shape::of(&url).unwrap());
            let row = GrowthRow::from_bytes(&row.to_bytes()).unwrap();
            last = match last {
                Some(before) if let Some(both) = before.with(&row) => Some(both),
                Some(before) => {
                    by_steps.restore(&before);
                    Some(row)
                }
                None => Some(row),
            };
            if at == cut {
                by_steps.restore(&last.take().unwrap());
                let mut anew = PatternGrowth::new(limits);
                by_steps.rows().for_each(|row| anew.restore(&GrowthRow::from_bytes(&row.to_bytes()).unwrap()));
                by_steps = anew;
            }
        }
        last.iter().for_each(|row| by_steps.restore(row));
        prop_assert_eq!(first.rows().collect::<Vec<_>>(), by_steps.rows().collect::<Vec<_>>());
        for (host, name) in &urls {
            let url = url(&format!("http://h{host}.test/{}/1", "x".repeat(name / 2 + 1)));
            let shape = Shape::of(&url).unwrap();
            prop_assert_eq!(first.spent(url.origin(), shape), by_steps.spent(url.origin(), shape));
            let may = |growth: &PatternGrowth| growth.any_spent(url.origin());
            prop_assert!(may(&by_steps) || !may(&first) || first.spent(url.origin(), shape).is_none());
        }
    }
}

#[test]
fn hosts_count_on_from_their_rows_and_seeds_stay_uncounted() {
    let host = |name: &str| Origin::parse(&format!("http://{name}.site.test")).unwrap();
    let mut first = HostGrowth::new(3);
    first.add_seed(&host("seed"));
    let rows: Vec<GrowthRow> = ["a", "b", "a", "seed"].iter().filter_map(|name| first.count(&host(name))).collect();
    assert_eq!(rows.len(), 2);
    let all: Vec<GrowthRow> = first.rows().collect();
    for rows in [rows, all] {
        let mut second = HostGrowth::new(3);
        rows.iter().for_each(|row| second.restore(row));
        second.add_seed(&host("seed"));
        second.count(&host("c"));
        assert!(second.is_spent(&host("d")), "three are counted");
        for known in ["a", "b", "c", "seed"] {
            assert!(!second.is_spent(&host(known)), "{known}");
        }
    }
}
