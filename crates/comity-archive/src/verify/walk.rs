use std::collections::HashMap;
use std::io::BufReader;

use comity_policy::Digest;

use super::block::{Block, Facts};
use super::erasures::{ErasureId, Tomb, What};
use super::report::{Checked, Fault, FaultKind, Faults};
use super::seen::Seen;
use super::summing::Summing;
use crate::Line;
use crate::record::RawText;
use crate::warc::stream::{WarcHead, WarcStream};
use crate::warc::text::target_uri;

/// Goes through a WARC file in step with the lines that name its records: they lie in the same order.
///
/// Memory: one HTTP head. Each record is met exactly once, so that none is left that no line names.
pub(super) struct Walk<'a> {
    name: &'a str,
    /// Whether a checkpoint covers every byte of the file. Else lines are held against all that they have.
    summed: bool,
    stream: WarcStream<BufReader<Summing>>,
    /// A record that was read ahead of the line that names it.
    ahead: Option<(WarcHead, Facts)>,
    /// Commitments of erased lines whose tombstone may still come, with their erasure.
    erased: HashMap<Digest, Option<ErasureId>>,
    /// Records that stand for what was erased of lines that stay.
    pub(super) tombs: Vec<Tomb>,
    broken: bool,
}

/// A record that a line names.
struct Wanted<'s> {
    part: &'static str,
    id: &'s str,
    offset: u64,
    length: Option<u64>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(name: &'a str, summed: bool, reader: BufReader<Summing>) -> Self {
        let stream = WarcStream::new(reader, 0);
        Self { name, summed, stream, ahead: None, erased: HashMap::new(), tombs: Vec::new(), broken: false }
    }

    /// The reader, for the sum of the whole file.
    pub(super) fn into_inner(self) -> BufReader<Summing> {
        self.stream.into_inner()
    }

    /// True when the file could not be read to its end.
    pub(super) const fn is_broken(&self) -> bool {
        self.broken
    }

    /// An erased line says no longer where its records were: one tombstone stands for them.
    pub(super) fn erased(&mut self, commitment: Digest, by: Option<ErasureId>) {
        self.erased.insert(commitment, by);
    }

    /// Meets the records that the line names.
    pub(super) fn meet(&mut self, line: &Line, seen: &Seen<'_>, checked: &mut Checked, faults: &mut Faults) {
        let Some(places) = &seen.warc else { return };
        if places.file != self.name.rsplit('/').next().unwrap_or_default() {
            let problem = format!("its WARC records are said to lie in {}", places.file);
            return faults.add(at(self.name, FaultKind::Place, places.metadata_offset, line, seen, problem));
        }
        let exchange = [("response", &places.response), ("request", &places.request)];
        let exchange = exchange.into_iter().filter_map(|(part, place)| {
            let place = place.as_ref()?;
            Some(Wanted { part, id: &place.id, offset: place.offset, length: Some(place.length) })
        });
        let metadata = Wanted { part: "metadata", id: &seen.record_id, offset: places.metadata_offset, length: None };
        for wanted in exchange.chain([metadata]) {
            if self.broken {
                return;
            }
            match self.find(&wanted, checked, faults) {
                Some((head, facts)) => self.compare(&wanted, (&head, &facts), line, seen, faults),
                None if self.broken => {}
                None => {
                    let problem = format!("no record begins there, its {} should", wanted.part);
                    faults.add(at(self.name, FaultKind::Place, wanted.offset, line, seen, problem));
                }
            }
        }
    }

    /// Everything that is left: records that no line names.
    pub(super) fn rest(&mut self, open: bool, checked: &mut Checked, faults: &mut Faults) {
        let mut left = 0_u64;
        while let Some((head, facts)) = self.next(open, checked, faults) {
            if open {
                left += 1;
            } else {
                self.stray(&head, &facts, faults);
            }
        }
        if left > 0 {
            faults.note(format!("{}: its last {left} records are of no acknowledged line, as after a kill", self.name));
        }
    }

    /// The record at the wanted place; those before it are strays.
    fn find(&mut self, wanted: &Wanted<'_>, checked: &mut Checked, faults: &mut Faults) -> Option<(WarcHead, Facts)> {
        loop {
            let (head, facts) = self.next(false, checked, faults)?;
            if head.offset == wanted.offset {
                return Some((head, facts));
            }
            if head.offset > wanted.offset {
                self.ahead = Some((head, facts));
                return None;
            }
            self.stray(&head, &facts, faults);
        }
    }

    /// A record that no line names. The warcinfo at the begin has none; of an erased line there is one tombstone.
    fn stray(&mut self, head: &WarcHead, facts: &Facts, faults: &mut Faults) {
        if head.offset == 0 && head.kind() == "warcinfo" {
            return;
        }
        let erased = facts.commitment().filter(|_| head.kind() == "metadata");
        let (kind, problem) = match erased.and_then(|digest| self.erased.remove(&digest)) {
            Some(by) if facts.is_bare() && by.is_some() && facts.erasure() == by => return,
            Some(_) if facts.is_bare() => (FaultKind::Erasure, "its tombstone and its line name different erasures"),
            Some(_) => (FaultKind::Erasure, "its line was erased, and the records were not"),
            None => (FaultKind::Unnamed, "no line names the record that begins there"),
        };
        let (file, problem) = (self.name.to_owned(), problem.to_owned());
        faults.add(Fault { kind, file, offset: Some(head.offset), seq: None, url: None, problem });
    }

    fn next(&mut self, open: bool, checked: &mut Checked, faults: &mut Faults) -> Option<(WarcHead, Facts)> {
        if let Some(ahead) = self.ahead.take() {
            return Some(ahead);
        }
        let mut block = Block::new();
        let head = match self.stream.next_record(|head, piece| block.take(head, piece))? {
            Ok(head) => head,
            Err(error) => {
                self.broken = true;
                if open {
                    faults.note(format!("{}: {error}; it was still written to, as by a kill", self.name));
                } else {
                    let (kind, file) = (FaultKind::Warc, self.name.to_owned());
                    let problem = error.damage.to_string();
                    faults.add(Fault { kind, file, offset: Some(error.offset), seq: None, url: None, problem });
                }
                return None;
            }
        };
        checked.warc_records += 1;
        checked.block_bytes += head.block_length;
        let facts = block.finish();
        if let Some(problem) = facts.wrong_digest(&head) {
            let url = head.field("WARC-Target-URI").map(ToOwned::to_owned);
            let (kind, file) = (FaultKind::WarcDigest, self.name.to_owned());
            faults.add(Fault { kind, file, offset: Some(head.offset), seq: None, url, problem });
        }
        Some((head, facts))
    }

    /// Holds a record against the line that names it.
    fn compare(
        &mut self,
        wanted: &Wanted<'_>,
        (head, facts): (&WarcHead, &Facts),
        line: &Line,
        seen: &Seen<'_>,
        faults: &mut Faults,
    ) {
        let Wanted { part, id, offset, length } = *wanted;
        let (name, summed) = (self.name, self.summed);
        let mut say = |kind: FaultKind, problem: String| faults.add(at(name, kind, offset, line, seen, problem));
        if head.id() != id || length.is_some_and(|length| length != head.length) {
            return say(FaultKind::Place, format!("the record there is not its {part}: id {}", head.id()));
        }
        if let Some(by) = facts.erasure().filter(|_| head.kind() == "metadata" && part != "request") {
            let what = if part == "metadata" { What::Metadata } else { What::Payload };
            self.tombs.push(Tomb { seq: line.seq, by: Some(by), what });
            if part == "response" || (facts.is_bare() && facts.commitment() == Some(line.commitment)) {
                return;
            }
        }
        let kind_fits = head.kind() == part || (part == "response" && head.kind() == "revisit");
        if !kind_fits {
            return say(FaultKind::Content, format!("its {part} is a {} record", head.kind()));
        }
        if seen.url.len() as u64 == seen.url_length
            && head.field("WARC-Target-URI") != Some(target_uri(&seen.url).as_str())
        {
            say(FaultKind::Content, format!("its {part} has another WARC-Target-URI"));
        }
        if head.field("WARC-Date") != Some(&seen.time.started) {
            say(FaultKind::Content, format!("its {part} has another WARC-Date than {}", seen.time.started));
        }
        if !summed
            && part != "metadata"
            && let Some(problem) = super::exchange::differs(head, facts, seen)
        {
            say(FaultKind::Content, format!("its {part} in the WARC has {problem}"));
        }
        match head.kind() {
            "response" => {
                let payload = facts.payload.as_ref().map(|payload| (payload.sha256.to_string(), payload.length));
                let stated = seen.response.as_ref().map(|stated| (stated.body_digest.to_string(), stated.body_length));
                if payload != stated {
                    say(
                        FaultKind::Content,
                        "the body in the WARC is not the one that the line has the sum of".to_owned(),
                    );
                }
            }
            "request" => {
                let stated = seen.request.as_ref().map(|request| bytes_of(&request.head));
                if stated.as_deref() != Some(&facts.text[..]) {
                    say(FaultKind::Content, "the request in the WARC is not the one in the line".to_owned());
                }
            }
            "metadata" if facts.commitment() != Some(line.commitment) => {
                say(FaultKind::Content, "its metadata does not carry the commitment of the line".to_owned());
            }
            _ => {}
        }
    }
}

fn at(name: &str, kind: FaultKind, offset: u64, line: &Line, seen: &Seen<'_>, problem: String) -> Fault {
    let (file, url) = (name.to_owned(), Some(seen.url.clone().into_owned()));
    Fault { kind, file, offset: Some(offset), seq: Some(line.seq), url, problem }
}

/// The bytes that a text from outside stands for; a broken base64 stands for none.
pub(super) fn bytes_of(text: &RawText) -> Vec<u8> {
    match text {
        RawText::Text(text) => text.as_bytes().to_vec(),
        RawText::Bytes { base64 } => data_encoding::BASE64.decode(base64.as_bytes()).unwrap_or_default(),
    }
}
