//! Links of dense documentation pages, by CPU time in interleaved rounds: `cargo bench -p comity-extract`, or
//! `cargo xtask bench extract`. Its output is docs/benchmarks.md, extract.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a bench speaks on stdout and ends at a fault")]

mod corpus;
mod hostile;
mod ours;
mod peers;
#[path = "../../../comity-robots/benches/robots/report.rs"]
mod report;
#[path = "../../../comity-robots/benches/robots/rounds.rs"]
mod rounds;

use comity_url::CrawlUrl;

use crate::corpus::Corpus;
use crate::rounds::race;

/// Debian packages, and the folder of each below `/usr/share/doc`.
const PACKAGES: [(&str, &str); 3] =
    [("python3-doc", "python3.11/html"), ("postgresql-doc-15", "postgresql-doc-15/html"), ("sqlite3-doc", "sqlite3")];

fn main() {
    // Without `--bench` this is `cargo test --all-targets`: one round shows that it runs.
    let is_bench = std::env::args().any(|arg| arg == "--bench");
    let asked = std::env::args().skip(1).find_map(|arg| arg.parse().ok());
    let rounds = if is_bench { asked.unwrap_or(9) } else { 1 };
    let installed = PACKAGES.iter().filter(|_| is_bench);
    let mut corpora: Vec<Corpus> =
        installed.filter_map(|(package, folder)| Corpus::installed(package, folder)).collect();
    corpora.push(Corpus::generated());
    for corpus in &corpora {
        dense_pages(corpus, rounds);
        urls(corpus, rounds);
    }
    hostile_pages(rounds);
}

fn dense_pages(corpus: &Corpus, rounds: usize) {
    let contestants = vec![
        peers::lol_html_alone(corpus),
        peers::lol_html_and_url(corpus),
        peers::html5ever_tree(corpus),
        ours::links(corpus),
        ours::keys(corpus),
    ];
    let (pages, bytes, links) = (corpus.pages.len(), corpus.bytes(), (ours::links(corpus).work)());
    let title = format!("{}: {pages} pages, {bytes} bytes, {links} links", corpus.what);
    report::speeds(&title, &race(contestants, rounds), corpus.bytes());
}

fn urls(corpus: &Corpus, rounds: usize) {
    let references = peers::references(corpus);
    let base = |(page, references): &corpus::References| -> Vec<CrawlUrl> {
        references.iter().filter_map(|reference| page.url.join(reference).ok()).collect()
    };
    let urls: Vec<CrawlUrl> = references.iter().flat_map(base).collect();
    let texts: Vec<String> = urls.iter().map(ToString::to_string).collect();
    let contestants = vec![
        peers::url_join(&references),
        ours::join(&references),
        ours::join_and_key(&references),
        ours::parse_and_key(&texts),
        ours::key(&urls),
    ];
    let title = format!("{}: {} references", corpus.what, urls.len());
    report::times(&title, &race(contestants, rounds), urls.len());
}

fn hostile_pages(rounds: usize) {
    let pages: Vec<_> = hostile::pages().collect();
    let contestants = pages.iter().map(|(name, page)| hostile::read(name, page)).collect();
    report::times("10 MB of hostile markup", &race(contestants, rounds.min(3)), 1);
}
