use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::Path;

use comity_policy::Digest;

use super::erasures::{ErasureId, Event, Tomb, What};
use super::report::{Checked, Fault, FaultKind, Faults};
use super::seals::{Seals, check_sum};
use super::seen::Seen;
use super::summing::Summing;
use super::tree::{Entry, Pair};
use super::walk::Walk;
use crate::erase::note::Note;
use crate::records::reader::{Frame, Frames};
use crate::{ChainHead, ChainVerifier, Content, Line};

/// Checks one records file and the WARC beside it. Nothing of other files is needed: where its first line should follow
/// is told, and checked when all are done.
pub(super) struct PairCheck<'a> {
    pub(super) seals: &'a Seals,
    /// Digests of the copies that are there and whole.
    pub(super) copies: &'a HashSet<Digest>,
    /// [`Seals::since`].
    pub(super) since: Option<u64>,
}

/// What came of it.
#[derive(Debug, Default)]
pub(super) struct PairEnd {
    pub(super) name: String,
    /// Number of the first line, and the link it follows.
    pub(super) first: Option<(u64, Digest)>,
    pub(super) last: Option<ChainHead>,
    /// The configuration that the last line names.
    pub(super) config: Option<Digest>,
    /// Those that lines name, and whether they must be kept in `D/configs`.
    pub(super) configs: BTreeMap<Digest, bool>,
    /// What stands for the erased, and what says why.
    pub(super) tombs: Vec<Tomb>,
    pub(super) erasures: Vec<Event>,
    /// Copies that lines rest on and that are not there: the first line of each, and how many.
    pub(super) lost_copies: BTreeMap<Digest, (Fault, u64)>,
    /// False when the lines could not be read or followed to the end.
    pub(super) whole: bool,
    pub(super) checked: Checked,
    pub(super) faults: Faults,
}

impl PairCheck<'_> {
    pub(super) fn run(&self, pair: &Pair) -> PairEnd {
        let mut end = PairEnd { whole: true, ..PairEnd::default() };
        let Some(entry) = pair.records.as_ref().or(pair.warc.as_ref()) else { return end };
        end.name.clone_from(&entry.name);
        if let Err(error) = self.try_run(pair, &mut end) {
            end.whole = false;
            let name = end.name.clone();
            end.faults.file(FaultKind::Missing, name, format!("it cannot be read: {error}"));
        }
        end
    }

    fn try_run(&self, pair: &Pair, end: &mut PairEnd) -> io::Result<()> {
        let mut walk = match &pair.warc {
            Some(warc) => Some(Walk::new(&warc.name, self.seals.sums.contains_key(&warc.name), self.open(warc)?)),
            None => None,
        };
        if let Some(records) = &pair.records {
            end.checked.records_files += 1;
            self.records(records, walk.as_mut(), end)?;
        }
        if let (Some(mut walk), Some(warc)) = (walk, &pair.warc) {
            end.checked.warc_files += 1;
            // Without its lines every record would be nobody's: one fault is enough.
            if end.whole && !walk.is_broken() {
                walk.rest(warc.open, &mut end.checked, &mut end.faults);
            }
            end.tombs.append(&mut walk.tombs);
            let (bytes, sum) = Summing::finish(walk.into_inner())?;
            end.checked.warc_bytes += bytes;
            self.sum(warc, bytes, sum, &mut end.faults);
        }
        Ok(())
    }

    fn open(&self, entry: &Entry) -> io::Result<io::BufReader<Summing>> {
        Summing::open(Path::new(&entry.path), self.seals.sums.contains_key(&entry.name))
    }

    fn sum(&self, entry: &Entry, bytes: u64, sum: Option<Digest>, faults: &mut Faults) {
        if let Some(stated) = self.seals.sums.get(&entry.name) {
            check_sum(stated, bytes, sum, faults);
        }
    }

    fn records(&self, entry: &Entry, mut walk: Option<&mut Walk<'_>>, end: &mut PairEnd) -> io::Result<()> {
        let mut frames = Frames::new(entry.path.clone(), self.open(entry)?);
        let mut chain = None;
        while end.whole {
            let offset = frames.offset();
            let problem = match frames.frame() {
                Ok(Frame::End) => break,
                Ok(Frame::Torn(torn)) if entry.open => {
                    end.faults.note(torn.to_string());
                    break;
                }
                Ok(Frame::Torn(_)) => "the frame is torn".to_owned(),
                Ok(Frame::Lines(lines)) if lines.is_empty() => "the frame holds no line".to_owned(),
                Ok(Frame::Lines(lines)) => {
                    let at = (entry, offset);
                    end.whole = lines.iter().all(|line| self.line(line, at, &mut chain, walk.as_deref_mut(), end));
                    continue;
                }
                Err(error) => error.problem,
            };
            end.whole = false;
            let (kind, file) = (FaultKind::Frame, entry.name.clone());
            end.faults.add(Fault { kind, file, offset: Some(offset), seq: None, url: None, problem });
        }
        let (bytes, sum) = Summing::finish(frames.into_inner())?;
        end.checked.records_bytes += bytes;
        self.sum(entry, bytes, sum, &mut end.faults);
        Ok(())
    }

    /// False when the chain does not go on.
    fn line(
        &self,
        line: &Line,
        (entry, offset): (&Entry, u64),
        chain: &mut Option<ChainVerifier>,
        walk: Option<&mut Walk<'_>>,
        end: &mut PairEnd,
    ) -> bool {
        let fault = |kind: FaultKind, url: Option<String>, problem: String| {
            let (file, seq) = (entry.name.clone(), Some(line.seq));
            Fault { kind, file, offset: Some(offset), seq, url, problem }
        };
        let chain = chain.get_or_insert_with(|| {
            end.first = Some((line.seq, line.prev));
            let before = line.seq.checked_sub(1).map(|seq| ChainHead { seq, link: line.prev });
            ChainVerifier::after(before)
        });
        let Standing { body, tomb, problem } = Standing::of(line);
        if let Some(problem) = problem {
            end.faults.add(fault(FaultKind::Erasure, None, problem));
        }
        let by = tomb.as_ref().and_then(|tomb| tomb.by);
        end.tombs.extend(tomb);
        let seen: Option<Result<Seen<'_>, _>> = body.map(serde_json::from_str);
        let url = seen.as_ref().and_then(|seen| seen.as_ref().ok()).map(|seen| seen.url.clone().into_owned());
        if let Err(broken) = chain.step(line) {
            end.faults.add(fault(FaultKind::Chain, url, broken.problem));
            return false;
        }
        end.last = Some(line.head());
        end.checked.lines += 1;
        self.places(line, url.as_deref(), end);
        end.checked.erased += u64::from(matches!(line.content, Content::Erased(_)));
        match (seen, body) {
            (Some(Ok(mut seen)), Some(body)) => {
                end.checked.line_bytes += body.len() as u64;
                if let (Some(erasure), Content::Kept { .. }) = (seen.erasure.take(), &line.content) {
                    end.erasures.push(Event { seq: line.seq, erasure });
                }
                self.body(line, &seen, walk, end, &fault);
            }
            (Some(Err(error)), _) => {
                end.faults.add(fault(FaultKind::Content, None, format!("its body is no record: {error}")));
            }
            _ => {
                if let Some(walk) = walk {
                    walk.erased(line.commitment, by);
                }
            }
        }
        true
    }

    fn body(
        &self,
        line: &Line,
        seen: &Seen<'_>,
        walk: Option<&mut Walk<'_>>,
        end: &mut PairEnd,
        fault: &dyn Fn(FaultKind, Option<String>, String) -> Fault,
    ) {
        let url = || Some(seen.url.clone().into_owned());
        end.config = seen.agent.config_digest.as_deref().and_then(|hex| hex.parse().ok());
        if let Some(config) = end.config {
            *end.configs.entry(config).or_insert(false) |= self.since.is_some_and(|since| line.seq >= since);
        }
        let [robots, tdmrep] = [("robots.txt", &seen.robots), ("tdmrep.json", &seen.tdmrep)];
        let files = [robots, tdmrep, ("ai.txt", &seen.ai_txt), ("trust.txt", &seen.trust_txt)];
        let files = files.into_iter().filter_map(|(name, copy)| Some((name, copy.as_ref()?)));
        for (name, copy) in files.chain(seen.licences.iter().map(|copy| ("licence", copy))) {
            let digest = copy.digest.as_deref();
            let lost = |hex: &str| format!("the {name} that decided, {hex}, is not in the evidence");
            match digest.map(|hex| (hex, hex.parse::<Digest>())) {
                Some((_, Ok(digest))) if self.copies.contains(&digest) => {}
                // It may have been erased by name: that is known when every line is read.
                Some((hex, Ok(digest))) => {
                    let first = || (fault(FaultKind::Evidence, url(), lost(hex)), 0);
                    end.lost_copies.entry(digest).or_insert_with(first).1 += 1;
                }
                Some((hex, Err(_))) => end.faults.add(fault(FaultKind::Evidence, url(), lost(hex))),
                None => {}
            }
        }
        match (walk, &seen.warc) {
            (Some(walk), _) => walk.meet(line, seen, &mut end.checked, &mut end.faults),
            (None, Some(places)) => {
                let problem = format!("its WARC file {} is not there", places.file);
                end.faults.add(fault(FaultKind::Missing, url(), problem));
            }
            (None, None) => {}
        }
    }

    /// Whatever names this line from outside must name this very one.
    fn places(&self, line: &Line, url: Option<&str>, end: &mut PairEnd) {
        let lines = line.seq + 1;
        let from = self.seals.places.partition_point(|place| place.lines < lines);
        for place in self.seals.places.iter().skip(from).take_while(|place| place.lines == lines) {
            if place.link != line.link {
                end.faults.add(Fault {
                    kind: FaultKind::Chain,
                    file: end.name.clone(),
                    offset: None,
                    seq: Some(line.seq),
                    url: url.map(ToOwned::to_owned),
                    problem: format!("{} names another line in its place", place.by),
                });
            }
        }
    }
}

/// What stands in a line.
struct Standing<'a> {
    /// The record, or the one that stands in its tombstone.
    body: Option<&'a str>,
    tomb: Option<Tomb>,
    /// What is wrong with its note.
    problem: Option<String>,
}

impl<'a> Standing<'a> {
    fn of(line: &'a Line) -> Self {
        let note = match &line.content {
            Content::Kept { body, .. } => return Self { body: Some(body), tomb: None, problem: None },
            Content::Erased(note) => note,
        };
        match Note::parse(note).and_then(|note| Ok((ErasureId::parse(note.erasure), note.amended()?))) {
            Ok((by, amended)) => {
                let what = amended.map_or(What::Line, |(_, commitment)| What::Amended(commitment));
                let body = amended.map(|(body, _)| body);
                Self { body, tomb: Some(Tomb { seq: line.seq, by, what }), problem: None }
            }
            Err(problem) => Self { body: None, tomb: None, problem: Some(problem) },
        }
    }
}
