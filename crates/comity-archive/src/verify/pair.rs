use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::Path;

use comity_policy::Digest;

use super::report::{Checked, Fault, FaultKind, Faults};
use super::seals::{Seals, check_sum};
use super::seen::Seen;
use super::summing::Summing;
use super::tree::{Entry, Pair};
use super::walk::Walk;
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
        let seen: Option<Result<Seen<'_>, _>> = match &line.content {
            Content::Kept { body, .. } => Some(serde_json::from_str(body)),
            Content::Erased(_) => None,
        };
        let url = seen.as_ref().and_then(|seen| seen.as_ref().ok()).map(|seen| seen.url.clone().into_owned());
        if let Err(broken) = chain.step(line) {
            end.faults.add(fault(FaultKind::Chain, url, broken.problem));
            return false;
        }
        end.last = Some(line.head());
        end.checked.lines += 1;
        self.places(line, url.as_deref(), end);
        match (seen, &line.content) {
            (Some(Ok(seen)), Content::Kept { body, .. }) => {
                end.checked.line_bytes += body.len() as u64;
                self.body(line, &seen, walk, end, &fault);
            }
            (Some(Err(error)), _) => {
                end.faults.add(fault(FaultKind::Content, None, format!("its body is no record: {error}")));
            }
            _ => {
                end.checked.erased += 1;
                if let Some(walk) = walk {
                    walk.erased(line.commitment);
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
        let digest = seen.robots.as_ref().and_then(|robots| robots.digest.as_deref());
        if let Some(digest) = digest.filter(|hex| hex.parse().map_or(true, |digest| !self.copies.contains(&digest))) {
            let problem = format!("the robots.txt that decided, {digest}, is not in the evidence");
            end.faults.add(fault(FaultKind::Evidence, url(), problem));
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
