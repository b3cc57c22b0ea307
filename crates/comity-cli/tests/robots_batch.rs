//! `comity robots batch`: lines in, lines out, in constant memory.

mod support;

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use support::robots;

#[test]
fn every_line_is_answered_in_order() {
    let input = concat!(
        r#"{"robots":"User-agent: *\nDisallow: /p\nContent-Signal: ai-train=no\n","agent":"Bot","url":"https://a/p"}"#,
        "\n{\n\n",
        r#"{"robots":"User-agent: AI\nDisallow: /","queries":[{"agent":"AI2Bot","url":"/"},{"agents":["x","AI"],"url":"/"}]}"#,
        "\n",
        r#"{"robots_b64":"VXNlci1hZ2VudDogKgpEaXNhbGxvdzogL1xlOQo=","agent":"Bot","url":"/","dialect":"google"}"#,
    );
    let ran = robots(&["batch"], input.as_bytes());
    let lines: Vec<Value> = ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((ran.code, lines.len()), (0, 5));
    assert_eq!((&lines[0]["allowed"], &lines[0]["rule"]["line"]), (&json!(false), &json!(2)));
    assert_eq!(lines[0]["signals"], json!([{"key": "content-signal", "value": "ai-train=no", "line": 3}]));
    assert!(lines[1]["error"].is_string() && lines[2]["error"].is_string());
    assert_eq!((&lines[3]["results"][0]["allowed"], &lines[3]["results"][1]["allowed"]), (&json!(true), &json!(false)));
    assert!(lines[3]["results"][0]["note"].is_string());
    assert_eq!(lines[4]["allowed"], true);
}

/// 48 MiB of lines: the command never holds more than a fraction of it. Where the system does not tell the memory of a
/// process, the answers alone are checked.
#[test]
fn long_input_streams() {
    const LINES: usize = 3_000;
    let robots = "User-agent: *\n".to_owned() + &"Disallow: /some/path/\n".repeat(760);
    let line = json!({"robots": robots, "agent": "Bot", "url": "/some/path/x"}).to_string() + "\n";
    assert!(line.len() * LINES > 48 << 20, "{}", line.len());
    let mut child = Command::new(env!("CARGO_BIN_EXE_comity"))
        .args(["robots", "batch"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    let writer = std::thread::spawn(move || {
        for _ in 0..LINES {
            input.write_all(line.as_bytes()).unwrap();
        }
        input
    });
    let mut answers = output.lines();
    let refused = answers.by_ref().take(LINES).filter(|answer| answer.as_ref().unwrap().contains(r#""allowed":false"#));
    assert_eq!(refused.count(), LINES);
    let input = writer.join().unwrap();
    match std::fs::read_to_string(format!("/proc/{}/status", child.id())) {
        Ok(status) => {
            let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
            let kib: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
            assert!(kib < 32 << 10, "the peak is {kib} KiB");
        }
        Err(_) => println!("memory of a process not told here: only the answers are checked"),
    }
    drop(input);
    assert!(answers.next().is_none());
    assert!(child.wait().unwrap().success());
}
