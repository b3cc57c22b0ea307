use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use comity_robots::{Dialect, MAX_BYTES, Robots, RuleSet};
use comity_url::{CrawlUrl, Origin};

use crate::args::DialectArg;
use crate::exit::Failure;

/// The longest robots.txt that is read at all; 500 KiB of it are parsed.
const LONGEST_FILE: u64 = 100 << 20;

impl From<DialectArg> for Dialect {
    fn from(name: DialectArg) -> Self {
        match name {
            DialectArg::Standard => Self::Standard,
            DialectArg::Google => Self::Google,
        }
    }
}

/// Opens a file, or standard input for `-`.
pub(super) fn open(path: &Path) -> Result<Box<dyn BufRead>, Failure> {
    if path == Path::new("-") {
        return Ok(Box::new(std::io::stdin().lock()));
    }
    let file = std::fs::File::open(path).map_err(|e| unreadable(path, &e))?;
    Ok(Box::new(BufReader::new(file)))
}

/// The bytes of a robots.txt.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    open(path)?.take(LONGEST_FILE).read_to_end(&mut bytes).map_err(|e| unreadable(path, &e))?;
    Ok(bytes)
}

/// Reads and parses a robots.txt; warns of an end that is ignored.
pub(super) fn robots(path: &Path) -> Result<Robots, Failure> {
    let robots = Robots::parse(&read(path)?);
    if robots.truncated() {
        eprintln!("warning: {}: only the first {MAX_BYTES} bytes are read, the file is longer", path.display());
    }
    Ok(robots)
}

/// Warns of lines that could not be read.
pub(super) fn warn_of_notes(rules: &RuleSet) {
    for note in rules.notes() {
        eprintln!("warning: {note}");
    }
}

pub(super) fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::usage(format!("{}: {error}", path.display()))
}

pub(super) fn parse_origin(text: &str) -> Result<Origin, Failure> {
    Origin::parse(text)
        .map_err(|e| Failure::usage(format!("--origin {text:?}: {e}")).hint("--origin https://example.com"))
}

/// True for what a robots.txt can speak about.
pub(super) fn is_path_or_url(text: &str) -> bool {
    is_path(text) || CrawlUrl::parse(text).is_ok()
}

fn is_path(text: &str) -> bool {
    text.starts_with('/') && !text.starts_with("//")
}

/// True when `url` belongs to `origin`; a bare path belongs to whatever origin was named.
pub(super) fn governs(origin: &Origin, url: &str) -> bool {
    is_path(url) || CrawlUrl::parse(url).is_ok_and(|url| url.origin() == origin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_governs_its_own_urls_and_bare_paths_only() {
        let origin = Origin::parse("https://a.test").unwrap();
        for (url, governed) in [
            ("https://a.test/x", true),
            ("https://A.TEST:443/x", true),
            ("/x", true),
            ("http://a.test/x", false),
            ("//b.test/x", false),
            ("https://www.a.test/", false),
        ] {
            assert_eq!(governs(&origin, url), governed, "{url}");
        }
    }
}
