use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::Path;

use comity_policy::Digest;

use super::bundle::{Bundle, Hashing};
use super::withheld::{self, origin_of};
use super::{DossierPages, DossierSettings, Seals};
use crate::{ArchiveError, ChainHead, ChainVerifier, Checkpoint, Content, Line, Record, WarcPlaces, read_records};

/// What was found in the records.
#[derive(Debug, Default)]
pub(super) struct Lines {
    pub(super) crawl: Option<String>,
    pub(super) lines: u64,
    pub(super) records: u64,
    pub(super) withheld: u64,
    pub(super) erased: u64,
    pub(super) head: Option<ChainHead>,
    /// Copies that decisions rest on.
    pub(super) digests: BTreeSet<Digest>,
    /// When the first exchange of the origin began.
    pub(super) first: Option<String>,
    /// Where the origin's WARC records lie, by file, in the order of the file.
    pub(super) events: BTreeMap<String, Vec<Event>>,
}

/// WARC records of one exchange: they lie one behind the other, metadata last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    /// Where the first begins.
    pub(crate) offset: u64,
    /// Whether the response, and the metadata record, name no other origin.
    pub(crate) response: bool,
    pub(crate) metadata: bool,
    /// How many records there are.
    pub(crate) parts: u8,
}

impl Event {
    /// All members of an exchange.
    pub(crate) fn whole(places: &WarcPlaces) -> Self {
        let parts = [&places.response, &places.request].map(|place| place.as_ref().map(|place| place.offset));
        let offset = parts.into_iter().flatten().chain([places.metadata_offset]).min().unwrap_or_default();
        let parts = 1 + parts.iter().flatten().map(|_| 1).sum::<u8>();
        Self { offset, response: true, metadata: true, parts }
    }
}

impl Lines {
    /// Checks the chain from its first line against each checkpoint, and writes the origin's lines.
    pub(super) fn read(
        dir: &Path,
        settings: &DossierSettings,
        seals: &Seals,
        bundle: &mut Bundle,
        pages: &mut dyn DossierPages,
    ) -> Result<Self, ArchiveError> {
        let folder = dir.join("records");
        let mut found = Self::default();
        bundle.add_with("records.jsonl", |to, failed| {
            let mut chain = Followed::new(&folder, seals);
            for line in read_records(dir).map_err(|e| changed(&folder, e))? {
                let line = line.map_err(|e| changed(&folder, e))?;
                chain.step(&line)?;
                let record = line.record().map_err(|e| changed(&folder, e))?;
                let Some(record) = record.filter(|one| origin_of(&one.url).as_ref() == Some(&settings.origin)) else {
                    continue;
                };
                found.take(&line, record, settings, to, pages)?.map_err(failed)?;
            }
            chain.end()?;
            let report = chain.chain.report();
            (found.lines, found.erased, found.head) = (report.lines, report.erased, report.head);
            Ok(())
        })?;
        Ok(found)
    }

    /// Takes in a record of the origin. The outer error is of the records, the inner one of what is written.
    fn take(
        &mut self,
        line: &Line,
        record: Record,
        settings: &DossierSettings,
        to: &mut Hashing<'_>,
        pages: &mut dyn DossierPages,
    ) -> Result<std::io::Result<()>, ArchiveError> {
        let mut withheld = withheld::of_others(&record, &settings.origin);
        if settings.with_others {
            withheld.clear();
        }
        self.records += 1;
        self.crawl.get_or_insert_with(|| record.crawl.clone());
        self.first.get_or_insert_with(|| record.time.started.clone());
        self.event(&record, &withheld);
        let is_whole = withheld.is_empty() && matches!(line.content, Content::Kept { .. });
        let (record, text) = if is_whole {
            (record, line.to_text())
        } else {
            self.withheld += 1;
            withheld::shown(line, &withheld)?
        };
        let robots = record.robots.as_ref().and_then(|robots| robots.digest.as_deref());
        let files = [&record.tdmrep, &record.ai_txt, &record.trust_txt]
            .into_iter()
            .flatten()
            .filter_map(|file| file.digest.as_deref());
        let files = files.chain(record.licences.iter().filter_map(|licence| licence.digest.as_deref()));
        self.digests.extend(robots.into_iter().chain(files).filter_map(|hex| hex.parse::<Digest>().ok()));
        pages.record(line.seq, &record, &withheld);
        Ok(writeln!(to, "{text}"))
    }

    fn event(&mut self, record: &Record, withheld: &[&str]) {
        let Some(places) = &record.warc else { return };
        let event =
            Event { response: !withheld::in_response(withheld), metadata: withheld.is_empty(), ..Event::whole(places) };
        self.events.entry(places.file.clone()).or_default().push(event);
    }
}

/// The chain as far as it was read, and the checkpoints still to come.
pub(crate) struct Followed<'a> {
    folder: &'a Path,
    pub(crate) chain: ChainVerifier,
    checkpoints: &'a [Checkpoint],
    /// What `D/chain` names, until it was met.
    head: Option<ChainHead>,
}

impl<'a> Followed<'a> {
    pub(crate) fn new(folder: &'a Path, seals: &'a Seals) -> Self {
        let Seals { checkpoints, head, .. } = seals;
        Self { folder, chain: ChainVerifier::default(), checkpoints, head: *head }
    }

    pub(crate) fn step(&mut self, line: &Line) -> Result<(), ArchiveError> {
        self.chain.step(line).map_err(|fault| changed(self.folder, fault))?;
        let lines = self.chain.report().lines;
        while let Some((one, rest)) = self.checkpoints.split_first().filter(|(one, _)| one.lines <= lines) {
            if one.lines == lines && one.link != line.link {
                return Err(changed(self.folder, format!("line {}: checkpoint {} names another", line.seq, one.n)));
            }
            self.checkpoints = rest;
        }
        self.head = self.head.filter(|head| *head != line.head());
        Ok(())
    }

    pub(crate) fn end(&self) -> Result<(), ArchiveError> {
        let lines = self.chain.report().lines;
        if let Some(one) = self.checkpoints.iter().find(|one| one.lines > lines) {
            let problem = format!("{lines} lines are there, checkpoint {} names {}", one.n, one.lines);
            return Err(changed(self.folder, problem));
        }
        match self.head {
            Some(head) => {
                Err(changed(self.folder, format!("D/chain names line {}, which is not there, or another", head.seq)))
            }
            None => Ok(()),
        }
    }
}

/// `chain.txt`: the commitment of every line, from the first; whoever has them makes the links again.
pub(super) fn write_chain(dir: &Path, lines: u64, bundle: &mut Bundle) -> Result<(), ArchiveError> {
    let folder = dir.join("records");
    bundle.add_with("chain.txt", |to, failed| {
        let mut left = lines;
        for line in read_records(dir).map_err(|e| changed(&folder, e))? {
            // A crawl that runs may have gone on.
            let Some(rest) = left.checked_sub(1) else { break };
            left = rest;
            let line = line.map_err(|e| changed(&folder, e))?;
            writeln!(to, "{}{}", line.commitment, mark(&line.content)).map_err(failed)?;
        }
        Ok(())
    })
}

/// An erased line is told: somebody may look for it in vain.
const fn mark(content: &Content) -> &'static str {
    match content {
        Content::Kept { .. } => "",
        Content::Erased(_) => " erased",
    }
}

pub(crate) fn changed(folder: &Path, problem: impl std::fmt::Display) -> ArchiveError {
    let problem = format!("{problem}: `comity verify` tells more, and what is made of it would prove nothing");
    ArchiveError::Chain { path: folder.to_owned(), problem }
}
