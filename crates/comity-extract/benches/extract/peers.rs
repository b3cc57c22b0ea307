//! What others do with a corpus: the tokeniser below us alone, and a tree.

use std::cell::Cell;

use html5ever::tendril::TendrilSink;
use html5ever::{ParseOpts, local_name, parse_document};
use lol_html::{HtmlRewriter, Settings, element};
use markup5ever_rcdom::{Handle, NodeData, RcDom};
use url::Url;

use crate::corpus::{Corpus, Page, References};
use crate::rounds::Contestant;

/// Every `a[href]` of a corpus, decoded, and its base.
pub(crate) fn references(corpus: &Corpus) -> Vec<References<'_>> {
    let of = |page| {
        let mut references = Vec::new();
        lol_html_links(page, |href| {
            references.push(htmlize::unescape_attribute(href).into_owned());
            0
        });
        (page, references)
    };
    corpus.pages.iter().map(of).collect()
}

/// Resolving and dropping the fragment by the `url` crate alone.
pub(crate) fn url_join<'a>(references: &'a [References<'a>]) -> Contestant<'a> {
    Contestant::new("url: join", || {
        let on_page = |(page, references): &References| -> u64 {
            let base = Url::parse(page.url.as_str()).unwrap();
            references.iter().map(|reference| resolved(&base, reference)).sum()
        };
        references.iter().map(on_page).sum()
    })
}

/// `lol_html` with one handler that looks at the `href` of each `a`, raw.
pub(crate) fn lol_html_alone(corpus: &Corpus) -> Contestant<'_> {
    Contestant::new("lol_html: raw href of each a", || {
        let count = |page: &Page| lol_html_links(page, |href| href.len() as u64);
        corpus.pages.iter().map(count).sum()
    })
}

/// The same, with character references decoded and the URL resolved by the `url` crate.
pub(crate) fn lol_html_and_url(corpus: &Corpus) -> Contestant<'_> {
    Contestant::new("lol_html, htmlize, url", || {
        let count = |page: &Page| {
            let base = Url::parse(page.url.as_str()).unwrap();
            lol_html_links(page, |href| resolved(&base, &htmlize::unescape_attribute(href)))
        };
        corpus.pages.iter().map(count).sum()
    })
}

/// A tree of html5ever, walked for the `href` of each `a`, resolved by the `url` crate.
pub(crate) fn html5ever_tree(corpus: &Corpus) -> Contestant<'_> {
    Contestant::new("html5ever tree, url", || {
        let count = |page: &Page| {
            let base = Url::parse(page.url.as_str()).unwrap();
            let dom = parse_document(RcDom::default(), ParseOpts::default()).from_utf8().one(&page.html[..]);
            walk(&dom.document, &base)
        };
        corpus.pages.iter().map(count).sum()
    })
}

fn lol_html_links(page: &Page, mut each: impl FnMut(&str) -> u64) -> u64 {
    let sum = Cell::new(0);
    let settings = Settings::new().with_strict(false).append_element_content_handler(element!("a[href]", |el| {
        if let Some(href) = el.get_attribute("href") {
            sum.set(sum.get() + each(&href));
        }
        Ok(())
    }));
    let mut rewriter = HtmlRewriter::new(settings, |_: &[u8]| {});
    rewriter.write(&page.html).unwrap();
    rewriter.end().unwrap();
    sum.get()
}

fn resolved(base: &Url, href: &str) -> u64 {
    let Ok(mut url) = base.join(href) else { return 0 };
    url.set_fragment(None);
    url.as_str().len() as u64
}

fn walk(document: &Handle, base: &Url) -> u64 {
    let mut sum = 0;
    let mut open = vec![document.clone()];
    while let Some(node) = open.pop() {
        if let NodeData::Element { name, attrs, .. } = &node.data
            && name.local == local_name!("a")
        {
            let attrs = attrs.borrow();
            let href = attrs.iter().find(|attribute| attribute.name.local == local_name!("href"));
            sum += href.map_or(0, |href| resolved(base, &href.value));
        }
        open.extend(node.children.borrow().iter().cloned());
    }
    sum
}
