use comity_archive::read_records;

use super::erase::none_begun;
use super::print;
use crate::args::RecordsArgs;
use crate::exit::{Exit, Failure};

/// `comity records D`: the records in the order of their chain, one JSON object a line.
pub(crate) fn run(args: &RecordsArgs) -> Result<Exit, Failure> {
    let dir = &args.dir;
    if !dir.join("records").is_dir() {
        return Err(Failure::no_crawl(dir));
    }
    none_begun(dir)?;
    let mut reader = read_records(dir).map_err(|e| Failure::storage(e.to_string()))?;
    for line in reader.by_ref() {
        let line = line.map_err(|e| Failure::storage(e.to_string()))?;
        print(&line.to_text())?;
    }
    for torn in reader.torn() {
        eprintln!("warning: {torn}");
    }
    Ok(if reader.torn().is_empty() { Exit::Done } else { Exit::Findings })
}
