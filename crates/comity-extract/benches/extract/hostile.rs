//! Pages made to cost.

use comity_extract::{PageLimits, PageReader};
use comity_url::CrawlUrl;

use crate::rounds::Contestant;
use shapes::HOSTILE;

#[path = "../../tests/shared/hostile.rs"]
mod shapes;

const BYTES: usize = 10_000_000;

pub(crate) fn pages() -> impl Iterator<Item = (&'static str, Vec<u8>)> {
    HOSTILE.iter().map(|(name, start, repeated)| {
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
