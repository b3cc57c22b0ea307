use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};

/// What a page links to, and what of it can be linked to.
pub(super) struct Page {
    pub(super) links: Vec<Link>,
    /// Of its headings, as GitHub and mdBook make them.
    pub(super) anchors: BTreeSet<String>,
}

pub(super) struct Link {
    pub(super) to: String,
    /// 1-based.
    pub(super) line: usize,
    /// Where `to` stands in the text.
    pub(super) at: Range<usize>,
}

impl Page {
    pub(super) fn read(text: &str) -> Self {
        let mut page = Self { links: Vec::new(), anchors: BTreeSet::new() };
        let (mut seen, mut heading) = (BTreeMap::new(), None::<String>);
        let parser = Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH);
        let definitions: Vec<_> = parser
            .reference_definitions()
            .iter()
            .map(|(_, definition)| (definition.dest.to_string(), definition.span.clone()))
            .collect();
        for (to, span) in definitions {
            page.add(text, to, span);
        }
        for (event, span) in parser.into_offset_iter() {
            match event {
                Event::Start(Tag::Link { link_type, dest_url, .. } | Tag::Image { link_type, dest_url, .. })
                    if matches!(link_type, LinkType::Inline) =>
                {
                    page.add(text, dest_url.into_string(), span);
                }
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::Text(words) | Event::Code(words) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(&words);
                    }
                }
                Event::End(TagEnd::Heading(_)) => {
                    page.anchors.extend(heading.take().map(|heading| anchor(&heading, &mut seen)));
                }
                _ => {}
            }
        }
        page
    }

    fn add(&mut self, text: &str, to: String, span: Range<usize>) {
        let start = text[span.clone()].rfind(&to).map_or(span.start, |at| span.start + at);
        let line = text[..start].lines().count().max(1);
        self.links.push(Link { at: start..start + to.len(), to, line });
    }
}

/// The anchor of a heading: lower case, words joined by `-`, all other punctuation but `_` left out; the second of a name
/// ends in `-1`.
fn anchor(heading: &str, seen: &mut BTreeMap<String, usize>) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    let name: String = kept.map(|c| if c == ' ' { '-' } else { c }).flat_map(char::to_lowercase).collect();
    let count = seen.entry(name.clone()).or_insert(0);
    *count += 1;
    if *count == 1 { name } else { format!("{name}-{}", *count - 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_anchors_are_found() {
        let text = "# `[archive]` and _more_\n\n[a](b.md#c) ![i](i.png) [d]\n\n## Twice\n## Twice\n\n    [no](code.md)\n\n[d]: e.md\n";
        let page = Page::read(text);
        let mut links: Vec<_> = page.links.iter().map(|link| (link.to.as_str(), link.line)).collect();
        links.sort_unstable();
        assert_eq!(links, [("b.md#c", 3), ("e.md", 10), ("i.png", 3)]);
        assert!(page.links.iter().all(|link| text[link.at.clone()] == link.to));
        let anchors: Vec<_> = page.anchors.iter().map(String::as_str).collect();
        assert_eq!(anchors, ["archive-and-more", "twice", "twice-1"]);
    }
}
