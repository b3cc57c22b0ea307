use std::path::Path;

use comity::url::{CrawlUrl, Origin};
use comity::{Erased, StoppedCrawl};
use comity_archive::{ArchiveError, Depth, Erasure, ErasureReport, Listed, Named, ReadLock};
use serde_json::json;

use super::print;
use super::visible::visible;
use crate::args::{EraseArgs, PruneArgs};
use crate::exit::{Exit, Failure};

/// What an erasure under way has still to do.
const JOURNAL: &str = "erasing.json";
/// Lines of a list that are shown to people.
const SHOWN: usize = 10;

/// `comity erase D`: takes what was named out of a crawl.
pub(crate) fn run(args: &EraseArgs) -> Result<Exit, Failure> {
    let dir = &args.dir;
    is_crawl(dir)?;
    if args.resume {
        let is_begun = dir.join(JOURNAL).exists();
        drop(open(dir, None)?);
        print(if is_begun {
            "the erasure that was begun is done"
        } else {
            "no erasure was begun here: nothing to do"
        })?;
        return Ok(Exit::Done);
    }
    let erasure = Erasure {
        named: named(args)?,
        depth: if args.records { Depth::Records } else { Depth::Payload },
        mentions: args.mentions,
        reason: args.reason.clone().unwrap_or_default(),
        request: args.request.clone().unwrap_or_default(),
    };
    erasure.check().map_err(|e| Failure::usage(format!("--{e}")))?;
    if args.dry_run {
        none_begun(dir)?;
    }
    let forget = (args.records && !args.dry_run).then_some(&erasure.named);
    let erased = open(dir, forget)?.erase(&erasure, args.dry_run, &mut |report| {
        // Before anything goes: a kill, or an output that nobody reads, cannot take it.
        eprintln!("receipt {} of erasure {}: keep it, it is kept nowhere", report.receipt, report.id);
    })?;
    if args.json {
        print(&object(&erased).to_string())?
    } else {
        print(&text(&erased, args))?
    }
    let is_nothing = erased.report.id.is_empty() && erased.remembered == 0;
    Ok(if is_nothing { Exit::Findings } else { Exit::Done })
}

/// `comity prune D`: the same by age.
pub(crate) fn prune(args: &PruneArgs) -> Result<Exit, Failure> {
    is_crawl(&args.dir)?;
    if args.dry_run {
        none_begun(&args.dir)?;
    }
    let reports = open(&args.dir, None)?.prune(args.dry_run)?;
    if reports.is_empty() {
        return Err(Failure::usage("neither keep_payload nor keep_records is set in [archive] of crawl.toml")
            .hint("start the crawl once with a configuration that sets one, or use comity erase"));
    }
    for (key, report) in reports {
        if args.json {
            print(&json!({"key": key, "erased": report}).to_string())?;
        } else {
            let did = if args.dry_run { "would go" } else { "went" };
            print(&format!("{key}: {} records and {} bodies {did}", report.lines, report.payloads))?;
            if report.revisits.total > 0 {
                print(&format!(
                    "{key}: {} visits repeat one of these bodies: they hold nothing of it",
                    report.revisits.total
                ))?;
            }
        }
    }
    Ok(Exit::Done)
}

fn open(dir: &Path, forget: Option<&Named>) -> Result<StoppedCrawl, Failure> {
    StoppedCrawl::open(dir, forget).map_err(|error| {
        let (is_held, is_advised) = (error.is_held(), error.advice().is_some());
        let failure = Failure::from(error);
        if is_held && !is_advised { failure.hint("a crawl runs there: stop it, or wait for its end") } else { failure }
    })
}

/// For whoever hands out what is there: nothing is erased from the directory until this is dropped. `None` while a crawl runs,
/// which erases nothing.
pub(crate) fn reading(dir: &Path) -> Result<Option<ReadLock>, Failure> {
    let lock = ReadLock::take(dir).map_err(|error| match &error {
        ArchiveError::Held { advice, .. } => Failure::storage(error.to_string()).hint(*advice),
        error => Failure::storage(error.to_string()),
    })?;
    none_begun(dir)?;
    Ok(lock)
}

/// Whoever only reads does not hand out what was ordered to go, nor ends what was begun.
pub(crate) fn none_begun(dir: &Path) -> Result<(), Failure> {
    if !dir.join(JOURNAL).exists() {
        return Ok(());
    }
    let shown = dir.display();
    Err(Failure::usage(format!("an erasure was begun in {shown} and is not done: what is to go is still there"))
        .hint(format!("end it first: comity erase {shown} --resume")))
}

fn is_crawl(dir: &Path) -> Result<(), Failure> {
    if dir.join("crawl.toml").is_file() {
        return Ok(());
    }
    Err(Failure::no_crawl(dir))
}

fn named(args: &EraseArgs) -> Result<Named, Failure> {
    let wrong = |flag: &str, given: &str, e: &dyn std::fmt::Display| Failure::usage(format!("--{flag} {given}: {e}"));
    match (&args.url, &args.origin, &args.payload_digest) {
        (Some(url), ..) => {
            let named = if args.any_query { Named::Path } else { Named::Url };
            CrawlUrl::parse(url).map(named).map_err(|e| wrong("url", url, &e))
        }
        (_, Some(origin), _) => Origin::parse(origin).map(Named::Origin).map_err(|e| wrong("origin", origin, &e)),
        (.., Some(hex)) => hex.parse().map(Named::Payload).map_err(|e| wrong("payload-digest", hex, &e)),
        _ => Err(Failure::usage("nothing is named").hint("give --url, --origin or --payload-digest")),
    }
}

fn object(erased: &Erased) -> serde_json::Value {
    json!({"erased": erased.report, "remembered": erased.remembered, "left": erased.left})
}

fn text(erased: &Erased, args: &EraseArgs) -> String {
    let ErasureReport { id, receipt, lines, amended, payloads, sightings, copies, revisits, mentions, .. } =
        &erased.report;
    let mut said = Vec::new();
    let mut say = |label: &str, value: String| said.push(format!("{label:12} {}", visible(&value)));
    let queries = queries(&erased.report, args.any_query);
    if id.is_empty() && erased.remembered == 0 {
        let said = ["nothing of that is in the crawl"].into_iter().chain(queries.as_deref());
        return said.collect::<Vec<_>>().join("\n");
    }
    if let Some(queries) = queries {
        say("queries", queries);
    }
    say("records", format!("{lines} erased; {amended} of others kept, without the page that led to them"));
    say("bodies", format!("{payloads} of records that stay"));
    say("evidence", format!("{sightings} sightings, {copies} copies"));
    if args.records {
        say("remembered", format!("{} entries of queue, scope and memory", erased.remembered));
    }
    if erased.report.configs > 0 {
        say("configs", format!("{} that named it and are not in force", erased.report.configs));
    }
    list("revisits", "visits repeat a capture whose body went: they hold nothing of it", revisits, &mut say);
    let fate = if args.mentions {
        "pages of others named it: their bodies went"
    } else {
        "pages of others name it and stay: --mentions erases their bodies"
    };
    list("mentions", fate, mentions, &mut say);
    let copies = erased.report.mentioning_copies;
    if copies > 0 {
        say("mentions", format!("{copies} copies of robots.txt of others name it and stay: they are evidence"));
    }
    for file in &erased.left {
        let only = if file == "crawl.toml" {
            "; a crawl needs a seed: where all of them go, remove its directory"
        } else {
            ""
        };
        say("still named", format!("in {file}{only}"));
    }
    if args.dry_run {
        say("dry run", "nothing was erased".to_owned());
    } else if !id.is_empty() {
        say("erasure", id.clone());
        say(
            "receipt",
            format!("{receipt}  (with it, and only with it, you can show what was named; it is kept nowhere)"),
        );
    }
    said.join("\n")
}

/// What the name of a URL was taken for.
fn queries(report: &ErasureReport, asked: bool) -> Option<String> {
    let ErasureReport { any_query, without_query, with_queries, .. } = report;
    Some(match (any_query, without_query, with_queries) {
        (true, ..) if asked => "the URL stands for all of its queries, as asked".to_owned(),
        (true, ..) => "the URL stands for all of its queries: none is written of visits of it".to_owned(),
        (_, 1.., _) => format!(
            "{without_query} records of its path had their query left out: whether it was this one cannot be told, so they go, too"
        ),
        (.., 1..) => format!(
            "{with_queries} records of the same path with queries stay: the URL stands for itself; name theirs, or give --any-query"
        ),
        _ => return None,
    })
}

fn list(label: &str, what: &str, listed: &Listed, say: &mut dyn FnMut(&str, String)) {
    if listed.total == 0 {
        return;
    }
    say(label, format!("{} {what}", listed.total));
    for told in listed.first.iter().take(SHOWN) {
        say("", format!("  line {}: {}", told.seq, told.url));
    }
}
