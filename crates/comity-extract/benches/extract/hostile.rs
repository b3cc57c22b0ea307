//! Pages made to cost.

use comity_extract::{PageLimits, PageReader};
use comity_url::CrawlUrl;

use crate::rounds::Contestant;

const BYTES: usize = 10_000_000;

type Shape = (&'static str, &'static str, &'static str);

/// Name, what stands once, what is repeated up to the size.
const SHAPES: [Shape; 14] = [
    ("nested tags", "", "<div>"),
    ("open paragraphs", "", "<p>x"),
    ("nested svg", "", "<svg>"),
    ("nested templates", "", "<template>"),
    ("one attribute", "<a href='", "x"),
    ("one tag of attributes", "<a ", "a=b "),
    ("one tag of distinct-looking attributes", "<a ", "href=x "),
    ("tag openers", "", "<"),
    ("comment openers", "", "<!--"),
    ("references", "<a href='", "&amp;"),
    ("links of five bytes", "", "<a href=x>"),
    ("links to elsewhere", "", "<a href=//h.test/?a>"),
    ("a srcset", "<img srcset='", "a,b 1x, "),
    ("noscript", "", "<noscript><a href=x></noscript>"),
];

pub(crate) fn pages() -> impl Iterator<Item = (&'static str, Vec<u8>)> {
    SHAPES.iter().map(|(name, start, repeated)| {
        (*name, format!("{start}{}", repeated.repeat(BYTES / repeated.len())).into_bytes())
    })
}

pub(crate) fn read<'a>(name: &'static str, page: &'a [u8]) -> Contestant<'a> {
    let url = CrawlUrl::parse("https://h.test/").unwrap();
    Contestant::new(name, move || {
        let mut reader = PageReader::new(&url, Some("text/html; charset=utf-8"), PageLimits::default());
        page.chunks(16 << 10).for_each(|chunk| reader.push(chunk));
        reader.finish().links.len() as u64
    })
}
