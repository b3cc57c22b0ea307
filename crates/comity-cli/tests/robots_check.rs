//! `comity robots check` and `explain`.

mod support;

use serde_json::json;
use support::{page, robots};

const HIDDEN: &[u8] =
    b"User-agent: *\nDisallow: /internal/\nDisallow: /cart\n\nUser-agent: Googlebot\nAllow: /internal/docs/\n";

/// The table of docs/robots.md, row by row, through the command.
#[test]
fn the_examples_of_the_page() {
    let page = page("robots.md");
    let mut rows = 0;
    for row in page.lines().filter(|line| line.starts_with("| `") && line.matches(" | ").count() == 4) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let code = |cell: &str| cell.trim_matches('`').to_owned();
        let file: Vec<String> = cells[0].split(" · ").map(code).collect();
        let (file, agent, path) = (file.join("\n"), code(cells[1]), code(cells[2]));
        let ran = robots(&["check", "--robots", "-", "--agent", &agent, "--json", &path], file.as_bytes());
        let answer = ran.json();
        assert_eq!(answer["allowed"], cells[3] == "allowed", "{row}");
        let line = cells[4].parse::<u32>().map_or(json!(null), |line| json!(line));
        assert_eq!(answer["rule"]["line"], line, "{row}");
        assert_eq!(ran.code, 0, "{row}");
        rows += 1;
    }
    assert!(rows >= 24, "only {rows} rows in docs/robots.md");
}

#[test]
fn known_agents_are_asked_with_their_own_chain() {
    let file = b"User-agent: Googlebot\nDisallow: /g\nUser-agent: *\nDisallow: /\n";
    let ask = |flags: &[&str]| {
        let ran = robots(&[&["check", "--robots", "-", "--json"], flags, &["/g"]].concat(), file);
        (ran.json(), ran.err)
    };
    let (known, said) = ask(&["--agent", "Googlebot-Image"]);
    assert_eq!(known["chain"], json!(["Googlebot-Image", "Googlebot"]));
    assert_eq!((&known["group"], &known["rule"]["line"]), (&json!(["Googlebot"]), &json!(2)));
    assert!(said.contains("known agent of Google, asked as Googlebot-Image, then Googlebot, then *"), "{said}");
    let (exact, said) = ask(&["--agent", "Googlebot-Image", "--exact"]);
    assert_eq!((&exact["chain"], &exact["group"]), (&json!(["Googlebot-Image"]), &json!(["*"])));
    assert!(said.is_empty(), "{said}");
    let (hand, _) = ask(&["--agents", "Other,Googlebot"]);
    assert_eq!((&hand["chain"], &hand["agent"]), (&json!(["Other", "Googlebot"]), &json!("Other,Googlebot")));
    let (ads, said) = ask(&["--agent", "AdsBot-Google"]);
    assert_eq!((&ads["allowed"], &ads["group"]), (&json!(true), &json!(null)));
    assert!(said.contains("a * group does not apply"), "{said}");
}

#[test]
fn explain_names_the_winner_and_the_other_readers() {
    let file = b"User-agent: *\nDisallow: /\nAllow: /p\n";
    let answer = robots(&["explain", "--robots", "-", "--agent", "Bot", "--json", "/page"], file).json();
    assert_eq!((&answer["allowed"], &answer["rule"]["line"]), (&json!(true), &json!(3)));
    assert_eq!(answer["why"]["code"], "longer");
    let lines: Vec<_> = answer["matches"].as_array().unwrap().iter().map(|rule| rule["line"].clone()).collect();
    assert_eq!(lines, [3, 2]);
    let others = &answer["others"];
    assert_eq!(others["first_match"]["allowed"], false);
    assert_eq!((&others["first_match"]["differs"], &others["first_match"]["rule"]["line"]), (&json!(true), &json!(2)));
    assert_eq!(
        (&others["first_group"]["differs"], &others["other_dialect"]["differs"]),
        (&json!(false), &json!(false))
    );
    assert_eq!(answer["groups"], json!([{"line": 1, "agents": [{"token": "*", "line": 1}], "rules": 2}]));
}

#[test]
fn explain_reads_well() {
    let ran = robots(&["explain", "--robots", "-", "--agent", "Googlebot", "/cart"], HIDDEN);
    let wanted = "\
allowed  /cart
  agent     Googlebot: asked as Googlebot, then *
  dialect   standard
  group     Googlebot, by name
            Googlebot (line 5): 1 rule
  matches   none
  because   no rule of the group matches, so it is allowed
  others    a first-match reader    allowed (no rule matches)
            the first group listed  refused (line 3, disallow: /cart)   DIFFERS
            the google dialect      allowed (no rule matches)
";
    assert_eq!(ran.out, wanted);
}

#[test]
fn urls_of_other_origins_are_not_governed() {
    let asked = ["check", "--robots", "-", "--agent", "Bot", "--origin", "https://a.test", "--json"];
    let ran = robots(&[&asked[..], &["http://a.test/x", "https://a.test/internal/x"]].concat(), HIDDEN);
    let lines: Vec<serde_json::Value> = ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&lines[0]["allowed"], &lines[1]["allowed"]), (&json!(null), &json!(false)));
    assert_eq!(lines[0]["note"], "not governed by this file");
}

#[test]
fn bad_input_is_named() {
    let rows: [(&[&str], &str); 4] = [
        (&["check", "--robots", "-", "--agent", " ", "/"], "the agent is empty"),
        (&["check", "--robots", "/no/such/file", "--agent", "a", "/"], "/no/such/file"),
        (&["explain", "--robots", "-", "--agent", "a", "--origin", "x", "/"], "--origin"),
        (&["check", "--robots", "-", "/"], "--agent"),
    ];
    for (args, wanted) in rows {
        let ran = robots(args, b"");
        assert_eq!(ran.code, 2, "{args:?} {}", ran.err);
        assert!(ran.err.contains(wanted), "{args:?} {}", ran.err);
    }
    let ran = robots(&["check", "--robots", "-", "--agent", "MJ12bot", "--json", "/cart"], HIDDEN);
    assert_eq!(ran.json()["group"], json!(["*"]));
    assert!(ran.err.contains("no file can name it"), "{}", ran.err);
}

/// 100 MB: 500 KiB are parsed, the rest is reported.
#[test]
fn a_file_that_is_far_too_long() {
    let mut file = HIDDEN.to_vec();
    file.resize(100_000_000, b'#');
    let ran = robots(&["check", "--robots", "-", "--agent", "Bot", "--json", "/cart"], &file);
    assert_eq!((ran.code, &ran.json()["allowed"]), (0, &json!(false)));
    assert!(ran.err.contains("only the first 512000 bytes"), "{}", ran.err);
}
