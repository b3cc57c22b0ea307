//! `comity frontier export` and `import`: a queue that moves.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, BufWriter, Read, Write};
use std::path::Path;

use comity::control::{Control, Op, PlaceText, Prints};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Crawl;
use crate::args::{FrontierExport, FrontierImport};
use crate::commands::{print, runtime};
use crate::exit::{Exit, Failure};
use crate::settings;

/// Rows asked for at once, and lines handed over at once.
const PAGE: usize = 1000;
/// Bytes handed over at once: below what a request may have.
const PAGE_BYTES: usize = 1 << 20;
/// Longest line read.
const LONGEST_LINE: u64 = 1 << 20;
/// Version of the export.
const VERSION: u64 = 1;

/// The first line of an export.
#[derive(Debug, Deserialize)]
struct Head {
    comity_frontier: u64,
    prints: Option<Prints>,
}

/// `comity frontier export`.
pub(super) fn export(args: &FrontierExport) -> Result<Exit, Failure> {
    let mut crawl = Crawl::reach(&args.dir)?;
    let Some(path) = &args.output else {
        let stdout = std::io::stdout().lock();
        write_out(&mut crawl, args, BufWriter::new(stdout), "standard output")?;
        return Ok(Exit::Done);
    };
    let shown = path.display().to_string();
    let wrong = |e: std::io::Error| Failure::storage(format!("{shown} cannot be written: {e}"));
    // Whole or not there: half an export would pass for one.
    let new = path.with_extension("comity-new");
    let file = write_out(&mut crawl, args, BufWriter::new(File::create(&new).map_err(wrong)?), &shown)?;
    file.into_inner().map_err(|e| wrong(e.into_error()))?.sync_all().map_err(wrong)?;
    fs::rename(&new, path).map_err(wrong)?;
    Ok(Exit::Done)
}

/// Writes every line; gives the writer back.
fn write_out<W: Write>(crawl: &mut Crawl, args: &FrontierExport, mut to: W, shown: &str) -> Result<W, Failure> {
    let wrong = |e: std::io::Error| Failure::storage(format!("{shown} cannot be written: {e}"));
    let mut line = |value: &Value| writeln!(to, "{value}").map_err(wrong);
    let head = crawl.ask(Op::Head)?;
    if head.about["running"] == true {
        eprintln!("note: the crawl runs: what it finds meanwhile may be missing; stop it for an exact export");
    }
    let prints = if args.no_seen { &Value::Null } else { &head.about["prints"] };
    line(&json!({"comity_frontier": VERSION, "prints": prints}))?;
    head.rows.iter().try_for_each(&mut line)?;
    let (mut urls, mut seen, mut damaged) = (0_u64, 0_u64, 0_u64);
    let mut after = Value::Null;
    loop {
        let place: Option<PlaceText> = serde_json::from_value(after).map_err(|e| broken(&e))?;
        let page = crawl.ask(Op::Urls { origin: None, after: place, n: Some(PAGE) })?;
        for row in &page.rows {
            if row["damaged"] == true {
                damaged += 1;
                eprintln!("warning: a record of {} cannot be read (number {})", row["origin"], row["sequence"]);
                continue;
            }
            urls += 1;
            line(row)?;
        }
        after = page.about["next"].clone();
        if after.is_null() {
            break;
        }
    }
    let visits = write_visits(crawl, &mut line)?;
    let last = head.about["last"].as_u64().unwrap_or_default();
    let mut after = None;
    let mut more = !args.no_seen;
    while more {
        let page = crawl.ask(Op::Seen { after, last })?;
        for row in &page.rows {
            seen += row["seen"].as_array().map_or(0, |prints| prints.len() as u64);
            line(row)?;
        }
        after = page.about["next"].as_u64();
        more = after.is_some();
    }
    line(&json!({"end": {"urls": urls, "visits": visits, "seen": seen, "damaged": damaged}}))?;
    to.flush().map_err(wrong)?;
    eprintln!("{urls} URLs, {visits} to be visited anew, {seen} fingerprints");
    Ok(to)
}

/// Writes the URLs that wait for their next visit; gives how many.
fn write_visits(crawl: &mut Crawl, line: &mut impl FnMut(&Value) -> Result<(), Failure>) -> Result<u64, Failure> {
    let (mut visits, mut after) = (0, None);
    loop {
        let page = crawl.ask(Op::Visits { after, n: Some(PAGE) })?;
        visits += page.rows.len() as u64;
        page.rows.iter().try_for_each(&mut *line)?;
        after = page.about["next"].as_str().map(str::to_owned);
        if after.is_none() {
            return Ok(visits);
        }
    }
}

/// `comity frontier import`.
pub(super) fn import(args: &FrontierImport) -> Result<Exit, Failure> {
    let shown = args.file.display().to_string();
    let wrong = |e: std::io::Error| Failure::usage(format!("{shown} cannot be read: {e}"));
    let source: Box<dyn Read> = if args.file == Path::new("-") {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(File::open(&args.file).map_err(wrong)?)
    };
    let mut lines = Lines { source: BufReader::new(source), number: 0 };
    let first = lines.next().transpose().map_err(wrong)?;
    let head = first.as_ref().and_then(|(_, text)| serde_json::from_str::<Head>(text).ok());
    if let Some(Head { comity_frontier: other, .. }) = head.as_ref().filter(|head| head.comity_frontier != VERSION) {
        return Err(Failure::usage(format!("{shown}: an export of version {other}, and this build reads {VERSION}")));
    }
    let prints = head.as_ref().and_then(|head| head.prints.clone());
    let mut crawl = open(args, prints.as_ref())?;
    let mut taken = Taken::default();
    let mut waiting = first.filter(|_| head.is_none());
    loop {
        let (mut batch, mut bytes, mut begin) = (Vec::new(), 0, lines.number + 1);
        while let Some((number, text)) =
            waiting.take().map_or_else(|| lines.next().transpose(), |one| Ok(Some(one))).map_err(wrong)?
        {
            if batch.is_empty() {
                begin = number;
            }
            if let Some(end) = serde_json::from_str::<Value>(&text).ok().and_then(|value| value.get("end").cloned()) {
                taken.end = Some(end);
                break;
            }
            bytes += text.len();
            batch.push(text);
            if batch.len() >= PAGE || bytes >= PAGE_BYTES {
                break;
            }
        }
        if batch.is_empty() {
            break;
        }
        let answer = crawl.ask(Op::Import { lines: batch, first: begin, prints: prints.clone() })?;
        taken.add(&answer.about);
        for row in &answer.rows {
            eprintln!("{shown}:{}: {}", row["line"], row["what"].as_str().unwrap_or_default());
        }
    }
    taken.tell(args, head.is_some())
}

/// The crawl to fill: one that is there, or a new one by its configuration.
fn open(args: &FrontierImport, prints: Option<&Prints>) -> Result<Crawl, Failure> {
    if args.dir.join("crawl.toml").is_file() {
        return Crawl::reach(&args.dir);
    }
    let Some(config) = &args.config else {
        return Err(Failure::usage(format!("{} holds no crawl", args.dir.display()))
            .hint("--config FILE begins one there; the crawl.toml of the exported crawl will do"));
    };
    let file = settings::of_file(config)?;
    let control = Control::create(&args.dir, file, prints)?;
    Ok(Crawl::Stopped(runtime()?, control))
}

/// Lines of a file with their numbers; blank ones are passed over.
struct Lines<R> {
    source: BufReader<R>,
    number: u64,
}

impl<R: Read> Lines<R> {
    fn next(&mut self) -> Option<std::io::Result<(u64, String)>> {
        loop {
            self.number += 1;
            let mut line = Vec::new();
            match self.source.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line) {
                Ok(0) => return None,
                Ok(_) => {}
                Err(error) => return Some(Err(error)),
            }
            let text = String::from_utf8_lossy(&line);
            if !text.trim().is_empty() {
                return Some(Ok((self.number, text.trim().to_owned())));
            }
        }
    }
}

/// What an import came to.
#[derive(Debug, Default)]
struct Taken {
    new: u64,
    scheduled: u64,
    seen: u64,
    refused: u64,
    prints: u64,
    prints_of_others: u64,
    bad: u64,
    end: Option<Value>,
}

impl Taken {
    fn add(&mut self, about: &Value) {
        let n = |key: &str| about[key].as_u64().unwrap_or_default();
        self.new += n("new");
        self.scheduled += n("scheduled");
        self.seen += n("seen");
        self.prints += n("prints");
        self.prints_of_others += n("prints_of_others");
        self.bad += n("bad");
        self.refused += about["refused"].as_object().into_iter().flatten().filter_map(|(_, n)| n.as_u64()).sum::<u64>();
    }

    fn tell(&self, args: &FrontierImport, is_export: bool) -> Result<Exit, Failure> {
        let is_cut = is_export && self.end.is_none();
        if args.json {
            let Self { new, scheduled, seen, refused, prints, prints_of_others, bad, .. } = self;
            print(&json!({"new": new, "scheduled": scheduled, "seen": seen, "refused": refused, "prints": prints, "prints_of_others": prints_of_others, "bad": bad, "cut": is_cut}).to_string())?;
        } else {
            print(&format!(
                "{} URLs queued, {} known already, {} turned away by a budget; {} fingerprints taken, {} lines bad",
                self.new, self.seen, self.refused, self.prints, self.bad
            ))?;
        }
        if self.scheduled > 0 {
            eprintln!(
                "note: {} URLs more wait for their next visit, when the exported crawl would have made it",
                self.scheduled
            );
        }
        if self.prints_of_others > 0 {
            eprintln!(
                "note: {} fingerprints were left: they are made with another key or other key rules, so pages that the \
                 other crawl has fetched are fetched again where links lead to them",
                self.prints_of_others
            );
        }
        if is_cut {
            eprintln!("warning: the export has no end: it was cut, and what followed is missing");
        }
        Ok(if self.bad > 0 || self.refused > 0 || is_cut { Exit::Findings } else { Exit::Done })
    }
}

fn broken(error: &serde_json::Error) -> Failure {
    Failure::unavailable(format!("the cursor of a list cannot be read: {error}"))
}
