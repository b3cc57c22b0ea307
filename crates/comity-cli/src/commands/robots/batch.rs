use comity_robots::{Dialect, Robots, token_note};
use data_encoding::BASE64;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::exit::{Exit, Failure};
use crate::lines;

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

/// `comity robots batch`.
pub(crate) fn run() -> Result<Exit, Failure> {
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
    let mut answer = super::answer::verdict(robots, &rules, url);
    if let Some(note) = tokens.iter().find_map(|token| token_note(token)) {
        answer.insert("note".to_owned(), note.to_string().into());
    }
    Ok(Value::Object(answer))
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
}
