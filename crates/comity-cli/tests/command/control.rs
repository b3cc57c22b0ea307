//! Crawls that are looked at and steered from another process, while they run and while they are stopped.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
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
    start_with(home, served, dir, &[])
}

fn start_with(home: &Path, served: &Served, dir: &Path, more: &[&str]) -> Child {
    let config = dir.with_extension("toml");
    fs::write(&config, "[archive]\nmin_free = \"1MB\"\n[politeness]\ndelay = \"60ms\"\n").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_comity"));
    command
        .args(["crawl", "--dir", text(dir), "--config", text(&config), "--allow-address", "127.0.0.0/8"])
        .args(WHO)
        .args(more);
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
    explained(home.path(), &dir, &urls);
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

    explained(home.path(), &dir, &urls);

    // It goes on, and knows: the other sites are finished, this one is not asked.
    let output = start(home.path(), &served, &dir).wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert_eq!(seen_by(&observer, 1), before.0);
    assert!(!socket.exists(), "it goes with the crawl");
    assert_eq!(comity(home.path(), &["frontier", "release", text(&dir), &origins[1]]).status.code(), Some(0));
    assert_eq!(comity(home.path(), &["frontier", "release", text(&dir), &origins[1]]).status.code(), Some(1));
    let output = start(home.path(), &served, &dir).wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(asked(&observer, 1).len(), PAGES as usize, "nothing of the parked site is lost");
    assert!(asked(&observer, 0).contains_key("/added"));
    runtime.block_on(served.shutdown());
}

/// URLs in the queue of a parked site, from its running crawl and from the stopped one: each is explained, none has a record.
fn explained(home: &Path, dir: &Path, queued: &[Value]) {
    for (place, row) in [(0, &queued[0]), (queued.len() - 1, &queued[queued.len() - 1])] {
        let url = row["url"].as_str().unwrap();
        let told = comity(home, &["explain", url, "--dir", text(dir)]);
        let said = String::from_utf8_lossy(&told.stdout).into_owned();
        assert_eq!(told.status.code(), Some(0), "{said}{}", stderr(&told));
        assert!(said.contains("it waits in the queue") && said.contains("(park.operator)"), "{said}");
        assert!(said.contains(&format!("priority {} of 255", row["priority"])), "{said}");
        if row["via"].is_string() {
            assert!(said.contains("\n  since     20"), "when the page that named it was read: {said}");
        }
        let rows = lines(home, &["explain", url, "--dir", text(dir), "--json"]);
        assert_eq!((rows.len(), &rows[0]["queued"], &rows[0]["before"]), (1, row, &place.into()));
        let page = comity(home, &["explain", url, "--dir", text(dir), "--html"]);
        assert!(String::from_utf8_lossy(&page.stdout).contains("it waits in the queue"));
    }
    let unknown = comity(home, &["explain", "http://elsewhere.test/", "--dir", text(dir)]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&unknown.stdout).contains("no record: it was not found"));
}

/// The pages that a site was asked for, with how often.
fn asked(observer: &Observer, site: usize) -> BTreeMap<String, usize> {
    let mut asked = BTreeMap::new();
    for seen in observer.log().iter().filter(|seen| seen.site == Some(site) && !seen.request.is_robots_txt()) {
        *asked.entry(String::from_utf8_lossy(seen.request.target()).into_owned()).or_default() += 1;
    }
    asked
}

#[test]
fn an_exported_crawl_is_finished_elsewhere_and_nothing_is_asked_for_twice() {
    let (home, runtime) = (TempDir::new().unwrap(), tokio::runtime::Runtime::new().unwrap());
    let served = runtime.block_on(serve());
    let observer = served.observer();
    let (first, second, file) =
        (home.path().join("first"), home.path().join("second"), home.path().join("export.jsonl"));
    let crawl = start_with(home.path(), &served, &first, &["--max-pages", "30"]).wait_with_output().unwrap();
    assert_eq!(crawl.status.code(), Some(3), "{}", stderr(&crawl));
    let output = comity(home.path(), &["frontier", "export", text(&first), "--output", text(&file)]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let export = fs::read_to_string(&file).unwrap();
    let queued = lines(home.path(), &["frontier", "stats", text(&first), "--json"])[0]["queued"].clone();
    let end: Value = serde_json::from_str(export.lines().last().unwrap()).unwrap();
    assert_eq!(end["end"]["urls"], queued);

    // Without a configuration there is nothing to begin it by.
    let output = comity(home.path(), &["frontier", "import", text(&second), text(&file)]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("--config"), "{}", stderr(&output));
    let mark = first.join("crawl.toml");
    let import = ["frontier", "import", text(&second), text(&file), "--config", text(&mark), "--json"];
    let report = &lines(home.path(), &import)[0];
    assert_eq!((&report["new"], &report["bad"], &report["cut"]), (&queued, &0.into(), &false.into()), "{report}");
    assert_eq!(report["prints_of_others"], 0, "{report}");
    let output = comity(home.path(), &["crawl", "--dir", text(&second), "--max-pages", "1000"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for site in 0..SITES {
        let asked = asked(&observer, site);
        assert_eq!(asked.len(), PAGES as usize, "site {site}");
        assert!(asked.values().all(|times| *times == 1), "site {site}: {asked:?}");
    }

    // Into a crawl that is there: its own key, so fingerprints are of no use; a cut file and bad lines are told and stop nothing.
    let cut: String = export.lines().take(3).map(|line| format!("{line}\n")).collect();
    fs::write(
        &file,
        format!("{cut}no json\n{{\"url\":\"ftp://a.test/\"}}\n{{\"url\":\"{}/more\"}}\n", served.origins()[0]),
    )
    .unwrap();
    let output = comity(home.path(), &["frontier", "import", text(&second), text(&file), "--json"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["new"], &report["bad"], &report["cut"]), (&1.into(), &2.into(), &true.into()), "{report}");
    let said = stderr(&output);
    assert!(
        said.contains("export.jsonl:4: no JSON") && said.contains("export.jsonl:5: url: \"ftp://a.test/\""),
        "{said}"
    );
    runtime.block_on(served.shutdown());
}

#[cfg(unix)]
#[test]
fn reload_and_optout_reach_the_crawl_that_runs() {
    let (home, runtime) = (TempDir::new().unwrap(), tokio::runtime::Runtime::new().unwrap());
    let served = runtime.block_on(serve());
    let (origins, observer) = (served.origins(), served.observer());
    let dir = home.path().join("d");
    let crawl = start(home.path(), &served, &dir);
    until("the sites are asked", || (0..SITES).all(|site| seen_by(&observer, site) > 3));

    // The file that it was started with, changed.
    let config = dir.with_extension("toml");
    let changed = fs::read_to_string(&config).unwrap() + &format!("[crawl]\nexclude = [\"{}/*\"]\n", origins[0]);
    fs::write(&config, changed).unwrap();
    let shown = &lines(home.path(), &["reload", text(&dir), "--show", "--json"])[0];
    assert_eq!(shown["changes"].as_array().unwrap().len(), 1, "{shown}");
    let done = &lines(home.path(), &["reload", text(&dir), "--json"])[0];
    assert_eq!((&done["changes"], &done["open"]), (&shown["changes"], &0.into()));
    let excluded = seen_by(&observer, 0);
    let add = ["optout", "add", &origins[1], "--requested-by", "owner", "--reason", "letter", "--dir", text(&dir)];
    let output = comity(home.path(), &add);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let out = seen_by(&observer, 1);
    let before = seen_by(&observer, 2);
    until("the other one goes on", || seen_by(&observer, 2) > before + 5);
    assert_eq!((seen_by(&observer, 0), seen_by(&observer, 1)), (excluded, out));
    let refused =
        comity(home.path(), &["reload", text(&dir), "--config", text(&own(home.path(), "[crawl]\nscope = \"any\"\n"))]);
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
    assert!(
        stderr(&refused).contains("crawl.scope") && stderr(&refused).contains("--accept-config"),
        "{}",
        stderr(&refused)
    );
    let another = own(home.path(), "[agent]\nname = \"Another/1.0\"\n");
    let refused = comity(home.path(), &["reload", text(&dir), "--config", text(&another)]);
    let said = stderr(&refused);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(
        said.contains("agent.name: ") && said.contains("--accept-config"),
        "not what is wrong with the new name: {said}"
    );
    left_out(home.path(), &dir, &origins[0]);
    let output = crawl.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "every URL has its outcome: {}", stderr(&output));
    left_out(home.path(), &dir, &origins[0]);
    assert_eq!((seen_by(&observer, 0), seen_by(&observer, 1)), (excluded, out));
    let output = comity(home.path(), &["reload", text(&dir)]);
    assert_eq!(output.status.code(), Some(6), "it is over: {}", stderr(&output));
    let listed = lines(home.path(), &["optout", "list", "--dir", text(&dir), "--json"]);
    assert_eq!((listed.len(), &listed[0]["target"]), (1, &origins[1].as_str().into()));
    runtime.block_on(served.shutdown());
}

/// A configuration file with this in it.
fn own(home: &Path, text: &str) -> PathBuf {
    let path = home.join("other.toml");
    fs::write(&path, text).unwrap();
    path
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
    let output = comity(home.path(), &[&["crawl", "--dir", text(&nothing)][..], &WHO].concat());
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("holds no crawl that could go on"), "{}", stderr(&output));
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

/// A seed that a pattern leaves out is refused, not queued to be refused.
fn left_out(home: &Path, dir: &Path, origin: &str) {
    let output = comity(home, &["frontier", "seed", text(dir), &format!("{origin}/late"), "--json"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let row: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&row["outcome"], &row["reason"]), (&"refused".into(), &"url.scope".into()), "{row}");
}
