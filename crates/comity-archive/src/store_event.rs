//! How one event becomes WARC records and a record line.

use comity_policy::{Capture, Errand, Spool, WallTime};

use crate::archive::Archive;
use crate::digests::BlockDigests;
use crate::record::build::{self, Http, Made};
use crate::record::metadata::{self, Changes};
use crate::record::{WarcPlace, WarcPlaces};
use crate::stored::{Stored, StoredWarc};
use crate::warc::grammar::{RecordHeader, WarcType};
use crate::warc::http_head::{self, StoredHead};
use crate::warc::info::warcinfo;
use crate::warc::writer::Outgoing;
use crate::{ArchiveError, Basis, Earlier, Event, Fetched, NotFetched, Target};

/// One half of an exchange, ready to be stored.
struct Half {
    id: String,
    head: StoredHead,
    digests: BlockDigests,
}

impl Archive {
    pub(crate) fn write_event(&mut self, event: &Event) -> Result<Stored, ArchiveError> {
        match event {
            Event::Fetched(fetched) => self.write_fetched(fetched),
            Event::NotFetched(not_fetched) => self.write_not_fetched(not_fetched),
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

    fn write_fetched(&mut self, event: &Fetched) -> Result<Stored, ArchiveError> {
        let capture = &event.capture;
        let response = http_head::response(capture).map(|head| self.half(head, &capture.body)).transpose()?;
        let request = http_head::request(capture).map(|head| self.half(head, &Spool::default())).transpose()?;
        let id = self.new_id()?;
        let places = if self.config.warc { Some(self.put_exchange(capture, &request, &response)?) } else { None };
        let http = Http {
            request: request.as_ref().map(|half| &half.head),
            payload_sha256: response.as_ref().map(|half| half.digests.payload_sha256),
        };
        let made = Made {
            crawl: &self.config.crawl,
            record_id: bare(&id).to_owned(),
            warc: places,
            robots_record: self.robots_record(event),
        };
        let record = build::fetched(event, &http, made);
        let line = self.line(&record)?;
        let whole = response.as_ref().and_then(|half| whole_capture(capture, half, self.config.warc));
        if !self.config.warc {
            return Ok(Stored { capture: whole, ..self.stage_line(&line, None) });
        }
        let mut header = RecordHeader::new(WarcType::Metadata, &id, &capture.started.to_string());
        header.push_target(capture.url.as_str());
        header.push_some("WARC-Concurrent-To", response.as_ref().or(request.as_ref()).map(|half| half.id.as_str()));
        let changes =
            Changes { request: request.as_ref().map(|h| &h.head), response: response.as_ref().map(|h| &h.head) };
        let block = metadata::block(&record, line.commitment, &changes);
        self.put(WarcType::Metadata, header, block.as_bytes())?;
        let stored = self.commit_event()?;
        if let (Errand::Robots { for_origin, .. }, Some(digest), Some(half)) =
            (&event.errand, event.robots_copy, &response)
        {
            self.robots.remember(for_origin, digest, bare(&half.id));
        }
        Ok(Stored { capture: whole, ..self.stage_line(&line, Some(stored)) })
    }

    fn write_not_fetched(&mut self, event: &NotFetched) -> Result<Stored, ArchiveError> {
        let id = self.new_id()?;
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
            record_id: bare(&id).to_owned(),
            warc,
            robots_record: self.refusal_robots(event),
        };
        let record = build::not_fetched(event, made);
        let line = self.line(&record)?;
        let Some(url) = in_warc else { return Ok(self.stage_line(&line, None)) };
        let mut header = RecordHeader::new(WarcType::Metadata, &id, &event.at.to_string());
        header.push_target(url.as_str());
        let block = metadata::block(&record, line.commitment, &Changes::default());
        self.put(WarcType::Metadata, header, block.as_bytes())?;
        let stored = self.commit_event()?;
        Ok(self.stage_line(&line, Some(stored)))
    }

    /// Compresses response and request into the event, response first; gives their places.
    fn put_exchange(
        &mut self,
        capture: &Capture,
        request: &Option<Half>,
        response: &Option<Half>,
    ) -> Result<WarcPlaces, ArchiveError> {
        self.open_warc()?;
        let mut next = self.warc.end_offset();
        let mut places = [None, None];
        let empty = Spool::default();
        let halves = [(WarcType::Response, response, &capture.body), (WarcType::Request, request, &empty)];
        for ((kind, half, body), place) in halves.into_iter().zip(&mut places) {
            let Some(half) = half else { continue };
            let mut header = exchange_header(kind, half, capture);
            if kind == WarcType::Request {
                header.push_some("WARC-Concurrent-To", response.as_ref().map(|half| half.id.as_str()));
            } else {
                header.push_some("WARC-Truncated", capture.truncated.map(comity_policy::Truncation::as_str));
            }
            let digests = &half.digests;
            let span = self.warc.put(Outgoing { kind, header, head: &half.head.bytes, body, digests })?;
            next = span.offset + span.length;
            *place = Some(WarcPlace { id: bare(&half.id).to_owned(), offset: span.offset, length: span.length });
        }
        let [response, request] = places;
        Ok(self.places(next, request, response))
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

    fn half(&mut self, head: StoredHead, body: &Spool) -> Result<Half, ArchiveError> {
        let digests = BlockDigests::of(&head.bytes, body).map_err(|e| ArchiveError::io(&self.dir, e))?;
        Ok(Half { id: self.new_id()?, head, digests })
    }

    fn robots_record(&self, event: &Fetched) -> Option<String> {
        match &event.errand {
            Errand::Judged(decision) => self.robots.find(event.capture.url.origin(), decision.robots.digest()),
            Errand::Robots { .. } => None,
        }
    }

    fn refusal_robots(&self, event: &NotFetched) -> Option<String> {
        match (&event.basis, &event.target) {
            (Basis::Decision(decision), Target::Url(url)) => self.robots.find(url.origin(), decision.robots.digest()),
            _ => None,
        }
    }
}

/// What a later capture of the same content points at; nothing where the content was cut.
fn whole_capture(capture: &Capture, half: &Half, warc: bool) -> Option<Earlier> {
    let whole = capture.truncated.is_none() && capture.fault.is_none();
    whole.then(|| Earlier {
        record_id: warc.then(|| bare(&half.id).into()),
        url: capture.url.clone(),
        date: capture.started,
        payload_sha256: half.digests.payload_sha256,
    })
}

/// The fields that request and response share.
fn exchange_header(kind: WarcType, half: &Half, capture: &Capture) -> RecordHeader {
    let date: WallTime = capture.started;
    let mut header = RecordHeader::new(kind, &half.id, &date.to_string());
    header.push_target(capture.url.as_str());
    header.push_some("WARC-IP-Address", capture.peer.map(|peer| peer.to_canonical().to_string()).as_deref());
    header.push("WARC-Protocol", capture.protocol.as_str());
    if let Some(tls) = &capture.tls {
        header.push("WARC-Protocol", tls.version);
        header.push("WARC-Cipher-Suite", &tls.cipher);
    }
    header
}

/// A record id without its angle brackets.
fn bare(id: &str) -> &str {
    id.trim_start_matches('<').trim_end_matches('>')
}
