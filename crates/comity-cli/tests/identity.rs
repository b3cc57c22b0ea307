//! `comity identity`: what it writes holds, and what cannot hold is not written.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use comity_robots::{Dialect, Robots, RuleSet};
use comity_signals::{Purpose, Verdict, robots_preferences};
use serde_json::Value;
use tempfile::TempDir;

struct Ran {
    code: i32,
    out: String,
    err: String,
}

/// A home with a configuration and, if wanted, a key.
struct Home(TempDir);

impl Home {
    fn new(agent: &str) -> Self {
        let home = Self(TempDir::new().unwrap());
        fs::write(home.path("c.toml"), format!("[agent]\n{agent}\n")).unwrap();
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// `comity identity …`, run in the home.
    fn identity(&self, args: &[&str]) -> Ran {
        let output = Command::new(env!("CARGO_BIN_EXE_comity"))
            .arg("identity")
            .args(args)
            .current_dir(self.0.path())
            .env("HOME", self.0.path())
            .env_remove("XDG_CONFIG_HOME")
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ran { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
    }

    fn json(&self, args: &[&str]) -> Value {
        let ran = self.identity(args);
        assert_eq!(ran.code, 0, "{}", ran.err);
        serde_json::from_str(&ran.out).unwrap()
    }
}

const WHO: &str = "name = \"My-Bot/1.0 <x> & \\\"y\\\"\"\ncontact = \"bot@example.com\"";
const SIGNED: &str = "signing_key = \"bot.pem\"\nsignature_agent = \"https://bot.example.com\"";

/// The texts of the `<pre>` blocks of a page, entities undone.
fn blocks(html: &str) -> Vec<String> {
    let blocks = html.split("<pre").skip(1).map(|rest| rest.split_once("<code>").unwrap().1);
    blocks.map(|rest| htmlize::unescape(rest.split_once("</code>").unwrap().0).into_owned()).collect()
}

fn rules(lines: &str, token: &str) -> RuleSet {
    Robots::parse(lines.as_bytes()).rules(&[token], Dialect::Standard)
}

#[test]
fn the_lines_on_the_page_do_what_the_page_says() {
    let home = Home::new(WHO);
    assert_eq!(home.identity(&["page", "--config", "c.toml", "--dir", "out"]).code, 0);
    let html = fs::read_to_string(home.path("out/web/index.html")).unwrap();
    let [stop, part, no_ai, slow]: [String; 4] = blocks(&html).try_into().unwrap();

    assert!(!rules(&stop, "My-Bot").allows(b"/") && rules(&stop, "OtherBot").allows(b"/"));
    assert!(!rules(&part, "My-Bot").allows(b"/private/x") && rules(&part, "My-Bot").allows(b"/"));
    assert_eq!(rules(&slow, "My-Bot").crawl_delay(), Some(Duration::from_secs(10)));
    assert_eq!(rules(&slow, "OtherBot").crawl_delay(), None);
    assert!(rules(&slow, "My-Bot").allows(b"/"));
    let uses = robots_preferences(&rules(&no_ai, "My-Bot"), b"/x");
    assert_eq!(uses.verdict(Purpose::AiTrain), Verdict::Denied);
    assert_eq!(uses.verdict(Purpose::AiInput), Verdict::Denied);
    assert!(rules(&no_ai, "My-Bot").allows(b"/x"));
}

#[test]
fn the_page_stands_alone_and_escapes_what_it_is_given() {
    let home = Home::new(WHO);
    home.identity(&["page", "--config", "c.toml", "--dir", "out"]);
    let html = fs::read_to_string(home.path("out/web/index.html")).unwrap();
    for absent in ["<x>", "<script", "<img", "<iframe", " src=", "@import", "url(", "http:", "https:", "onclick"] {
        assert!(!html.contains(absent), "{absent}");
    }
    for present in [
        "<!doctype html>\n<html lang=\"en\">",
        "<main>",
        "<meta charset=\"utf-8\">",
        "&lt;x&gt; &amp; \"y\"",
        "href=\"mailto:bot@example.com\"",
        "no fixed ones",
    ] {
        assert!(html.contains(present), "{present}: {html}");
    }
    for element in
        ["html", "head", "body", "main", "dl", "dt", "dd", "pre", "code", "p", "h1", "h2", "h3", "a", "footer"]
    {
        let opened = html.matches(&format!("<{element}>")).count() + html.matches(&format!("<{element} ")).count();
        assert_eq!(opened, html.matches(&format!("</{element}>")).count(), "{element}");
    }
    assert_eq!(html.matches("<h1>").count(), 1);
    assert!(!home.path("out/server").exists() && !home.path("out/web/ranges.json").exists(), "nothing to say there");
}

#[test]
fn what_is_declared_is_what_stands_on_the_page() {
    let rows = [
        ("[\"search\"]", "does not fetch for these two", "points to the original"),
        ("[\"search\", \"ai_train\"]", "may be fetched for the other purposes", "to train AI models"),
        ("[\"ai_input\", \"ai_train\"]", "not fetched at all", "as input to AI systems"),
    ];
    for (purposes, consequence, purpose) in rows {
        let home = Home::new(&format!(
            "{WHO}\npurposes = {purposes}\n[politeness]\ndelay = \"2s\"\nmax_crawl_delay = \"60s\""
        ));
        home.identity(&["page", "--config", "c.toml", "--dir", "out"]);
        let html = fs::read_to_string(home.path("out/web/index.html")).unwrap();
        for text in [consequence, purpose, "at least 2 seconds", "up to 60 seconds"] {
            assert!(html.contains(text), "{purposes}: {text}");
        }
    }
}

#[test]
fn a_key_is_made_once_shown_by_its_thumbprint_and_published() {
    let home = Home::new(&format!(
        "{WHO}\n{SIGNED}\nfrom = \"crawler@example.com\"\nranges = [\"5.9.0.0/24\", \"2a00:1450::/32\"]"
    ));
    let made = home.json(&["key", "new", "bot.pem", "--json"]);
    assert_eq!(fs::metadata(home.path("bot.pem")).unwrap().permissions().mode() & 0o777, 0o600);
    let before = fs::read(home.path("bot.pem")).unwrap();
    let again = home.identity(&["key", "new", "bot.pem"]);
    assert!(again.code == 2 && again.err.contains("exists already"), "{}", again.err);
    assert_eq!(fs::read(home.path("bot.pem")).unwrap(), before);

    let shown = home.json(&["show", "--config", "c.toml", "--json"]);
    assert_eq!(shown["signing"]["keyid"], made["keyid"]);
    assert_eq!(shown["from"], "crawler@example.com");
    let text = home.identity(&["show", "--config", "c.toml"]).out;
    for part in [made["keyid"].as_str().unwrap(), "https://bot.example.com", "crawler@example.com", "5.9.0.0/24"] {
        assert!(text.contains(part), "{part}: {text}");
    }

    home.json(&["key", "new", "next.pem", "--json"]);
    let written = home.json(&["page", "--config", "c.toml", "--dir", "out", "--also-key", "next.pem", "--json"]);
    assert_eq!(written["files"].as_array().unwrap().len(), 5, "{written}");
    let directory = fs::read_to_string(home.path("out/web/.well-known/http-message-signatures-directory")).unwrap();
    let keys: Value = serde_json::from_str(&directory).unwrap();
    assert_eq!(keys["keys"][0]["x"], made["x"]);
    assert_eq!(keys["keys"].as_array().unwrap().len(), 2);
    let html = fs::read_to_string(home.path("out/web/index.html")).unwrap();
    assert!(html.contains(made["keyid"].as_str().unwrap()) && html.contains("href=\"ranges.json\""));
    secret_stays_home(&home.path("out"), &before);
}

#[test]
fn a_key_file_is_looked_for_beside_the_configuration_that_names_it() {
    let home = Home::new("");
    fs::create_dir(home.path("etc")).unwrap();
    fs::write(home.path("etc/c.toml"), format!("[agent]\n{WHO}\n{SIGNED}\n")).unwrap();
    let made = home.json(&["key", "new", "etc/bot.pem", "--json"]);
    assert_eq!(home.json(&["show", "--config", "etc/c.toml", "--json"])["signing"]["keyid"], made["keyid"]);
}

/// No file below `dir` holds the base64 of the key.
fn secret_stays_home(dir: &Path, pem: &[u8]) {
    let secret = String::from_utf8(pem.to_vec()).unwrap().lines().nth(1).unwrap().to_owned();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            secret_stays_home(&path, pem);
        } else {
            assert!(!fs::read_to_string(&path).unwrap().contains(&secret), "{}", path.display());
        }
    }
}

#[test]
fn ranges_have_the_form_that_sites_read() {
    let home = Home::new(&format!("{WHO}\nranges = [\"5.9.0.0/24\", \"2a00:1450::/32\"]"));
    let ranges = home.json(&["ranges", "--config", "c.toml"]);
    assert_eq!(ranges["prefixes"][0], serde_json::json!({"ipv4Prefix": "5.9.0.0/24", "service": "My-Bot"}));
    assert_eq!(ranges["prefixes"][1], serde_json::json!({"ipv6Prefix": "2a00:1450::/32", "service": "My-Bot"}));
    let time = ranges["creationTime"].as_str().unwrap();
    assert!(time.len() == 20 && time.ends_with('Z'), "{time}");
    let token = ranges["synctoken"].clone();
    assert_eq!(home.json(&["ranges", "--config", "c.toml"])["synctoken"], token);
    let other = Home::new(&format!("{WHO}\nranges = [\"5.9.0.0/24\"]"));
    assert_ne!(other.json(&["ranges", "--config", "c.toml"])["synctoken"], token);
}

#[test]
fn what_cannot_hold_is_refused_with_a_hint_and_exit_2_and_leaves_nothing() {
    let url = "name = \"MyBot/1.0\"\ncontact = \"https://bot.example.com/\"";
    let rows: [(&str, &[&str], &str, &str); 11] = [
        ("", &["show"], "no agent name", "comity init"),
        (WHO, &["ranges"], "no address range", "ranges = "),
        (url, &["page", "--dir", "out"], "not whom to write to", "--reach"),
        (WHO, &["page", "--dir", "out", "--reach", "the porter"], "--reach", "form"),
        (WHO, &["page", "--dir", "out", "--also-key", "next.pem"], "--also-key", "signing_key"),
        (WHO, &["page"], "--dir", ""),
        (&format!("{WHO}\n{SIGNED}"), &["show"], "bot.pem: No such file", "path"),
        (
            &format!("{WHO}\nsigning_key = \"open.pem\"\nsignature_agent = \"https://a.test\""),
            &["show"],
            "mode 0644",
            "chmod 600",
        ),
        (
            &format!("{WHO}\nsigning_key = \"broken.pem\"\nsignature_agent = \"https://a.test\""),
            &["show"],
            "holds no private key",
            "key new",
        ),
        (&format!("{WHO}\nsigning_key = \"bot.pem\""), &["show"], "where its key is published", "signature_agent"),
        (&format!("{WHO}\nranges = [\"10.0.0.0/8\"]"), &["show"], "no site can see it", "NAT"),
    ];
    for (agent, args, says, hints) in rows {
        let home = Home::new(agent);
        for (name, mode) in [("open.pem", 0o644), ("broken.pem", 0o600)] {
            fs::write(home.path(name), "nothing").unwrap();
            fs::set_permissions(home.path(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        let ran = home.identity(&[args, &["--config", "c.toml"]].concat());
        assert_eq!(ran.code, 2, "{args:?}: {}{}", ran.out, ran.err);
        assert!(ran.err.contains(says) && ran.err.contains(hints), "{args:?}: {}", ran.err);
        assert!(ran.out.is_empty() && !home.path("out").exists(), "{args:?}");
    }
}

#[test]
fn a_page_is_written_over_only_by_force() {
    let home = Home::new(WHO);
    let page = ["page", "--config", "c.toml", "--dir", "out"];
    assert_eq!(home.identity(&page).code, 0);
    fs::write(home.path("out/web/index.html"), "mine").unwrap();
    let refused = home.identity(&page);
    assert!(refused.code == 2 && refused.err.contains("--force"), "{}", refused.err);
    assert_eq!(fs::read_to_string(home.path("out/web/index.html")).unwrap(), "mine");
    assert_eq!(home.identity(&[&page[..], &["--force"]].concat()).code, 0);
    assert_ne!(fs::read_to_string(home.path("out/web/index.html")).unwrap(), "mine");
    let names: Vec<_> = fs::read_dir(home.path("out/web")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["index.html"], "no drafts are left");
}
