//! `comity audit D`: politeness and decisions made again, from the WARC files and the evidence alone.

mod addresses;
mod configs;
mod copies;
mod decisions;
mod erasures;
mod examine;
mod floors;
mod heard;
mod limits;
mod lives;
mod named;
mod pages;
mod queries;
mod remarks;
mod report;
mod requests;
mod signals;

pub(crate) use queries::path;
pub(crate) use signals::{NoWords, SiteSaid, preferences, recorded};

use comity_robots::Dialect;

use self::copies::Copies;
use self::decisions::Decisions;
use self::floors::Floors;
use self::limits::Limits;
use self::report::Audit;
use self::requests::Wire;
use super::print;
use crate::args::AuditArgs;
use crate::exit::{Exit, Failure};

/// Gaps, lives, verdicts: what was sent, held against what sites had asked. Then each record against its own copy.
pub(crate) fn run(args: &AuditArgs) -> Result<Exit, Failure> {
    let dir = &args.dir;
    if !dir.join("records").is_dir() {
        return Err(Failure::no_crawl(dir));
    }
    if !dir.join("warc").is_dir() {
        return Err(Failure::usage(format!("{} holds no WARC files", dir.display()))
            .hint("a crawl with `--no-warc` cannot be audited; `comity verify` checks its records"));
    }
    let mut audit = Audit::default();
    let (mut wire, copies) = (Wire::read(dir)?, Copies::read(dir)?);
    let floors = args.floor.map_or_else(|| Floors::read(&wire, dir), |span| Floors::all(&wire, span.0));
    (audit.floor_ms, audit.floor_most_ms) = floors.span_ms();
    if args.strict {
        wire.forget_exceptions();
    }
    let limits = Limits::read(&wire, dir, args.address_gap.map(|span| span.0), args.adaptive);
    examine::examine(&wire, &copies, (&floors, &limits), &mut audit);
    let dialect = wire.agents.first().map_or(Dialect::Standard, |agent| agent.dialect);
    Decisions::new(&copies, dialect, (dir, !args.no_pages)).examine(dir, &mut audit)?;
    if args.json {
        let text = serde_json::to_string(&audit).map_err(|e| Failure::unavailable(e.to_string()))?;
        print(&text)?;
    } else {
        print(&audit.to_string())?;
    }
    Ok(if audit.total() == 0 { Exit::Done } else { Exit::Findings })
}
