//! `[state] dir` with real processes: killed, restarted, refused. The auditor of the web sees all of them as one agent.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use comity_testweb::{Answer, Auditor, Generated, Observer, Site, Web};
use tempfile::TempDir;

const SITES: usize = 6;
/// The origin that asks to be left alone for more than an hour.
const PARKED: usize = 5;

fn web() -> Web {
    let mut builder = Web::builder(3);
    for n in 0..SITES {
        let robots = format!("User-agent: *\nCrawl-delay: 0.{}\nDisallow: /private\n", 3 + n);
        let site = Site::new().robots(robots).generated(Generated::new(200, 3));
        builder = builder.site(if n == PARKED { site.page("/", Answer::retry_after(503, 5000)) } else { site });
    }
    builder.build().unwrap()
}

fn crawl(home: &Path, config: &Path, dir: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_comity"));
    command.args(["crawl", "--config"]).arg(config).arg("--dir").arg(home.join(dir));
    command.env("HOME", home).env_remove("XDG_CONFIG_HOME").stdout(Stdio::null()).stderr(Stdio::null());
    command
}

async fn until(what: &str, observer: &Observer, reached: impl Fn(&Observer) -> bool) {
    for _ in 0..1200 {
        if reached(observer) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("a minute is over: {what}");
}

fn requests(observer: &Observer, site: Option<usize>, robots: bool) -> usize {
    let counts = |seen: &&comity_testweb::Sighting| {
        (site.is_none() || seen.site == site) && (seen.request.target() == b"/robots.txt") == robots
    };
    observer.log().iter().filter(counts).count()
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn kill_9_and_restart_ask_no_robots_again_keep_parks_and_delays() {
    let served = web().serve_loopback().await.unwrap();
    let observer = served.observer();
    let home = TempDir::new().unwrap();
    let config = home.path().join("c.toml");
    let seeds: Vec<String> = served.origins().iter().map(|origin| format!("\"{origin}/\"")).collect();
    let text = format!(
        "[agent]\nname = \"MyBot/1.0\"\ncontact = \"a@example.com\"\n[crawl]\nseeds = [{}]\nlinger = \"1s\"\n\
         max_duration = \"4s\"\n[politeness]\ndelay = \"0s\"\n[fetch]\nallow_addresses = [\"127.0.0.0/8\"]\n\
         [state]\ndir = \"{}\"\n",
        seeds.join(", "),
        home.path().join("shared").display()
    );
    fs::write(&config, text).unwrap();

    let first = crawl(home.path(), &config, "d1").spawn().unwrap();
    until("every robots.txt and some pages", &observer, |seen| {
        requests(seen, None, true) == SITES && requests(seen, None, false) >= 2 * SITES
    })
    .await;
    let second = crawl(home.path(), &config, "d2").stderr(Stdio::piped()).output().unwrap();
    let said = String::from_utf8_lossy(&second.stderr);
    assert_eq!(second.status.code(), Some(5), "{said}");
    assert!(said.contains("in use by another process") && said.contains("[state] dir"), "{said}");
    kill(first);

    let before = requests(&observer, None, false);
    let third = crawl(home.path(), &config, "d3").spawn().unwrap();
    until("pages of the second crawl", &observer, |seen| requests(seen, None, false) >= before + 2 * SITES).await;
    kill(third);
    let fourth = crawl(home.path(), &config, "d4").status().unwrap();
    assert_eq!(fourth.code(), Some(3), "ended by its limit");

    let observer = served.shutdown().await;
    assert_eq!(requests(&observer, None, true), SITES, "robots.txt once, over four processes");
    assert_eq!(requests(&observer, Some(PARKED), false), 1, "who asked to be left alone is left alone");
    let audit = Auditor::new().token("MyBot").examine(&observer);
    assert!(audit.is_clean(), "{audit}");
    // What holds the parked origin back is told, also after the last process.
    let url = format!("{}/", observer.origins()[PARKED]);
    let told = Command::new(env!("CARGO_BIN_EXE_comity"))
        .args(["explain", &url, "--dir"])
        .arg(home.path().join("d4"))
        .env("HOME", home.path())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(told.contains("today     parked until 20") && told.contains("fresh until 20"), "{told}");
    // The copies of the first crawl are evidence in the later ones too.
    let evidence = fs::read_to_string(home.path().join("d4/evidence/index.jsonl")).unwrap();
    assert_eq!(evidence.lines().count(), SITES, "{evidence}");
}
