use std::path::{Path, PathBuf};
use std::process::Command;

use super::links::{resolved, split};
use super::page::Page;
use crate::step;

/// Where links lead that leave `docs/`: in the book there is nothing beside it.
const REPOSITORY: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/");

/// Builds the book; the folder it is in.
pub(super) fn build(root: &Path) -> Result<PathBuf, String> {
    let (source, book) = (root.join("target/book-source"), root.join("target/book"));
    if source.exists() {
        std::fs::remove_dir_all(&source).map_err(|e| format!("{}: {e}", source.display()))?;
    }
    copy(root, Path::new("docs"), &source)?;
    let mut mdbook = Command::new("mdbook");
    mdbook.arg("build").arg(&source).arg("--dest-dir").arg(&book);
    step::run("book", &mut mdbook)?;
    Ok(book)
}

fn copy(root: &Path, from: &Path, to: &Path) -> Result<(), String> {
    let told = |path: &Path, e: std::io::Error| format!("{}: {e}", path.display());
    std::fs::create_dir_all(to).map_err(|e| told(to, e))?;
    for entry in std::fs::read_dir(root.join(from)).map_err(|e| told(from, e))? {
        let name = entry.map_err(|e| told(from, e))?.file_name();
        let from = from.join(&name);
        let to = to.join(if name == "README.md" { "index.md".into() } else { name });
        if root.join(&from).is_dir() {
            copy(root, &from, &to)?;
        } else if from.extension().is_some_and(|ending| ending == "md") {
            let text = std::fs::read_to_string(root.join(&from)).map_err(|e| told(&from, e))?;
            std::fs::write(&to, with_links_out(&from, &text)).map_err(|e| told(&to, e))?;
        } else {
            std::fs::copy(root.join(&from), &to).map_err(|e| told(&from, e))?;
        }
    }
    Ok(())
}

/// The page, its links out of `docs/` and to folders led to the repository, and those to a `README.md` to the index that it is
/// in the book.
fn with_links_out(path: &Path, text: &str) -> String {
    let mut links = Page::read(text).links;
    links.sort_by_key(|link| std::cmp::Reverse(link.at.start));
    links.dedup_by_key(|link| link.at.start);
    let mut text = text.to_owned();
    for link in links {
        let Some((file, anchor)) = split(&link.to).filter(|(file, _)| !file.is_empty()) else { continue };
        let Some(target) = resolved(path, file) else { continue };
        let is_of_the_book = target.starts_with("docs") && target.extension().is_some();
        let anchor = anchor.map(|anchor| format!("#{anchor}")).unwrap_or_default();
        match file.strip_suffix("README.md") {
            _ if !is_of_the_book => text.replace_range(link.at, &format!("{REPOSITORY}{}{anchor}", target.display())),
            Some(folder) => text.replace_range(link.at, &format!("{folder}index.md{anchor}")),
            None => {}
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_not_in_the_book_leads_to_the_repository() {
        let text = "[a](a.md#x) [c](../configs/crawl.toml) [d](decisions) [`t`](../crates/t.rs#L3) [v](decisions/README.md#x) [o](https://o.test)\n\n[r]: ../x.rs\n[r]";
        let led = with_links_out(Path::new("docs/page.md"), text);
        let expected = format!(
            "[a](a.md#x) [c]({REPOSITORY}configs/crawl.toml) [d]({REPOSITORY}docs/decisions) [`t`]({REPOSITORY}crates/t.rs#L3) [v](decisions/index.md#x) [o](https://o.test)\n\n[r]: {REPOSITORY}x.rs\n[r]"
        );
        assert_eq!(led, expected);
    }
}
