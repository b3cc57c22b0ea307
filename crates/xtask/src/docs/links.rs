use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use super::page::Page;

/// Where pages are: files, folders, and files of this name in each folder of a folder.
const PLACES: [&str; 5] = ["README.md", "CHANGELOG.md", "docs", "crates/*/README.md", "examples/*/README.md"];

const CONTENTS: &str = "docs/SUMMARY.md";

/// Links that lead nowhere, and pages that are in no table of contents; a line for each.
pub(super) fn faults(root: &Path) -> Result<Vec<String>, String> {
    let mut pages = BTreeMap::new();
    for path in paths(root)? {
        let text = std::fs::read_to_string(root.join(&path)).map_err(|e| format!("{}: {e}", path.display()))?;
        pages.insert(path, Page::read(&text));
    }
    let exists = |path: &Path| root.join(path).exists();
    let mut wrong: Vec<_> = pages.iter().flat_map(|(path, page)| broken(path, page, &pages, exists)).collect();
    wrong.extend(unlisted(&pages));
    Ok(wrong)
}

fn broken(path: &Path, page: &Page, pages: &BTreeMap<PathBuf, Page>, exists: impl Fn(&Path) -> bool) -> Vec<String> {
    let fault = |link: &super::page::Link| -> Option<String> {
        let (file, anchor) = split(&link.to)?;
        let target = if file.is_empty() { path.to_owned() } else { resolved(path, file)? };
        if !exists(&target) {
            return Some(format!("{}:{}: {} does not exist", path.display(), link.line, target.display()));
        }
        let anchors = &pages.get(&target)?.anchors;
        let is_there = anchor.is_none_or(|anchor| anchors.contains(anchor));
        (!is_there).then(|| format!("{}:{}: no heading for {}", path.display(), link.line, link.to))
    };
    page.links.iter().filter_map(fault).collect()
}

/// File and anchor of a link within the repository.
pub(super) fn split(to: &str) -> Option<(&str, Option<&str>)> {
    let is_outside = to.contains("://") || to.starts_with("mailto:");
    (!is_outside).then(|| to.split_once('#').map_or((to, None), |(file, anchor)| (file, Some(anchor))))
}

/// The path of a link, from the root; `None` where it would leave it.
pub(super) fn resolved(from: &Path, to: &str) -> Option<PathBuf> {
    let mut path = from.parent()?.to_owned();
    for part in Path::new(to).components() {
        match part {
            Component::ParentDir => path.pop().then_some(())?,
            Component::Normal(name) => path.push(name),
            _ => {}
        }
    }
    Some(path)
}

fn unlisted(pages: &BTreeMap<PathBuf, Page>) -> Vec<String> {
    let contents = Path::new(CONTENTS);
    let links = pages.get(contents).into_iter().flat_map(|page| &page.links);
    let listed: BTreeSet<_> = links.filter_map(|link| resolved(contents, &link.to)).collect();
    let ours = pages.keys().filter(|path| path.starts_with("docs") && *path != contents);
    ours.filter(|path| !listed.contains(*path)).map(|path| format!("{CONTENTS}: lacks {}", path.display())).collect()
}

fn paths(root: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    for place in PLACES {
        match place.split_once("/*/") {
            Some((folder, name)) => {
                let inside = entries(&root.join(folder))?.into_iter().map(|entry| entry.join(name));
                found.extend(inside.filter(|path| path.is_file()));
            }
            None => walk(&root.join(place), &mut found)?,
        }
    }
    Ok(found.into_iter().filter_map(|path| path.strip_prefix(root).ok().map(ToOwned::to_owned)).collect())
}

fn walk(path: &Path, found: &mut Vec<PathBuf>) -> Result<(), String> {
    if path.is_dir() {
        return entries(path)?.iter().try_for_each(|entry| walk(entry, found));
    }
    if path.extension().is_some_and(|ending| ending == "md") {
        found.push(path.to_owned());
    }
    Ok(())
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let listing = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut found: Vec<_> = listing.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    found.sort_unstable();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leads_nowhere_is_told() {
        let pages = BTreeMap::from([
            (PathBuf::from("docs/SUMMARY.md"), Page::read("[A](a.md)")),
            (
                "docs/a.md".into(),
                Page::read("# One\n[x](#one) [y](#two)\n[z](b/c.md#three) [g](../gone.rs) [w](https://x.test/#y)"),
            ),
            ("docs/b/c.md".into(), Page::read("# Three\n[up](../a.md#one) [out](../../../x)")),
        ]);
        let exists = |path: &Path| pages.contains_key(path);
        let mut wrong: Vec<_> = pages.iter().flat_map(|(path, page)| broken(path, page, &pages, exists)).collect();
        wrong.extend(unlisted(&pages));
        let expected = [
            "docs/a.md:2: no heading for #two",
            "docs/a.md:3: gone.rs does not exist",
            "docs/SUMMARY.md: lacks docs/b/c.md",
        ];
        assert_eq!(wrong, expected);
    }
}
