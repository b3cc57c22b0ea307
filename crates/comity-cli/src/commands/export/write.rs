//! One pass over the records: each page goes into the export, or onto the list of what was left out.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use comity_archive::{AgentRecord, ArchiveError, Content, Line, Proven, Record, WarcCopy, WarcCopyFacts, read_proven};
use serde::Serialize;

use super::folder::{FileEntry, Folder, Lines, failed};
use super::judge::Judge;
use super::rows::{LeftOut, Page, Why};
use super::today::{Now, Today};
use super::{is_page, storage};
use crate::args::{ExportArgs, ExportFormat, SilenceArg};
use crate::exit::Failure;

/// What the first pass found.
pub(super) struct Facts {
    pub(super) proven: Proven,
    pub(super) crawl: Option<String>,
    pub(super) agent: Option<AgentRecord>,
    pub(super) begun: Option<String>,
}

/// Writes an export.
pub(super) struct Writer<'a> {
    args: &'a ExportArgs,
    folder: Folder,
    judge: Judge,
    today: Option<Today>,
    facts: Facts,
    pages: Lines,
    left: Lines,
    warc: Option<WarcCopy>,
    /// The last WARC file looked for, and whether it is there.
    seen: Option<(String, bool)>,
    counts: Counts,
}

#[derive(Debug, Default, Serialize)]
struct Counts {
    usable: u64,
    truncated: u64,
    left_out: BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    recheck: BTreeMap<&'static str, u64>,
    warc_records: u64,
}

impl<'a> Writer<'a> {
    pub(super) fn new(
        args: &'a ExportArgs,
        folder: Folder,
        judge: Judge,
        today: Option<Today>,
        facts: Facts,
    ) -> Result<Self, Failure> {
        let pages = folder.file(if args.format == ExportFormat::Urls { "urls.txt" } else { "pages.jsonl" })?;
        let left = folder.file("left_out.jsonl")?;
        let warc = if args.format == ExportFormat::Warc {
            Some(WarcCopy::new(&args.dir, &folder.folder("warc")?, copy_facts(args, &facts)))
        } else {
            None
        };
        Ok(Self { args, folder, judge, today, facts, pages, left, warc, seen: None, counts: Counts::default() })
    }

    /// Reads the records once more, as many as there were, and ends with the manifest.
    pub(super) fn write(mut self) -> Result<Manifest, Failure> {
        let (dir, lines) = (&self.args.dir, self.facts.proven.lines);
        let mut wrong = None;
        let read = read_proven(dir, |line, record| {
            // A crawl that runs may have gone on.
            if line.seq >= lines {
                return Ok(());
            }
            self.line(line, record).map_err(|failure| {
                wrong = Some(failure);
                ArchiveError::Export { path: dir.clone(), problem: "stopped".to_owned() }
            })
        });
        if let Some(failure) = wrong {
            return Err(failure);
        }
        read.map_err(|error| storage(&error))?;
        self.finish()
    }

    fn line(&mut self, line: &Line, record: Option<&Record>) -> Result<(), Failure> {
        let Some(record) = record else {
            debug_assert!(matches!(line.content, Content::Erased(_)), "only an erased line has no record");
            let row =
                LeftOut { url: None, seq: line.seq, reason: "erased", outcome: None, statement: None, recheck: None };
            return self.leave(&row);
        };
        if !is_page(record) {
            return Ok(());
        }
        let recorded = self.judge.left(line.seq, record).or_else(|| self.no_warc(record));
        let (why, recheck) = self.rechecked(record, recorded);
        if let Some(recheck) = recheck {
            *self.counts.recheck.entry(recheck).or_default() += 1;
        }
        match why {
            None => self.take(line.seq, record, recheck),
            Some(why) => self.leave(&LeftOut {
                url: Some(&record.url),
                seq: line.seq,
                reason: &why.reason,
                outcome: Some(&record.outcome),
                statement: why.statement.as_ref(),
                recheck,
            }),
        }
    }

    /// The WARC file of a page may be pruned, or never have been.
    fn no_warc(&mut self, record: &Record) -> Option<Why> {
        let Some(places) = &record.warc else {
            return self.warc.is_some().then(|| Why::new("no_warc"));
        };
        if self.seen.as_ref().is_none_or(|(name, _)| *name != places.file) {
            self.seen = Some((places.file.clone(), WarcCopy::is_there(&self.args.dir, places)));
        }
        let is_there = self.seen.as_ref().is_some_and(|(_, is_there)| *is_there);
        (!is_there).then(|| Why::new("warc_gone"))
    }

    /// What today's words change: a page that is usable may be denied now; one that was denied is marked where it is not any more.
    fn rechecked(&mut self, record: &Record, recorded: Option<Why>) -> (Option<Why>, Option<&'static str>) {
        let Some(today) = &mut self.today else { return (recorded, None) };
        let refuses = self.args.unspecified == Some(SilenceArg::Refuse);
        let was_denied = |why: &Why| why.reason.starts_with("signal.") || why.reason == "robots.disallow";
        if recorded.as_ref().is_some_and(|why| !was_denied(why)) {
            return (recorded, None);
        }
        match (recorded, today.judge(record, self.judge.purpose, refuses)) {
            (None, Now::Open) => (None, Some("same")),
            (None, Now::Denied(why)) => (Some(why), Some("tightened")),
            (None, Now::Unknown) if self.args.strict => (Some(Why::new("not_rechecked")), Some("not_rechecked")),
            (recorded, Now::Unknown) => (recorded, Some("not_rechecked")),
            (Some(why), Now::Open) => (Some(why), Some("loosened")),
            (Some(why), Now::Denied(_)) => (Some(why), Some("same")),
        }
    }

    fn take(&mut self, seq: u64, record: &Record, recheck: Option<&'static str>) -> Result<(), Failure> {
        self.judge.take(record);
        self.counts.usable += 1;
        let is_cut = record.response.as_ref().is_some_and(|response| response.truncated.is_some());
        self.counts.truncated += u64::from(is_cut);
        if let (Some(warc), Some(places)) = (&mut self.warc, &record.warc) {
            warc.add(places).map_err(|error| storage(&error))?;
        }
        match self.args.format {
            ExportFormat::Urls => self.pages.add(record.url.as_bytes()),
            _ => self.pages.json(&Page::of(seq, record, self.judge.purpose, recheck)),
        }
    }

    fn leave(&mut self, row: &LeftOut<'_>) -> Result<(), Failure> {
        *self.counts.left_out.entry(row.reason.to_owned()).or_default() += 1;
        self.left.json(row)
    }

    fn finish(self) -> Result<Manifest, Failure> {
        let Self { args, folder, today, facts, pages, left, warc, mut counts, .. } = self;
        pages.finish()?;
        left.finish()?;
        if let Some(warc) = warc {
            counts.warc_records = warc.finish().map_err(|error| storage(&error))?.members;
        }
        if let Some(today) = &today {
            copies(&folder, today)?;
        }
        let manifest = Manifest {
            schema: "comity-export/1",
            software: concat!("comity/", env!("CARGO_PKG_VERSION")),
            made: made(),
            purpose: args.purpose.as_str(),
            format: args.format.as_str(),
            unspecified: args.unspecified.map_or("as_recorded", |silence| match silence {
                SilenceArg::Proceed => "proceed",
                SilenceArg::Refuse => "refuse",
            }),
            rechecked: args.recheck,
            strict: args.strict,
            crawl: facts.crawl,
            config_digest: facts.agent.as_ref().and_then(|agent| agent.config_digest.clone()),
            agent: facts.agent,
            chain: Chain::of(&facts.proven),
            counts,
            files: folder.entries()?,
        };
        let mut file = folder.file("manifest.json")?;
        file.add(manifest.json()?.trim_end().as_bytes())?;
        file.finish()?;
        folder.finish()?;
        Ok(manifest)
    }
}

/// What origins answered today, once per digest.
fn copies(folder: &Folder, today: &Today) -> Result<(), Failure> {
    let place = folder.folder("today")?;
    for (digest, bytes) in &today.copies {
        let path = place.join(digest);
        std::fs::write(&path, bytes).map_err(|error| failed(&path, &error))?;
    }
    Ok(())
}

fn made() -> String {
    use comity::policy::Clock as _;
    comity_fetch::SystemClock::new().wall().to_string()
}

fn copy_facts(args: &ExportArgs, facts: &Facts) -> WarcCopyFacts {
    let purpose = args.purpose.as_str();
    let link = facts.proven.head.map(|head| head.link.to_string()).unwrap_or_default();
    WarcCopyFacts {
        crawl: facts.crawl.clone(),
        description: format!("pages usable for {purpose}, each record copied whole from the files of the crawl"),
        date: facts.begun.clone().unwrap_or_else(|| "1970-01-01T00:00:00.000Z".to_owned()),
        seed: format!("export\n{purpose}\n{link}"),
    }
}

/// `manifest.json`.
#[derive(Debug, Serialize)]
pub(super) struct Manifest {
    schema: &'static str,
    software: &'static str,
    made: String,
    purpose: &'static str,
    format: &'static str,
    unspecified: &'static str,
    rechecked: bool,
    strict: bool,
    crawl: Option<String>,
    config_digest: Option<String>,
    agent: Option<AgentRecord>,
    chain: Chain,
    counts: Counts,
    files: Vec<FileEntry>,
}

/// The chain that held.
#[derive(Debug, Serialize)]
struct Chain {
    lines: u64,
    erased: u64,
    checkpoints: u64,
    seq: Option<u64>,
    link: Option<String>,
}

impl Chain {
    fn of(proven: &Proven) -> Self {
        let head = proven.head;
        Self {
            lines: proven.lines,
            erased: proven.erased,
            checkpoints: proven.checkpoints,
            seq: head.map(|head| head.seq),
            link: head.map(|head| head.link.to_string()),
        }
    }
}

impl Manifest {
    pub(super) fn json(&self) -> Result<String, Failure> {
        serde_json::to_string_pretty(self).map_err(|error| Failure::storage(error.to_string()))
    }

    pub(super) fn told(&self, out: &Path) -> String {
        let Counts { usable, truncated, left_out, recheck, .. } = &self.counts;
        let mut text = format!("{}: {usable} pages usable for {}", out.display(), self.purpose);
        if *truncated > 0 {
            let _ = write!(text, ", {truncated} of them cut");
        }
        let total: u64 = left_out.values().sum();
        let _ = write!(text, "; {total} left out");
        for (reason, count) in left_out {
            let _ = write!(text, "\n  {count:>8}  {reason}");
        }
        for (word, count) in recheck {
            let _ = write!(text, "\n  {count:>8}  today: {word}");
        }
        if left_out.contains_key("purpose.not_declared") {
            let _ = write!(text, "\nhint: the crawl did not declare {}: crawl again with --purpose", self.purpose);
        }
        text
    }
}
