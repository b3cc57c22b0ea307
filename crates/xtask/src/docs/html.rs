use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::links::{resolved, split};

/// Fails when a link of the built book leads nowhere.
pub(super) fn check(book: &Path) -> Result<(), String> {
    let mut pages = BTreeMap::new();
    walk(book, book, &mut pages)?;
    let wrong: Vec<_> = pages.iter().flat_map(|(path, text)| broken(path, text, &pages, book)).collect();
    if wrong.is_empty() { Ok(()) } else { Err(format!("the book is broken:\n  {}", wrong.join("\n  "))) }
}

fn walk(book: &Path, folder: &Path, pages: &mut BTreeMap<PathBuf, String>) -> Result<(), String> {
    for entry in std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))? {
        let path = entry.map_err(|e| e.to_string())?.path();
        if path.is_dir() {
            walk(book, &path, pages)?;
        } else if path.extension().is_some_and(|ending| ending == "html") {
            let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            pages.extend(path.strip_prefix(book).ok().map(|path| (path.to_owned(), text)));
        }
    }
    Ok(())
}

fn broken(path: &Path, text: &str, pages: &BTreeMap<PathBuf, String>, book: &Path) -> Vec<String> {
    // The page for what is not found may be shown anywhere: its links begin at the root. The printed form is all pages in one.
    if path == Path::new("404.html") || path == Path::new("print.html") || path == Path::new("toc.html") {
        return Vec::new();
    }
    let targets: BTreeSet<_> = text.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let fault = |to: &&str| -> Option<String> {
        let (file, anchor) = split(to)?;
        let target = if file.is_empty() { path.to_owned() } else { resolved(path, file)? };
        let is_there = book.join(&target).is_file()
            && anchor
                .filter(|anchor| !anchor.is_empty())
                .is_none_or(|anchor| pages.get(&target).is_none_or(|text| text.contains(&format!("id=\"{anchor}\""))));
        (!is_there).then(|| format!("{}: {to}", path.display()))
    };
    targets.iter().filter_map(fault).collect()
}
