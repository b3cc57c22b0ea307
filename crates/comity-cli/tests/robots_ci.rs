//! `comity robots test`, `diff` and `agents`.

mod support;

use serde_json::{Value, json};
use support::{fixture, robots};

fn test(robots_file: &str, more: &[&str]) -> support::Ran {
    let (file, expect) = (fixture(robots_file), fixture("shop.expect.toml"));
    robots(&[&["test", "--robots", &file, "--expect", &expect], more].concat(), b"")
}

#[test]
fn the_shop_meets_its_expectations() {
    let ran = test("shop.robots.txt", &[]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "101 expectations, 0 missed\n"), "{}", ran.err);
    assert_eq!(test("shop.robots.txt", &["--json"]).json(), json!({"misses": []}));
    assert_eq!(test("shop.robots.txt", &["--origin", "https://shop.example"]).code, 0);
    // The file as a word, as `lint` and `agents` take it.
    let (file, expect) = (fixture("shop.robots.txt"), fixture("shop.expect.toml"));
    assert_eq!(robots(&["test", &file, "--expect", &expect], b"").out, "101 expectations, 0 missed\n");
    assert_eq!(robots(&["test", "--expect", &expect], b"").code, 2);
}

#[test]
fn a_careless_edit_is_caught() {
    let ran = test("shop-next.robots.txt", &["--json"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    let report = ran.json();
    let misses: Vec<&Value> = report["misses"].as_array().unwrap().iter().collect();
    let miss = |agent: &str, path: &str| {
        let url = format!("https://shop.example{path}");
        *misses
            .iter()
            .find(|miss| miss["agent"] == agent && miss["url"] == url)
            .unwrap_or_else(|| panic!("{agent} {path}"))
    };
    let wanted = json!({"agent": "bingbot", "url": "https://shop.example/assets/app.3f2a.js",
        "expected": "allowed", "got": "refused", "line": 7});
    assert_eq!(miss("bingbot", "/assets/app.3f2a.js"), &wanted);
    assert_eq!(miss("bingbot", "/searchable-inventory")["line"], 3);
    // Googlebot's own group hides every rule of `*`.
    assert_eq!(miss("Googlebot", "/cart/")["line"], json!(null));
    assert_eq!(miss("MyOwnBot", "/shoes/?page=2&color=red")["got"], "allowed");
    let text = test("shop-next.robots.txt", &[]).out;
    assert!(text.contains("MISS  bingbot  https://shop.example/searchable-inventory\n      expected allowed, got refused (line 3, disallow: /search)"), "{text}");
}

#[test]
fn what_cannot_be_tested_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let rows = [
        ("", "no [[expect]] table"),
        ("expect = []", "no [[expect]] table"),
        ("[[expect]]\nagents = []\nallowed = [\"/\"]", "number 1 names no agent or no URL"),
        ("[[expect]]\nagents = [\"a\"]", "number 1 names no agent or no URL"),
        ("[[expect]]\nagents = [\"a\"]\nalowed = [\"/\"]", "alowed"),
        ("[[expect]]\nagents = [\" \"]\nallowed = [\"/\"]", "the agent is empty"),
        ("[[expect", "expect.toml"),
        ("[[expect]]\nagents = [\"a\"]\nallowed = [\"search\"]", "\"search\" is neither a path"),
        ("[[expect]]\nagents = [\"a\"]\nallowed = [\"htps://a.test/x\"]", "neither a path"),
        ("[[expect]]\nagents = [\"a\"]\nrefused = [\"//a.test/x\"]", "neither a path"),
        ("[[expect]]\nagents = [\"a\"]\nallowed = [\"https://other.test/\"]", "not governed"),
    ];
    for (text, wanted) in rows {
        let path = dir.path().join("expect.toml");
        std::fs::write(&path, text).unwrap();
        let args = ["test", "--robots", "-", "--origin", "https://a.test", "--expect", path.to_str().unwrap()];
        let ran = robots(&args, b"");
        assert_eq!(ran.code, 2, "{text:?} {}", ran.out);
        assert!(ran.err.contains(wanted), "{text:?}: {}", ran.err);
    }
    let ran = robots(&["test", "--origin", "https://a.test", "--expect", &fixture("shop.expect.toml")], b"");
    assert_eq!(ran.code, 2, "nobody is asked for what is not theirs to answer");
    assert!(ran.err.contains("not governed by the file of https://a.test"), "{}", ran.err);
    assert_eq!(robots(&["test", "--robots", "-", "--expect", "/no/such/file"], b"").code, 2);
}

fn diff(more: &[&str]) -> support::Ran {
    let (old, new, urls) = (fixture("shop.robots.txt"), fixture("shop-next.robots.txt"), fixture("shop.urls.txt"));
    robots(&[&["diff", &old, &new, "--urls", &urls], more].concat(), b"")
}

#[test]
fn verdicts_that_change() {
    let ran = diff(&["--json", "--agent", "bingbot"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let found: Vec<_> = ran.json()["changes"].as_array().unwrap().iter().map(ToString::to_string).collect();
    let change = |url: &str, old: &str, new: &str, line: Value, old_line: Value| {
        json!({"agent": "bingbot", "url": url, "old": old, "new": new, "line": line, "old_line": old_line}).to_string()
    };
    let wanted = [
        change("https://shop.example/assets/app.3f2a.js", "allowed", "refused", json!(7), json!(null)),
        change("https://shop.example/searchable-inventory", "allowed", "refused", json!(3), json!(null)),
    ];
    assert_eq!(found, wanted);
    assert_eq!(diff(&["--exit-code"]).code, 1);
    let same = fixture("shop.robots.txt");
    let ran = robots(&["diff", &same, &same, "--urls", "-", "--exit-code"], b"/\n\n# a comment\n/cart/\n");
    assert_eq!((ran.code, ran.out.as_str()), (0, "2 URLs, 4 agents, 0 verdicts change\n"));
}

#[test]
fn every_named_agent_and_everybody_else_are_compared() {
    let report = diff(&["--json"]).json();
    let mut agents: Vec<_> =
        report["changes"].as_array().unwrap().iter().map(|c| c["agent"].as_str().unwrap()).collect();
    agents.dedup();
    agents.sort_unstable();
    agents.dedup();
    assert_eq!(agents, ["*", "Googlebot"]);
    let ran = robots(&["diff", "/no/a", "/no/b", "--urls", "-"], b"");
    assert_eq!(ran.code, 2);
}

#[test]
fn agents_are_answered_one_by_one() {
    let ran = robots(&["agents", &fixture("shop.robots.txt"), "--url", "/p/1", "--json"], b"");
    assert_eq!(ran.code, 0, "{}", ran.err);
    let report = ran.json();
    let rows: Vec<&Value> = report["agents"].as_array().unwrap().iter().collect();
    let row = |token: &str| *rows.iter().find(|row| row["token"] == token).unwrap_or_else(|| panic!("no {token}"));
    for (token, named, allowed, line) in [
        ("GPTBot", true, false, json!(19)),
        ("OAI-SearchBot", false, true, json!(null)),
        ("Google-Extended", true, false, json!(19)),
        ("Googlebot", false, true, json!(null)),
        ("Googlebot-Image", false, true, json!(null)),
    ] {
        let row = row(token);
        assert_eq!((&row["named"], &row["allowed"], &row["line"]), (&json!(named), &json!(allowed), &line), "{token}");
    }
    assert_eq!(row("GPTBot")["operator"], "OpenAI");
    assert_eq!(row("GPTBot")["use"], json!(["ai_train"]));
    assert!(row("GPTBot")["effect"]["source"].is_string() && row("GPTBot")["effect"]["date"].is_string());
    assert_eq!(row("Google-Extended")["oddities"], json!(["control_only"]));
    assert!(row("AI2Bot")["note"].is_string());
    assert!(rows.iter().all(|row| row["token"] != "AhrefsBot"), "neither search nor AI");
    let text = robots(&["agents", &fixture("shop.robots.txt")], b"").out;
    assert!(text.lines().any(|line| line.contains("GPTBot") && line.contains("refused")), "{text}");
}
