//! Crawls that are looked at and steered from another process, while they run and while they are stopped.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use comity_testweb::{Generated, Observer, Served, Site, Web};
use serde_json::Value;
use tempfile::TempDir;

use super::{WHO, comity, stderr};

const SITES: usize = 3;
const PAGES: u32 = 40;

async fn serve() -> Served {
    let site = || Site::new().robots("User-agent: *\nAllow: /\n").generated(Generated::new(PAGES, 8).bytes(400));
    (0..SITES).fold(Web::builder(3), |web, _| web.site(site())).build().unwrap().serve_loopback().await.unwrap()
}

/// A crawl of the whole web into `dir`, some fifteen pages a second and site.
fn start(home: &Path, served: &Served, dir: &Path) -> Child {
    let config = dir.with_extension("toml");
    fs::write(&config, "[archive]\nmin_free = \"1MB\"\n[politeness]\ndelay = \"60ms\"\n").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_comity"));
    command.args(["crawl", "--dir", text(dir), "--config", text(&config), "--allow-address", "127.0.0.0/8"]).args(WHO);
    for (name, addresses) in served.names() {
        command.arg("--resolve").arg(format!("{name}={}", addresses[0]));
    }
    command.args(served.origins().iter().map(|origin| format!("{origin}/")));
    command.env("HOME", home).env_remove("XDG_CONFIG_HOME").stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Waits until something is so, and fails when that takes very long.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..3000 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("never: {what}");
}

/// The lines of a command that has to succeed, as JSON.
fn lines(home: &Path, args: &[&str]) -> Vec<Value> {
    let output = comity(home, args);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", stderr(&output));
    String::from_utf8_lossy(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Requests that a site saw.
fn seen_by(observer: &Observer, site: usize) -> usize {
    observer.log().iter().filter(|seen| seen.site == Some(site)).count()
}

#[cfg(unix)]
#[test]
fn a_crawl_is_steered_through_its_socket_killed_and_steered_through_its_queue() {
    use std::os::unix::fs::PermissionsExt as _;

    let (home, runtime) = (TempDir::new().unwrap(), tokio::runtime::Runtime::new().unwrap());
    let served = runtime.block_on(serve());
    let (origins, observer) = (served.origins(), served.observer());
    let dir = home.path().join("d");
    let mut crawl = start(home.path(), &served, &dir);
    let socket = dir.join("state/control");
    until("the site is asked", || seen_by(&observer, 1) > 3);
    assert_eq!(fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);

    let stats = &lines(home.path(), &["frontier", "stats", text(&dir), "--json"])[0];
    assert_eq!((&stats["running"], &stats["origins"]), (&true.into(), &SITES.into()), "{stats}");
    let park = ["frontier", "park", text(&dir), &origins[1], "--why", "its owner called", "--json"];
    assert_eq!(lines(home.path(), &park)[0]["open"], 0);
    let before = (seen_by(&observer, 1), seen_by(&observer, 0));
    until("the others go on", || seen_by(&observer, 0) > before.1 + 5);
    assert_eq!(seen_by(&observer, 1), before.0, "nothing arrives after the answer");
    let stuck = lines(home.path(), &["frontier", "list", text(&dir), "--stuck", "--json"]);
    assert_eq!((stuck.len(), &stuck[0]["origin"]), (1, &origins[1].as_str().into()));
    assert_eq!(stuck[0]["reason"], "park.operator");
    let urls = lines(home.path(), &["frontier", "list", text(&dir), "--origin", &origins[1], "--limit", "0", "--json"]);
    assert_eq!(Some(urls.len() as u64), stuck[0]["queued"].as_u64(), "every URL of it, once");
    let seed = format!("{}/added", origins[0]);
    let added = lines(home.path(), &["frontier", "seed", text(&dir), &seed, "--json"]);
    assert_eq!((&added[0]["outcome"], &added[0]["url"]), (&"new".into(), &seed.as_str().into()));

    // A second crawl neither starts nor takes the socket.
    let second = start(home.path(), &served, &dir).wait_with_output().unwrap();
    assert_eq!(second.status.code(), Some(5), "{}", stderr(&second));
    assert_eq!(lines(home.path(), &["frontier", "stats", text(&dir), "--json"])[0]["running"], true);

    crawl.kill().unwrap();
    crawl.wait().unwrap();
    assert!(socket.exists(), "a kill leaves it behind");
    let stats = &lines(home.path(), &["frontier", "stats", text(&dir), "--json"])[0];
    assert_eq!((&stats["running"], &stats["parked"]), (&false.into(), &1.into()), "{stats}");
    let parked = lines(home.path(), &["frontier", "list", text(&dir), "--parked", "--json"]);
    assert_eq!((parked.len(), &parked[0]["why"]), (1, &"its owner called".into()));

    // It goes on, and knows: the other sites are finished, this one is not asked.
    let output = start(home.path(), &served, &dir).wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert_eq!(seen_by(&observer, 1), before.0);
    assert!(!socket.exists(), "it goes with the crawl");
    assert_eq!(comity(home.path(), &["frontier", "release", text(&dir), &origins[1]]).status.code(), Some(0));
    assert_eq!(comity(home.path(), &["frontier", "release", text(&dir), &origins[1]]).status.code(), Some(1));
    let output = start(home.path(), &served, &dir).wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let asked = |site: usize| {
        let log = observer.log();
        let of_site = log.iter().filter(|seen| seen.site == Some(site) && !seen.request.is_robots_txt());
        of_site.map(|seen| seen.request.target().to_vec()).collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(asked(1).len(), PAGES as usize, "nothing of the parked site is lost");
    assert!(asked(0).contains(b"/added".as_slice()));
    runtime.block_on(served.shutdown());
}

#[cfg(unix)]
#[test]
fn the_socket_answers_lines_of_json_and_nothing_else() {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::os::unix::net::UnixStream;

    let (home, runtime) = (TempDir::new().unwrap(), tokio::runtime::Runtime::new().unwrap());
    let served = runtime.block_on(serve());
    let dir = home.path().join("d");
    let mut crawl = start(home.path(), &served, &dir);
    let socket = dir.join("state/control");
    until("the socket is there", || socket.exists());
    // The last line of an answer.
    let ask = |stream: &mut BufReader<UnixStream>, line: &str| -> Value {
        stream.get_mut().write_all(line.as_bytes()).unwrap();
        loop {
            let mut answer = String::new();
            stream.read_line(&mut answer).unwrap();
            let answer: Value = serde_json::from_str(&answer).unwrap();
            if answer.get("row").is_none() {
                return answer;
            }
        }
    };
    let connect = || BufReader::new(UnixStream::connect(&socket).unwrap());
    let mut stream = connect();
    assert_eq!(ask(&mut stream, "{\"v\":1,\"op\":\"stats\"}\n")["ok"]["running"], true);
    let table = [
        ("no json\n", "no request"),
        ("{}\n", "it has no version"),
        ("{\"v\":2,\"op\":\"stats\"}\n", "version 2 is asked for"),
        ("{\"v\":1,\"op\":\"explode\"}\n", "explode"),
        ("{\"v\":1}\n", "op"),
        ("[1]\n", "it has no version"),
        ("{\"v\":1,\"op\":\"park\",\"origin\":\"x\",\"why\":\"y\"}\n", "\"x\" is no origin"),
    ];
    for (line, says) in table {
        let error = ask(&mut stream, line)["error"].clone();
        assert_eq!(error["fault"], "usage", "{line}: {error}");
        assert!(error["what"].as_str().unwrap().contains(says), "{line}: {error}");
    }
    assert_eq!(ask(&mut stream, "{\"v\":1,\"op\":\"list\",\"n\":2}\n")["v"], 1, "the connection still serves");
    // A line without an end is bounded.
    let mut long = connect();
    let chunk = vec![b'x'; 1 << 16];
    while long.get_mut().write_all(&chunk).is_ok() {}
    assert_eq!(ask(&mut stream, "{\"v\":1,\"op\":\"parks\"}\n")["ok"]["next"], Value::Null);
    // So are connections: the ninth is told.
    let crowd: Vec<_> = (0..7).map(|_| connect()).collect();
    let mut one_more = connect();
    let mut said = String::new();
    one_more.read_line(&mut said).unwrap();
    assert!(said.contains("8 others are being answered"), "{said}");
    drop(crowd);
    crawl.kill().unwrap();
    crawl.wait().unwrap();
    runtime.block_on(served.shutdown());
}

#[test]
fn what_cannot_be_reached_is_told_by_exit_code_and_hint() {
    let home = TempDir::new().unwrap();
    let nothing = home.path().join("nothing");
    for args in [&["frontier", "stats"][..], &["frontier", "list"]] {
        let output = comity(home.path(), &[args, &[text(&nothing)]].concat());
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains("holds no crawl"), "{}", stderr(&output));
    }
    // Its queue was in memory: there is nothing to open.
    fs::create_dir_all(&nothing).unwrap();
    fs::write(nothing.join("crawl.toml"), "").unwrap();
    let output = comity(home.path(), &["frontier", "stats", text(&nothing)]);
    assert_eq!(output.status.code(), Some(5), "{}", stderr(&output));
    assert!(stderr(&output).contains("queue is on disk"), "{}", stderr(&output));

    let runtime = tokio::runtime::Runtime::new().unwrap();
    let served = runtime.block_on(serve());
    let dir = home.path().join("d");
    let mut crawl = start(home.path(), &served, &dir);
    let socket = dir.join("state/control");
    until("the socket is there", || socket.exists());
    fs::remove_file(&socket).unwrap();
    let output = comity(home.path(), &["frontier", "stats", text(&dir)]);
    assert_eq!(output.status.code(), Some(6), "{}", stderr(&output));
    assert!(stderr(&output).contains("cannot be reached"), "{}", stderr(&output));
    crawl.kill().unwrap();
    crawl.wait().unwrap();
    let bad = [
        ["frontier", "park", text(&dir), "a.test", "--why", "x"],
        ["frontier", "park", text(&dir), "http://a.test", "--why", ""],
    ];
    for args in bad {
        let output = comity(home.path(), &args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", stderr(&output));
        assert!(stderr(&output).contains("hint: "), "{args:?}: {}", stderr(&output));
    }
    runtime.block_on(served.shutdown());
}
