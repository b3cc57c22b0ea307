//! CSS selectors over a page, by the crate `scraper`: for handlers that pick pages apart. Feature `select`.

use std::error::Error;
use std::fmt;

use encoding_rs::{Encoding, UTF_8};
use scraper::{ElementRef, Html, Selector};

use crate::Charset;

/// An element that a selector matched, as a value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Selected {
    /// Its name, in lower case.
    pub name: String,
    /// Its attributes, in the order of their names.
    pub attributes: Vec<(String, String)>,
    /// The text within it, in document order, white space kept.
    pub text: String,
}

impl Selected {
    /// The value of an attribute; names are in lower case.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }
}

/// Why nothing was selected.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SelectError {
    /// The text is no selector.
    Selector(String),
    /// The page is longer than a tree is made of.
    TooLarge {
        /// Bytes found.
        bytes: usize,
    },
    /// The page nests elements so deep that a tree of it would take long.
    TooDeep,
    /// The elements that match hold more text together than is copied.
    TooMuch,
}

/// A longer page is not made a tree of. Our choice: a tree takes some ten times its text.
const MOST_BYTES: usize = 4 << 20;
/// Text and attributes that are copied at most.
const MOST_COPIED: usize = 32 << 20;
/// Tree builders look back over all open elements: with many it takes the square of the time. Our choice: twice what browsers
/// take, and milliseconds.
const DEEPEST: usize = 1024;

/// The elements of a page that `css` matches, in document order: any selector of CSS that needs no browser, `:has` and `:is` included.
///
/// `charset` is that of the [`Page`](crate::Page); UTF-8 without one. Cost: a tree of the whole page, at every call.
///
/// # Errors
/// A text that is no selector; a page beyond the bounds: 4 MiB, 1,024 open elements, 32 MiB of text that matches.
pub fn select(html: &[u8], charset: Option<Charset>, css: &str) -> Result<Vec<Selected>, SelectError> {
    let selector = Selector::parse(css).map_err(|error| SelectError::Selector(error.to_string()))?;
    if html.len() > MOST_BYTES {
        return Err(SelectError::TooLarge { bytes: html.len() });
    }
    let encoding = charset.and_then(|charset| Encoding::for_label(charset.name.as_bytes())).unwrap_or(UTF_8);
    let (text, _, _) = encoding.decode(html);
    if depth(&text) > DEEPEST {
        return Err(SelectError::TooDeep);
    }
    let tree = Html::parse_document(&text);
    let mut room = MOST_COPIED;
    tree.select(&selector).map(|element| copy(element, &mut room).ok_or(SelectError::TooMuch)).collect()
}

/// `None` when there is no room for it.
fn copy(element: ElementRef<'_>, room: &mut usize) -> Option<Selected> {
    let mut text = String::new();
    for piece in element.text() {
        *room = room.checked_sub(piece.len())?;
        text.push_str(piece);
    }
    let mut attributes = Vec::new();
    for (name, value) in element.value().attrs() {
        *room = room.checked_sub(name.len() + value.len())?;
        attributes.push((name.to_owned(), value.to_owned()));
    }
    attributes.sort();
    *room = room.checked_sub(64)?;
    Some(Selected { name: element.value().name().to_owned(), attributes, text })
}

/// Elements whose end pages leave out, or that have none: they close each other.
const FLAT: [&str; 24] = [
    "area", "base", "br", "col", "dd", "dt", "embed", "hr", "img", "input", "li", "link", "meta", "option", "p",
    "param", "source", "tbody", "td", "th", "tr", "track", "wbr", "tfoot",
];

/// At least how many elements are open at once, told from the tags alone.
fn depth(text: &str) -> usize {
    let (mut open, mut deepest) = (0_usize, 0_usize);
    for tag in text.split('<').skip(1) {
        let is_end = tag.starts_with('/');
        let name = tag.trim_start_matches('/');
        let name = name.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        if name.is_empty() || FLAT.iter().any(|flat| name.eq_ignore_ascii_case(flat)) {
            continue;
        }
        open = if is_end { open.saturating_sub(1) } else { open + 1 };
        deepest = deepest.max(open);
    }
    deepest
}

impl fmt::Display for SelectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Selector(why) => write!(f, "selector: {why}"),
            Self::TooLarge { bytes } => write!(f, "page: {bytes} bytes, a tree is made of {MOST_BYTES} at most"),
            Self::TooDeep => write!(f, "page: more than {DEEPEST} elements are open at once"),
            Self::TooMuch => write!(f, "selector: what it matches holds more than {MOST_COPIED} bytes"),
        }
    }
}

impl Error for SelectError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_find_elements_in_order() {
        let page = "<div id=a class='x y'><p>One <b>two</b><p lang=de>drei</div><ul><li>1<li class=x>2</ul>".as_bytes();
        let texts = |css| select(page, None, css).unwrap().into_iter().map(|one| one.text).collect::<Vec<_>>();
        assert_eq!(texts("p"), ["One two", "drei"]);
        assert_eq!(texts(".x li, li.x, div > p:not([lang])"), ["One two", "2"]);
        assert_eq!(texts("div:has(b) p + p"), ["drei"]);
        let div = &select(page, None, "#a").unwrap()[0];
        assert_eq!((div.name.as_str(), div.attribute("class"), div.attribute("none")), ("div", Some("x y"), None));
        assert!(matches!(select(page, None, "p["), Err(SelectError::Selector(_))));
    }

    #[test]
    fn a_page_is_read_in_its_charset() {
        let charset = Charset { name: "windows-1252", source: crate::CharsetSource::Header };
        assert_eq!(select(b"<p>caf\xe9", Some(charset), "p").unwrap()[0].text, "caf\u{e9}");
    }

    #[test]
    fn hostile_pages_are_refused_by_name() {
        let deep = "<div>".repeat(200_000);
        assert_eq!(select(deep.as_bytes(), None, "div"), Err(SelectError::TooDeep));
        assert!(matches!(select(&vec![b'x'; 5 << 20], None, "p"), Err(SelectError::TooLarge { .. })));
        let wide = format!("{}{}", "<div>".repeat(1000), "x".repeat(1 << 20));
        assert_eq!(select(wide.as_bytes(), None, "div"), Err(SelectError::TooMuch));
        let list = "<ul>".to_owned() + &"<li><a href=x>y</a>".repeat(20_000);
        assert_eq!(select(list.as_bytes(), None, "li > a[href]").map(|found| found.len()), Ok(20_000));
    }
}
