//! What was left out of `comity explain URL --dir DIR`, and what it may have been.

use std::fs;
use std::path::Path;

use comity::config::ConfigFile;
use comity_url::{CrawlUrl, UrlError};

use crate::exit::Failure;

/// Entries of the current folder that are looked at, and crawls that are named.
const MOST_ENTRIES: usize = 10_000;
const NAMED: usize = 5;

/// Without `--dir`: the crawls that stand here are named.
pub(super) fn no_dir(url: &str) -> Failure {
    let failure = Failure::usage("which crawl? --dir DIR is missing");
    match crawls(Path::new(".")).as_slice() {
        [] => failure.hint("DIR is the folder that `comity crawl` wrote; none stands here"),
        [one] => failure.hint(format!("comity explain {url} --dir {one}")),
        some => failure.hint(format!("here stand {}", some.join(", "))),
    }
}

/// The folders in `here` that hold a crawl, by name, the last ones first: their names often are dates.
fn crawls(here: &Path) -> Vec<String> {
    let entries = fs::read_dir(here).into_iter().flatten().take(MOST_ENTRIES).filter_map(Result::ok);
    let holds_one = |path: &Path| path.join("crawl.toml").is_file() && path.join("records").is_dir();
    let names = entries.filter(|entry| holds_one(&entry.path())).map(|entry| entry.file_name());
    let mut names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort_unstable_by(|a, b| b.cmp(a));
    names.truncate(NAMED);
    names
}

/// A text that is no URL: where a seed of the crawl completes it, the whole one is named.
pub(super) fn no_url(text: &str, error: &UrlError, dir: &Path) -> Failure {
    let failure = Failure::usage(format!("{text:?}: {error}"));
    if text.contains("://") {
        return failure;
    }
    match whole(text, &seeds(dir)) {
        Some(url) => failure.hint(format!("did you mean {url} ?")),
        None => failure.hint("give the whole URL, with https://, as `comity records` prints it"),
    }
}

fn seeds(dir: &Path) -> Vec<CrawlUrl> {
    let file = ConfigFile::read(&dir.join("crawl.toml")).unwrap_or_default();
    file.crawl.seeds.iter().flatten().filter_map(|seed| CrawlUrl::parse(seed).ok()).collect()
}

/// `/path` on the origin of a seed, or `host/path` with the scheme of the seed on that host.
fn whole(text: &str, seeds: &[CrawlUrl]) -> Option<CrawlUrl> {
    let on = |seed: &CrawlUrl| {
        let (scheme, host) = seed.origin().as_str().split_once("://")?;
        let is_on_it = text.split('/').next().is_some_and(|named| named.eq_ignore_ascii_case(host));
        match text.starts_with('/') {
            true => seed.join(text).ok(),
            false if is_on_it => CrawlUrl::parse(&format!("{scheme}://{text}")).ok(),
            false => None,
        }
    };
    seeds.iter().find_map(on)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_url_is_completed_by_a_seed() {
        let seeds: Vec<CrawlUrl> = ["http://127.0.0.1:8901/", "https://example.com/docs/"]
            .iter()
            .map(|seed| CrawlUrl::parse(seed).unwrap())
            .collect();
        let rows = [
            ("/page/39", Some("http://127.0.0.1:8901/page/39")),
            ("127.0.0.1:8901/page/3", Some("http://127.0.0.1:8901/page/3")),
            ("Example.com/x?y", Some("https://example.com/x?y")),
            ("example.org/x", None),
            ("x", None),
            ("", None),
        ];
        for (text, wanted) in rows {
            assert_eq!(whole(text, &seeds).map(|url| url.to_string()).as_deref(), wanted, "{text}");
        }
        assert_eq!(whole("/page", &[]), None);
    }

    #[test]
    fn folders_that_hold_a_crawl_are_found() {
        let here = tempfile::tempdir().unwrap();
        assert!(crawls(here.path()).is_empty());
        for (name, is_one) in [("crawl-20261201", true), ("crawl-20261130", true), ("warc", false)] {
            let folder = here.path().join(name);
            fs::create_dir_all(folder.join("records")).unwrap();
            if is_one {
                fs::write(folder.join("crawl.toml"), "").unwrap();
            }
        }
        assert_eq!(crawls(here.path()), ["crawl-20261201", "crawl-20261130"]);
        assert!(crawls(&here.path().join("nothing")).is_empty());
    }
}
