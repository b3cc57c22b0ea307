//! Hostile pages end in bounded time and memory, with a note.

#![expect(clippy::unwrap_used, reason = "the URLs of the tests are constants")]

#[path = "shared/hostile.rs"]
mod hostile;

use comity_extract::{Page, PageLimits, PageReader, Stopped};
use comity_url::CrawlUrl;

use crate::hostile::HOSTILE;

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
        assert!(page.notes.is_empty(), "{tag}");
    }
}

#[test]
fn ten_megabytes_of_anything_need_less_than_32() {
    // The rest of what is repeated changes nothing: the limits are met, or nothing is kept.
    let is_long = std::env::var("COMITY_TEST_SIZE").is_ok_and(|size| size == "all");
    let bytes = if is_long { 10_000_000 } else { 400_000 };
    for (what, start, repeated) in HOSTILE {
        let url = CrawlUrl::parse("http://h.test/").unwrap();
        let piece = repeated.repeat(16 * 1024 / repeated.len());
        let used = allocation_counter::measure(|| {
            let mut reader = PageReader::new(&url, Some("text/html;charset=utf-8"), PageLimits::default());
            reader.push(start.as_bytes());
            (0..bytes / piece.len()).for_each(|_| reader.push(piece.as_bytes()));
            reader.push(b"'>");
            drop(reader.finish());
        });
        assert!(used.bytes_max < 32 << 20, "{what}: {} bytes at once", used.bytes_max);
    }
}

#[test]
fn one_long_attribute_costs_one_link() {
    let long = "x".repeat(8 << 20);
    let page = whole(format!("<a href={long}></a><a href=y>"));
    assert_eq!(page.links.len(), 1);
    assert_eq!((page.notes.tags_cut, page.notes.stopped), (1, None));
    let page = whole(format!("<a href={}></a><a href=y>", &long[..1 << 20]));
    assert_eq!((page.links.len(), page.notes.too_long), (1, 1));

    let data = whole(format!("<img src='data:image/png;base64,{}'><a href=y>", &long[..1 << 20]));
    assert_eq!((data.links.len(), data.notes.other_schemes), (1, 1));
}

#[test]
fn a_tag_beyond_the_memory_limit_loses_its_attributes_wherever_it_was_cut() {
    let mut limits = PageLimits::default();
    limits.memory = 256 * 1024;
    let long = "t".repeat(400 * 1024);
    let html = format!("<a href=x><a title='{long}>' href=y><a href=z><svg x='{long}'/><style><a href=v></style>")
        .into_bytes();
    let at_once = page(limits, [html.clone()]);
    let paths: Vec<_> = at_once.links.iter().map(|link| link.url.path()).collect();
    // Whether it closed itself is lost too: what follows is read as SVG.
    assert_eq!(paths, ["/x", "/z", "/v"]);
    assert_eq!((at_once.notes.tags_cut, at_once.notes.stopped), (2, None));
    assert_eq!(page(limits, html.chunks(777).map(<[u8]>::to_vec)), at_once);
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
