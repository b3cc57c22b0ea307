//! `comity survey`: what many sites ask for.
//!
//! | file | what it holds |
//! |---|---|
//! | `target` | the list: an origin and its rank a line |
//! | `ask` | asking one origin, through the gate |
//! | `warc` | the same from captures in archives, without a request |
//! | `says` | what the bytes of the files say |
//! | `restriction` | how far a robots.txt keeps an agent out, as one word |
//! | `row` | a line of the survey |
//! | `flags` | what is counted of a row, and of whom |
//! | `report` | counts and shares |
//! | `drift` | what changed since an earlier survey |

mod ask;
mod drift;
mod flags;
mod report;
mod restriction;
mod row;
mod says;
mod target;
mod warc;

use std::collections::HashSet;
use std::fs::File;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use serde_json::json;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use self::ask::{Files, Surveyor};
use self::drift::Drift;
use self::report::Report;
use self::row::Row;
use self::target::{Lines, Target};
use self::warc::Captures;
use super::asker::Asker;
use super::print;
use super::stops::Stops;
use crate::args::SurveyArgs;
use crate::exit::{Exit, Failure};

/// Runs the survey.
pub(crate) fn run(args: &SurveyArgs) -> Result<Exit, Failure> {
    let mut survey = Survey::new(args)?;
    let mut end = Exit::Done;
    if args.warc.is_empty() {
        end = asked(args, &mut survey)?;
    } else {
        let captures = Captures::read(&args.warc)?;
        captures.notes.iter().for_each(|note| eprintln!("note: {note}"));
        captures.rows().try_for_each(|row| survey.add(&row))?;
    }
    survey.finish()?;
    Ok(end)
}

/// Where rows go, and what is counted of them.
struct Survey {
    rows: Option<BufWriter<Box<dyn Write>>>,
    json: bool,
    report: Report,
    drift: Option<Drift>,
    out: String,
}

impl Survey {
    fn new(args: &SurveyArgs) -> Result<Self, Failure> {
        let drift = args.against.as_deref().map(earlier).transpose()?;
        let (rows, out): (Option<Box<dyn Write>>, String) = match &args.out {
            Some(path) => (Some(Box::new(new_file(path)?)), path.display().to_string()),
            None if args.json => (Some(Box::new(io::stdout())), "standard output".to_owned()),
            None => (None, String::new()),
        };
        Ok(Self { rows: rows.map(BufWriter::new), json: args.json, report: Report::default(), drift, out })
    }

    fn add(&mut self, row: &Row) -> Result<(), Failure> {
        self.report.add(row);
        if let Some(drift) = &mut self.drift {
            drift.add(row);
        }
        let Some(rows) = &mut self.rows else { return Ok(()) };
        let line = serde_json::to_string(row).map_err(|e| Failure::unavailable(format!("{}: {e}", row.origin)))?;
        writeln!(rows, "{line}").map_err(|e| Failure::storage(format!("{}: {e}", self.out)))
    }

    /// Rows first, then the report.
    fn finish(mut self) -> Result<(), Failure> {
        if let Some(rows) = &mut self.rows {
            rows.flush().map_err(|e| Failure::storage(format!("{}: {e}", self.out)))?;
        }
        if self.json {
            let against = self.drift.as_ref().map(Drift::json);
            return print(&json!({"report": self.report.json(), "against": against}).to_string());
        }
        print(&self.report.text())?;
        self.drift.map_or(Ok(()), |drift| print(&format!("\n{}", drift.text())))
    }
}

/// A file of the survey's own: rows that somebody has are never written over.
fn new_file(path: &Path) -> Result<File, Failure> {
    File::create_new(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => Failure::usage(format!("--out {}: is there already", path.display()))
            .hint("another name, or remove it first"),
        _ => Failure::storage(format!("--out {}: {error}", path.display())),
    })
}

fn earlier(path: &Path) -> Result<Drift, Failure> {
    let unreadable = |e: io::Error| Failure::usage(format!("--against {}: {e}", path.display()));
    let mut file = BufReader::new(File::open(path).map_err(unreadable)?);
    let (drift, passed) = Drift::read(&mut file).map_err(unreadable)?;
    if passed > 1 {
        eprintln!("note: {}: {passed} lines are no rows of a survey, and do not count", path.display());
    }
    Ok(drift)
}

/// Opens the list; the lines are read on a thread of their own, since a pipe may be slow.
fn lines(path: &Path) -> Result<mpsc::Receiver<Result<Target, String>>, Failure> {
    let unreadable = |e: io::Error| Failure::usage(format!("{}: {e}", path.display()));
    let input: Box<dyn BufRead + Send> = if path == Path::new("-") {
        Box::new(BufReader::new(io::stdin()))
    } else {
        Box::new(BufReader::new(File::open(path).map_err(unreadable)?))
    };
    let (sender, receiver) = mpsc::channel(64);
    std::thread::spawn(move || {
        let mut lines = Lines::new(input);
        loop {
            let next = match lines.next() {
                Ok(None) => return,
                Ok(Some(target)) => target,
                Err(error) => Err(format!("the list cannot be read on: {error}")),
            };
            let ended = matches!(&next, Err(text) if text.starts_with("the list"));
            if sender.blocking_send(next).is_err() || ended {
                return;
            }
        }
    });
    Ok(receiver)
}

/// The survey of live sites.
fn asked(args: &SurveyArgs, survey: &mut Survey) -> Result<Exit, Failure> {
    let Some(list) = &args.list else {
        return Err(Failure::usage("no list").hint("comity survey FILE, - for standard input, or --warc FILE"));
    };
    let mut targets = lines(list)?;
    // The configuration is resolved for the first origin, as for every command that asks.
    let first = loop {
        match targets.blocking_recv() {
            None => return Err(Failure::usage(format!("{}: no origin in it", list.display()))),
            Some(Err(why)) => unreadable(survey, &why),
            Some(Ok(target)) => break target,
        }
    };
    let at_once = args.at_once.clamp(1, 4096);
    let asker = Asker::open_wide(&args.asker, &first.origin, at_once)?;
    let files = Files { tdmrep: !args.no_tdmrep, ai_txt: args.ai_txt, home: args.home };
    let fetcher = asker.fetcher().map_err(|error| Failure::usage(error.to_string()))?;
    let surveyor = Surveyor { gate: asker.gate().clone(), fetcher, files };
    asker.runtime().block_on(all(&surveyor, first, targets, usize::try_from(at_once).unwrap_or(1), survey))
}

fn unreadable(survey: &mut Survey, why: &str) {
    survey.report.unreadable += 1;
    if survey.report.unreadable <= 20 {
        eprintln!("note: {why}");
    }
}

/// Asks all targets, at most `at_once` together; rows in the order in which sites answer. Ctrl-C or SIGTERM ends the list early.
async fn all(
    surveyor: &Surveyor,
    first: Target,
    mut targets: mpsc::Receiver<Result<Target, String>>,
    at_once: usize,
    survey: &mut Survey,
) -> Result<Exit, Failure> {
    let (mut asked, mut seen, hasher) = (JoinSet::new(), HashSet::new(), RandomState::new());
    let (mut next, mut end): (Option<Result<Target, String>>, Exit) = (Some(Ok(first)), Exit::Done);
    let mut stops = Stops::listen()?;
    loop {
        match next.take() {
            // An origin that the list names twice is asked once: 8 bytes each.
            Some(Ok(target)) if seen.insert(hasher.hash_one(&target.origin)) => {
                let surveyor = surveyor.clone();
                asked.spawn(async move { surveyor.row(target).await });
            }
            Some(Ok(_)) | None => {}
            Some(Err(why)) => unreadable(survey, &why),
        }
        let open = !targets.is_closed() || !targets.is_empty();
        tokio::select! {
            biased;
            () = stops.next(), if open => {
                eprintln!("stopping: {} origins are still asked, the rest of the list is not", asked.len());
                targets.close();
                while targets.try_recv().is_ok() {}
                end = Exit::Waiting;
            }
            Some(done) = asked.join_next(), if !asked.is_empty() => match done {
                Ok(row) => survey.add(&row)?,
                Err(error) => eprintln!("note: an origin was lost: {error}"),
            },
            target = targets.recv(), if open && asked.len() < at_once => {
                next = target;
                if next.is_none() {
                    targets.close();
                }
            }
            else => return Ok(end),
        }
    }
}
