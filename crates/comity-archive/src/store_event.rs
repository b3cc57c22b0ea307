//! How one prepared event takes its place: WARC records and a record line.

use comity_policy::{Errand, Spool};

use crate::archive::Archive;
use crate::digests::BlockDigests;
use crate::draft::Draft;
use crate::prepare::{Half, Prepared, PreparedFetched, bare, index_entry, lock, response_record, revisit_record};
use crate::record::build::{self, Made};
use crate::record::metadata::{Block, Changes};
use crate::record::{WarcPlace, WarcPlaces};
use crate::repeats::{AnswerClass, Profile, Repeat, is_eligible, is_whole};
use crate::stored::{Stored, StoredWarc};
use crate::warc::grammar::{RecordHeader, WarcType};
use crate::warc::info::warcinfo;
use crate::warc::member::Outgoing;
use crate::warc::writer::Span;
use crate::{ArchiveError, Basis, Earlier, NotFetched, Target};

impl Archive {
    /// Writes one event that is prepared.
    pub(crate) fn write_prepared(&mut self, prepared: &Prepared<'_>) -> Result<Stored, ArchiveError> {
        match prepared {
            Prepared::Fetched(fetched) => self.write_fetched(fetched),
            Prepared::NotFetched { id, judged, event } => self.write_not_fetched(id, judged.as_deref(), event),
        }
    }

    /// The first record of a file.
    pub(crate) fn write_warcinfo(&mut self, name: &str) -> Result<(), ArchiveError> {
        let id = self.new_id()?;
        let mut header = RecordHeader::new(WarcType::Warcinfo, &id, &self.clock.wall().to_string());
        header.push("WARC-Filename", name);
        let block = warcinfo(&self.config.crawl);
        self.put(WarcType::Warcinfo, header, block.as_bytes())?;
        self.warc.commit().map(drop)
    }

    fn write_fetched(&mut self, prepared: &PreparedFetched<'_>) -> Result<Stored, ArchiveError> {
        let repeat = self.repeat(prepared);
        let places = if self.config.warc { Some(self.put_exchange(prepared, repeat.as_ref())?) } else { None };
        let anew = self.draft_anew(prepared, repeat.as_ref())?;
        let draft = anew.as_ref().unwrap_or(&prepared.draft);
        let line = draft.line(self.head, places.as_ref()).map_err(|e| ArchiveError::io(&self.dir, e))?;
        let mut place = None;
        if self.config.warc {
            let (header, block) = draft.metadata(line.commitment);
            self.put(WarcType::Metadata, header, block.as_bytes())?;
            place = Some(self.commit_event()?);
        }
        let capture = self.remember(prepared, repeat);
        Ok(Stored { capture, ..self.stage_line(&line, place) })
    }

    /// The record of an event for which something changed since it was prepared: the configuration, the robots.txt that is
    /// remembered, or the capture that it repeats. With the salt that was drawn then.
    fn draft_anew(
        &self,
        prepared: &PreparedFetched<'_>,
        repeat: Option<&Repeat>,
    ) -> Result<Option<Draft>, ArchiveError> {
        let beside = self.preparer.beside(&prepared.event);
        if repeat.is_some() == prepared.stated.is_some() && prepared.draft.rests_on(&beside) {
            return Ok(None);
        }
        let made = Draft::of(prepared.exchange(self.config.warc), repeat, beside, prepared.draft.salt());
        made.map(Some).map_err(|e| ArchiveError::io(&self.dir, e))
    }

    /// Which capture this one repeats: the one that the caller names, or one of this run with the same body.
    fn repeat(&self, prepared: &PreparedFetched<'_>) -> Option<Repeat> {
        let looked_up = || {
            let half = prepared.response.as_ref().filter(|_| self.config.dedup && is_eligible(&prepared.event))?;
            let class = AnswerClass::of(&prepared.event.capture);
            let earlier = self.payloads.find(class, half.digests.payload_sha256)?.clone();
            Some(Repeat { earlier, profile: Profile::SamePayload })
        };
        prepared.stated.clone().or_else(looked_up)
    }

    /// What later events may point at; gives the capture that holds this one's content: `None` for an error, a redirect, and a
    /// 304 that repeats nothing that is there.
    fn remember(&mut self, prepared: &PreparedFetched<'_>, repeat: Option<Repeat>) -> Option<Earlier> {
        let PreparedFetched { event, response, .. } = prepared;
        let half = response.as_ref()?;
        if let (true, Errand::Robots { for_origin, .. }, Some(digest)) =
            (self.config.warc, &event.errand, event.robots_copy)
        {
            lock(&self.preparer.robots).remember(for_origin, digest, bare(&half.id));
        }
        let class = AnswerClass::of(&event.capture);
        if let Some(Repeat { earlier, profile }) = repeat {
            // The body of an error page stands for no content, wherever it lies.
            return (profile == Profile::NotModified || class == AnswerClass::Content).then_some(earlier);
        }
        let capture = is_whole(&event.capture).then(|| Earlier {
            record_id: self.config.warc.then(|| bare(&half.id).into()),
            url: event.capture.url.clone(),
            date: event.capture.started,
            payload_sha256: half.digests.payload_sha256,
        })?;
        if self.config.dedup && self.config.warc && is_eligible(event) {
            self.payloads.remember(class, &capture);
        }
        (class == AnswerClass::Content).then_some(capture)
    }

    fn write_not_fetched(
        &mut self,
        id: &str,
        judged: Option<&str>,
        event: &NotFetched,
    ) -> Result<Stored, ArchiveError> {
        // Refusals stand in the records only, for their number; a robots.txt that could not be asked for is evidence.
        let in_warc = match (&event.basis, &event.target) {
            (Basis::Robots(_), Target::Url(url)) if self.config.warc => Some(url),
            _ => None,
        };
        let mut warc = None;
        if in_warc.is_some() {
            self.open_warc()?;
            warc = Some(self.places(self.warc.end_offset(), None, None));
        }
        let made = Made {
            crawl: &self.config.crawl,
            record_id: bare(id).to_owned(),
            warc,
            robots_record: self.refusal_robots(event),
            judged,
        };
        let record = build::not_fetched(event, made);
        let line = self.line(&record)?;
        let Some(url) = in_warc else { return Ok(self.stage_line(&line, None)) };
        let mut header = RecordHeader::new(WarcType::Metadata, id, &event.at.to_string());
        header.push_target(url.as_str());
        let block = Block::of(&record, &Changes::default()).with(line.commitment);
        self.put(WarcType::Metadata, header, block.as_bytes())?;
        let stored = self.commit_event()?;
        Ok(self.stage_line(&line, Some(stored)))
    }

    /// Puts response and request into the event, response first; gives their places.
    fn put_exchange(
        &mut self,
        prepared: &PreparedFetched<'_>,
        repeat: Option<&Repeat>,
    ) -> Result<WarcPlaces, ArchiveError> {
        self.open_warc()?;
        let mut next = self.warc.end_offset();
        let response = match &prepared.response {
            Some(half) => {
                let span = self.put_response(prepared, half, repeat)?;
                next = span.offset + span.length;
                Some(half.place(span))
            }
            None => None,
        };
        // A request is a head: it is always prepared.
        let request = prepared.request.as_ref().and_then(|half| Some((half, half.member.as_deref()?)));
        let request = request.map(|(half, member)| {
            let span = self.warc.put_member(member);
            next = span.offset + span.length;
            half.place(span)
        });
        Ok(self.places(next, request, response))
    }

    fn put_response(
        &mut self,
        prepared: &PreparedFetched<'_>,
        half: &Half,
        repeat: Option<&Repeat>,
    ) -> Result<Span, ArchiveError> {
        let capture = &prepared.event.capture;
        if let Some(repeat) = repeat {
            let empty = Spool::default();
            let digests = half.digests.of_head(&half.head.bytes, repeat.profile == Profile::SamePayload);
            let span = self.warc.put(revisit_record(capture, half, repeat, &digests, &empty))?;
            self.warc.index(&index_entry(WarcType::Revisit, capture, half, &digests), span);
            return Ok(span);
        }
        let span = match &half.member {
            Some(member) => self.warc.put_member(member),
            None => self.warc.put(response_record(capture, half, &capture.body))?,
        };
        if let Some(entry) = &prepared.entry {
            self.warc.index(entry, span);
        }
        Ok(span)
    }

    fn places(&self, metadata_offset: u64, request: Option<WarcPlace>, response: Option<WarcPlace>) -> WarcPlaces {
        let file = self.warc.file_name().unwrap_or_default().to_owned();
        WarcPlaces { file, metadata_offset, request, response }
    }

    fn put(&mut self, kind: WarcType, header: RecordHeader, block: &[u8]) -> Result<(), ArchiveError> {
        let body = Spool::default();
        let digests = BlockDigests::of(block, &body).map_err(|e| ArchiveError::io(&self.dir, e))?;
        self.warc.put(Outgoing { kind, header, head: block, body: &body, digests: &digests }).map(drop)
    }

    fn commit_event(&mut self) -> Result<StoredWarc, ArchiveError> {
        let span = self.warc.commit()?;
        let file = self.warc.file_name().unwrap_or_default().into();
        Ok(StoredWarc { file, offset: span.offset, end: span.offset + span.length })
    }

    fn refusal_robots(&self, event: &NotFetched) -> Option<String> {
        match (&event.basis, &event.target) {
            (Basis::Decision(decision), Target::Url(url)) => {
                lock(&self.preparer.robots).find(url.origin(), decision.robots.digest())
            }
            _ => None,
        }
    }
}
