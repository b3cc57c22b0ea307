//! Dense documentation pages: real ones where a Debian package has put them, generated ones of the same shape elsewhere.

use std::path::{Path, PathBuf};

use comity_url::CrawlUrl;

/// One page, and where it stands.
pub(crate) struct Page {
    pub(crate) url: CrawlUrl,
    pub(crate) html: Vec<u8>,
}

/// A page, and what its links say.
pub(crate) type References<'a> = (&'a Page, Vec<String>);

pub(crate) struct Corpus {
    pub(crate) what: String,
    pub(crate) pages: Vec<Page>,
}

/// Bytes of a corpus: enough for steady figures, little enough for many rounds.
const BYTES: usize = 16 << 20;

impl Corpus {
    /// A documentation tree of a Debian package.
    pub(crate) fn installed(package: &str, folder: &str) -> Option<Self> {
        let root = Path::new("/usr/share/doc").join(folder);
        let mut files = Vec::new();
        html_files(&root, &mut files);
        files.sort();
        let sizes = files.iter().filter_map(|file| file.metadata().ok()).map(|meta| meta.len() as usize);
        let step = sizes.sum::<usize>() / BYTES + 1;
        let pages: Vec<Page> = files.iter().step_by(step).filter_map(|file| page(&root, file)).collect();
        (pages.len() > 50).then(|| Self { what: package.to_owned(), pages })
    }

    /// Pages like those of a documentation generator: the same navigation on each, then prose dense with links.
    pub(crate) fn generated() -> Self {
        let pages =
            (0..200).map(|number| Page { url: address(&format!("ref/page{number}.html")), html: generate(number) });
        Self { what: "generated pages".to_owned(), pages: pages.collect() }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.pages.iter().map(|page| page.html.len()).sum()
    }
}

fn html_files(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    for path in entries.map(|entry| entry.path()) {
        if path.is_dir() {
            html_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "html") {
            files.push(path);
        }
    }
}

fn page(root: &Path, file: &Path) -> Option<Page> {
    let html = std::fs::read(file).ok()?;
    Some(Page { url: address(file.strip_prefix(root).ok()?.to_str()?), html })
}

fn address(path: &str) -> CrawlUrl {
    CrawlUrl::parse(&format!("https://docs.example.com/en/{path}")).unwrap()
}

fn generate(number: usize) -> Vec<u8> {
    let mut html = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\" /><title>Page {number} &#8212; Reference</title>\n\
         <link rel=\"stylesheet\" type=\"text/css\" href=\"../_static/style.css?v=4\" />\n\
         <link rel=\"next\" title=\"Next\" href=\"page{}.html\" /></head><body>\n<div class=\"sidebar\"><ul>\n",
        number + 1
    );
    for entry in 0..120 {
        html += &format!(
            "<li class=\"toctree-l2\"><a class=\"reference internal\" href=\"page{entry}.html\">Page {entry}</a></li>\n"
        );
    }
    for entry in 0..250 {
        let other = (number * 31 + entry * 7) % 500;
        html += &format!(
            "<dt class=\"sig sig-object\" id=\"f.{entry}\"><span class=\"sig-name descname\"><span class=\"pre\">name_{entry}</span></span>\
             <span class=\"sig-paren\">(</span><em class=\"sig-param\"><span class=\"n\">value</span></em>)\
             <a class=\"headerlink\" href=\"#f.{entry}\" title=\"Permalink\">&#182;</a></dt>\n<dd><p>Returns what \
             <a class=\"reference internal\" href=\"../lib/mod{other}.html#f.{other}\" title=\"f.{other}\"><code class=\"xref py\">\
             <span class=\"pre\">mod{other}</span></code></a> says, as <a class=\"reference external\" \
             href=\"https://www.example.org/spec?id={other}&amp;v=2\">the text</a> has it, in some words of prose.</p></dd>\n"
        );
    }
    html += "</ul></div></body></html>\n";
    html.into_bytes()
}
