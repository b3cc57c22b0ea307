//! Everything that is wrong with a configuration file, at once.

use std::path::{Path, PathBuf};

use comity::config::{Checked, ConfigError, ConfigFile, Problem};
use comity::policy::Clock as _;
use serde_json::json;

use super::super::{many, print};
use crate::args::ConfigCheckArgs;
use crate::exit::{Exit, Failure};
use crate::settings;

/// `comity config check`.
pub(crate) fn run(args: &ConfigCheckArgs) -> Result<Exit, Failure> {
    let file = args.file.display();
    let text = std::fs::read_to_string(&args.file)
        .map_err(|e| Failure::usage(format!("{file}: {e}")).hint("give the path of a TOML file"))?;
    let mut checked = checked(&args.file, &text, &settings::of_user()?);
    checked.missing.extend(missing(&text));
    if args.json {
        print(&object(&checked).to_string())?;
    } else {
        for problem in &checked.problems {
            print(&line(&args.file, problem))?;
        }
    }
    if !checked.problems.is_empty() {
        let count = checked.problems.len();
        let problems = if count == 1 { "problem" } else { "problems" };
        return Err(Failure::usage(format!("{file}: {count} {problems}"))
            .hint("`comity config keys` lists every key with its kind and range"));
    }
    if !args.json {
        print(&format!("{file}: {}, nothing is wrong", many(checked.keys as u64, "key")))?;
        if !checked.missing.is_empty() {
            eprintln!(
                "note: also needed: {}; from your own configuration, a variable or a flag",
                checked.missing.join(", ")
            );
        }
    }
    Ok(Exit::Done)
}

fn checked(file: &Path, text: &str, below: &ConfigFile) -> Checked {
    let folder = file.parent().unwrap_or(Path::new(""));
    ConfigFile::check(text, folder, below, comity_fetch::SystemClock::new().wall(), &gateway)
}

/// Reads a configuration file for another command; what is wrong with it is told as `comity config check` tells it, all at once.
pub(crate) fn read_file(file: &PathBuf) -> Result<ConfigFile, Failure> {
    ConfigFile::read(file).map_err(|error| {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let problems = checked(file, &text, &ConfigFile::default()).problems;
        // A file that cannot be read at all has none.
        if text.is_empty() || problems.is_empty() {
            return error.into();
        }
        Failure::problems(file, problems.iter().map(|problem| line(file, problem)).collect())
    })
}

/// `FILE:3:9: [crawl] scope: …`; without a place `FILE: …`.
fn line(file: &Path, problem: &Problem) -> String {
    let between = if problem.line.is_some() { ":" } else { ": " };
    format!("{}{between}{problem}", file.display())
}

/// What `comity gateway` would refuse, for files that are meant for it. What is not there may come from elsewhere: a secret from a
/// variable.
fn gateway(file: &ConfigFile) -> Result<(), ConfigError> {
    if file.gateway == ConfigFile::default().gateway {
        return Ok(());
    }
    let mut typed = file.gateway.clone();
    let digest = || "0".repeat(64);
    typed.api_key_sha256.get_or_insert_with(digest);
    let customer = typed.customer.get_or_insert_default();
    customer.id.get_or_insert_with(|| "c1".to_owned());
    customer.password_sha256.get_or_insert_with(digest);
    customer.tokens.get_or_insert_with(|| vec!["custbot".to_owned()]);
    settings::gateway(&typed)?.check().map_err(|error| ConfigError::new(error).at("[gateway]"))
}

/// What a gateway also needs.
fn missing(text: &str) -> Vec<&'static str> {
    let Ok(file) = ConfigFile::parse(text, None) else { return Vec::new() };
    let gateway = &file.gateway;
    if *gateway == ConfigFile::default().gateway {
        return Vec::new();
    }
    let customer = gateway.customer.clone().unwrap_or_default();
    let open = gateway.auth.as_deref() == Some("none");
    let no_api = gateway.api.as_deref().is_none_or(str::is_empty);
    let rows = [
        ("[gateway] api_key_sha256", gateway.api_key_sha256.is_none() && !no_api),
        ("[gateway.customer] id", customer.id.is_none()),
        ("[gateway.customer] password_sha256", customer.password_sha256.is_none() && !open),
        ("[gateway.customer] tokens", customer.tokens.is_none()),
    ];
    rows.into_iter().filter(|(_, is_missing)| *is_missing).map(|(key, _)| key).collect()
}

fn object(checked: &Checked) -> serde_json::Value {
    let problem = |problem: &Problem| {
        json!({
            "line": problem.line,
            "column": problem.column,
            "key": problem.key,
            "problem": problem.what,
            "hint": problem.hint,
        })
    };
    json!({
        "problems": checked.problems.iter().map(problem).collect::<Vec<_>>(),
        "keys": checked.keys,
        "missing": checked.missing,
    })
}
