use std::path::Path;

use comity_robots::{Robots, Severity, request_target};
use comity_url::Origin;
use serde::Deserialize;
use serde_json::{Value, json};

use super::asked::Asked;
use super::{answer, input};
use crate::args::{DialectArg, TestArgs};
use crate::commands::asker;
use crate::commands::{many, print};
use crate::exit::{Exit, Failure};

/// The file of expectations: `[[expect]]` tables.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expectations {
    #[serde(default)]
    expect: Vec<Expectation>,
}

/// What some agents must be answered.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expectation {
    /// Each is asked for by itself, a known one with its own chain.
    agents: Vec<String>,
    #[serde(default)]
    allowed: Vec<String>,
    #[serde(default, alias = "blocked")]
    refused: Vec<String>,
}

/// An answer that was not the expected one.
struct Miss {
    agent: String,
    url: String,
    expected: bool,
    line: Value,
    rule: String,
}

/// `comity robots test`.
pub(super) fn run(args: &TestArgs) -> Result<Exit, Failure> {
    let origin = args.origin.as_deref().map(input::parse_origin).transpose()?;
    let expectations = read(&args.expect, origin.as_ref())?;
    let robots = match (args.robots.as_ref().or(args.file.as_ref()), &origin) {
        (Some(path), _) => input::robots(path)?,
        (None, Some(origin)) => asker::robots(&args.asker, origin)?,
        (None, None) => return Err(Failure::usage("neither a robots.txt nor --origin is given")),
    };
    for fault in comity_robots::lint(&robots, None).findings.iter().filter(|one| one.severity == Severity::Error) {
        eprintln!("warning: {} ({} {})", fault.message, fault.code, fault.code.name());
    }
    let mut misses = Vec::new();
    let mut asked = 0;
    for expectation in &expectations.expect {
        for agent in &expectation.agents {
            asked += expectation.allowed.len() + expectation.refused.len();
            misses.extend(hold(expectation, &Asked::agent(agent)?, &robots, args.dialect));
        }
    }
    if args.json {
        let misses: Vec<Value> = misses.iter().map(Miss::json).collect();
        print(&json!({"misses": misses}).to_string())?;
    } else {
        for miss in &misses {
            print(&miss.text())?;
        }
        print(&format!("{}, {} missed", many(asked as u64, "expectation"), misses.len()))?;
    }
    Ok(if misses.is_empty() { Exit::Done } else { Exit::Findings })
}

/// Reads the expectations; refuses those that could never fail.
fn read(path: &Path, origin: Option<&Origin>) -> Result<Expectations, Failure> {
    let wrong = |text: String| Failure::usage(format!("{}: {text}", path.display()));
    let text = String::from_utf8(input::read(path)?).map_err(|e| wrong(e.to_string()))?;
    let expectations: Expectations = toml::from_str(&text).map_err(|e| wrong(e.to_string().trim_end().to_owned()))?;
    for (at, expectation) in expectations.expect.iter().enumerate() {
        let urls = || expectation.allowed.iter().chain(&expectation.refused);
        if expectation.agents.is_empty() || urls().next().is_none() {
            return Err(wrong(format!("[[expect]] number {} names no agent or no URL", at + 1)));
        }
        // Read as a path, what is none would be allowed whatever the file says.
        if let Some(url) = urls().find(|url| !input::is_path_or_url(url)) {
            return Err(wrong(format!("{url:?} is neither a path, which begins with /, nor an http(s) URL")));
        }
        if let Some(url) = origin.and_then(|origin| urls().find(|url| !input::governs(origin, url))) {
            return Err(wrong(format!(
                "{url} is not governed by the file of {}",
                origin.map(ToString::to_string).unwrap_or_default()
            )));
        }
    }
    if expectations.expect.is_empty() {
        return Err(wrong("no [[expect]] table".to_owned()));
    }
    Ok(expectations)
}

fn hold(expectation: &Expectation, asked: &Asked, robots: &Robots, dialect: DialectArg) -> Vec<Miss> {
    let rules = asked.rules(robots, dialect);
    let allowed = expectation.allowed.iter().map(|url| (url, true));
    let urls = allowed.chain(expectation.refused.iter().map(|url| (url, false)));
    let judged = urls.map(|(url, expected)| (url, expected, rules.verdict(&request_target(url))));
    let missed = judged.filter(|(_, expected, verdict)| verdict.allowed != *expected);
    missed
        .map(|(url, expected, verdict)| Miss {
            agent: asked.typed().to_owned(),
            url: url.clone(),
            expected,
            line: answer::line(&verdict),
            rule: verdict.rule.map_or_else(
                || "no rule matches".to_owned(),
                |rule| format!("line {}, {}: {}", rule.line, rule.kind.as_str(), rule.pattern),
            ),
        })
        .collect()
}

impl Miss {
    fn json(&self) -> Value {
        let word = answer::word;
        json!({"agent": self.agent, "url": self.url, "expected": word(self.expected), "got": word(!self.expected), "line": self.line})
    }

    fn text(&self) -> String {
        let (expected, got) = (answer::word(self.expected), answer::word(!self.expected));
        format!("MISS  {}  {}\n      expected {expected}, got {got} ({})", self.agent, self.url, self.rule)
    }
}
