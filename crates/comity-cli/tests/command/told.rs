//! What a crawl's directory says of what is not to be seen in a page or a rule.

use std::path::Path;

use comity_testweb::{Answer, Served, Site, Web};
use tempfile::TempDir;

use super::{WHO, comity, stderr};

/// A site of its own, the runtime that serves it, and a crawl of `path` there into `home`/d.
struct Crawled {
    home: TempDir,
    runtime: tokio::runtime::Runtime,
    served: Option<Served>,
    origin: String,
    said: String,
}

impl Crawled {
    fn of(site: Site, path: &str, code: i32) -> Self {
        let (home, runtime) = (TempDir::new().unwrap(), tokio::runtime::Runtime::new().unwrap());
        let web = Web::builder(1).site(site).build().unwrap();
        let served = runtime.block_on(web.serve_loopback()).unwrap();
        let origin = served.origins()[0].clone();
        let config = home.path().join("c.toml");
        std::fs::write(&config, "[crawl]\nlinger = \"5s\"\n[archive]\nmin_free = \"1MB\"\n").unwrap();
        let (seed, dir) = (format!("{origin}{path}"), home.path().join("d"));
        let more = ["--config", text(&config), "--dir", text(&dir), "--allow-address", "127.0.0.0/8"];
        let args: Vec<&str> = ["crawl", seed.as_str()].into_iter().chain(more).chain(WHO).collect();
        let output = comity(home.path(), &args);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(code), "{said}{}", stderr(&output));
        Self { home, runtime, served: Some(served), origin, said }
    }

    fn dir(&self) -> String {
        text(&self.home.path().join("d")).to_owned()
    }

    fn explain(&self, path: &str) -> String {
        self.ran(&["explain", &format!("{}{path}", self.origin), "--dir", &self.dir()])
    }

    fn ran(&self, args: &[&str]) -> String {
        let output = comity(self.home.path(), args);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", stderr(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

impl Drop for Crawled {
    fn drop(&mut self) {
        if let Some(served) = self.served.take() {
            self.runtime.block_on(served.shutdown());
        }
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_delay_longer_than_any_that_is_kept_is_told_wherever_somebody_looks_for_why_nothing_comes() {
    let site = Site::new().robots("User-agent: *\nCrawl-delay: 600\n").page("/", Answer::page(["/"]));
    let crawled = Crawled::of(site, "/", 4);
    let said = &crawled.said;
    assert!(said.contains("Crawl-delay is above max_crawl_delay, until that is raised"), "{said}");
    let why = "asks for 600 s between requests, above max_crawl_delay (300 s): not asked until that is raised";
    assert!(crawled.explain("/").contains(why), "{}", crawled.explain("/"));
    let stats = crawled.ran(&["frontier", "stats", &crawled.dir()]);
    assert!(stats.contains(why), "{stats}");
}

#[test]
fn a_robots_txt_that_was_cut_is_told_with_what_it_decided() {
    let long = format!("User-agent: *\n{}Disallow: /secret\n", "Disallow: /other\n".repeat(40_000));
    let site = Site::new().robots(long).page("/secret", Answer::page(["/"]));
    let crawled = Crawled::of(site, "/secret", 0);
    let told = crawled.explain("/secret");
    assert!(told.contains("fetched, ok") && told.contains("512000 bytes are read at most"), "{told}");
}

#[test]
fn a_body_that_was_erased_is_told_with_when_and_for_whom() {
    let site = Site::new().robots("User-agent: *\nAllow: /\n").page("/", Answer::page(["/"]));
    let crawled = Crawled::of(site, "/", 0);
    assert!(!crawled.explain("/").contains("erased at"));
    let (url, dir) = (format!("{}/", crawled.origin), crawled.dir());
    crawled.ran(&["erase", &dir, "--url", &url, "--reason", "asked", "--request", "T-17"]);
    let told = crawled.explain("/");
    assert!(told.contains("erased at 20") && told.contains(", request T-17"), "{told}");
}

#[test]
fn a_page_of_the_same_site_that_links_to_what_is_erased_is_told() {
    let site = Site::new().robots("User-agent: *\nAllow: /\n").page("/", Answer::page(["/people/j-doe"]));
    let crawled = Crawled::of(site.page("/people/j-doe", Answer::page(["/"])), "/", 0);
    let (url, dir) = (format!("{}/people/j-doe", crawled.origin), crawled.dir());
    let erase = ["erase", &dir, "--url", &url, "--records", "--dry-run", "--reason", "asked", "--request", "T-18"];
    let told = crawled.ran(&erase);
    assert!(told.contains("mentions") && told.contains("--mentions erases their bodies"), "{told}");
}
