use std::path::Path;

use crate::args::TableArgs;
use crate::exit::{Exit, Failure};

/// `comity export D --parquet FILE`: a crawl as a table.
#[cfg(feature = "parquet")]
pub(crate) fn run(dir: &Path, args: &TableArgs) -> Result<Exit, Failure> {
    use comity_archive::{ArchiveError, TableRows, write_table};

    let TableArgs { parquet, all } = args;
    let _held = super::erase::reading(dir)?;
    if !dir.join("records").is_dir() {
        return Err(Failure::no_crawl(dir));
    }
    let which = if *all { TableRows::All } else { TableRows::Captures };
    let report = write_table(dir, parquet, which).map_err(|error| match error {
        ArchiveError::Export { .. } => Failure::usage(error.to_string()),
        error => Failure::storage(error.to_string()),
    })?;
    let left_out = report.left_out();
    let left_out = left_out.as_object().into_iter().flatten().filter(|(_, count)| **count != 0);
    let mut told = format!("{}: {} rows", parquet.display(), report.rows);
    for (place, (reason, count)) in left_out.enumerate() {
        told += &format!("{} {count} {reason}", if place == 0 { "; left out:" } else { "," });
    }
    super::print(&told)?;
    Ok(if report.torn == 0 { Exit::Done } else { Exit::Findings })
}

/// A build without the library says so.
#[cfg(not(feature = "parquet"))]
pub(crate) fn run(dir: &Path, args: &TableArgs) -> Result<Exit, Failure> {
    let TableArgs { parquet, all: _ } = args;
    Err(Failure::usage(format!("this build of comity cannot write {} of {}", parquet.display(), dir.display()))
        .hint("build it with `cargo install --path crates/comity-cli --features parquet`"))
}
