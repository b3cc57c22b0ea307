//! The costly part of an event, which any thread can do: heads made true, bodies digested, records compressed.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use comity_policy::{Capture, Errand, Spool, WallTime};

use crate::digests::BlockDigests;
use crate::draft::{Beside, Draft, Exchange};
use crate::entropy::{ID_BYTES, record_id, record_id_of};
use crate::index::IndexEntry;
use crate::repeats::{Repeat, stated};
use crate::robots_responses::RobotsResponses;
use crate::warc::coder::Coder;
use crate::warc::grammar::{RecordHeader, WarcType};
use crate::warc::http_head::{self, StoredHead};
use crate::warc::member::{Outgoing, write_member};
use crate::warc::text::target_uri;
use crate::{ArchiveConfig, ArchiveError, CrawlFacts, Entropy, Event, Fetched, NotFetched, QueryForm, WarcFormat};

/// Bodies up to this are compressed while an event is prepared, and wait in memory. Larger ones pass from where they lie
/// into the file when their turn comes.
const MOST_PREPARED: u64 = 1 << 20;

/// Does the part of the work that needs no turn. One serves any number of threads.
#[derive(Debug)]
pub(crate) struct Preparer {
    /// For messages.
    pub(crate) dir: PathBuf,
    pub(crate) warc: bool,
    pub(crate) format: WarcFormat,
    pub(crate) level: u32,
    pub(crate) query: QueryForm,
    /// Idle compressors: as many as threads were at work at once.
    pub(crate) coders: Mutex<Vec<MemberCoder>>,
    /// What every record says of the crawl: the configuration in force.
    pub(crate) crawl: Mutex<Arc<CrawlFacts>>,
    pub(crate) robots: Mutex<RobotsResponses>,
}

/// A compressor and the room that its members grow in, which is kept: only their bytes are allocated anew.
#[derive(Debug)]
pub(crate) struct MemberCoder {
    coder: Coder,
    room: Vec<u8>,
}

/// Room that an idle compressor keeps.
const MOST_ROOM: usize = 256 * 1024;

/// An event that only waits for its place in the files.
#[derive(Debug)]
pub(crate) enum Prepared<'a> {
    Fetched(Box<PreparedFetched<'a>>),
    NotFetched { id: String, judged: Option<String>, event: Cow<'a, NotFetched> },
}

#[derive(Debug)]
pub(crate) struct PreparedFetched<'a> {
    pub(crate) event: Cow<'a, Fetched>,
    /// As [`Made::judged`](crate::record::build::Made).
    pub(crate) judged: Option<String>,
    /// Of the metadata record and the record line.
    pub(crate) id: String,
    pub(crate) response: Option<Half>,
    pub(crate) request: Option<Half>,
    /// The capture that the caller says this one repeats.
    pub(crate) stated: Option<Repeat>,
    /// The index line of the response, but for its place; `None` where it repeats another.
    pub(crate) entry: Option<IndexEntry>,
    pub(crate) draft: Draft,
}

impl PreparedFetched<'_> {
    /// What a record is made of.
    pub(crate) fn exchange(&self, in_warc: bool) -> Exchange<'_> {
        let Self { event, judged, id, response, request, .. } = self;
        let (judged, response, request) = (judged.as_deref(), response.as_ref(), request.as_ref());
        Exchange { event, judged, id, response, request, in_warc }
    }
}

/// One half of an exchange, ready to be stored.
#[derive(Debug)]
pub(crate) struct Half {
    pub(crate) id: String,
    pub(crate) head: StoredHead,
    pub(crate) digests: BlockDigests,
    /// The compressed record; `None` where it is too large to wait in memory, or no WARC is written.
    pub(crate) member: Option<Vec<u8>>,
}

impl Preparer {
    pub(crate) fn new(dir: &Path, config: &ArchiveConfig) -> Self {
        Self {
            dir: dir.to_owned(),
            warc: config.warc,
            format: config.format,
            level: config.level,
            query: config.query,
            coders: Mutex::default(),
            crawl: Mutex::new(Arc::new(config.crawl.clone())),
            robots: Mutex::default(),
        }
    }

    /// # Errors
    /// When a body cannot be read, and when there is no randomness for ids.
    pub(crate) fn prepare<'a>(
        &self,
        event: Cow<'a, Event>,
        entropy: &mut dyn Entropy,
    ) -> Result<Prepared<'a>, ArchiveError> {
        let form = self.form(&event);
        let judged = form.judged(&event).map(str::to_owned);
        let event = match form.event(event) {
            Cow::Borrowed(Event::Fetched(event)) => Cow::Borrowed(&**event),
            Cow::Owned(Event::Fetched(event)) => Cow::Owned(*event),
            Cow::Borrowed(Event::NotFetched(event)) => {
                return self.not_fetched(Cow::Borrowed(&**event), judged, entropy);
            }
            Cow::Owned(Event::NotFetched(event)) => return self.not_fetched(Cow::Owned(*event), judged, entropy),
        };
        let capture = &event.capture;
        let [of_response, of_request, own, salt] = self.drawn(entropy)?;
        let half = |head, body: &Spool, random| self.half(head, body, record_id_of(random));
        let response = http_head::response(capture, form).map(|head| half(head, &capture.body, of_response));
        let request = http_head::request(capture, form).map(|head| half(head, &Spool::default(), of_request));
        let (response, request, id) = (response.transpose()?, request.transpose()?, record_id_of(own));
        let stated = response.as_ref().and_then(|half| stated(&event, half));
        // A capture that lies in no WARC can be named by a record, not by a WARC.
        let stated = stated.filter(|repeat| !self.warc || repeat.earlier.record_id.is_some());
        let (full, beside) = (response.as_ref().filter(|_| self.warc && stated.is_none()), self.beside(&event));
        let entry = full.map(|half| index_entry(WarcType::Response, &event.capture, half, &half.digests));
        let exchange = Exchange {
            event: &event,
            judged: judged.as_deref(),
            id: &id,
            response: response.as_ref(),
            request: request.as_ref(),
            in_warc: self.warc,
        };
        let draft = Draft::of(exchange, stated.as_ref(), beside, salt).map_err(|e| ArchiveError::io(&self.dir, e))?;
        let mut prepared = PreparedFetched { event, judged, id, response, request, stated, entry, draft };
        if self.warc {
            self.compress(&mut prepared)?;
        }
        Ok(Prepared::Fetched(Box::new(prepared)))
    }

    /// What is made of the queries of an outcome. The files in which a site speaks, robots.txt first, are written whole: their URLs are the
    /// site's own, and their copies in the evidence are found by them.
    const fn form(&self, event: &Event) -> QueryForm {
        let is_file = match event {
            Event::Fetched(event) => matches!(event.errand, Errand::Robots { .. }) || event.context.file.is_some(),
            Event::NotFetched(event) => event.context.file.is_some(),
        };
        if is_file { QueryForm::Keep } else { self.query }
    }

    /// What else is in force now.
    pub(crate) fn beside(&self, event: &Fetched) -> Beside {
        let digest = match &event.errand {
            Errand::Judged(decision) => decision.robots.digest(),
            Errand::Robots { .. } => None,
        };
        let robots_record = lock(&self.robots).find(event.capture.url.origin(), digest);
        Beside { crawl: lock(&self.crawl).clone(), robots_record }
    }

    fn not_fetched<'a>(
        &self,
        event: Cow<'a, NotFetched>,
        judged: Option<String>,
        entropy: &mut dyn Entropy,
    ) -> Result<Prepared<'a>, ArchiveError> {
        Ok(Prepared::NotFetched { id: self.new_id(entropy)?, judged, event })
    }

    /// Randomness for an exchange, all at once: three ids and the salt.
    fn drawn(&self, entropy: &mut dyn Entropy) -> Result<[[u8; ID_BYTES]; 4], ArchiveError> {
        let mut drawn = [[0_u8; ID_BYTES]; 4];
        entropy.fill(drawn.as_flattened_mut()).map_err(|e| ArchiveError::io(&self.dir, e))?;
        Ok(drawn)
    }

    fn half(&self, head: StoredHead, body: &Spool, id: String) -> Result<Half, ArchiveError> {
        let digests = BlockDigests::of(&head.bytes, body).map_err(|e| ArchiveError::io(&self.dir, e))?;
        Ok(Half { id, head, digests, member: None })
    }

    /// Compresses what is small enough to wait.
    fn compress(&self, prepared: &mut PreparedFetched<'_>) -> Result<(), ArchiveError> {
        let PreparedFetched { event, response, request, stated, .. } = prepared;
        let capture = &event.capture;
        let mut coder = self.coder()?;
        let concurrent = response.as_ref().map(|half| half.id.clone());
        if let Some(half) = response.as_mut().filter(|_| stated.is_none() && capture.body.len() <= MOST_PREPARED) {
            half.member = Some(self.member(&mut coder, response_record(capture, half, &capture.body))?);
        }
        if let Some(half) = request {
            half.member = Some(self.member(&mut coder, request_record(capture, half, concurrent.as_deref()))?);
        }
        lock(&self.coders).push(coder);
        Ok(())
    }

    fn member(&self, idle: &mut MemberCoder, record: Outgoing<'_>) -> Result<Vec<u8>, ArchiveError> {
        let MemberCoder { coder, room } = idle;
        // Empty: after a failure the compressor is not used again, and its room neither.
        write_member(coder, record, room, &self.dir, |_| Ok(()))?;
        let member = room.as_slice().to_vec();
        room.clear();
        room.shrink_to(MOST_ROOM);
        Ok(member)
    }

    fn coder(&self) -> Result<MemberCoder, ArchiveError> {
        let idle = lock(&self.coders).pop();
        let made = || Ok(MemberCoder { coder: Coder::new(self.format, self.level)?, room: Vec::new() });
        idle.map_or_else(made, Ok).map_err(|e| ArchiveError::io(&self.dir, e))
    }

    fn new_id(&self, entropy: &mut dyn Entropy) -> Result<String, ArchiveError> {
        record_id(entropy).map_err(|e| ArchiveError::io(&self.dir, e))
    }
}

/// What these guard is whole between any two steps.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The response with its whole body.
pub(crate) fn response_record<'a>(capture: &Capture, half: &'a Half, body: &'a Spool) -> Outgoing<'a> {
    let kind = WarcType::Response;
    let mut header = exchange_header(kind, half, capture);
    header.push_some("WARC-Truncated", capture.truncated.map(comity_policy::Truncation::as_str));
    Outgoing { kind, header, head: &half.head.bytes, body, digests: &half.digests }
}

/// The response as a pointer: its head, and where its content lies. `digests` are those of the head alone.
pub(crate) fn revisit_record<'a>(
    capture: &Capture,
    half: &'a Half,
    repeat: &Repeat,
    digests: &'a BlockDigests,
    empty: &'a Spool,
) -> Outgoing<'a> {
    let (kind, earlier) = (WarcType::Revisit, &repeat.earlier);
    let mut header = exchange_header(kind, half, capture);
    header.push("WARC-Profile", repeat.profile.uri());
    header.push_some("WARC-Refers-To", earlier.record_id.as_deref().map(|id| format!("<{id}>")).as_deref());
    header.push("WARC-Refers-To-Target-URI", &target_uri(earlier.url.as_str()));
    header.push("WARC-Refers-To-Date", &earlier.date.to_string());
    if digests.payload.is_some() {
        header.push("WARC-Truncated", "length");
    }
    Outgoing { kind, header, head: &half.head.bytes, body: empty, digests }
}

fn request_record<'a>(capture: &Capture, half: &'a Half, concurrent: Option<&str>) -> Outgoing<'a> {
    static EMPTY: Spool = Spool::in_memory(bytes::Bytes::new());
    let kind = WarcType::Request;
    let mut header = exchange_header(kind, half, capture);
    header.push_some("WARC-Concurrent-To", concurrent);
    Outgoing { kind, header, head: &half.head.bytes, body: &EMPTY, digests: &half.digests }
}

/// The index line of the response, or of its revisit.
pub(crate) fn index_entry(kind: WarcType, capture: &Capture, half: &Half, digests: &BlockDigests) -> IndexEntry {
    let uri = target_uri(capture.url.as_str());
    let (date, head) = (capture.started.to_string(), &half.head.bytes);
    IndexEntry::of_url(&capture.url, kind, &uri, &date, head, digests.payload.as_deref())
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
pub(crate) fn bare(id: &str) -> &str {
    id.trim_start_matches('<').trim_end_matches('>')
}
