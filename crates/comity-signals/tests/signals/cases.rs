//! The shared cases of the carriers read here, compared as their schema says (signals reference §0).

use crate::support::{Case, Outcome};
use comity_signals::{LegacyLabels, Place, Profile, SignalOptions, Statement, UnixSeconds, Verdict};
use serde_json::{Map, Value, json};

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/signals-cases.jsonl");
const KINDS: [&str; 5] = ["content-usage", "content-signal", "xrobots", "robots", "link"];

/// Inputs of carriers that this crate reads.
const CARRIERS: [&str; 5] = ["robots_txt", "headers", "html", "content_type", "status"];

#[test]
fn every_applicable_case_of_the_shared_file_holds() {
    let Ok(text) = std::fs::read_to_string(PATH) else {
        println!("shared corpus absent: signals-cases.jsonl");
        return;
    };
    let (mut held, mut left, mut failed) = (0, Vec::new(), Vec::new());
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let case: Value = serde_json::from_str(line).expect("a case is a JSON object");
        let kind = case["kind"].as_str().expect("a case has a kind");
        if !KINDS.contains(&kind) {
            continue;
        }
        let id = case["id"].as_str().expect("a case has an id");
        match not_applicable(&case) {
            Some(why) => left.push(format!("{id}: {why}")),
            None => match misses(&case) {
                misses if misses.is_empty() => held += 1,
                misses => failed.push(format!("{id}: {} ({})", misses.join("; "), case["note"])),
            },
        }
    }
    println!("{held} cases hold, {} not applicable yet", left.len());
    left.iter().for_each(|line| println!("not applicable yet: {line}"));
    assert!(failed.is_empty(), "{} cases fail:\n{}", failed.len(), failed.join("\n"));
    assert!(held > 0, "no case was applicable");
}

/// Why a case cannot be asked of this crate yet.
fn not_applicable(case: &Value) -> Option<String> {
    let object = |key: &str| case[key].as_object().cloned().unwrap_or_default();
    let foreign = object("input").keys().find(|key| !CARRIERS.contains(&key.as_str())).cloned();
    if let Some(key) = foreign {
        return Some(format!("input {key} is a carrier not built yet"));
    }
    object("expect").contains_key("links").then(|| "links of a body are read by comity-extract".to_owned())
}

fn misses(case: &Value) -> Vec<String> {
    let empty = Map::new();
    let expect = case["expect"].as_object().unwrap_or(&empty);
    let outcome = read(case);
    let mut misses = Vec::new();
    for (member, wanted) in expect {
        let (fits, got) = compare(&outcome, member, wanted);
        if !fits {
            misses.push(format!("{member}: expected {wanted}, got {got}"));
        }
    }
    misses
}

fn read(case: &Value) -> Outcome {
    let input = &case["input"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let fields = input["headers"].as_array().into_iter().flatten();
    let content_type = input["content_type"].as_str().unwrap_or_default();
    Case {
        agent: case["agent"].as_str().unwrap_or("ComityBot"),
        url: case["url"].as_str().unwrap_or_else(|| panic!("a case without URL: {case}")),
        robots: input["robots_txt"].as_str(),
        fields: fields.map(|pair| (text(&pair[0]), text(&pair[1]))).collect(),
        html: input["html"].as_str().unwrap_or_default(),
        image: content_type.starts_with("image/"),
        now: case["now"].as_str().map_or(UnixSeconds(0), moment),
        options: options(case),
    }
    .read()
}

fn moment(text: &str) -> UnixSeconds {
    UnixSeconds::parse(text).unwrap_or_else(|| panic!("now is no date: {text}"))
}

fn options(case: &Value) -> SignalOptions {
    let config = case["config"].as_object().cloned().unwrap_or_default();
    let mut options = SignalOptions::default();
    if case["profile"] == "literal" {
        options.profile = Profile::Literal;
    }
    for (key, value) in config {
        match key.as_str() {
            "aipref_legacy" if value == "map" => options.aipref_legacy = LegacyLabels::Map,
            "aipref_legacy" if value == "ignore" => options.aipref_legacy = LegacyLabels::Ignore,
            "signal_lenient_values" => options.signal_lenient_values = value == true,
            _ => panic!("unknown setting {key} = {value}"),
        }
    }
    options
}

/// Whether one expected member fits, and what was got.
fn compare(outcome: &Outcome, member: &str, wanted: &Value) -> (bool, Value) {
    let got = match member {
        "access" => json!(if outcome.access { "allowed" } else { "denied" }),
        "verdicts" => {
            let verdict = |p: comity_signals::Purpose| json!(outcome.preferences.verdict(p).as_str());
            comity_signals::Purpose::ALL.into_iter().map(|p| (p.to_string(), verdict(p))).collect()
        }
        "diagnostics" => json!(outcome.codes()),
        "statements" => outcome.preferences.statements().iter().map(statement).collect(),
        "constraints" => constraints(outcome),
        _ => panic!("unknown member {member}"),
    };
    let fits = match member {
        "access" | "verdicts" => got == *wanted,
        _ => holds_all(&got, wanted),
    };
    (fits, got)
}

fn statement(statement: &Statement) -> Value {
    let mut value = json!({
        "source": statement.source.as_str(), "purpose": statement.purpose.as_str(),
        "verdict": statement.verdict.as_str(), "raw": statement.raw, "derived": statement.derived,
    });
    if let Place::Line(line) = statement.place {
        value["line"] = json!(line);
    }
    value
}

fn constraints(outcome: &Outcome) -> Value {
    let page = &outcome.page;
    let ceiling = comity_signals::UseCeiling::lower(outcome.robots.use_ceiling, page.use_ceiling);
    json!({
        "follow": page.follow, "snippet_max": page.snippet_max, "cache": page.cache,
        "image_index": page.image_index, "translate": page.translate,
        "image_ai_train": (page.image_ai_train == Verdict::Denied).then_some("denied"),
        "unavailable_after": page.unavailable_after.map(|date| date.to_string()),
        "use_ceiling": ceiling.map(comity_signals::UseCeiling::as_str),
    })
}

/// Subset comparison: every listed item or member is present.
fn holds_all(got: &Value, wanted: &Value) -> bool {
    match (got, wanted) {
        (Value::Array(got), Value::Array(wanted)) => wanted.iter().all(|w| got.iter().any(|g| holds_all(g, w))),
        (Value::Object(got), Value::Object(wanted)) => {
            wanted.iter().all(|(key, w)| got.get(key).is_some_and(|g| holds_all(g, w)))
        }
        _ => got == wanted,
    }
}
