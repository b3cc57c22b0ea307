//! Documentation trees of Debian's: thousands of pages that nobody here wrote.

use std::path::{Path, PathBuf};

use encoding_rs::Encoding;

use crate::{is_long, ours, read, tree};

/// A page of a tree.
pub(crate) struct File {
    pub(crate) url: String,
    pub(crate) bytes: Vec<u8>,
}

/// Every `step`-th page of every tree that is installed, at URLs below `origin`.
pub(crate) fn pages(origin: &str, step: usize) -> Vec<File> {
    let mut files: Vec<(PathBuf, PathBuf)> = Vec::new();
    for root in roots() {
        let mut found = Vec::new();
        html_files(&root, &mut found);
        files.extend(found.into_iter().map(|file| (root.clone(), file)));
    }
    files.sort();
    let page = |(root, file): &(PathBuf, PathBuf)| {
        let path = file.strip_prefix(root).ok()?.to_str()?;
        let package = root.components().nth(4)?.as_os_str().to_str()?;
        Some(File { url: format!("{origin}/{package}/{path}"), bytes: std::fs::read(file).ok()? })
    };
    files.iter().step_by(step).filter_map(page).collect()
}

/// The real folders of the trees, each once.
fn roots() -> Vec<PathBuf> {
    let entries = std::fs::read_dir("/usr/share/doc").into_iter().flatten().filter_map(Result::ok);
    let marks = [("html", "library/index.html"), ("html", "sql-select.html"), ("", "lang_select.html")];
    let root = |folder: PathBuf| {
        let (below, _) = marks.iter().find(|(below, mark)| folder.join(below).join(mark).is_file())?;
        folder.join(below).canonicalize().ok()
    };
    let mut roots: Vec<PathBuf> = entries.filter_map(|entry| root(entry.path())).collect();
    roots.sort();
    roots.dedup();
    roots
}

fn html_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for path in std::fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())) {
        if path.is_dir() {
            html_files(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "html") {
            files.push(path);
        }
    }
}

#[test]
fn documentation_has_the_links_that_a_tree_has() {
    let step = if is_long() { 1 } else { 12 };
    let (mut count, mut links) = (0, 0);
    for file in pages("http://docs.test", step) {
        let page = read(&file.url, &file.bytes);
        let encoding = Encoding::for_label(page.charset.unwrap().name.as_bytes()).unwrap();
        let (text, _) = encoding.decode_with_bom_removal(&file.bytes);
        let found = ours(&page);
        links += found.links.len();
        count += 1;
        assert_eq!(found, tree::found(&file.url, &text), "{}", file.url);
    }
    eprintln!("{count} pages, {links} links");
}
