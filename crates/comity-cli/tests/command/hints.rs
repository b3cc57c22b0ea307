//! A crawl that gets nothing says why, and what to do.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use super::{WHO, comity, stderr};

/// A URL at which nothing listens.
fn closed() -> String {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    format!("http://127.0.0.1:{port}/")
}

/// A crawl with these arguments, into `home`/d.
fn crawl<'a>(home: &Path, seed: &'a str, dir: &'a str, more: &[&'a str]) -> (std::process::Output, String) {
    let args: Vec<&str> = ["crawl", seed, "--dir", dir].into_iter().chain(WHO).chain(more.iter().copied()).collect();
    let output = comity(home, &args);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    (output, said)
}

#[test]
fn a_seed_that_does_not_answer_is_told_with_its_cause_and_what_to_do() {
    let home = TempDir::new().unwrap();
    let (dir, config) = (home.path().join("d"), home.path().join("c.toml"));
    fs::write(&config, "[crawl]\nlinger = \"0s\"\n").unwrap();
    let (dir, config) = (dir.to_str().unwrap(), config.to_str().unwrap());
    let (output, said) = crawl(home.path(), &closed(), dir, &["--config", config, "--allow-address", "127.0.0.0/8"]);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("robots.txt is unreachable (no address accepted a connection, 1 try)"), "{said}");
    assert!(stderr(&output).contains("hint: nothing listens there: look at scheme and port\n"), "{}", stderr(&output));
}

#[test]
fn an_address_of_ones_own_is_told_with_the_flag_that_lets_it_be_asked() {
    let home = TempDir::new().unwrap();
    let (dir, seed) = (home.path().join("d"), closed());
    let dir = dir.to_str().unwrap();
    let (output, said) = crawl(home.path(), &seed, dir, &[]);
    assert!(said.contains("(address.private)"), "{said}");
    assert!(stderr(&output).contains("hint: --allow-address 127.0.0.0/8"), "{}", stderr(&output));
    assert!(stderr(&output).contains("another --dir"), "{}", stderr(&output));
    // Who gives it to the same crawl is told that this one is done with the seed.
    let (_, said) = crawl(home.path(), &seed, dir, &["--allow-address", "127.0.0.0/8"]);
    assert!(said.contains("0 pages: nothing was queued: what this crawl was given it has decided on before"), "{said}");
}

#[test]
fn a_limit_that_earlier_runs_reached_is_told_before_what_would_wait() {
    let home = TempDir::new().unwrap();
    let (dir, config) = (home.path().join("d"), home.path().join("c.toml"));
    fs::write(&config, "[crawl]\nlinger = \"0s\"\n").unwrap();
    let (dir, config, seed) = (dir.to_str().unwrap(), config.to_str().unwrap(), closed());
    let more = ["--config", config, "--allow-address", "127.0.0.0/8", "--max-pages", "0"];
    let (output, said) = crawl(home.path(), &seed, dir, &more);
    assert_eq!(output.status.code(), Some(3), "{said}{}", stderr(&output));
    assert!(said.contains("0 pages: the limit max_pages was reached before the first page of this run"), "{said}");
}

#[cfg(unix)]
#[test]
fn who_waits_for_a_seed_that_does_not_answer_is_warned_once_and_early() {
    let home = TempDir::new().unwrap();
    let (dir, said) = (home.path().join("d"), home.path().join("said"));
    let mut child = Command::new(env!("CARGO_BIN_EXE_comity"))
        .args(["crawl", &closed(), "--dir", dir.to_str().unwrap(), "--allow-address", "127.0.0.0/8"])
        .args(WHO)
        .env("HOME", home.path())
        .env_remove("XDG_CONFIG_HOME")
        .stdout(Stdio::null())
        .stderr(File::create(&said).unwrap())
        .spawn()
        .unwrap();
    let told = || fs::read_to_string(&said).unwrap_or_default();
    // The plain line of progress comes after it: nothing is warned of twice.
    for _ in 0..6000 {
        if told().contains("0 pages") {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let ended = child.try_wait().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(ended, None, "{}", told());
    let warnings: Vec<String> =
        told().lines().filter(|line| line.starts_with("warning: ")).map(str::to_owned).collect();
    assert_eq!(warnings.len(), 1, "{}", told());
    assert!(warnings[0].contains("no address accepted a connection, 1 try"), "{warnings:?}");
    assert!(warnings[0].contains("look at scheme and port"), "{warnings:?}");
    assert!(told().contains("waiting ") && told().contains("(no address accepted a connection"), "{}", told());
}

#[test]
fn a_crawl_tells_of_a_configuration_what_its_check_tells() {
    let home = TempDir::new().unwrap();
    let (file, dir) = (home.path().join("c.toml"), home.path().join("d"));
    fs::write(&file, "[crawl]\nexclude = \"/search\"\nscoop = 1\n[politness]\ndelay = \"1s\"\n").unwrap();
    let (file, dir) = (file.to_str().unwrap(), dir.to_str().unwrap());
    let check = comity(home.path(), &["config", "check", file]);
    let (output, _) = crawl(home.path(), "http://a.test/", dir, &["--config", file]);
    assert_eq!((check.status.code(), output.status.code()), (Some(2), Some(2)));
    let told = stderr(&output);
    let problems = String::from_utf8_lossy(&check.stdout).into_owned();
    assert!(problems.lines().count() == 3, "{problems}");
    for problem in problems.lines() {
        assert!(told.contains(problem), "{problem} is not in {told}");
    }
    assert!(told.starts_with(&format!("error: {file}: 3 problems\n")), "{told}");
}

/// `comity crawl … 2>&1 | head -1`: whoever closes standard error does not end a crawl.
#[cfg(unix)]
#[test]
fn nobody_has_to_read_standard_error() {
    let home = TempDir::new().unwrap();
    let dir = home.path().join("d");
    let mut child = Command::new(env!("CARGO_BIN_EXE_comity"))
        .args(["crawl", &closed(), "--dir", dir.to_str().unwrap()])
        .args(WHO)
        .env("HOME", home.path())
        .env("COMITY_LOG", "comity=trace")
        .env_remove("XDG_CONFIG_HOME")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stderr.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(dir.join("report.html").exists(), "it came to its end");
}

/// A demonstration that was stopped goes on where its origins were: they are named by the port.
#[cfg(unix)]
#[test]
fn a_demo_that_was_stopped_goes_on_with_the_same_origins() {
    let home = TempDir::new().unwrap();
    let dir = home.path().join("demo");
    let socket = dir.join("state/control");
    let dir = dir.to_str().unwrap();
    let mut done = 0;
    for _ in 0..2 {
        let child = Command::new(env!("CARGO_BIN_EXE_comity"))
            .args(["demo", "--dir", dir])
            .env("HOME", home.path())
            .env_remove("XDG_CONFIG_HOME")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stats = serde_json::Value::Null;
        for _ in 0..6000 {
            std::thread::sleep(Duration::from_millis(10));
            // Not before: whoever asks a stopped crawl holds its queue, and one that starts would be refused.
            if !socket.exists() {
                continue;
            }
            let told = comity(home.path(), &["frontier", "stats", dir, "--json"]);
            stats = serde_json::from_slice(&told.stdout).unwrap_or_default();
            if stats["running"] == true && stats["done"].as_u64() > Some(done + 20) {
                break;
            }
        }
        done = stats["done"].as_u64().unwrap_or_default();
        assert_eq!((&stats["running"], &stats["origins"]), (&true.into(), &56.into()), "{stats}");
        assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
        let ended = child.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(4), "{}", stderr(&ended));
        assert!(stderr(&ended).contains(&format!("demo --dir {dir} goes on")), "{}", stderr(&ended));
        assert!(String::from_utf8_lossy(&ended.stdout).contains("audit: clean"));
    }
}
