//! `comity signals …`: what a site asks for about the uses of its content.
//!
//! | file | what it holds |
//! |---|---|
//! | `case` | a question: one resource, and what its carriers hold |
//! | `config` | the knobs of a question |
//! | `read` | from a question to everything the libraries say of it |
//! | `answer` | that as JSON |
//! | `table` | that for people |
//! | `signature` | questions about Web Bot Auth |
//! | `site` | a question put together from what a site answers |

mod answer;
mod case;
mod config;
mod read;
mod signature;
mod site;
mod table;

use std::path::Path;

use serde_json::{Value, json};

use super::{input, print};
use crate::args::{SignalsArgs, SignalsCommand};
use crate::exit::{Exit, Failure};
use crate::lines;
use case::Case;

/// The longest file that is read as a whole.
const LONGEST_FILE: usize = 64 << 20;

/// Runs the command that was asked for.
pub(crate) fn run(args: &SignalsArgs) -> Result<Exit, Failure> {
    if let Some(SignalsCommand::Batch) = args.command {
        lines::answer(answer_line)?;
        return Ok(Exit::Done);
    }
    let target = args.target.as_deref().unwrap_or_default();
    let (mut cases, exit) = if target.starts_with("http://") || target.starts_with("https://") {
        let (case, exit) = site::case(args, target)?;
        (vec![case], exit)
    } else {
        (of_file(args, Path::new(target))?, Exit::Done)
    };
    for case in &mut cases {
        if args.literal {
            case.profile = case::ProfileName::Literal;
        }
        let found = read::read(case).map_err(Failure::usage)?;
        print(&if args.json { answer::json(case, &found).to_string() } else { table::table(case, &found) })?;
    }
    Ok(exit)
}

/// A line of `batch`: a bad one is answered too.
fn answer_line(line: &str) -> Value {
    let case: Result<Case, String> = serde_json::from_str(line).map_err(|error| error.to_string());
    case.and_then(|case| read::read(&case).map(|found| answer::json(&case, &found)))
        .unwrap_or_else(|error| json!({"error": error}))
}

/// The product token that a file is read for: that of the flag, else of the user's own configuration, if it names one.
fn own_token(flag: Option<&String>) -> Result<Option<String>, Failure> {
    let name =
        flag.cloned().map_or_else(|| crate::settings::of_user().map(|own| own.agent.name), |name| Ok(Some(name)))?;
    Ok(name.and_then(|name| name.split(['/', ' ']).next().map(str::to_owned)))
}

/// Cases, or one about the only carrier that the file is.
fn of_file(args: &SignalsArgs, path: &Path) -> Result<Vec<Case>, Failure> {
    let mut bytes = Vec::new();
    input::chunks(path, |chunk| {
        if bytes.len() <= LONGEST_FILE {
            bytes.extend_from_slice(chunk);
        }
    })?;
    let text = String::from_utf8_lossy(&bytes);
    let name = path.display();
    if bytes.len() > LONGEST_FILE {
        return Err(Failure::usage(format!("{name}: longer than {LONGEST_FILE} bytes")));
    }
    let url = input::url(&args.url)?;
    let mut case = Case::of_url(url.as_str());
    case.agent = own_token(args.asker.name.as_ref())?;
    match text.trim_start().chars().next() {
        Some('{') => {
            let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
            let read = |(number, line): (u32, &str)| {
                serde_json::from_str(line).map_err(|error| {
                    Failure::usage(format!("{name} line {number}: {error}"))
                        .hint("a JSON object per line, see docs/cli.md")
                })
            };
            return lines.map(read).collect();
        }
        _ if text.starts_with("%PDF-") => {
            case.input.content_type = Some("application/pdf".to_owned());
            case.input.html = Some(text.into_owned());
        }
        Some('<') => case.input.html = Some(text.into_owned()),
        Some('[') => case.input.tdmrep = Some(text.into_owned()),
        _ => case.input.robots_txt = Some(text.into_owned()),
    }
    Ok(vec![case])
}
