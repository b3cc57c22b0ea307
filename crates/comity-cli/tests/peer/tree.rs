use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use comity_robots::{Dialect, Robots};
use comity_url::CrawlUrl;

/// What a crawl of a tree should ask for, worked out from its files alone.
#[derive(Debug, Default)]
pub(crate) struct Expected {
    /// Request targets that are linked, directly or not, and allowed.
    pub(crate) allowed: BTreeSet<String>,
    /// Linked, and refused by robots.txt.
    pub(crate) refused: BTreeSet<String>,
}

/// A documentation tree of Debian's, where its package is installed: the real folder that holds `mark`.
pub(crate) fn installed(below: &str, mark: &str) -> Option<PathBuf> {
    let entries = fs::read_dir("/usr/share/doc").ok()?.filter_map(Result::ok);
    let trees = entries.map(|entry| entry.path().join(below)).filter(|path| path.join(mark).is_file());
    trees.max().and_then(|path| path.canonicalize().ok())
}

/// Walks the tree from its seed as a reader of the files would: links of pages, robots.txt, the seed's origin only.
pub(crate) fn walk(docs: &Path, seed: &str, robots: &str) -> Expected {
    let rules = Robots::parse(robots.as_bytes()).rules(&["PeerBot"], Dialect::Standard);
    let seed = CrawlUrl::parse(seed).unwrap();
    let (mut found, mut seen) = (Expected::default(), BTreeSet::new());
    let mut queue = VecDeque::from([seed.clone()]);
    while let Some(url) = queue.pop_front() {
        if url.origin() != seed.origin() || !seen.insert(comity_url::canonical(&url)) {
            continue;
        }
        let target = url.request_target().to_owned();
        if !rules.allows(target.as_bytes()) {
            found.refused.insert(target);
            continue;
        }
        found.allowed.insert(target);
        let file = docs.join(url.path().trim_start_matches('/'));
        if file.extension().is_some_and(|ending| ending == "html")
            && let Ok(html) = fs::read_to_string(&file)
        {
            queue.extend(links(&html).iter().filter_map(|href| url.join(href).ok()));
        }
    }
    found
}

/// The links of a page by a reading of its own: tags found by hand, entities of generated pages decoded, comments and
/// scripts passed over. Plain enough to be checked by eye; the pages are well-formed.
fn links(html: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = html;
    while let Some(start) = rest.find('<') {
        rest = &rest[start..];
        let skip = [("<!--", "-->"), ("<script", "</script>"), ("<style", "</style>")];
        if let Some((_, end)) = skip.iter().find(|(open, _)| rest.starts_with(open)) {
            rest = rest.find(end).map_or("", |at| &rest[at + end.len()..]);
            continue;
        }
        let end = rest.find('>').map_or(rest.len(), |at| at + 1);
        found.extend(link_of(&rest[..end]));
        rest = &rest[end..];
    }
    found
}

fn link_of(tag: &str) -> Option<String> {
    let name: String = tag[1..].chars().take_while(char::is_ascii_alphanumeric).collect();
    let wanted = match name.as_str() {
        "a" | "area" => "href",
        "iframe" | "frame" => "src",
        "link" if document_link(&attribute(tag, "rel")?) => "href",
        _ => return None,
    };
    if attribute(tag, "rel").is_some_and(|rel| rel.split(' ').any(|word| word == "nofollow")) {
        return None;
    }
    attribute(tag, wanted)
}

/// Kinds of `link` elements that lead to documents.
fn document_link(rel: &str) -> bool {
    const DOCUMENTS: [&str; 9] =
        ["alternate", "canonical", "next", "prev", "license", "terms-of-service", "privacy-policy", "author", "help"];
    rel.split(' ').any(|word| DOCUMENTS.contains(&word)) && !rel.split(' ').any(|word| word == "stylesheet")
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let at = tag.find(&format!(" {name}=")).or_else(|| tag.find(&format!("\n{name}=")))?;
    let value = &tag[at + name.len() + 2..];
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let value = value[1..].split(quote).next()?;
    Some(
        value
            .replace("&#34;", "\"")
            .replace("&quot;", "\"")
            .replace("&#39;", "'")
            .replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&amp;", "&"),
    )
}
