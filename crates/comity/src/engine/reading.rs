use comity_extract::{
    LIST_TYPES, Likeness, PAGE_TYPES, Page, PageLimits, PageOptions, PageReader, Sitemap, SitemapLimits, SitemapReader,
    TextSketch,
};
use comity_signals::HeadFacts;
use comity_url::CrawlUrl;

use super::errand::Errand;

/// What a body is read for.
pub(super) struct Reading {
    pub(super) errand: Errand,
    pub(super) options: PageOptions,
    /// Reads the page's text, where its likeness is wanted; taken by the first body.
    pub(super) sketch: Option<TextSketch>,
}

/// Who reads a body while it arrives.
pub(super) enum Reader {
    Page(Box<PageReader>, Option<Box<TextSketch>>),
    List(Box<SitemapReader>),
    /// Wanted as a sitemap and served as HTML: what it is, its bytes say in the end.
    Either(Box<PageReader>, Box<SitemapReader>),
}

/// What was read.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// An HTML page, or another document without links.
    pub(super) page: Option<Page>,
    /// A sitemap or feed; of a sitemap errand whatever came instead.
    pub(super) list: Option<Sitemap>,
    /// What the page's text is like, where that was asked for.
    pub(super) likeness: Option<Likeness>,
}

impl Reader {
    pub(super) fn new(reading: &mut Reading, url: &CrawlUrl, content_type: Option<&str>) -> Self {
        let essence = content_type.and_then(|value| value.split(';').next()).unwrap_or_default().trim();
        let is_of = |types: &[&str]| types.iter().any(|known| essence.eq_ignore_ascii_case(known));
        if reading.errand == Errand::Sitemap && is_of(&PAGE_TYPES) {
            let page = PageReader::with_options(url, content_type, PageLimits::default(), reading.options);
            let list = SitemapReader::new(url, content_type, SitemapLimits::default());
            return Self::Either(Box::new(page), Box::new(list));
        }
        if reading.errand == Errand::Sitemap || is_of(&LIST_TYPES) {
            return Self::List(Box::new(SitemapReader::new(url, content_type, SitemapLimits::default())));
        }
        let page = PageReader::with_options(url, content_type, PageLimits::default(), reading.options);
        Self::Page(Box::new(page), reading.sketch.take().map(Box::new))
    }

    /// A `Link` field of the response: links of a page; of nothing else.
    pub(super) fn link_field(&mut self, value: &str) {
        if let Self::Page(reader, _) | Self::Either(reader, _) = self {
            reader.link_field(value);
        }
    }

    pub(super) fn push(&mut self, decoded: &[u8]) {
        match self {
            Self::Page(reader, sketch) => {
                reader.push(decoded);
                if let Some(sketch) = sketch {
                    sketch.push(decoded);
                }
            }
            Self::List(reader) => reader.push(decoded),
            Self::Either(page, list) => {
                page.push(decoded);
                list.push(decoded);
            }
        }
    }

    /// What the head of a page has said so far, and whether it is over; `None` for what has no head.
    pub(super) fn head(&self) -> Option<(&HeadFacts, bool)> {
        match self {
            Self::Page(reader, _) | Self::Either(reader, _) if !reader.is_no_page() || reader.may_embed() => {
                Some((reader.head(), reader.is_past_head()))
            }
            _ => None,
        }
    }

    pub(super) fn finish(self) -> Found {
        match self {
            Self::Page(reader, sketch) => {
                let likeness = sketch.and_then(|sketch| sketch.finish());
                Found { page: Some(reader.finish()), list: None, likeness }
            }
            Self::List(reader) => Found { list: Some(reader.finish()), ..Found::default() },
            Self::Either(page, list) => match list.finish() {
                list if list.format.is_known() => Found { list: Some(list), ..Found::default() },
                _ => Found { page: Some(page.finish()), ..Found::default() },
            },
        }
    }
}
