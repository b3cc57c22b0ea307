//! `comity export D --for PURPOSE`: the part of a crawl that may be used for something, what was left out and by whose words.
//!
//! | file | what it holds |
//! |---|---|
//! | `judge` | whether a record's page is usable, by the record alone |
//! | `today` | what origins say now |
//! | `ask` | asking them, through the gate |
//! | `rows` | the lines that are written |
//! | `folder` | the files, and their digests |
//! | `write` | one pass over the records |

mod ask;
mod folder;
mod judge;
mod rows;
mod today;
mod write;

use std::collections::BTreeSet;
use std::path::Path;

use comity_archive::{ArchiveError, Record, read_proven};

use self::folder::Folder;
use self::judge::{Judge, Runs};
use self::write::{Facts, Writer};
use super::erase::reading;
use super::print;
use crate::args::ExportArgs;
use crate::exit::{Exit, Failure};

/// Reads the chain, asks where it is told to, and writes the folder: as a whole, or not at all.
pub(crate) fn run(args: &ExportArgs) -> Result<Exit, Failure> {
    if !args.dir.join("records").is_dir() {
        return Err(Failure::no_crawl(&args.dir));
    }
    let _held = reading(&args.dir)?;
    let folder = Folder::create(&args.out)?;
    let first = First::read(&args.dir, args.recheck).map_err(|error| storage(&error))?;
    let today = if args.recheck { Some(ask::today(args, &first.origins)?) } else { None };
    let facts = Facts { proven: first.proven, crawl: first.crawl, agent: first.agent, begun: first.begun };
    let judge = Judge::new(args.purpose, args.unspecified, first.without_payload);
    let manifest = Writer::new(args, folder, judge, today, facts)?.write()?;
    let text = if args.json { manifest.json()? } else { manifest.told(&args.out) };
    print(text.trim_end())?;
    Ok(Exit::Done)
}

/// What has to be known before the first line is written.
struct First {
    proven: comity_archive::Proven,
    crawl: Option<String>,
    agent: Option<comity_archive::AgentRecord>,
    /// When the first exchange began.
    begun: Option<String>,
    /// Lines whose payload was erased.
    without_payload: Runs,
    /// Origins of pages, where they are to be asked.
    origins: BTreeSet<String>,
}

impl First {
    fn read(dir: &Path, wants_origins: bool) -> Result<Self, ArchiveError> {
        let (mut crawl, mut agent, mut begun) = (None, None, None);
        let (mut without_payload, mut origins) = (Runs::default(), BTreeSet::new());
        let proven = read_proven(dir, |_, record| {
            let Some(record) = record else { return Ok(()) };
            crawl.get_or_insert_with(|| record.crawl.clone());
            begun.get_or_insert_with(|| record.time.started.clone());
            agent = Some(record.agent.clone());
            if let Some(erasure) = &record.erasure {
                without_payload.add(&erasure.payloads);
            }
            if wants_origins && is_page(record) {
                origins.extend(today::origin(&record.url).map(ToOwned::to_owned));
            }
            Ok(())
        })?;
        Ok(Self { proven, crawl, agent, begun, without_payload, origins })
    }
}

/// Helper files and erasures are no content.
fn is_page(record: &Record) -> bool {
    record.errand == "page"
}

fn storage(error: &ArchiveError) -> Failure {
    Failure::storage(error.to_string())
}
