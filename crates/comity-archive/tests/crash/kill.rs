//! Kills in the middle of everything. The archive under the kill runs in a child process, which is this test binary again.

use std::hash::{BuildHasher as _, RandomState};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use comity_archive::{Archive, ArchiveConfig, OsEntropy};

use crate::common::*;
use crate::{check_chain, check_tied};

/// Set for the child: where it writes.
const DIR: &str = "COMITY_TEST_ARCHIVE_DIR";
/// Events that a life of the child would store.
const EVENTS: usize = 400;

/// Small files, so that kills meet the turn from one to the next; repeats, and bodies that are written ahead.
fn child_config() -> ArchiveConfig {
    ArchiveConfig { rollover: 300_000, dedup: true, level: 1, ..config() }
}

/// The child: stores, and says what is acknowledged. Without its variable it has nothing to do.
#[test]
fn child() {
    let Some(dir) = std::env::var_os(DIR) else { return };
    let mut archive =
        Archive::create(Path::new(&dir), child_config(), Arc::new(StillClock), Box::new(OsEntropy)).unwrap();
    let mut out = std::io::stdout();
    for n in 0..EVENTS {
        let (target, body) = (format!("https://a.test/{n}"), noise(n % 90, [2000, 40_000, 400_000][n % 31 % 3]));
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
        archive.stage(&page(capture(&target, head.as_bytes(), &body))).unwrap();
        archive.stage(&refused("https://a.test/private", "/private")).unwrap();
        if n % 3 == 0 {
            for stored in archive.flush().unwrap() {
                writeln!(out, "stored {}", stored.seq).unwrap();
            }
        }
        if n % 40 == 0 {
            archive.sync().unwrap();
        }
    }
}

/// Bytes that hardly compress, the same for the same seed.
fn noise(seed: usize, len: usize) -> Vec<u8> {
    let mut state = seed as u64 + 1;
    std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u8::try_from(state >> 56).unwrap()
    })
    .take(len)
    .collect()
}

/// Runs a child and kills it once it told `after` lines; gives the number of the last line it was told is stored.
fn run(dir: &Path, after: usize) -> Option<u64> {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "kill::child", "--nocapture"]).env(DIR, dir);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut last = None;
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for (count, line) in lines.map_while(Result::ok).filter(|line| line.contains("stored ")).enumerate() {
        last = line.rsplit(' ').next().and_then(|seq| seq.parse().ok());
        if count == after {
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    last
}

#[test]
fn killed_at_any_instant_it_loses_nothing_acknowledged_and_every_file_is_whole() {
    let instants = if std::env::var("COMITY_TEST_SIZE").is_ok_and(|size| size == "all") { 50 } else { 5 };
    let mut dir = tempfile::tempdir().unwrap();
    for life in 0..instants {
        if life % 5 == 0 {
            dir = tempfile::tempdir().unwrap(); // What is read anew after each kill stays small.
        }
        // Unlike at each run, and told when the test fails.
        let after = (RandomState::new().hash_one(0) % (EVENTS as u64 / 4)) as usize;
        let acknowledged = run(dir.path(), after);
        open(dir.path(), child_config(), 7).close().unwrap();
        let kept = check_chain(&lines(dir.path()));
        assert!(acknowledged.is_some_and(|last| kept > last), "killed after {after}: {acknowledged:?} of {kept}");
        check_tied(dir.path());
        check_index(dir.path());
        let mut gzip = Command::new("gzip");
        if let Ok(tested) = gzip.arg("-t").args(files(dir.path(), "warc")).output() {
            assert!(tested.status.success(), "killed after {after}: {}", String::from_utf8_lossy(&tested.stderr));
        }
    }
}
