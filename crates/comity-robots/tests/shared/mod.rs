//! What several test files need: the shared corpus, and the words of an answer.

#![allow(dead_code, reason = "every test file uses its own part")]

use std::collections::HashMap;
use std::io::Read;
use std::path::PathBuf;

use comity_robots::{Dialect, Robots, request_target};
use flate2::read::GzDecoder;

/// The verdict for a URL as somebody wrote it.
pub(crate) fn allowed(robots: &[u8], agent: &str, url: &[u8], dialect: Dialect) -> bool {
    Robots::parse(robots).rules(&[agent], dialect).allows(&request_target(url))
}

/// The path of a file of the shared corpus, when it is there; says so when it is not.
pub(crate) fn corpus(name: &str) -> Option<PathBuf> {
    let path: PathBuf =
        [env!("CARGO_MANIFEST_DIR"), "..", "..", "..", "shared", "robots-corpus", name].iter().collect();
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
