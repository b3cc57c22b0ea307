//! What several test files need: the shared corpus, and the words of an answer.

#![allow(dead_code, reason = "every test file uses its own part")]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "test support: a failure here is a failed test")]

use std::collections::HashMap;
use std::io::Read;
use std::path::PathBuf;

use comity_robots::{Dialect, Robots, request_target};
use flate2::read::GzDecoder;

/// The verdict for a URL as somebody wrote it.
pub(crate) fn allowed(robots: &[u8], agent: &str, url: &[u8], dialect: Dialect) -> bool {
    Robots::parse(robots).rules(&[agent], dialect).allows(&request_target(url))
}

/// A row of a table: its name, the file, the agent asked for, the URL, and the verdict in both dialects.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) robots: &'static [u8],
    pub(crate) agent: &'static str,
    pub(crate) url: &'static str,
    pub(crate) google: bool,
    pub(crate) standard: bool,
}

/// Rows of one agent, `FooBot`, that both dialects answer alike.
pub(crate) const fn row(name: &'static str, robots: &'static str, url: &'static str, allowed: bool) -> Row {
    Row { name, robots: robots.as_bytes(), agent: "FooBot", url, google: allowed, standard: allowed }
}

/// The same for a file that is no text.
pub(crate) const fn bytes_row(name: &'static str, robots: &'static [u8], url: &'static str, allowed: bool) -> Row {
    Row { name, robots, agent: "FooBot", url, google: allowed, standard: allowed }
}

/// A row for another agent.
pub(crate) const fn agent_row(name: &'static str, robots: &'static str, agent: &'static str, allowed: bool) -> Row {
    Row { name, robots: robots.as_bytes(), agent, url: "https://e.test/x", google: allowed, standard: allowed }
}

/// A row on which the dialects differ.
pub(crate) const fn split_row(
    name: &'static str,
    robots: &'static str,
    url: &'static str,
    google: bool,
    standard: bool,
) -> Row {
    Row { name, robots: robots.as_bytes(), agent: "FooBot", url, google, standard }
}

/// Asks every row in both dialects and names each that is answered wrongly.
pub(crate) fn check(rows: &[Row]) {
    let mut failed = Vec::new();
    for row in rows {
        for (dialect, wanted) in [(Dialect::Google, row.google), (Dialect::Standard, row.standard)] {
            if allowed(row.robots, row.agent, row.url.as_bytes(), dialect) != wanted {
                failed.push(format!("{} ({dialect:?}): wanted allowed = {wanted}", row.name));
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

/// The path of a file of the shared corpora, when it is there; says so when it is not.
pub(crate) fn corpus(name: &str) -> Option<PathBuf> {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", "..", "..", "shared", name].iter().collect();
    if path.exists() {
        return Some(path);
    }
    println!("shared corpus absent: {name}");
    None
}

pub(crate) fn gunzip(path: &PathBuf) -> Vec<u8> {
    let mut bytes = Vec::new();
    GzDecoder::new(std::fs::File::open(path).unwrap()).read_to_end(&mut bytes).unwrap();
    bytes
}

/// Regular members of a ustar archive, by name.
pub(crate) fn untar(mut archive: &[u8]) -> HashMap<String, Vec<u8>> {
    let mut members = HashMap::new();
    while let Some((header, rest)) = archive.split_at_checked(512) {
        if header[0] == 0 {
            break;
        }
        let text = |range: std::ops::Range<usize>| {
            let field = header[range].split(|byte| *byte == 0).next().unwrap();
            String::from_utf8(field.to_vec()).unwrap()
        };
        let size = usize::from_str_radix(text(124..136).trim(), 8).unwrap();
        if matches!(header[156], b'0' | 0) {
            members.insert(text(0..100), rest[..size].to_vec());
        }
        archive = &rest[size.next_multiple_of(512)..];
    }
    members
}
