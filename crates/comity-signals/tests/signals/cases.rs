//! The shared cases of the carriers read here, compared as their schema says (signals reference §0).

#![expect(clippy::unwrap_used, reason = "a case that cannot be read fails the test")]

use crate::support::head;
use comity_robots::{Dialect, Robots, request_target};
use comity_signals::{
    AiTxt, Budget, Carriers, LegacyLabels, OthersTokens, PaymentDemand, Place, Price, Profile, Purpose, ResourceReader,
    ResourceSignals, RobotsSignals, RslCarrier, RslConditions, RslDocument, RslPointers, SignalOptions, Statement,
    Tdmrep, TrustTxt, UnixSeconds, UseCeiling, Verdict,
};
use serde_json::{Map, Value, json};

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/signals-cases.jsonl");

/// Kinds that other crates answer: links are read by comity-extract, paces by comity-policy, signatures by comity-fetch. The
/// command joins them, and is held to the whole file in `comity-cli/tests/signals.rs`.
const ELSEWHERE: [&str; 3] = ["link", "pacing", "wba"];

#[test]
fn every_applicable_case_of_the_shared_file_holds() {
    let Ok(text) = std::fs::read_to_string(PATH) else {
        println!("shared corpus absent: signals-cases.jsonl");
        return;
    };
    let (mut held, mut failed) = (0, Vec::new());
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let case: Value = serde_json::from_str(line).expect("a case is a JSON object");
        let kind = case["kind"].as_str().expect("a case has a kind");
        if ELSEWHERE.contains(&kind) {
            continue;
        }
        let id = case["id"].as_str().expect("a case has an id");
        match misses(&case) {
            misses if misses.is_empty() => held += 1,
            misses => failed.push(format!("{id}: {} ({})", misses.join("; "), case["note"])),
        }
    }
    println!("{held} cases hold");
    assert!(failed.is_empty(), "{} cases fail:\n{}", failed.len(), failed.join("\n"));
    assert!(held > 0, "no case was applicable");
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

/// What came out, with what an answer asks to be paid.
struct Outcome {
    signals: ResourceSignals,
    codes: Vec<&'static str>,
    demand: Option<PaymentDemand>,
}

fn read(case: &Value) -> Outcome {
    let input = &case["input"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let fields = input["headers"].as_array().into_iter().flatten();
    let fields: Vec<_> = fields.map(|pair| (text(&pair[0]), text(&pair[1]))).collect();
    let url = case["url"].as_str().unwrap_or_else(|| panic!("a case without URL: {case}"));
    let agent = case["agent"].as_str().unwrap_or("ComityBot");
    let (origin, target) = (origin(url), request_target(url));
    let compile = |text: &str| RobotsSignals::compile(&Robots::parse(text.as_bytes()), &[agent], Dialect::Standard);
    let robots = input["robots_txt"].as_str().map(compile);
    let tdmrep = input["tdmrep"].as_str().map(|text| Tdmrep::parse(text.as_bytes(), &origin));
    let ai_txt = input["ai_txt"].as_str().map(|text| AiTxt::parse(text.as_bytes(), &[agent]));
    let trust = input["trust_txt"].as_str().map(|text| TrustTxt::parse(text.as_bytes()));
    let head = head(input["html"].as_str().unwrap_or_default());
    let (options, conditions, budget) = options(case);
    let (mut documents, mut codes) = (Vec::new(), Vec::new());
    for pointer in RslPointers::read(robots.as_ref().map(RobotsSignals::rules), &fields, &head).documents {
        match &input["rsl"][&pointer.url] {
            Value::String(text) => documents.push((pointer.carrier, RslDocument::parse(text.as_bytes()))),
            _ => codes.push("rsl_unfetchable"),
        }
    }
    let licences: Vec<(RslCarrier, &RslDocument)> = documents.iter().map(|(carrier, d)| (*carrier, d)).collect();
    let image = input["content_type"].as_str().unwrap_or_default().starts_with("image/");
    let reader = ResourceReader { token: agent, image, options, conditions: &conditions };
    let carriers = Carriers {
        origin: &origin,
        target: &target,
        robots: robots.as_ref(),
        tdmrep: tdmrep.as_ref(),
        ai_txt: ai_txt.as_ref(),
        trust_txt: trust.as_ref(),
        fields: &fields,
        head: &head,
        licences: &licences,
    };
    let signals = reader.read(&carriers, case["now"].as_str().map_or(UnixSeconds(0), moment));
    codes.extend(signals.diagnostics.iter().flat_map(|d| d.as_slice()).map(|diagnostic| diagnostic.code.as_str()));
    let status = u16::try_from(input["status"].as_u64().unwrap_or(200)).unwrap();
    Outcome { signals, codes, demand: PaymentDemand::read(status, &fields, budget.as_ref()) }
}

fn origin(url: &str) -> String {
    let host = url.find("://").map_or(0, |at| at + 3);
    let end = url.get(host..).and_then(|rest| rest.find('/')).map_or(url.len(), |at| host + at);
    url.get(..end).unwrap_or(url).to_owned()
}

fn moment(text: &str) -> UnixSeconds {
    UnixSeconds::parse(text).unwrap_or_else(|| panic!("now is no date: {text}"))
}

fn options(case: &Value) -> (SignalOptions, RslConditions, Option<Budget>) {
    let config = case["config"].as_object().cloned().unwrap_or_default();
    let (mut options, mut conditions, mut budget) = (SignalOptions::default(), RslConditions::default(), None);
    if case["profile"] == "literal" {
        options.profile = Profile::Literal;
    }
    let least = u32::try_from(case["config"]["infer_min_tokens"].as_u64().unwrap_or(1)).unwrap();
    for (key, value) in config {
        let text = value.as_str().unwrap_or_default();
        match key.as_str() {
            "aipref_legacy" if text == "map" => options.aipref_legacy = LegacyLabels::Map,
            "aipref_legacy" if text == "ignore" => options.aipref_legacy = LegacyLabels::Ignore,
            "signal_lenient_values" => options.signal_lenient_values = value == true,
            "infer_from_ai_tokens" if text == "off" => options.others_tokens = OthersTokens::Off,
            "infer_from_ai_tokens" if text == "record" => options.others_tokens = OthersTokens::Record,
            "infer_from_ai_tokens" if text == "deny" => options.others_tokens = OthersTokens::Deny { least },
            "infer_min_tokens" => {}
            "rsl_user" => conditions.user = Some(text.to_owned()),
            "rsl_geo" => conditions.region = Some(text.to_owned()),
            "satisfies" => {
                let words = value.as_array().into_iter().flatten();
                conditions.satisfies = words.filter_map(Value::as_str).map(str::to_owned).collect();
            }
            "budget" => {
                let most = Price::new(value["currency"].as_str().unwrap(), value["max"].as_str().unwrap()).unwrap();
                budget = Some(Budget { most });
            }
            _ => panic!("unknown setting {key} = {value}"),
        }
    }
    (options, conditions, budget)
}

/// Whether one expected member fits, and what was got.
fn compare(outcome: &Outcome, member: &str, wanted: &Value) -> (bool, Value) {
    let got = match member {
        "access" => json!(if outcome.signals.access { "allowed" } else { "denied" }),
        "verdicts" => {
            let verdict = |p: Purpose| json!(outcome.signals.preferences.verdict(p).as_str());
            Purpose::ALL.into_iter().map(|p| (p.to_string(), verdict(p))).collect()
        }
        "diagnostics" => json!(outcome.codes),
        "statements" => outcome.signals.preferences.statements().iter().map(statement).collect(),
        "constraints" => constraints(outcome),
        "tokens" => outcome
            .signals
            .others
            .iter()
            .map(|class| (class.agent_use.as_str(), json!({"named": class.named, "denied": class.denied})))
            .collect(),
        "price" => outcome.demand.as_ref().map_or(Value::Null, |demand| {
            let price = demand.price.as_ref();
            json!({
                "kind": demand.kind.as_str(), "action": demand.action.as_str(),
                "currency": price.map(|price| &price.currency), "amount": price.map(|price| &price.amount),
            })
        }),
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
        "conditional": statement.conditional,
    });
    if let Place::Line(line) = statement.place {
        value["line"] = json!(line);
    }
    value
}

fn constraints(outcome: &Outcome) -> Value {
    let held = &outcome.signals.constraints;
    json!({
        "follow": held.follow, "snippet_max": held.snippet_max, "cache": held.cache,
        "image_index": held.image_index, "translate": held.translate,
        "image_ai_train": (held.image_ai_train == Verdict::Denied).then_some("denied"),
        "unavailable_after": held.unavailable_after.map(|date| date.to_string()),
        "use_ceiling": held.use_ceiling.map(UseCeiling::as_str),
        "tdm_policy": held.tdm_policy, "license_urls": held.license_urls, "license_required": held.license_required,
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
