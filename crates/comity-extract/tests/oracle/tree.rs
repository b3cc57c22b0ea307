//! The judge: a tree, walked.

use html5ever::tendril::TendrilSink;
use html5ever::tree_builder::TreeBuilderOpts;
use html5ever::{LocalName, ParseOpts, ns, parse_document};
use markup5ever_rcdom::{Handle, NodeData, RcDom};
use url::Url;

use crate::Found;

/// What html5ever finds in a page of UTF-8 at `url`.
pub(crate) fn found(url: &str, html: &str) -> Found {
    let tree_builder = TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() };
    let options = ParseOpts { tree_builder, ..ParseOpts::default() };
    let elements = elements(&parse_document(RcDom::default(), options).one(html).document);
    let document = Url::parse(url).unwrap();
    let base = base(&document, &elements);
    let mut links: Vec<String> =
        elements.iter().flat_map(Element::references).filter_map(|link| resolved(&base, link)).collect();
    links.sort();
    links.dedup();
    let first = |name: &str| elements.iter().find(|element| element.is(name));
    let title = first("title").map(|title| title.text.split_ascii_whitespace().collect::<Vec<_>>().join(" "));
    let language = first("html").and_then(|html| html.attribute("lang").or(html.attribute("xml:lang")));
    let language = language.map(|language| language.trim_ascii().to_owned());
    Found {
        links,
        title: title.filter(|title| !title.is_empty()),
        language: language.filter(|language| !language.is_empty()),
        base: crawl_form(base.clone()).unwrap_or(base).into(),
    }
}

struct Element {
    name: LocalName,
    is_html: bool,
    is_svg: bool,
    /// Local names; with `xlink:` where they are of that namespace.
    attributes: Vec<(String, String)>,
    text: String,
}

/// In document order. The content of a template is no child of it.
fn elements(document: &Handle) -> Vec<Element> {
    let mut elements = Vec::new();
    let mut open = vec![document.clone()];
    while let Some(node) = open.pop() {
        if let NodeData::Element { name, attrs, .. } = &node.data {
            let attribute = |attribute: &html5ever::Attribute| {
                let is_xlink = attribute.name.ns == ns!(xlink);
                let name = &attribute.name.local;
                (if is_xlink { format!("xlink:{name}") } else { name.to_string() }, attribute.value.to_string())
            };
            elements.push(Element {
                name: name.local.clone(),
                is_html: name.ns == ns!(html),
                is_svg: name.ns == ns!(svg),
                attributes: attrs.borrow().iter().map(attribute).collect(),
                text: text(&node),
            });
        }
        open.extend(node.children.borrow().iter().rev().cloned());
    }
    elements
}

fn text(node: &Handle) -> String {
    let children = node.children.borrow();
    let texts = children.iter().filter_map(|child| match &child.data {
        NodeData::Text { contents } => Some(contents.borrow().to_string()),
        _ => None,
    });
    texts.collect()
}

type Reference = (&'static str, String);

impl Element {
    fn is(&self, name: &str) -> bool {
        self.is_html && &*self.name == name
    }

    fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn references(&self) -> Vec<Reference> {
        let is_resource = |value: &&str| !value.trim_ascii().is_empty();
        let resource = |tag, name| self.attribute(name).filter(is_resource).map(|value| (tag, value.to_owned()));
        let hyperlink = |tag| self.attribute("href").map(|value| (tag, value.to_owned()));
        let image = |tag| {
            let candidates = self.attribute("srcset").map(candidates).unwrap_or_default();
            resource(tag, "src").into_iter().chain(candidates.into_iter().map(|url| (tag, url))).collect()
        };
        if self.is_svg {
            return self.svg_reference().into_iter().collect();
        }
        if !self.is_html {
            return Vec::new();
        }
        match &*self.name {
            "a" => hyperlink("a").into_iter().collect(),
            "area" => hyperlink("area").into_iter().collect(),
            "link" => hyperlink("link").filter(|(_, value)| !value.is_empty()).into_iter().collect(),
            "iframe" => resource("iframe", "src").into_iter().collect(),
            "frame" => resource("frame", "src").into_iter().collect(),
            "img" => image("img"),
            "source" => image("source"),
            "video" => resource("video", "src").into_iter().chain(resource("video", "poster")).collect(),
            "audio" => resource("audio", "src").into_iter().collect(),
            "track" => resource("track", "src").into_iter().collect(),
            "embed" => resource("embed", "src").into_iter().collect(),
            "object" => resource("object", "data").into_iter().collect(),
            "meta" => self.refresh().into_iter().collect(),
            _ => Vec::new(),
        }
    }

    fn svg_reference(&self) -> Option<Reference> {
        let tag = ["a", "image", "use"].into_iter().find(|name| *name == &*self.name)?;
        let value = self.attribute("href").or_else(|| self.attribute("xlink:href"))?;
        (tag == "a" || !value.trim_start().starts_with('#')).then(|| (tag, value.to_owned()))
    }

    /// The commonest form alone; the others have a table of their own.
    fn refresh(&self) -> Option<Reference> {
        self.attribute("http-equiv").filter(|value| value.eq_ignore_ascii_case("refresh"))?;
        let (delay, target) = self.attribute("content")?.split_once(';')?;
        delay.trim().parse::<u32>().ok()?;
        let target = target.trim_start();
        let target =
            target.get(..4).filter(|start| start.eq_ignore_ascii_case("url=")).map_or(target, |_| &target[4..]);
        let target = target.trim_matches(['\'', '"']);
        (!target.is_empty()).then(|| ("meta", target.to_owned()))
    }
}

/// "Parse a srcset attribute", a character at a time.
fn candidates(value: &str) -> Vec<String> {
    let is_space = |c: char| c.is_ascii_whitespace();
    let mut urls = Vec::new();
    let mut chars = value.chars().peekable();
    loop {
        while chars.next_if(|c| is_space(*c) || *c == ',').is_some() {}
        let mut url = String::new();
        while let Some(c) = chars.next_if(|c| !is_space(*c)) {
            url.push(c);
        }
        if url.is_empty() {
            return urls;
        }
        let ends_candidate = url.ends_with(',');
        urls.push(url.trim_end_matches(',').to_owned());
        let mut parentheses = false;
        while !ends_candidate && let Some(c) = chars.next() {
            match c {
                '(' => parentheses = true,
                ')' => parentheses = false,
                ',' if !parentheses => break,
                _ => {}
            }
        }
    }
}

fn base(document: &Url, elements: &[Element]) -> Url {
    let href = elements.iter().filter(|element| element.is("base")).find_map(|base| base.attribute("href"));
    let url = href.and_then(|href| document.join(href).ok());
    url.filter(|url| !matches!(url.scheme(), "data" | "javascript")).unwrap_or_else(|| document.clone())
}

fn resolved(base: &Url, (tag, reference): Reference) -> Option<String> {
    let url = crawl_form(base.join(&two_slashes(&reference)).ok()?)?;
    Some(format!("{tag} {url}"))
}

/// Fragment, user info and a trailing dot off.
pub(crate) fn crawl_form(mut url: Url) -> Option<Url> {
    if !matches!(url.scheme(), "http" | "https") {
        return None;
    }
    url.set_fragment(None);
    url.set_username("").ok()?;
    url.set_password(None).ok()?;
    let host = url.host_str()?.to_owned();
    if let Some(host) = host.strip_suffix('.') {
        url.set_host(Some(host)).ok()?;
    }
    Some(url)
}

/// `///h` is `//h` by the URL standard; the `url` crate has it otherwise.
fn two_slashes(reference: &str) -> String {
    let trimmed = reference.trim_start_matches(|c: char| c <= ' ');
    let slashes = trimmed.len() - trimmed.trim_start_matches(['/', '\\']).len();
    if slashes > 2 && trimmed.starts_with("//") { format!("//{}", &trimmed[slashes..]) } else { reference.to_owned() }
}
