//! `comity robots fetch`: everything about one site's robots.txt, asked for as a crawl asks.

mod advice;
mod again;
mod changes;
mod copies;
mod json;
mod meaning;
mod siblings;
mod text;

use comity_gate::{FetchedRobots, RobotsClass};
use comity_robots::{Lint, Severity};
use comity_url::Origin;

use crate::args::FetchArgs;
use crate::commands::asker::{self, Asker};
use crate::commands::print;
use crate::exit::{Exit, Failure};
use crate::settings;
use advice::Advice;
use again::Again;
use changes::Line;
use copies::{Copies, History};
use siblings::{Relation, Sibling};

/// Everything that is said.
struct Report<'a> {
    found: &'a FetchedRobots,
    user_agent: &'a str,
    /// Faults of the file; `None` without one.
    lint: Option<Lint>,
    /// The second question; `None` with `--once`.
    again: Option<Again>,
    advice: Vec<Advice>,
    /// `None` when there is no folder to keep copies in.
    history: Option<History>,
    wants_diff: bool,
    /// With `--diff`, an answer and an earlier one.
    changes: Option<Changes>,
    siblings: Option<Vec<Sibling>>,
}

/// What changed since the copy before.
struct Changes {
    differ: bool,
    groups: Vec<Vec<Line>>,
}

/// `comity robots fetch`.
pub(super) fn run(args: &FetchArgs) -> Result<Exit, Failure> {
    let origin = asker::parse_site(&args.origin)?;
    let asker = Asker::open(&args.asker, &origin)?;
    let copies = open_copies(args, &origin)?;
    let found = asker.ask(&origin);
    let history = copies.filter(|_| meaning::was_asked(&found)).map(|copies| copies.keep(&found)).transpose()?;
    let again = (!args.once).then(|| again::ask(&asker, &found));
    let report = Report {
        lint: found.file.as_ref().and(found.robots()).map(|robots| comity_robots::lint(&robots, Some(origin.host()))),
        advice: advice::advise(&found, again.as_ref()),
        changes: history.as_ref().filter(|_| args.diff).map(changes_of).transpose()?.flatten(),
        siblings: args.siblings.then(|| siblings::compare(&asker, &found)),
        user_agent: asker.user_agent(),
        wants_diff: args.diff,
        found: &found,
        again,
        history,
    };
    print(&if args.json { json::report(&report).to_string() } else { text::report(&report) })?;
    report.exit()
}

fn open_copies(args: &FetchArgs, origin: &Origin) -> Result<Option<Copies>, Failure> {
    match args.dir.clone().or_else(|| settings::user_state("robots")) {
        Some(base) => Copies::open(&base, origin).map(Some),
        None => {
            eprintln!("note: no copy is kept: neither XDG_STATE_HOME nor HOME is set; --dir DIR names a folder");
            Ok(None)
        }
    }
}

/// The answer of now against the one before; `None` when there is no such pair.
fn changes_of(history: &History) -> Result<Option<Changes>, Failure> {
    let Some(before) = history.before().filter(|_| history.now.expires().is_some()) else { return Ok(None) };
    let (old, new) = (history.bytes(before)?, history.bytes(&history.now)?);
    Ok(Some(Changes { differ: old != new, groups: changes::diff(&old, &new) }))
}

impl Report<'_> {
    /// 0, 1 with findings (errors of the linter, a file that closes the site, differences that were asked for), 6 when the
    /// site could not be reached at all.
    fn exit(&self) -> Result<Exit, Failure> {
        if matches!(self.found.class, RobotsClass::Unreachable { status: None, .. } | RobotsClass::Later(_)) {
            return Err(asker::failure(self.found));
        }
        let faulty = self.lint.as_ref().and_then(Lint::worst) == Some(Severity::Error);
        let closed = matches!(self.found.class, RobotsClass::Unreachable { .. });
        let changed = self.changes.as_ref().is_some_and(|changes| changes.differ);
        let differs = |sibling: &Sibling| sibling.relation == Relation::Differs;
        let differ = self.siblings.iter().flatten().any(differs);
        Ok(if faulty || closed || changed || differ { Exit::Findings } else { Exit::Done })
    }
}
