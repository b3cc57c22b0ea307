//! Real proxies: Squid and microsocks, with login right and wrong. Their logs say what was asked of them, the web behind
//! them what arrived; credentials of proxies arrive nowhere.

use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use comity_testweb::{Auditor, Generated, Observer, Served, Site, Web};
use serde_json::Value;
use tempfile::TempDir;

use crate::nginx::free_port;

const USER: &str = "peeruser";
const PASSWORD: &str = "peerpass";
/// `peeruser:peerpass` in Base64.
const BASIC: &str = "cGVlcnVzZXI6cGVlcnBhc3M=";
/// The password as the helper of Squid wants it, salted MD5 of Apache.
const HASHED: &str = "peeruser:$apr1$comity$3xbv9TvXrWl9ynZljyPzH/\n";
const HELPER: &str = "/usr/lib/squid/basic_ncsa_auth";

/// A proxy of our own, ended when dropped.
struct Running {
    port: u16,
    child: Child,
    log: PathBuf,
}

impl Running {
    fn start(command: &mut Command, port: u16, log: PathBuf) -> Self {
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        let running = Self { port, child, log };
        running.await_ready();
        running
    }

    #[expect(clippy::disallowed_methods, reason = "a foreign process is waited for in real time, bounded")]
    fn await_ready(&self) {
        let start = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(start.elapsed() < Duration::from_secs(20), "the proxy did not come up");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn end(&mut self) {
        let _ended = self.child.kill().and_then(|()| self.child.wait());
    }

    /// The lines of its log so far.
    fn lines(&self) -> Vec<String> {
        fs::read_to_string(&self.log).unwrap_or_default().lines().map(ToOwned::to_owned).collect()
    }

    /// Waits until its log has so many lines that `count`; a proxy may write a line after the answer.
    #[expect(clippy::disallowed_methods, reason = "a foreign process is waited for in real time, bounded")]
    fn await_lines(&self, least: usize, count: impl Fn(&String) -> bool) -> Vec<String> {
        let start = Instant::now();
        loop {
            let found: Vec<String> = self.lines().into_iter().filter(&count).collect();
            if found.len() >= least || start.elapsed() > Duration::from_secs(5) {
                return found;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

fn installed(program: &str) -> Option<PathBuf> {
    ["/usr/sbin", "/usr/bin"].map(|folder| Path::new(folder).join(program)).into_iter().find(|path| path.is_file())
}

/// Squid with a login, without a cache: a line of its log for each request, `GET http://… 200`.
fn squid(home: &Path, names: &[&str]) -> Option<Running> {
    let program = installed("squid").filter(|_| Path::new(HELPER).is_file())?;
    let (folder, port) = (home.join("squid"), free_port());
    fs::create_dir(&folder).unwrap();
    #[cfg(unix)]
    {
        // Started by root it becomes another user, who has to write here.
        use std::os::unix::fs::PermissionsExt as _;
        for open in [home, &folder] {
            fs::set_permissions(open, fs::Permissions::from_mode(0o777)).unwrap();
        }
    }
    fs::write(folder.join("passwords"), HASHED).unwrap();
    fs::write(folder.join("hosts"), names.iter().map(|name| format!("127.0.0.1 {name}\n")).collect::<String>())
        .unwrap();
    let own = folder.display();
    let configuration = format!(
        "http_port 127.0.0.1:{port}\npid_filename {own}/squid.pid\ncoredump_dir {own}\ncache deny all\ncache_log {own}/cache.log\n\
         logformat short %rm %ru %>Hs %un\naccess_log stdio:{own}/access.log short\nbuffered_logs off\n\
         visible_hostname peer.test\nhosts_file {own}/hosts\npinger_enable off\nshutdown_lifetime 0 seconds\n\
         auth_param basic program {HELPER} {own}/passwords\nauth_param basic children 1 startup=1\nauth_param basic realm peer\n\
         acl known proxy_auth REQUIRED\nhttp_access allow known\nhttp_access deny all\n"
    );
    fs::write(folder.join("squid.conf"), configuration).unwrap();
    let mut command = Command::new(program);
    command.args(["-N", "-f"]).arg(folder.join("squid.conf")).stderr(Stdio::null());
    Some(Running::start(&mut command, port, folder.join("access.log")))
}

/// microsocks, with a login if wanted: a line of its log for each connection.
fn microsocks(home: &Path, login: bool) -> Option<Running> {
    let port = free_port();
    let log = home.join(format!("microsocks-{port}.log"));
    let mut command = Command::new(installed("microsocks")?);
    command.args(["-i", "127.0.0.1", "-p", &port.to_string()]).stderr(fs::File::create(&log).unwrap());
    if login {
        command.args(["-u", USER, "-P", PASSWORD]);
    }
    Some(Running::start(&mut command, port, log))
}

const PAGES: u32 = 5;

/// Two small sites, with something refused on each.
fn web(names: [&str; 2]) -> Web {
    let site = |name: &str| {
        let pages = Generated::new(PAGES, 3).off_origin_percent(0);
        Site::new().name(name).robots("User-agent: *\nDisallow: /private\n").generated(pages)
    };
    names.into_iter().fold(Web::builder(7), |web, name| web.site(site(name))).build().unwrap()
}

const NAMES: [&str; 2] = ["one.peer.test", "two.peer.test"];

/// A crawl of everything, by the real command: what it printed, and how it ended.
async fn crawl(home: &Path, seeds: Vec<String>, proxies: String, more: &str) -> (String, ExitStatus) {
    let config = home.join("c.toml");
    let text = format!(
        "[agent]\nname = \"PeerBot/1.0\"\ncontact = \"a@example.com\"\n[crawl]\nseeds = {seeds:?}\n{more}\n\
         [politeness]\ndelay = \"200ms\"\nadaptive = false\n[fetch]\nallow_addresses = [\"127.0.0.0/8\"]\n\
         [archive]\nmin_free = \"10MB\"\n{proxies}"
    );
    fs::write(&config, text).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_comity"));
    command.arg("crawl").arg("--config").arg(&config).arg("--dir").arg(home.join("crawl"));
    command
        .env("HOME", home)
        .env_remove("XDG_CONFIG_HOME")
        .env("COMITY_LOG", "trace")
        .env("PEER_LOGIN", format!("{USER}:{PASSWORD}"));
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(!said.contains(PASSWORD) && !said.contains(BASIC), "the finest log holds no credentials");
    (said, output.status)
}

fn section(url: &str, secret: &str) -> String {
    format!("[[fetch.proxy]]\nurl = \"{url}\"\ncountry = \"DE\"\npool = \"peer\"\n{secret}\n")
}

/// A file of credentials that its owner alone may read.
fn secret(home: &Path, password: &str) -> String {
    let file = home.join("login");
    fs::write(&file, format!("{USER}:{password}\n")).unwrap();
    #[cfg(unix)]
    fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    "credentials_file = \"login\"".to_owned()
}

/// Every byte of every request head that arrived, names and values.
fn arrived(observer: &Observer) -> String {
    let mut all = String::new();
    for seen in observer.log() {
        all += &format!("{} {}\n", seen.request.method(), seen.request.target_text());
        for (name, value) in seen.request.fields() {
            all += &format!("{name}: {}\n", String::from_utf8_lossy(value));
        }
    }
    all
}

fn records(home: &Path) -> Vec<Value> {
    let output = Command::new(env!("CARGO_BIN_EXE_comity"))
        .arg("records")
        .arg(home.join("crawl"))
        .env("HOME", home)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(!text.contains(PASSWORD) && !text.contains(BASIC) && !text.to_lowercase().contains("proxy-authorization"));
    text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["body"].take()).collect()
}

/// The whole web arrived once, politely, without a byte that belongs to the proxies.
fn assert_whole(web: &Served, home: &Path, form: &str) -> usize {
    let audit = Auditor::new().floor(Duration::from_millis(200)).examine(web);
    assert!(audit.is_clean(), "{audit}");
    let log = web.log();
    assert_eq!(log.len(), 2 * (PAGES as usize + 1), "every page and robots.txt once");
    let all = arrived(web).to_lowercase();
    for foreign in [PASSWORD, USER, &BASIC.to_lowercase(), "proxy-"] {
        assert!(!all.contains(foreign), "{foreign} arrived: {all}");
    }
    let records = records(home);
    let fetched: Vec<&Value> = records.iter().filter(|record| record["outcome"] == "fetched").collect();
    assert_eq!(fetched.len(), log.len());
    for record in fetched {
        let vantage = &record["vantage"];
        assert_eq!((vantage["exit"].as_str(), vantage["server_ip"].as_str()), (Some("DE"), None), "{record}");
        assert_eq!(
            (vantage["via"]["pool"].as_str(), vantage["via"]["form"].as_str()),
            (Some("peer"), Some(form)),
            "{record}"
        );
    }
    let crawl_toml = fs::read_to_string(home.join("crawl/crawl.toml")).unwrap();
    assert!(crawl_toml.contains("credentials_") && !crawl_toml.contains(PASSWORD), "names of secrets, never values");
    log.len()
}

#[tokio::test(flavor = "multi_thread")]
async fn squid_passes_everything_on_once_and_keeps_our_credentials() {
    for (tunnel, form) in [(false, "forward"), (true, "tunnel")] {
        let home = TempDir::new().unwrap();
        let Some(squid) = squid(home.path(), &NAMES) else {
            eprintln!("left out: squid is not installed (cargo xtask test --install)");
            return;
        };
        let web = web(NAMES).serve_names().await.unwrap();
        let mut proxy = section(&format!("http://127.0.0.1:{}", squid.port), &secret(home.path(), PASSWORD));
        proxy += if tunnel { "tunnel = true\n" } else { "" };
        let (said, status) = crawl(home.path(), web.seeds(), proxy, "").await;
        assert_eq!(status.code(), Some(0), "{said}");
        let exchanges = assert_whole(&web, home.path(), form);
        if tunnel {
            let lines = squid.await_lines(2, |line| line.starts_with("CONNECT "));
            assert!(lines.iter().all(|line| line.ends_with(" 200 peeruser")), "{lines:?}");
            assert!(lines.iter().all(|line| NAMES.iter().any(|name| line.starts_with(&format!("CONNECT {name}:")))));
        } else {
            let lines = squid.await_lines(exchanges, |line| line.starts_with("GET "));
            assert_eq!(lines.len(), exchanges, "its log has what arrived, and nothing else: {lines:?}");
            assert!(lines.iter().all(|line| line.ends_with(" 200 peeruser")), "{lines:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_login_is_the_proxys_fault_and_no_site_is_asked() {
    let home = TempDir::new().unwrap();
    let (Some(squid), Some(socks)) = (squid(home.path(), &NAMES), microsocks(home.path(), true)) else {
        eprintln!("left out: squid or microsocks is not installed (cargo xtask test --install)");
        return;
    };
    let web = web(NAMES).serve_names().await.unwrap();
    for url in [format!("http://127.0.0.1:{}", squid.port), format!("socks5h://127.0.0.1:{}", socks.port)] {
        let proxy = section(&url, &secret(home.path(), "wrong"));
        let (said, status) = crawl(home.path(), web.seeds(), proxy, "max_duration = \"2s\"").await;
        assert_eq!(status.code(), Some(3), "{said}");
        assert!(said.contains("fetch.proxy.auth") && web.log().is_empty(), "{said}");
        let records = records(home.path());
        assert!(
            !records.is_empty() && records.iter().all(|record| record["reason"] == "fetch.proxy.auth"),
            "{records:?}"
        );
        fs::remove_dir_all(home.path().join("crawl")).unwrap();
    }
    let asked: Vec<String> = squid.lines().into_iter().filter(|line| line.starts_with("GET ")).collect();
    assert!(!asked.is_empty() && asked.iter().all(|line| line.contains(" 407 ")), "{asked:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn microsocks_dies_in_the_middle_and_the_other_serves() {
    let home = TempDir::new().unwrap();
    let (Some(mut first), Some(mut second)) = (microsocks(home.path(), true), microsocks(home.path(), true)) else {
        eprintln!("left out: microsocks is not installed (cargo xtask test --install)");
        return;
    };
    // Enough origins that each exit has some.
    let sites = 8;
    let web = (0..sites).fold(Web::builder(7), |web, _| {
        let pages = Generated::new(PAGES, 3).off_origin_percent(0);
        web.site(Site::new().robots("User-agent: *\nCrawl-delay: 0.5\n").generated(pages))
    });
    let web = web.build().unwrap().serve_loopback().await.unwrap();
    let proxies: String = [&first, &second]
        .map(|exit| section(&format!("socks5h://127.0.0.1:{}", exit.port), "credentials_env = \"PEER_LOGIN\""))
        .concat();
    let crawling = crawl(home.path(), web.seeds(), proxies, "");
    let killing = async {
        tokio::time::sleep(Duration::from_millis(1200)).await;
        first.end();
    };
    let ((said, status), ()) = tokio::join!(crawling, killing);
    assert_eq!(status.code(), Some(0), "{said}");
    let audit = Auditor::new().examine(&web);
    assert!(audit.is_clean(), "no gap is broken: {audit}");
    let robots = web.log().iter().filter(|seen| seen.request.is_robots_txt()).count();
    assert_eq!(robots, sites, "robots.txt once per origin and vantage");
    assert!(!arrived(&web).contains(PASSWORD));
    let pages = web.log().len() - robots;
    let fetched = records(home.path()).iter().filter(|r| r["outcome"] == "fetched" && r["errand"] == "page").count();
    // A page whose answer broke off with the exit may be asked for again, in its turn.
    assert_eq!(fetched, sites * PAGES as usize, "every page was fetched: {pages} requests");
    second.end();
    let served: Vec<usize> = [&first, &second].map(|exit| exit.lines().len()).to_vec();
    assert!(served.iter().all(|lines| *lines > 0), "both served: {served:?}");
}
