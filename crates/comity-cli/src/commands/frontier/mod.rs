//! `comity frontier`: what a crawl holds, and what it is to do with it.

mod look;
mod moves;
mod reach;

use std::path::Path;

use comity::control::{Filter, Op};
use comity::policy::Clock as _;
use comity_url::CrawlUrl;

use self::look::{list, stats};
use self::moves::{export, import};
pub(crate) use self::reach::Crawl;
use super::{many, print};
use crate::args::{FrontierCommand, FrontierPark, FrontierRelease, FrontierSeed};
use crate::exit::{Exit, Failure};
use crate::settings::read_seeds;

/// Origins that are looked at for one that goes on.
const LOOKED_AT: usize = 1000;
/// Seeds handed over at once.
const SEEDS_AT_ONCE: usize = 1000;

/// `comity frontier stats|list|park|release|seed|export|import`.
pub(crate) fn run(command: &FrontierCommand) -> Result<Exit, Failure> {
    match command {
        FrontierCommand::Stats(args) => stats(args),
        FrontierCommand::List(args) => list(args),
        FrontierCommand::Park(args) => park(args),
        FrontierCommand::Release(args) => release(args),
        FrontierCommand::Seed(args) => seed(args),
        FrontierCommand::Export(args) => export(args),
        FrontierCommand::Import(args) => import(args),
    }
}

fn park(args: &FrontierPark) -> Result<Exit, Failure> {
    let mut crawl = Crawl::reach(&args.dir)?;
    let after = |span: comity::config::Span| comity_fetch::SystemClock::new().wall().after(span.0).to_string();
    let until = args.span.map(after).or_else(|| args.until.clone());
    let park = Op::Park { origin: args.origin.clone(), until: until.clone(), why: args.why.clone() };
    let answer = crawl.ask(park)?;
    if args.json {
        print(&answer.about.to_string())?;
        return Ok(Exit::Done);
    }
    let until = until.map_or_else(|| "until it is released".to_owned(), |until| format!("until {until}"));
    let when = if crawl.is_running() { "from now on" } else { "when the crawl goes on" };
    let (origin, is_page) = origin_of(&args.origin);
    print(&format!("{origin} is parked, the whole origin, {until}: nothing is sent to it {when}"))?;
    if is_page {
        eprintln!("note: one page alone is left out by [crawl] exclude, and `comity reload`");
    }
    match answer.about["open"].as_u64() {
        Some(0) | None => {}
        Some(open) => eprintln!("note: still open to it: {}", many(open, "request")),
    }
    if crawl.is_running() && leaves_nothing(&mut crawl, &args.dir) {
        let dir = args.dir.display();
        eprintln!(
            "note: nothing else is left to this crawl: it ends, and its queue stays; release, and `comity crawl --dir {dir}` goes on"
        );
    }
    Ok(Exit::Done)
}

/// Whether all that has URLs waits until it is told, or the crawl has ended for that meanwhile.
fn leaves_nothing(crawl: &mut Crawl, dir: &Path) -> bool {
    match crawl.ask(Op::List { filter: Filter::Queued, after: None, n: Some(LOOKED_AT) }) {
        Ok(answer) => answer.about["next"].is_null() && answer.rows.iter().all(|row| row["state"] == "stuck"),
        Err(_) => matches!(Crawl::running(dir), Ok(None)),
    }
}

/// The origin that a text stands for, and whether the text names a page of it.
fn origin_of(text: &str) -> (String, bool) {
    CrawlUrl::parse(text).map_or_else(|_| (text.to_owned(), false), |url| (url.origin().to_string(), url.path() != "/"))
}

fn release(args: &FrontierRelease) -> Result<Exit, Failure> {
    let mut crawl = Crawl::reach(&args.dir)?;
    let answer = crawl.ask(Op::Release { origin: args.origin.clone() })?;
    let was_parked = answer.about["was_parked"] == true;
    if args.json {
        print(&answer.about.to_string())?;
    } else if was_parked {
        let when = if crawl.is_running() { "" } else { ", when the crawl goes on" };
        print(&format!("{} is released: it is asked in its turn, by its own clocks{when}", origin_of(&args.origin).0))?;
    } else {
        eprintln!("{} was not parked: nothing to release", args.origin);
    }
    Ok(if was_parked { Exit::Done } else { Exit::Findings })
}

fn seed(args: &FrontierSeed) -> Result<Exit, Failure> {
    let mut urls = args.urls.clone();
    if let Some(list) = &args.seeds {
        urls.extend(read_seeds(list)?);
    }
    let mut crawl = Crawl::reach(&args.dir)?;
    let mut exit = Exit::Done;
    for urls in urls.chunks(SEEDS_AT_ONCE) {
        for row in crawl.ask(Op::Seed { urls: urls.to_vec() })?.rows {
            let said = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
            if said("outcome") == "refused" {
                exit = Exit::Findings;
            }
            let line = format!("{:8} {} {}", said("outcome"), said("url"), said("reason"));
            print(if args.json { row.to_string() } else { line.trim_end().to_owned() }.as_str())?;
        }
    }
    if !crawl.is_running() {
        eprintln!("note: nobody runs this crawl; comity crawl --dir {} goes on with it", args.dir.display());
    }
    Ok(exit)
}
