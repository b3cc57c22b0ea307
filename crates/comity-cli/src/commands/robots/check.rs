use comity_robots::{Robots, RuleSet};
use serde_json::{Map, Value, json};

use super::asked::Asked;
use super::{answer, input, show};
use crate::args::CheckArgs;
use crate::commands::print;
use crate::exit::{Exit, Failure};

/// `comity robots check`.
pub(super) fn run(args: &CheckArgs) -> Result<Exit, Failure> {
    let robots = input::robots(&args.robots)?;
    let asked = Asked::of_flags(args)?;
    let rules = asked.rules(&robots, args.dialect);
    let origin = args.origin.as_deref().map(input::parse_origin).transpose()?;
    input::warn_of_notes(&rules);
    if let Some(known) = asked.known_in_words() {
        eprintln!("note: {}: {known}", asked.typed());
    }
    for url in args.urls.iter().filter(|url| !input::is_path_or_url(url)) {
        eprintln!(
            "warning: {url:?} is neither a path, which begins with /, nor an http(s) URL: read as Google's parser reads it"
        );
    }
    for url in &args.urls {
        let governed = origin.as_ref().is_none_or(|origin| input::governs(origin, url));
        print(&match (args.json, governed) {
            (true, true) => Value::Object(json_answer(&robots, &rules, url, &asked)).to_string(),
            (true, false) => Value::Object(not_governed(url, &asked)).to_string(),
            (false, true) => show::verdict_text(&rules, url),
            (false, false) => show::not_governed(url),
        })?;
    }
    Ok(Exit::Done)
}

/// The answer for a URL that the file governs, with what was asked.
pub(super) fn json_answer(robots: &Robots, rules: &RuleSet, url: &str, asked: &Asked) -> Map<String, Value> {
    with_question(answer::verdict(robots, rules, url), url, asked)
}

/// The answer for a URL of another origin.
pub(super) fn not_governed(url: &str, asked: &Asked) -> Map<String, Value> {
    let mut answer = Map::new();
    answer.insert("allowed".to_owned(), Value::Null);
    answer.insert("note".to_owned(), "not governed by this file".into());
    with_question(answer, url, asked)
}

fn with_question(mut answer: Map<String, Value>, url: &str, asked: &Asked) -> Map<String, Value> {
    answer.insert("url".to_owned(), url.into());
    answer.insert("agent".to_owned(), asked.typed().into());
    answer.insert("chain".to_owned(), json!(asked.chain().tokens()));
    answer
}
