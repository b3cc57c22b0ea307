//! Tables: guards against URL spaces without end.

use comity_url::{CrawlUrl, Trap, TrapLimits};

fn path(segments: usize) -> String {
    (0..segments).map(|at| format!("/s{at}")).collect()
}

/// Path and query, and the code of the trap.
#[test]
fn shapes_are_checked_at_the_bound() {
    let rows = [
        ("/".to_owned(), None),
        (path(20), None),
        (format!("{}/", path(20)), None),
        (format!("{}?/a/b/c", path(20)), None),
        (path(21), Some("url.trap.segments")),
        (format!("{}//", path(20)), Some("url.trap.segments")),
        // 9 bytes of http://h/ before the text.
        (format!("/{}", "a".repeat(2083 - 9)), None),
        (format!("/{}", "a".repeat(2084 - 9)), Some("url.length")),
        (format!("/?{}", "a".repeat(2084 - 10)), Some("url.length")),
        (format!("{}/{}", path(30), "a".repeat(3000)), Some("url.length")),
        // One segment in a row.
        ("/a/a".to_owned(), None),
        ("/a/a/a".to_owned(), Some("url.trap.repeated")),
        ("/x/a/a/a/y".to_owned(), Some("url.trap.repeated")),
        ("/a/b/a/c/a/d".to_owned(), None),
        ("/2020/01/01/".to_owned(), None),
        ("/a/A/a".to_owned(), None),
        ("/%61/a/%61".to_owned(), Some("url.trap.repeated")),
        ("/a/%2f/a".to_owned(), None),
        // A longer run.
        ("/a/b/a/b".to_owned(), None),
        ("/a/b/a/b/a".to_owned(), None),
        ("/a/b/a/b/a/b".to_owned(), Some("url.trap.repeated")),
        ("/x/a/b/c/a/b/c/a/b/c/y".to_owned(), Some("url.trap.repeated")),
        ("/a/b/c/d/e/f/a/b/c/d/e/f/a/b/c/d/e/f".to_owned(), Some("url.trap.repeated")),
        ("/a/b/c/d/e/f/a/b/c/d/e/f/a/b/c/d/e/g".to_owned(), None),
        // Empty segments.
        ("//".to_owned(), None),
        ("///a".to_owned(), None),
        ("////a".to_owned(), Some("url.trap.repeated")),
        ("/a////".to_owned(), Some("url.trap.repeated")),
        // A query is no path.
        ("/?a/a/a/a&a=1&a=1&a=1".to_owned(), None),
    ];
    for (text, expected) in rows {
        let url = CrawlUrl::parse(&format!("http://h{text}")).unwrap();
        let code = TrapLimits::default().check(&url).err().map(|trap| trap.code());
        assert_eq!(code, expected, "row {text}");
    }
}

#[test]
fn traps_carry_their_evidence() {
    let limits = TrapLimits { max_path_segments: 7, max_url_bytes: 40, max_repeated_segments: 1 };
    let check = |text: &str| limits.check(&CrawlUrl::parse(text).unwrap());
    let rows = [
        (
            "http://h/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            Trap::Length { len: 49, max: 40 },
            "URL: 49 bytes, at most 40 are crawled",
        ),
        ("http://h/1/2/3/4/5/6/7/8", Trap::Segments { count: 8, max: 7 }, "path: 8 segments, at most 7 are crawled"),
        (
            "http://h/x/%61/b/a/b",
            Trap::Repeated { run: "a/b".to_owned(), max: 1 },
            "path: \"/a/b\" stands more than 1 times in a row",
        ),
        (
            "http://h/a/a/b/b",
            Trap::Repeated { run: "a".to_owned(), max: 1 },
            "path: \"/a\" stands more than 1 times in a row",
        ),
    ];
    for (text, expected, message) in rows {
        assert_eq!(expected.to_string(), message, "row {text}");
        assert_eq!(check(text), Err(expected), "row {text}");
    }
}

#[test]
fn limits_at_the_extremes_do_what_they_say() {
    let off = TrapLimits { max_path_segments: usize::MAX, max_url_bytes: usize::MAX, max_repeated_segments: 0 };
    let same = CrawlUrl::parse(&format!("http://h{}", "/a".repeat(30_000))).unwrap();
    assert_eq!(off.check(&same), Ok(()));
    let never = TrapLimits { max_repeated_segments: usize::MAX, ..off };
    assert_eq!(never.check(&same), Ok(()));
    let loose = TrapLimits { max_repeated_segments: 29_999, ..off };
    assert_eq!(loose.check(&same).map_err(|trap| trap.code()), Err("url.trap.repeated"));
    let exact = TrapLimits { max_repeated_segments: 30_000, ..off };
    assert_eq!(exact.check(&same), Ok(()));
}
