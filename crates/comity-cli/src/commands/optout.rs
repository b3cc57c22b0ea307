use std::path::{Path, PathBuf};

use comity::control::{Op, own_optouts};
use comity::policy::{Clock as _, OptOut, OptOutAction, OptOutLine, OptOutTarget};
use comity_gate::{OptOutFault, OptOutReading, append_optout};
use serde_json::json;

use super::frontier::Crawl;
use super::print;
use crate::args::{OptoutChange, OptoutCommand, OptoutList};
use crate::exit::{Exit, Failure};
use crate::settings::optout_files;

/// `comity optout add|remove|list`: who is not to be visited at all.
pub(crate) fn run(command: &OptoutCommand) -> Result<Exit, Failure> {
    match command {
        OptoutCommand::Add(change) => add(change),
        OptoutCommand::Remove(change) => remove(change),
        OptoutCommand::List(list) => self::list(list),
    }
}

fn add(change: &OptoutChange) -> Result<Exit, Failure> {
    let (file, line) = line(change, OptOutAction::Add)?;
    append_optout(&file, &line).map_err(unwritten)?;
    tell_faults(&OptOutReading::of(&file).map_err(unreadable)?);
    obeyed(change)?;
    print(&format!("{} is opted out from now on ({})", line.target, file.display()))?;
    if let OptOutTarget::Domain(domain) = &line.target
        && is_public_suffix(domain)
    {
        eprintln!("note: {domain} is a public suffix: every site below it is opted out");
    }
    Ok(Exit::Done)
}

fn remove(change: &OptoutChange) -> Result<Exit, Failure> {
    let (file, line) = line(change, OptOutAction::Remove)?;
    let before = OptOutReading::of(&file).map_err(unreadable)?;
    tell_faults(&before);
    if before.optouts.get(&line.target).is_none() {
        eprintln!("{} is not opted out in {}: nothing to remove", line.target, file.display());
        tell_cover(&before, &line.target);
        return Ok(Exit::Findings);
    }
    append_optout(&file, &line).map_err(unwritten)?;
    obeyed(change)?;
    print(&format!("{} is no longer opted out ({})", line.target, file.display()))?;
    tell_cover(&OptOutReading::of(&file).map_err(unreadable)?, &line.target);
    Ok(Exit::Done)
}

fn list(list: &OptoutList) -> Result<Exit, Failure> {
    let files = match (&list.file, &list.dir) {
        (Some(file), _) => vec![file.clone()],
        (None, Some(dir)) => vec![own_file(dir)?],
        (None, None) => optout_files()?,
    };
    let mut exit = Exit::Done;
    for file in files {
        let reading = OptOutReading::of(&file).map_err(unreadable)?;
        for one in reading.optouts.standing() {
            print(&if list.json { as_json(one) } else { as_text(one) })?;
        }
        tell_faults(&reading);
        if !reading.faults.is_empty() {
            exit = Exit::Findings;
        }
    }
    Ok(exit)
}

/// The file to write to, and the line.
fn line(change: &OptoutChange, action: OptOutAction) -> Result<(PathBuf, OptOutLine), Failure> {
    let target = change.target.parse::<OptOutTarget>().map_err(|e| Failure::usage(e.to_string()))?;
    let now = comity_fetch::SystemClock::new().wall();
    let line = OptOutLine::new(action, target, &change.requested_by, &change.reason, now)
        .map_err(|(field, what)| Failure::usage(format!("--{}: {what}", field.replace('_', "-"))))?;
    let file = match (&change.file, &change.dir) {
        (Some(file), _) => file.clone(),
        (None, Some(dir)) => own_file(dir)?,
        (None, None) => optout_files()?
            .into_iter()
            .next()
            .ok_or_else(|| Failure::usage("neither XDG_CONFIG_HOME nor HOME is set").hint("give --file FILE"))?,
    };
    Ok((file, line))
}

/// The own file of the crawl in `dir`.
fn own_file(dir: &Path) -> Result<PathBuf, Failure> {
    if dir.join("crawl.toml").is_file() {
        return Ok(own_optouts(dir));
    }
    Err(Failure::no_crawl(dir))
}

/// Where a crawl was named that runs: returns when it obeys, and nothing is open to those who are opted out.
fn obeyed(change: &OptoutChange) -> Result<(), Failure> {
    let Some(dir) = &change.dir else { return Ok(()) };
    let Some(mut crawl) = Crawl::running(dir)? else { return Ok(()) };
    let open = crawl.ask(Op::Optouts)?.about["open"].as_u64().unwrap_or_default();
    if open > 0 {
        eprintln!("note: {open} requests that left before are still open");
    }
    Ok(())
}

fn as_text(one: &OptOut) -> String {
    let line = &one.line;
    format!(
        "{}  since {}, by {}: {}  ({}:{})",
        line.target, line.at, line.requested_by, line.reason, one.file, one.number
    )
}

fn as_json(one: &OptOut) -> String {
    let line = &one.line;
    json!({
        "target": line.target.to_string(),
        "requested_by": line.requested_by,
        "reason": line.reason,
        "at": line.at.to_string(),
        "file": &*one.file,
        "line": one.number,
    })
    .to_string()
}

/// What still covers a target after its own line has ended.
fn tell_cover(reading: &OptOutReading, target: &OptOutTarget) {
    let origin = match target {
        OptOutTarget::Origin(origin) => Some(origin.clone()),
        OptOutTarget::Domain(domain) => comity_url::Origin::parse(&format!("http://{domain}")).ok(),
    };
    if let Some(found) = origin.and_then(|origin| reading.optouts.covering(&origin).cloned()) {
        eprintln!("note: {target} is covered by {} ({}:{})", found.line.target, found.file, found.number);
    }
}

/// Lines that are not read keep a crawl from starting: said at every chance.
fn tell_faults(reading: &OptOutReading) {
    for fault in &reading.faults {
        eprintln!("warning: {fault}; mend or take out this line, or no crawl will start with the file");
    }
    if let Some(line) = reading.unfinished {
        eprintln!("warning: {}:{line}: it has no line end yet, and is not read before it has", reading.name);
    }
}

fn is_public_suffix(domain: &str) -> bool {
    let origin = comity_url::Origin::parse(&format!("http://{domain}"));
    let is_name = |origin: &comity_url::Origin| matches!(origin.host_kind(), comity_url::HostKind::Domain(_));
    origin.is_ok_and(|origin| is_name(&origin) && domain.contains('.') && origin.registrable_domain().is_none())
}

fn unwritten(fault: OptOutFault) -> Failure {
    Failure::storage(format!("{fault}: the opt-out was not written down")).hint("give another file with --file")
}

fn unreadable(fault: OptOutFault) -> Failure {
    Failure::storage(fault.to_string()).hint("give another file with --file")
}
