//! `comity report D`: what a crawl's directory says to others: the rules in force, and the crawl part of a public summary.

mod chain;
mod configs;
mod counts;
mod crawl;
mod facts;
mod markdown;
mod policy;
mod rules;
mod summary;
mod terms;

use std::path::Path;

use comity_signals::{Declared, Purpose};

use self::chain::Broken;
use self::counts::Counts;
use self::crawl::Crawl;
use self::summary::Summary;
use super::print;
use super::visible::visible;
use crate::args::ReportArgs;
use crate::exit::{Exit, Failure};

/// A chain that does not hold gives no report, but what is wrong: exit 1.
pub(crate) fn run(args: &ReportArgs) -> Result<Exit, Failure> {
    let dir = &args.dir;
    if !dir.join("records").is_dir() {
        return Err(Failure::usage(format!("{} holds no crawl", dir.display())).hint("give the folder of the crawl"));
    }
    let purpose = args.purpose.as_deref().map(purpose).transpose()?;
    match report(dir, args, purpose) {
        Ok(text) => print(text.trim_end()).map(|()| Exit::Done),
        Err(problem) => {
            eprintln!("error: {} does not hold, and no report is made of it: {}", dir.display(), visible(&problem));
            eprintln!("hint: `comity verify {}` tells everything that is wrong", dir.display());
            Ok(Exit::Findings)
        }
    }
}

fn report(dir: &Path, args: &ReportArgs, purpose: Option<Purpose>) -> Result<String, Broken> {
    let crawl = Crawl::read(dir)?;
    for torn in &crawl.chain.torn {
        eprintln!("warning: {torn}");
    }
    let configs = configs::configs(dir, &crawl)?;
    if args.policy {
        return Ok(if args.json {
            policy::object(&crawl, &configs).to_string()
        } else {
            policy::text(&crawl, &configs)
        });
    }
    let counts = Counts::read(dir, &crawl, purpose)?;
    let summary = Summary { crawl: &crawl, configs: &configs, counts: &counts, purpose, sme: args.sme };
    Ok(if args.json { summary.object().to_string() } else { summary.text() })
}

fn purpose(text: &str) -> Result<Purpose, Failure> {
    let judged = text.parse::<Declared>().ok().and_then(Declared::judged);
    judged.ok_or_else(|| {
        Failure::usage(format!("--for {text}: no use that records judge"))
            .hint("one of search, ai_input, ai_train, tdm")
    })
}
