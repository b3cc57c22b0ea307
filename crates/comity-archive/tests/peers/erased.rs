//! What other readers say of files that something was erased from.

use std::process::Command;

use comity_archive::{Depth, Erasure, Named, files_that_name};

use super::{run, tool, write_every_shape};
use crate::common::*;

#[test]
fn a_file_with_tombstones_is_whole_to_every_reader() {
    let dir = tempfile::tempdir().unwrap();
    let before = write_every_shape(dir.path(), true).len();
    let mut archive = open(dir.path(), config(), 9);
    for (target, depth) in [
        ("http://www.A.test/Long/?B=2&a=1#x", Depth::Payload),
        ("http://a.test/gone", Depth::Records),
        ("http://a.test/none", Depth::Records),
        ("http://a.test/304", Depth::Records),
    ] {
        let named = Named::Url(url(target));
        let (reason, request) = ("a test".to_owned(), "T-1".to_owned());
        let report = archive.erase(&Erasure { named: named.clone(), depth, mentions: false, reason, request }, false);
        let report = report.unwrap();
        assert_eq!((report.lines, report.payloads), if depth == Depth::Records { (1, 0) } else { (0, 1) }, "{target}");
        if depth == Depth::Records {
            assert_eq!(files_that_name(dir.path(), &named).unwrap(), Vec::<String>::new());
        }
    }
    archive.close().unwrap();
    let file = &files(dir.path(), "warc")[0];
    assert_eq!(std::fs::metadata(file).unwrap().len(), before as u64);
    check_index(dir.path());
    let complaints = ["not checked", "exception", "skipping", "Error", "error", "failed", "WARNING", "invalid"];
    for (name, mut command) in [
        ("gzip", Command::new("gzip")),
        ("warcio", tool("warcio")),
        ("fastwarc", tool("fastwarc")),
        ("cdxj-indexer", tool("cdxj-indexer")),
    ] {
        let flags: &[&str] = match name {
            "gzip" => &["-tv"],
            "warcio" => &["check", "-v"],
            "fastwarc" => &["check", "-q"],
            _ => &["--sort"],
        };
        let Some((status, text)) = run(command.args(flags).arg(file)) else {
            println!("{name} absent: its check was left out");
            continue;
        };
        if name == "cdxj-indexer" {
            assert_eq!(text, std::fs::read_to_string(&indexes(dir.path())[0]).unwrap());
            continue;
        }
        let text = text.replace("digest present but not checked (revisit)", "");
        let found: Vec<_> = text.lines().filter(|line| complaints.iter().any(|c| line.contains(c))).collect();
        assert!(status && found.is_empty(), "{name}: {found:?}\n{text}");
    }
}
