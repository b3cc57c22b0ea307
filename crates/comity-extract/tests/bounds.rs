//! Hostile pages end in bounded time and memory, with a note.

#![expect(clippy::unwrap_used, reason = "the URLs of the tests are constants")]

use comity_extract::{Page, PageLimits, PageReader, Stopped};
use comity_url::CrawlUrl;

fn page(limits: PageLimits, chunks: impl IntoIterator<Item = Vec<u8>>) -> Page {
    let url = CrawlUrl::parse("http://h.test/").unwrap();
    let mut reader = PageReader::new(&url, Some("text/html;charset=utf-8"), limits);
    chunks.into_iter().for_each(|chunk| reader.push(&chunk));
    reader.finish()
}

fn whole(bytes: impl Into<Vec<u8>>) -> Page {
    page(PageLimits::default(), [bytes.into()])
}

#[test]
fn nesting_loses_no_links() {
    for tag in ["<div>", "<p>text", "<svg>"] {
        let page = whole(format!("<a href=first>{}<a href=last>", tag.repeat(200_000)));
        let paths: Vec<_> = page.links.iter().map(|link| link.url.path()).collect();
        assert_eq!(paths, ["/first", "/last"], "{tag}");
        assert!(page.notes.restarts > 0, "{tag}");
        assert_eq!(page.notes.stopped, None, "{tag}");
    }
}

#[test]
fn a_restart_counts_no_link_twice() {
    let mut limits = PageLimits::default();
    limits.memory = 256 * 1024;
    let html: String = (0..9000).map(|n| format!("<p><a href={n}>x</a>")).collect();
    let page = page(limits, [html.into_bytes()]);
    assert!(page.notes.restarts > 3, "{} restarts", page.notes.restarts);
    let paths: Vec<usize> = page.links.iter().map(|link| link.url.path()[1..].parse().unwrap()).collect();
    assert!(paths.is_sorted_by(|one, other| one < other), "twice, or out of order");
    assert!(paths.len() + page.notes.restarts as usize >= 9000, "{} links", paths.len());
}

#[test]
fn one_long_attribute_costs_one_link() {
    let long = "x".repeat(8 << 20);
    let page = whole(format!("<a href={long}></a><a href=y>"));
    assert_eq!(page.links.len(), 1);
    assert_eq!((page.notes.too_long, page.notes.stopped), (1, None));

    let data = whole(format!("<img src='data:image/png;base64,{long}'><a href=y>"));
    assert_eq!((data.links.len(), data.notes.other_schemes), (1, 1));
}

#[test]
fn a_tag_beyond_the_memory_limit_is_lost_wherever_it_was_cut() {
    let mut limits = PageLimits::default();
    limits.memory = 256 * 1024;
    let html = format!("<a href=x><a title='{}' href=y><a href=z>", "t".repeat(400 * 1024)).into_bytes();
    let at_once = page(limits, [html.clone()]);
    let paths: Vec<_> = at_once.links.iter().map(|link| link.url.path()).collect();
    assert_eq!(paths, ["/x", "/z"]);
    assert_eq!((at_once.notes.restarts, at_once.notes.stopped), (1, None));
    assert_eq!(page(limits, html.chunks(777).map(<[u8]>::to_vec)), at_once);
}

#[test]
fn a_limit_too_small_for_anything_ends_the_page() {
    let mut limits = PageLimits::default();
    limits.memory = 2048;
    let page = page(limits, [format!("<a href=x>{}<a href=y>", "<p>".repeat(10_000)).into_bytes()]);
    assert_eq!(page.notes.stopped, Some(Stopped::Memory));
}

#[test]
fn other_hostile_pages_end() {
    let rows: [(&str, Vec<u8>); 12] = [
        ("NULs", vec![0; 1 << 20]),
        ("one byte", vec![b'<'; 1 << 20]),
        ("comment openers", b"<!--".repeat(100_000)),
        ("ampersands", [b"<a href='".to_vec(), b"&amp;".repeat(200_000), b"'>".to_vec()].concat()),
        ("attributes", [b"<a ".to_vec(), b"x=1 ".repeat(20_000), b"href=y>".to_vec()].concat()),
        (
            "distinct attributes",
            (0..20_000).fold(b"<a ".to_vec(), |mut tag, n| {
                tag.extend(format!("a{n}=1 ").bytes());
                tag
            }),
        ),
        ("noscripts", b"<noscript>".repeat(50_000)),
        ("noscripts, closed", b"<noscript><a href=x></noscript>".repeat(5_000)),
        ("titles", b"<title>x".repeat(50_000)),
        ("bases", b"<base href=http://[>".repeat(50_000)),
        ("srcset", [b"<img srcset='".to_vec(), b"a 1x,".repeat(50_000), b"'>".to_vec()].concat()),
        ("metas", b"<meta name=robots content=none>".repeat(20_000)),
    ];
    for (what, bytes) in rows {
        let page = whole(bytes);
        assert!(page.links.len() <= 50_000, "{what}");
        assert!(page.head.robots.len() <= 64, "{what}");
    }
}

#[test]
fn links_are_counted_apart_and_cut() {
    let mut limits = PageLimits::default();
    limits.links = 3;
    let html = format!("{}{}", "<img src=i>".repeat(5), "<a href=x>".repeat(4));
    let page = page(limits, [html.into_bytes()]);
    assert_eq!(page.links.iter().filter(|link| link.is_page()).count(), 3);
    assert_eq!((page.links.len(), page.notes.links_cut), (6, 3));
}

#[test]
fn references_are_bounded_together() {
    let html = format!("<a href='{}'>", "x".repeat(8000)).repeat(1000);
    let page = whole(html);
    assert_eq!(page.links.len(), (4 << 20) / 8000);
    assert_eq!(page.links.len() + page.notes.links_cut as usize, 1000);
}

#[test]
fn a_long_base_does_not_multiply() {
    let html = format!("<base href='/{}/'>{}", "b".repeat(60_000), "<a href=x>".repeat(10_000));
    let page = whole(html);
    let bytes: usize = page.links.iter().map(|link| link.url.as_str().len()).sum();
    assert!(bytes < (8 << 20) + 65_536, "{bytes} bytes");
    assert_eq!(page.links.len() + page.notes.links_cut as usize, 10_000);
}

#[test]
fn a_page_ends_at_its_byte_limit() {
    let mut limits = PageLimits::default();
    limits.bytes = 20;
    let chunks = || b"<a href=x><a href=y><a href=z>".chunks(7).map(<[u8]>::to_vec);
    let cut = page(limits, chunks());
    assert_eq!((cut.links.len(), cut.notes.stopped), (2, Some(Stopped::Bytes)));
    limits.bytes = 30;
    assert_eq!(page(limits, chunks()).notes.stopped, None);
}

#[test]
fn long_titles_and_metas_are_cut_and_noted() {
    let title = whole(format!("<title>{}</title>", "é".repeat(5000)));
    assert_eq!(title.head.title.map(|title| title.len()), Some(4096));
    assert_eq!(title.notes.heads_cut, 1);
    let meta = whole(format!("<meta name=tdm-policy content='{}'>", "x".repeat(5000)));
    assert_eq!((meta.head.tdm_policy[0].len(), meta.notes.heads_cut), (4096, 1));
}
