use comity_archive::{ArchiveError, WaczSettings, write_wacz};
use comity_policy::Clock as _;

use super::erase::reading;
use super::{many, print};
use crate::args::WaczArgs;
use crate::exit::{Exit, Failure};

/// `comity wacz D --out F`: a crawl as one file for replay.
pub(crate) fn run(args: &WaczArgs) -> Result<Exit, Failure> {
    let WaczArgs { dir, out, title } = args;
    if !dir.join("warc").is_dir() {
        return Err(Failure::usage(format!("{} holds no WARC files", dir.display()))
            .hint("give the folder that `comity crawl --dir` wrote, without --no-warc"));
    }
    let _held = reading(dir)?;
    let settings = WaczSettings { title: title.clone(), created: comity_fetch::SystemClock::new().wall() };
    let report = write_wacz(dir, out, &settings).map_err(|error| match error {
        ArchiveError::Export { .. } => Failure::usage(error.to_string()),
        error => Failure::storage(error.to_string()),
    })?;
    print(&format!(
        "{}: {}, {}, {}, {} bytes",
        out.display(),
        many(report.warcs, "WARC file"),
        many(report.captures, "capture"),
        many(report.pages, "page"),
        report.bytes
    ))?;
    Ok(Exit::Done)
}
