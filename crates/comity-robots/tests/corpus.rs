//! The shared corpus: real files with verdicts of Google's parser, and hand-made cases.

mod shared;

use comity_robots::{Dialect, Robots, RuleSet, request_target};
use data_encoding::BASE64;
use serde_json::Value;
use shared::{allowed, corpus, gunzip, untar};

#[test]
fn every_probe_of_the_corpus() {
    let (Some(archive), Some(table)) = (corpus("robots-corpus/robots.tar.gz"), corpus("robots-corpus/verdicts.tsv.gz"))
    else {
        return;
    };
    let files = untar(&gunzip(&archive));
    let table = String::from_utf8(gunzip(&table)).unwrap();
    let mut misses = Vec::new();
    let mut asked = 0;
    let mut parsed: (String, Robots) = (String::new(), Robots::parse(b""));
    let mut sets: Option<(String, RuleSet, RuleSet)> = None;
    for row in table.lines().skip(1) {
        let fields: Vec<_> = row.split('\t').collect();
        let [file, agent, url, raw, _, decoded] = fields[..] else { panic!("{row}") };
        if parsed.0 != file {
            parsed = (file.to_owned(), Robots::parse(&files[&format!("robots/{file}")]));
            sets = None;
        }
        if sets.as_ref().is_none_or(|(known, ..)| known != agent) {
            let rules = |dialect| parsed.1.rules(&[agent], dialect);
            sets = Some((agent.to_owned(), rules(Dialect::Google), rules(Dialect::Standard)));
        }
        let (_, google, standard) = sets.as_ref().unwrap();
        let target = request_target(url);
        for (name, set, wanted) in [("google", google, raw), ("standard", standard, decoded)] {
            asked += 1;
            if set.allows(&target) != (wanted == "1") {
                misses.push(format!("{name}: {row}"));
            }
        }
    }
    println!("{} files, {asked} questions, {} misses", files.len() - 1, misses.len());
    assert!(asked > 50_000, "only {asked} questions");
    assert!(misses.is_empty(), "{} misses, first {:#?}", misses.len(), &misses[..misses.len().min(10)]);
}

#[test]
fn every_case_of_the_corpus() {
    let Some(path) = corpus("robots-corpus/cases.jsonl") else { return };
    let text = std::fs::read_to_string(path).unwrap();
    let (mut google, mut standard) = (0, 0);
    let mut misses = Vec::new();
    for line in text.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let robots = match case["robots_b64"].as_str() {
            Some(coded) => BASE64.decode(coded.as_bytes()).unwrap(),
            None => case["robots"].as_str().unwrap().as_bytes().to_vec(),
        };
        let ask = |dialect| {
            allowed(&robots, case["agent"].as_str().unwrap(), case["url"].as_str().unwrap().as_bytes(), dialect)
        };
        google += 1;
        if Some(ask(Dialect::Google)) != case["google"].as_bool() {
            misses.push(format!("google: {line}"));
        }
        if case["rfc"].is_null() || case["rfc"] == case["google"] {
            standard += 1;
            if Some(ask(Dialect::Standard)) != case["google"].as_bool() {
                misses.push(format!("standard: {line}"));
            }
        }
    }
    println!("{google} cases in dialect google, {standard} in dialect standard, {} misses", misses.len());
    assert!(google >= 248, "only {google} cases");
    assert!(misses.is_empty(), "{} misses, first {:#?}", misses.len(), &misses[..misses.len().min(10)]);
}

#[test]
fn access_in_every_signal_case() {
    let Some(path) = corpus("signals-cases.jsonl") else { return };
    let text = std::fs::read_to_string(path).unwrap();
    let mut asked = 0;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let case: Value = serde_json::from_str(line).unwrap();
        let (Some(robots), Some(access)) = (case["input"]["robots_txt"].as_str(), case["expect"]["access"].as_str())
        else {
            continue;
        };
        let agent = case["agent"].as_str().unwrap_or("ComityBot");
        let answer = allowed(robots.as_bytes(), agent, case["url"].as_str().unwrap().as_bytes(), Dialect::Standard);
        assert_eq!(answer, access == "allowed", "{line}");
        asked += 1;
    }
    println!("{asked} signal cases with an access verdict");
    assert!(asked > 0);
}
