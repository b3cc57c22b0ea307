//! `comity signals`: the shared cases and our own, through the command.

use serde_json::{Value, json};

use super::comity;

const SHARED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/signals-cases.jsonl");
const OWN: &str = include_str!("../fixtures/signals.jsonl");

/// Members that are compared exactly; of every other one each listed item has to be there.
const EXACT: [&str; 4] = ["access", "verdicts", "value", "links"];

/// Lines that go to one run of the command: its answers fit into a pipe.
const AT_ONCE: usize = 25;

fn answers(lines: &[&str]) -> Vec<Value> {
    let mut found = Vec::new();
    for some in lines.chunks(AT_ONCE) {
        let ran = comity(&["signals", "batch"], (some.join("\n") + "\n").as_bytes());
        assert!(ran.status.success(), "{ran:?}");
        let text = String::from_utf8(ran.stdout).unwrap();
        found.extend(text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()));
    }
    assert_eq!(found.len(), lines.len(), "a line for each");
    found
}

/// How many cases hold: all of them, or the test fails.
fn hold(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let mut failed = Vec::new();
    for (line, answer) in lines.iter().zip(answers(&lines)) {
        let case: Value = serde_json::from_str(line).unwrap();
        for (member, wanted) in case["expect"].as_object().unwrap() {
            let got = &answer[member];
            let fits = if EXACT.contains(&member.as_str()) { got == wanted } else { holds_all(got, wanted) };
            if !fits {
                failed.push(format!("{}: {member}: expected {wanted}, got {got} ({})", case["id"], case["note"]));
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    lines.len()
}

fn holds_all(got: &Value, wanted: &Value) -> bool {
    match (got, wanted) {
        (Value::Array(got), Value::Array(wanted)) => wanted.iter().all(|w| got.iter().any(|g| holds_all(g, w))),
        (Value::Object(got), Value::Object(wanted)) => {
            wanted.iter().all(|(key, w)| got.get(key).is_some_and(|g| holds_all(g, w)))
        }
        _ => got == wanted,
    }
}

#[test]
fn the_shared_cases_hold() {
    match std::fs::read_to_string(SHARED) {
        Ok(text) => println!("{} shared cases hold", hold(&text)),
        Err(_) => println!("shared corpus absent: signals-cases.jsonl"),
    }
}

#[test]
fn our_own_cases_hold() {
    println!("{} own cases hold", hold(OWN));
}

#[test]
fn bad_lines_are_answered() {
    let rows = [
        "",
        "{",
        "[]",
        "{}",
        r#"{"url":"mailto:x@y.test"}"#,
        r#"{"url":"https://a.test/","config":{"surprise":1}}"#,
        r#"{"url":"https://a.test/","input":{"robots":"x"}}"#,
        r#"{"url":"https://a.test/","now":"soon"}"#,
        r#"{"url":"https://a.test/","input":{"headers":[["x"]]}}"#,
        r#"{"url":"https://a.test/","input":{"request":{"method":"GET","url":"x","headers":[]}}}"#,
    ];
    for (row, answer) in rows.iter().zip(answers(&rows)) {
        assert!(answer["error"].is_string(), "{row}: {answer}");
    }
    let silent = answers(&[r#"{"url":"https://a.test/"}"#]);
    assert_eq!(silent[0]["access"], "allowed");
    assert_eq!(silent[0]["verdicts"]["tdm"], "unspecified");
    assert_eq!((&silent[0]["statements"], &silent[0]["constraints"]), (&json!([]), &json!({})));
}

#[test]
fn a_file_becomes_a_table() {
    let table = |args: &[&str], input: &str| {
        let ran = comity(&[&["signals", "-"], args].concat(), input.as_bytes());
        assert!(ran.status.success(), "{ran:?}");
        String::from_utf8(ran.stdout).unwrap()
    };
    let robots = "User-agent: *\nContent-Signal: ai-train=no, search=yes\n\nUser-agent: GPTBot\nDisallow: /\n";
    let shown = table(&["--url", "https://a.test/x"], &robots.replace("yes\n", "yes\nAllow: /\n"));
    for part in [
        "https://a.test/x",
        "crawling allowed",
        "ai_train  denied       robots.content-signal line 2",
        "ai-train=no, search=yes  reservation under Art. 4(3)",
        "denied: GPTBot",
    ] {
        assert!(shown.contains(part), "{part:?} is missing in\n{shown}");
    }
    let page = "<html><head><meta name=robots content='noarchive'><meta name='tdm-reservation' content='1'></head>";
    let shown = table(&[], page);
    assert!(shown.contains("meta.robots element 1") && shown.contains("derived"), "{shown}");
    assert!(!table(&["--literal"], page).contains("derived"));
    let rules = r#"[{"location": "/", "tdm-reservation": 1}]"#;
    assert!(table(&[], rules).contains("tdm       denied       tdmrep.file rule 1"), "{}", table(&[], rules));
    let proposal = table(&[], "User-agent: __usage_ai-training\nDisallow: /\n");
    assert!(proposal.contains("a mere proposal"), "{proposal}");
    // Escapes of a terminal do not reach it.
    assert!(!table(&[], "User-agent: *\nContent-Signal: \u{1b}[31m=no\n").contains('\u{1b}'));
    let lines: Value = serde_json::from_str(&table(&["--json"], rules)).unwrap();
    assert_eq!(lines["verdicts"]["tdm"], "denied");
    let bad = comity(&["signals", "/no/such/file"], b"");
    assert_eq!(bad.status.code(), Some(2));
    let nothing = comity(&["signals"], b"");
    assert_eq!(nothing.status.code(), Some(2));
}
