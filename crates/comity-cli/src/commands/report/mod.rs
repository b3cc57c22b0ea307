//! `comity report D`: what a crawl's directory says: what happened, the rules in force, the crawl part of a public summary.

mod chain;
mod configs;
mod counts;
mod crawl;
pub(crate) mod crawled;
mod facts;
mod markdown;
mod policy;
mod rules;
mod summary;
mod terms;

use std::path::Path;

use comity::policy::Clock as _;
use comity_fetch::SystemClock;
use comity_signals::{Declared, Purpose};

use self::chain::Broken;
use self::counts::Counts;
use self::crawl::Crawl;
use self::crawled::{Report, Standing};
use self::summary::Summary;
use super::erase::none_begun;
use super::print;
use super::stops::Stops;
use super::visible::visible;
use crate::args::ReportArgs;
use crate::exit::{Exit, Failure};
use crate::log::say;

/// Origins up to which a crawl makes the page at its end: up to about 1 KB of memory each (our choice: a crawl that kept its queue on
/// disk must not be ended by its own report).
const MOST_ORIGINS: u64 = 1_000_000;

/// A chain that does not hold gives no report, but what is wrong: exit 1.
pub(crate) fn run(args: &ReportArgs) -> Result<Exit, Failure> {
    let dir = &args.dir;
    if !dir.join("records").is_dir() {
        return Err(Failure::no_crawl(dir));
    }
    none_begun(dir)?;
    if !args.policy && !args.public_summary {
        return happened(args);
    }
    let purpose = args.purpose.as_deref().map(purpose).transpose()?;
    match report(dir, args, purpose) {
        Ok(text) => print(text.trim_end()).map(|()| Exit::Done),
        Err(problem) => Ok(broken(dir, &problem)),
    }
}

fn broken(dir: &Path, problem: &str) -> Exit {
    eprintln!("error: no report is made of {}: {}", dir.display(), visible(problem));
    eprintln!("hint: `comity verify {}` tells whether it holds, and everything that is wrong", dir.display());
    Exit::Findings
}

/// What happened: a text, all numbers, or the page.
fn happened(args: &ReportArgs) -> Result<Exit, Failure> {
    let dir = &args.dir;
    let made = SystemClock::new().wall().to_string();
    let report = match Report::read(dir, made, Standing::ask(dir)) {
        Ok(report) => report,
        Err(problem) => return Ok(broken(dir, &problem)),
    };
    for torn in report.torn() {
        eprintln!("warning: {torn}");
    }
    if let Some(file) = &args.html {
        let path = file.clone().unwrap_or_else(|| dir.join(crawled::FILE));
        crawled::write(&report, dir, &path)
            .map_err(|what| Failure::storage(format!("{} is not written: {what}", path.display())))?;
        eprintln!("wrote {}", path.display());
    }
    match (args.json, &args.html) {
        (true, _) => print(&report.json().to_string())?,
        (false, Some(_)) => {}
        (false, None) => print(report.text().trim_end())?,
    }
    Ok(Exit::Done)
}

/// At the end of a run: the page, into the crawl's directory. Reading a long crawl's records takes its time, and Ctrl-C ends it.
/// Whatever is wrong is said, and changes nothing about how the crawl ended; where it is, unless `quiet`.
pub(crate) async fn at_end(dir: &Path, summary: &comity::Summary, quiet: bool) {
    if let Some(why) = left_out(summary) {
        if !quiet {
            say(&format!("report: {why}; comity report {} --html makes it", dir.display()));
        }
        return;
    }
    let path = dir.join(crawled::FILE);
    let (standing, of, to) = (Standing::of(summary), dir.to_owned(), path.clone());
    let (done, made) = tokio::sync::oneshot::channel();
    // No task of the runtime: that would be waited for.
    std::thread::spawn(move || {
        let report = Report::read(&of, SystemClock::new().wall().to_string(), standing);
        drop(done.send(report.and_then(|report| crawled::write(&report, &of, &to))));
    });
    let stopped = async {
        match Stops::listen() {
            Ok(mut stops) => stops.next().await,
            Err(_) => std::future::pending().await,
        }
    };
    let outcome = tokio::select! {
        made = made => made.unwrap_or_else(|_| Err("its thread failed".to_owned())),
        () = stopped => Err("interrupted".to_owned()),
    };
    match outcome {
        Ok(()) if quiet => {}
        Ok(()) => say(&format!("report: {}", path.display())),
        Err(problem) => say(&format!("note: {} is not written: {}", path.display(), visible(&problem))),
    }
}

/// Why the crawl makes no page of itself.
fn left_out(summary: &comity::Summary) -> Option<&'static str> {
    match summary.end {
        comity::End::Stopped => Some("not made, since the crawl was asked to stop"),
        _ if summary.origins > MOST_ORIGINS => Some("not made, since its memory grows with origins"),
        _ => None,
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

#[cfg(test)]
mod tests {
    use comity::{End, Summary};

    use super::*;

    #[test]
    fn a_crawl_that_was_told_to_stop_or_is_too_large_makes_no_page() {
        let summary = |end: End, origins: u64| {
            let mut summary = Summary::default();
            (summary.end, summary.origins) = (end, origins);
            summary
        };
        let rows = [
            (End::Finished, 0, true),
            (End::Finished, MOST_ORIGINS, true),
            (End::Limit("max_pages"), 1, true),
            (End::Finished, MOST_ORIGINS + 1, false),
            (End::Stopped, 1, false),
        ];
        for (end, origins, is_made) in rows {
            assert_eq!(left_out(&summary(end, origins)).is_none(), is_made, "{origins}");
        }
    }
}
