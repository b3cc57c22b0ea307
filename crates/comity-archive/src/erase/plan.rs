use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::io::{BufReader, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use comity_policy::Digest;

use super::body::Body;
use super::carry::without_via;
use super::journal::{Amended, Becomes, Journal, LinePlan, PairPlan, Span};
use super::mention::Mentions;
use super::named::{Needle, Relative};
use super::report::{ErasureReport, Told};
use super::{Depth, Erasure, Named};
use super::{configs, evidence};
use crate::chain::commitment;
use crate::names::RECORDS_END;
use crate::record::erasure::runs;
use crate::records::reader::{Frame, Frames};
use crate::warc::stream::{WarcHead, WarcStream};
use crate::warc::text::target_uri;
use crate::{ArchiveError, Entropy, Line, QueryForm, WarcPlaces};

/// Finds out what an erasure has to do, and changes nothing. Every file must be closed.
pub(super) struct Planner<'a> {
    pub(super) dir: &'a Path,
    pub(super) erasure: &'a Erasure,
    pub(super) entropy: &'a mut dyn Entropy,
    needle: Option<Needle>,
    relative: Option<Relative>,
    /// Bodies whose copies go, too.
    copies: HashSet<String>,
    /// By age: ids of responses whose payload a younger visit repeats. It is what that visit saw.
    repeated: HashSet<String>,
    /// Ids of responses whose payload goes.
    gone: HashSet<String>,
    /// Digests of copies, of robots.txt, tdmrep.json, ai.txt and licences, that lines which stay rest on.
    rested_on: BTreeSet<String>,
    report: ErasureReport,
    lines: u64,
}

/// What becomes of a line.
enum Fate {
    Stays,
    /// Its payload goes.
    Payload,
    /// The record that stands in its tombstone does not name what was erased.
    Amended(String),
    Erased,
}

impl<'a> Planner<'a> {
    pub(super) fn new(dir: &'a Path, erasure: &'a Erasure, entropy: &'a mut dyn Entropy) -> Self {
        Self {
            dir,
            erasure,
            entropy,
            needle: erasure.named.needle(),
            relative: erasure.named.relative(),
            copies: HashSet::new(),
            repeated: HashSet::new(),
            gone: HashSet::new(),
            rested_on: BTreeSet::new(),
            report: ErasureReport { any_query: matches!(erasure.named, Named::Path(_)), ..ErasureReport::default() },
            lines: 0,
        }
    }

    /// The plan: pairs of files and evidence, without what only the carrying out knows.
    /// The configuration `in_force` stays.
    pub(super) fn make(
        mut self,
        mut journal: Journal,
        in_force: Option<Digest>,
    ) -> Result<(Journal, ErasureReport), ArchiveError> {
        let files = self.records_files()?;
        // What is younger than an age keeps its content, whoever else had the same, and wherever that lies.
        if matches!(self.erasure.named, Named::Before(_)) {
            self.each_line(&files, |planner, _, body| {
                let younger = !planner.is_meant(&body)?;
                planner.repeated.extend(body.repeats().filter(|_| younger).map(str::to_owned));
                Ok(())
            })?;
        } else {
            self.each_line(&files, |planner, _, body| {
                if planner.is_meant(&body)? {
                    planner.copies.extend(body.copied().map(str::to_owned));
                }
                Ok(())
            })?;
        }
        let searched = self.needle.clone().filter(|_| self.erasure.depth == Depth::Records);
        let mut mentions = Mentions::new(searched, self.relative.clone());
        for path in &files {
            let pair = self.pair(path, &mut mentions)?;
            if !pair.lines.is_empty() || !pair.spans.is_empty() {
                journal.pairs.push(pair);
            }
        }
        self.revisits(&files)?;
        (journal.evidence, self.report.mentioning_copies) = evidence::plan(
            self.dir,
            self.erasure,
            self.needle.as_ref(),
            (&self.rested_on, self.gone_path().as_deref()),
        )?;
        self.report.sightings = journal.evidence.sightings;
        self.report.copies = journal.evidence.copies.len() as u64;
        if let Some(needle) = self.needle.as_ref().filter(|_| self.erasure.depth == Depth::Records) {
            journal.configs = configs::plan(self.dir, needle, in_force)?;
        }
        self.report.configs = journal.configs.len() as u64;
        journal.lines = self.lines;
        journal.needle = self.needle;
        Ok((journal, self.report))
    }

    fn records_files(&self) -> Result<Vec<PathBuf>, ArchiveError> {
        let folder = self.dir.join("records");
        let read = || -> std::io::Result<Vec<PathBuf>> {
            let entries =
                std::fs::read_dir(&folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
            Ok(entries.into_iter().filter(|path| path.to_string_lossy().ends_with(RECORDS_END)).collect())
        };
        let mut files = read().map_err(|e| ArchiveError::io(&folder, e))?;
        files.sort();
        Ok(files)
    }

    fn each_line(
        &mut self,
        files: &[PathBuf],
        mut each: impl FnMut(&mut Self, &Line, Body<'_>) -> Result<(), ArchiveError>,
    ) -> Result<(), ArchiveError> {
        for path in files {
            let mut frames = Frames::open(path.clone()).map_err(|e| broken(path, e.to_string()))?;
            while let Some(lines) = next(&mut frames, path)? {
                for line in &lines {
                    let Some(text) = line.standing() else { continue };
                    let body = serde_json::from_str(text).map_err(|e| unreadable(path, line, &e))?;
                    each(self, line, body)?;
                }
            }
        }
        Ok(())
    }

    /// Whether the line is of what was named.
    fn is_meant(&self, body: &Body<'_>) -> Result<bool, ArchiveError> {
        if body.errand == "erasure" {
            return Ok(false);
        }
        Ok(match &self.erasure.named {
            Named::Payload(digest) => {
                body.response.as_ref().is_some_and(|response| response.body_digest == digest.to_string())
            }
            // Times are written in one form, whose order is that of the texts.
            Named::Before(at) => *body.time.started < *at.to_string(),
            named => named.is_text(&body.url, body.query.as_deref()) || self.is_begin(body)?,
        })
    }

    /// The path that visits went under whose query is not known.
    fn gone_path(&self) -> Option<Cow<'a, str>> {
        self.erasure.named.path().filter(|_| self.report.without_query > 0)
    }

    /// Counts what a name with a query takes of its path, and what one without leaves there.
    fn count_queries(&mut self, fate: &Fate, body: &Body<'_>) {
        let named = &self.erasure.named;
        let goes = matches!(fate, Fate::Erased | Fate::Payload);
        let is_of_path = body.query.is_some() && named.path().is_some_and(|path| path == body.url);
        self.report.without_query += u64::from(goes && is_of_path);
        let is_beside = matches!(named, Named::Url(url) if url.query().is_none()
            && body.url != url.as_str() && QueryForm::Drop.text(&body.url) == url.as_str());
        self.report.with_queries += u64::from(!goes && is_beside);
    }

    /// Whether a URL that its line cuts is the one that was named: its WARC records hold it whole. Where there are none, begin and
    /// length are all that was kept of it.
    fn is_begin(&self, body: &Body<'_>) -> Result<bool, ArchiveError> {
        let named = &self.erasure.named;
        let Some(wanted) = named.written(body.query.as_deref()) else { return Ok(false) };
        let any = matches!(named, Named::Path(_));
        let (length, most) = (body.url_length.unwrap_or_default(), wanted.len() as u64);
        let is_long = if any { length >= most } else { length == most };
        let fits = body.url.len() < wanted.len() && is_long && wanted.starts_with(&*body.url);
        let Some(places) = body.warc.as_ref().filter(|_| fits) else { return Ok(fits) };
        let head = Members::open(self.dir, &places.file)?.at(places.metadata_offset)?;
        let is = |uri: &str| target_uri(&wanted) == if any { QueryForm::Drop.text(uri) } else { uri.into() };
        Ok(head.field("WARC-Target-URI").is_none_or(is))
    }

    fn fate(&self, line: &Line, text: &str, body: &Body<'_>, path: &Path) -> Result<Fate, ArchiveError> {
        let is_meant = self.is_meant(body)?;
        if self.erasure.depth == Depth::Records {
            if is_meant {
                return Ok(Fate::Erased);
            }
            let relative = self.relative.as_ref().and_then(|relative| relative.in_record(&body.url));
            let needles: Vec<&Needle> = self.needle.iter().chain(relative).collect();
            let names = |text: &str| needles.iter().any(|needle| needle.finds(text.as_bytes()));
            if body.errand != "erasure" && body.leads_to(&self.erasure.named) {
                return Ok(Fate::Erased);
            }
            if body.errand != "erasure" && names(text) {
                return amended(line, &names, path);
            }
        }
        // robots.txt is evidence, which is kept unless it is what was named.
        let is_kept =
            !body.is_page() && !matches!(self.erasure.named, Named::Url(_) | Named::Path(_) | Named::Payload(_));
        let is_copy = body.copied().is_some_and(|digest| self.copies.contains(digest));
        let is_repeated = body.response_id().is_some_and(|id| self.repeated.contains(id));
        let goes = body.holds_payload() && (is_copy || (is_meant && !is_kept && !is_repeated));
        Ok(if goes { Fate::Payload } else { Fate::Stays })
    }

    fn pair(&mut self, path: &Path, mentions: &mut Mentions) -> Result<PairPlan, ArchiveError> {
        let records = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut plan = PairPlan { records, ..PairPlan::default() };
        let mut frames = Frames::open(path.to_owned()).map_err(|e| broken(path, e.to_string()))?;
        let mut warc: Option<Members> = None;
        // Of lines that stay with their payloads: where those are, in case that they name the erased.
        let mut held = HashMap::new();
        while let Some(lines) = next(&mut frames, path)? {
            for line in &lines {
                self.lines = self.lines.max(line.seq + 1);
                let Some(text) = line.standing() else { continue };
                let body: Body<'_> = serde_json::from_str(text).map_err(|e| unreadable(path, line, &e))?;
                let fate = self.fate(line, text, &body, path)?;
                self.count_queries(&fate, &body);
                if !matches!(fate, Fate::Erased) {
                    self.rested_on.extend(body.rests_on().map(str::to_owned));
                }
                let places = body.warc.as_ref();
                if let (Some(places), None) = (places, &warc) {
                    warc = Some(Members::open(self.dir, &places.file)?);
                    plan.warc = Some(places.file.clone());
                }
                let members = warc.as_mut();
                match fate {
                    Fate::Stays => {}
                    Fate::Payload => plan.payload(line.seq, &body, members)?,
                    Fate::Erased => {
                        self.report.lines += 1;
                        plan.lines.push(LinePlan { seq: line.seq, amended: None });
                        self.gone.extend(places.and_then(|places| Some(places.response.as_ref()?.id.clone())));
                        if let (Some(places), Some(members)) = (places, members) {
                            plan.spans.push(event(line, &body, places, members)?);
                        }
                    }
                    Fate::Amended(record) => {
                        self.report.amended += 1;
                        plan.lines.push(LinePlan { seq: line.seq, amended: Some(self.amend(&record)?) });
                        // A payload that is a copy goes from it all the same.
                        if body.copied().is_some_and(|digest| self.copies.contains(digest)) && body.holds_payload() {
                            plan.payload(line.seq, &body, warc.as_mut())?;
                        } else {
                            held.extend(held_payload(line.seq, &body));
                        }
                        if let (Some(places), Some(members)) = (places, warc.as_mut()) {
                            plan.spans.push(metadata(line, &body, places, members)?);
                        }
                        continue;
                    }
                }
                if !plan.has(line.seq) {
                    held.extend(held_payload(line.seq, &body));
                }
            }
        }
        self.mentioned(&mut plan, mentions, &held)?;
        plan.spans.sort_by_key(|span| span.offset);
        plan.payloads.sort_unstable();
        self.report.payloads += plan.payloads.len() as u64;
        self.gone.extend(plan.spans.iter().filter(|s| matches!(s.becomes, Becomes::Payload)).map(|s| s.record.clone()));
        Ok(plan)
    }

    /// Payloads of others that name the erased.
    fn mentioned(
        &mut self,
        plan: &mut PairPlan,
        mentions: &mut Mentions,
        held: &HashMap<u64, (u64, String, Span)>,
    ) -> Result<(), ArchiveError> {
        let Some(warc) = plan.warc.clone() else { return Ok(()) };
        for offset in mentions.find(&self.dir.join("warc").join(&warc))? {
            let Some((seq, url, span)) = held.get(&offset) else { continue };
            if self.erasure.mentions {
                plan.payloads.push(*seq);
                plan.spans.push(Span {
                    record: span.record.clone(),
                    date: span.date.clone(),
                    becomes: Becomes::Payload,
                    ..*span
                });
            }
            self.report.mentions.add(Told { seq: *seq, url: url.clone() });
        }
        Ok(())
    }

    /// Visits that repeat a capture whose payload goes: they hold nothing of it, and are told.
    fn revisits(&mut self, files: &[PathBuf]) -> Result<(), ArchiveError> {
        if self.gone.is_empty() {
            return Ok(());
        }
        self.each_line(files, |planner, line, body| {
            if body.repeats().is_some_and(|id| planner.gone.contains(id)) {
                planner.report.revisits.add(Told { seq: line.seq, url: body.url.clone().into_owned() });
            }
            Ok(())
        })
    }

    fn amend(&mut self, body: &str) -> Result<Amended, ArchiveError> {
        let mut salt = [0; crate::chain::SALT_BYTES];
        self.entropy.fill(&mut salt).map_err(|e| ArchiveError::io(self.dir, e))?;
        let commitment = commitment(&salt, body.as_bytes()).to_string();
        Ok(Amended { salt: data_encoding::HEXLOWER.encode(&salt), commitment })
    }
}

impl PairPlan {
    fn payload(&mut self, seq: u64, body: &Body<'_>, members: Option<&mut Members>) -> Result<(), ArchiveError> {
        let place = body.warc.as_ref().and_then(|places| places.response.as_ref());
        let (Some(place), Some(members)) = (place, members) else { return Ok(()) };
        let head = members.at(place.offset)?;
        if head.kind() != "response" {
            return Ok(()); // It went before.
        }
        members.check(&head, &place.id, Some(place.length))?;
        self.payloads.push(seq);
        self.spans.push(span(place.offset, place.length, &place.id, body, Becomes::Payload));
        Ok(())
    }

    /// Whether anything of this line, the last one, goes.
    fn has(&self, seq: u64) -> bool {
        self.lines.last().is_some_and(|line| line.seq == seq) || self.payloads.last() == Some(&seq)
    }

    pub(super) fn line_runs(&self) -> Vec<(u64, u64)> {
        runs(self.lines.iter().filter(|line| line.amended.is_none()).map(|line| line.seq))
    }
}

fn span(offset: u64, length: u64, record: &str, body: &Body<'_>, becomes: Becomes) -> Span {
    Span { offset, length, record: record.to_owned(), date: body.time.started.clone().into_owned(), becomes }
}

fn held_payload(seq: u64, body: &Body<'_>) -> Option<(u64, (u64, String, Span))> {
    let place = body.warc.as_ref().filter(|_| body.holds_payload() && body.is_page())?.response.as_ref()?;
    let span = span(place.offset, place.length, &place.id, body, Becomes::Payload);
    Some((place.offset, (seq, body.url.clone().into_owned(), span)))
}

/// All records of an event: they lie one behind the other, the metadata record last.
fn event(line: &Line, body: &Body<'_>, places: &WarcPlaces, members: &mut Members) -> Result<Span, ArchiveError> {
    let last = members.at(places.metadata_offset)?;
    members.check(&last, &body.record_id, None)?;
    let parts = [&places.response, &places.request].into_iter().flatten();
    let first = parts.clone().map(|place| place.offset).fold(places.metadata_offset, u64::min);
    let end = last.offset + last.length;
    let together = parts.map(|place| place.length).sum::<u64>() + last.length;
    if first + together != end {
        return Err(members.wrong(first, "the records of an event do not lie together"));
    }
    // The id that stood at that place: who points at the answer finds what became of it.
    let id = [&places.response, &places.request].into_iter().flatten().find(|place| place.offset == first);
    let id = id.map_or(&*body.record_id, |place| place.id.as_str());
    Ok(span(first, end - first, id, body, Becomes::Event(line.commitment.to_string())))
}

fn metadata(line: &Line, body: &Body<'_>, places: &WarcPlaces, members: &mut Members) -> Result<Span, ArchiveError> {
    let head = members.at(places.metadata_offset)?;
    members.check(&head, &body.record_id, None)?;
    let becomes = Becomes::Metadata(line.commitment.to_string());
    Ok(span(head.offset, head.length, &body.record_id, body, becomes))
}

/// The record without its `via`, where nothing else of it names the erased; else it goes.
fn amended(line: &Line, names: &dyn Fn(&str) -> bool, path: &Path) -> Result<Fate, ArchiveError> {
    let text = without_via(line).map_err(|e| broken(path, e))?;
    Ok(text.filter(|text| !names(text)).map_or(Fate::Erased, Fate::Amended))
}

fn next<R: std::io::BufRead>(frames: &mut Frames<R>, path: &Path) -> Result<Option<Vec<Line>>, ArchiveError> {
    match frames.frame().map_err(|e| broken(path, e.to_string()))? {
        Frame::Lines(lines) => Ok(Some(lines)),
        Frame::End => Ok(None),
        Frame::Torn(torn) => Err(broken(path, torn.to_string())),
    }
}

fn broken(path: &Path, problem: String) -> ArchiveError {
    ArchiveError::Chain {
        path: path.to_owned(),
        problem: format!("{problem}; nothing was changed, `comity verify` tells more"),
    }
}

fn unreadable(path: &Path, line: &Line, error: &serde_json::Error) -> ArchiveError {
    broken(path, format!("record {} cannot be read: {error}", line.seq))
}

/// The members of a WARC file, looked up by their places.
struct Members {
    path: PathBuf,
    file: File,
}

impl Members {
    fn open(dir: &Path, name: &str) -> Result<Self, ArchiveError> {
        let path = dir.join("warc").join(name);
        let file = File::open(&path).map_err(|e| ArchiveError::io(&path, e))?;
        Ok(Self { path, file })
    }

    fn at(&mut self, offset: u64) -> Result<WarcHead, ArchiveError> {
        let at = |e| ArchiveError::io(&self.path, e);
        self.file.seek(SeekFrom::Start(offset)).map_err(at)?;
        let reader = BufReader::with_capacity(16 * 1024, self.file.try_clone().map_err(at)?);
        match WarcStream::new(reader, offset).next_record(|_, _| {}) {
            Some(Ok(head)) => Ok(head),
            Some(Err(error)) => Err(self.wrong(offset, &error.damage.to_string())),
            None => Err(self.wrong(offset, "the file ends before it")),
        }
    }

    fn check(&self, head: &WarcHead, id: &str, length: Option<u64>) -> Result<(), ArchiveError> {
        if head.id() == id && length.is_none_or(|length| length == head.length) {
            return Ok(());
        }
        Err(self.wrong(head.offset, "the record there is not the one that its line names"))
    }

    fn wrong(&self, offset: u64, problem: &str) -> ArchiveError {
        broken(&self.path, format!("byte {offset}: {problem}"))
    }
}
