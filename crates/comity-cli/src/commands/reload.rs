use comity::control::Op;
use serde_json::json;

use super::frontier::Crawl;
use super::print;
use crate::args::ReloadArgs;
use crate::exit::{Exit, Failure};
use crate::settings;

/// `comity reload`.
pub(crate) fn run(args: &ReloadArgs) -> Result<Exit, Failure> {
    let mut crawl = Crawl::reach(&args.dir)?;
    let file = settings::source::again(&args.dir, args.config.as_ref())?;
    let config = file.to_toml().map_err(|e| Failure::usage(format!("the configuration cannot be handed over: {e}")))?;
    let answer = crawl.ask(Op::Reload { config, show: args.show })?;
    let changes: Vec<&str> = answer.rows.iter().filter_map(|row| row["change"].as_str()).collect();
    let open = answer.about["open"].as_u64().unwrap_or_default();
    if args.json {
        let (digest, notes) = (&answer.about["digest"], &answer.about["notes"]);
        print(&json!({"changes": changes, "notes": notes, "open": open, "digest": digest}).to_string())?;
        return Ok(Exit::Done);
    }
    for note in answer.about["notes"].as_array().into_iter().flatten().filter_map(|note| note.as_str()) {
        eprintln!("note: {note}");
    }
    match (changes.is_empty(), args.show) {
        (true, _) => print("nothing changed: the configuration in force is the same")?,
        (false, true) => print(&format!("would change:\n  {}", changes.join("\n  ")))?,
        (false, false) => print(&format!("in force from now on:\n  {}", changes.join("\n  ")))?,
    }
    if open > 0 {
        eprintln!("note: {open} exchanges that began before are still under way");
    }
    Ok(Exit::Done)
}
