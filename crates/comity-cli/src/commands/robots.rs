use std::io::Read as _;
use std::path::Path;

use comity_robots::{Dialect, ProductToken, Robots, RuleSet, request_target, token_note};
use comity_url::{CrawlUrl, Origin};
use data_encoding::BASE64;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::print;
use super::show::verdict_text;
use crate::args::{CheckArgs, DialectArg};
use crate::exit::{Exit, Failure};
use crate::lines;

/// The longest robots.txt that is read at all; 500 KiB of it are parsed.
const LONGEST_FILE: u64 = 100 << 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    robots: Option<String>,
    robots_b64: Option<String>,
    agent: Option<String>,
    agents: Option<Vec<String>>,
    url: Option<String>,
    #[serde(default)]
    dialect: DialectName,
    queries: Option<Vec<Query>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Query {
    agent: Option<String>,
    agents: Option<Vec<String>>,
    url: String,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum DialectName {
    #[default]
    Standard,
    Google,
}

impl From<DialectName> for Dialect {
    fn from(name: DialectName) -> Self {
        match name {
            DialectName::Standard => Self::Standard,
            DialectName::Google => Self::Google,
        }
    }
}

impl From<DialectArg> for Dialect {
    fn from(name: DialectArg) -> Self {
        match name {
            DialectArg::Standard => Self::Standard,
            DialectArg::Google => Self::Google,
        }
    }
}

/// `comity robots batch`.
pub(crate) fn batch() -> Result<Exit, Failure> {
    lines::answer(|line| answer(line).unwrap_or_else(|error| json!({"error": error})))?;
    Ok(Exit::Done)
}

fn answer(line: &str) -> Result<Value, String> {
    let question: Question = serde_json::from_str(line).map_err(|e| e.to_string())?;
    let bytes = match (&question.robots, &question.robots_b64) {
        (Some(text), None) => text.clone().into_bytes(),
        (None, Some(coded)) => BASE64.decode(coded.as_bytes()).map_err(|e| format!("robots_b64: {e}"))?,
        _ => return Err("give either robots or robots_b64".to_owned()),
    };
    let robots = Robots::parse(&bytes);
    let dialect = Dialect::from(question.dialect);
    match (&question.url, &question.queries) {
        (Some(url), None) => one(&robots, &tokens(question.agent, question.agents)?, url, dialect),
        (None, Some(_)) if question.agent.is_some() || question.agents.is_some() => {
            Err("each of the queries names its own agent".to_owned())
        }
        (None, Some(queries)) => {
            let results = queries.iter().map(|query| {
                tokens(query.agent.clone(), query.agents.clone())
                    .and_then(|tokens| one(&robots, &tokens, &query.url, dialect))
                    .unwrap_or_else(|error| json!({"error": error}))
            });
            Ok(json!({"results": results.collect::<Vec<_>>()}))
        }
        _ => Err("give either url or queries".to_owned()),
    }
}

/// The tokens as given; an empty or missing agent is an error (design §8).
fn tokens(agent: Option<String>, agents: Option<Vec<String>>) -> Result<Vec<String>, String> {
    let tokens = match (agent, agents) {
        (Some(agent), None) => vec![agent],
        (None, Some(agents)) => agents,
        _ => return Err("give either agent or agents".to_owned()),
    };
    if tokens.is_empty() || tokens.iter().any(String::is_empty) {
        return Err("an agent is a product token, not an empty text".to_owned());
    }
    Ok(tokens)
}

fn one(robots: &Robots, tokens: &[String], url: &str, dialect: Dialect) -> Result<Value, String> {
    let tokens: Vec<&str> = tokens.iter().map(String::as_str).collect();
    let rules = robots.rules(&tokens, dialect);
    let mut answer = verdict(robots, &rules, url);
    if let Some(note) = tokens.iter().find_map(|token| token_note(token)) {
        answer.insert("note".to_owned(), note.to_string().into());
    }
    Ok(Value::Object(answer))
}

/// The answer of `batch` and `check --json` for one URL.
fn verdict(robots: &Robots, rules: &RuleSet, url: &str) -> Map<String, Value> {
    let verdict = rules.verdict(&request_target(url));
    let rule = verdict.rule.map(|rule| {
        json!({
            "kind": rule.kind.as_str(),
            "pattern": rule.pattern,
            "line": rule.line,
            "group_line": rule.group_line,
            "priority": rule.priority,
        })
    });
    let group = rules.group_tokens();
    let signals = rules.signals().iter().chain(rules.file_signals()).map(|signal| {
        let mut entry = json!({"key": signal.key(), "value": signal.value, "line": signal.line});
        if let (Some(path), Value::Object(entry)) = (&signal.path, &mut entry) {
            entry.insert("path".to_owned(), path.as_str().into());
        }
        entry
    });
    let mut answer = Map::new();
    answer.insert("allowed".to_owned(), verdict.allowed.into());
    answer.insert("rule".to_owned(), rule.unwrap_or(Value::Null));
    answer.insert("group".to_owned(), if group.is_empty() { Value::Null } else { json!(group) });
    answer.insert("crawl_delay".to_owned(), json!(rules.crawl_delay().map(|delay| delay.as_secs_f64())));
    answer.insert("sitemaps".to_owned(), json!(robots.sitemaps().map(|(value, _)| value).collect::<Vec<_>>()));
    answer.insert("signals".to_owned(), signals.collect());
    answer
}

/// `comity robots check`.
pub(crate) fn check(args: &CheckArgs) -> Result<Exit, Failure> {
    let bytes = read(&args.robots)?;
    let robots = Robots::parse(&bytes);
    let asked: Vec<String> = args.agent.iter().chain(&args.agents).cloned().collect();
    let tokens = asked.iter().map(|token| caller_token(token)).collect::<Result<Vec<_>, _>>()?;
    let tokens: Vec<&str> = tokens.iter().map(String::as_str).collect();
    let rules = robots.rules(&tokens, args.dialect.into());
    let origin = args.origin.as_deref().map(parse_origin).transpose()?;
    if robots.truncated() {
        eprintln!("warning: only the first {} bytes are read, the file is longer", comity_robots::MAX_BYTES);
    }
    for note in rules.notes() {
        eprintln!("warning: {note}");
    }
    for url in &args.urls {
        let governed = origin.as_ref().is_none_or(|origin| governs(origin, url));
        print(&match (args.json, governed) {
            (true, _) => json_line(&robots, &rules, url, &asked, &tokens, governed),
            (false, true) => verdict_text(&rules, url),
            (false, false) => format!("not governed by this file  {url}"),
        })?;
    }
    Ok(Exit::Done)
}

fn json_line(robots: &Robots, rules: &RuleSet, url: &str, asked: &[String], tokens: &[&str], governed: bool) -> String {
    let mut answer = if governed { verdict(robots, rules, url) } else { Map::new() };
    if !governed {
        answer.insert("allowed".to_owned(), Value::Null);
        answer.insert("note".to_owned(), "not governed by this file".into());
    }
    answer.insert("url".to_owned(), url.into());
    answer.insert("agent".to_owned(), asked.join(",").into());
    answer.insert("chain".to_owned(), json!(tokens));
    Value::Object(answer).to_string()
}

/// A token as a person types it: `BOT/2.0` is cut to `BOT`, and said; one that no file can name is warned of.
fn caller_token(text: &str) -> Result<String, Failure> {
    if text.trim().is_empty() {
        return Err(Failure::usage("the agent is empty").hint("--agent MyBot"));
    }
    let head = text.split(['/', ' ']).next().unwrap_or(text);
    if let Some(note) = token_note(head) {
        eprintln!("warning: {head:?}: {note}");
        return Ok(head.to_owned());
    }
    let token = ProductToken::cut(text).map_err(|e| Failure::usage(format!("--agent {text:?}: {e}")))?;
    if token.as_str() != text {
        eprintln!("note: {text:?} asked as {:?}: a product token is letters, - and _", token.as_str());
    }
    Ok(token.as_str().to_owned())
}

fn parse_origin(text: &str) -> Result<Origin, Failure> {
    Origin::parse(text)
        .map_err(|e| Failure::usage(format!("--origin {text:?}: {e}")).hint("--origin https://example.com"))
}

/// True when `url` belongs to `origin`; a bare path belongs to whatever origin was named.
fn governs(origin: &Origin, url: &str) -> bool {
    (url.starts_with('/') && !url.starts_with("//")) || CrawlUrl::parse(url).is_ok_and(|url| url.origin() == origin)
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let wrong = |e: std::io::Error| Failure::usage(format!("--robots {}: {e}", path.display()));
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        std::io::stdin().lock().take(LONGEST_FILE).read_to_end(&mut bytes).map_err(wrong)?;
    } else {
        std::fs::File::open(path).map_err(wrong)?.take(LONGEST_FILE).read_to_end(&mut bytes).map_err(wrong)?;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(line: &str) -> Value {
        answer(line).unwrap_or_else(|error| json!({"error": error}))
    }

    #[test]
    fn one_question_and_many() {
        let one = ask(
            r#"{"robots":"User-agent: *\nCrawl-delay: 2\nDisallow: /p\nSitemap: http://a/s","agent":"X","url":"http://a/p"}"#,
        );
        assert_eq!(one["allowed"], false);
        assert_eq!(one["rule"]["line"], 3);
        assert_eq!(one["group"], json!(["*"]));
        assert_eq!(one["crawl_delay"], 2.0);
        assert_eq!(one["sitemaps"], json!(["http://a/s"]));
        let many = ask(
            r#"{"robots":"User-agent: x\nDisallow: /","queries":[{"agent":"x","url":"/"},{"agents":["y","x"],"url":"/"},{"agent":"","url":"/"}]}"#,
        );
        assert_eq!(many["results"][0]["allowed"], false);
        assert_eq!(many["results"][1]["allowed"], false);
        assert!(many["results"][2]["error"].is_string());
    }

    #[test]
    fn tokens_are_taken_as_given_and_noted_when_no_file_can_name_them() {
        for token in ["AI2Bot", "MJ12bot", "*"] {
            let answer = ask(&format!(
                r#"{{"robots":"User-agent: AI\nDisallow: /\nUser-agent: *\nDisallow: /s","agent":"{token}","url":"/s"}}"#
            ));
            assert_eq!(answer["group"], json!(["*"]), "{token}");
            assert!(answer["note"].is_string(), "{token}");
        }
    }

    #[test]
    fn bad_lines_are_answered() {
        for bad in [
            "",
            "{",
            "{}",
            r#"{"robots":"","url":"/"}"#,
            r#"{"robots":"","agent":"","url":"/"}"#,
            r#"{"robots_b64":"%","agent":"x","url":"/"}"#,
            r#"{"robots":"","agent":"x","url":"/","extra":1}"#,
        ] {
            assert!(ask(bad)["error"].is_string(), "{bad}");
        }
    }

    #[test]
    fn an_origin_governs_its_own_urls_and_bare_paths_only() {
        let origin = Origin::parse("https://a.test").unwrap();
        for (url, governed) in [
            ("https://a.test/x", true),
            ("https://A.TEST:443/x", true),
            ("/x", true),
            ("http://a.test/x", false),
            ("//b.test/x", false),
            ("https://www.a.test/", false),
        ] {
            assert_eq!(governs(&origin, url), governed, "{url}");
        }
    }
}
