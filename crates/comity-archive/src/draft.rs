//! The record of an exchange and the WARC metadata beside it, made before its turn: all but the places in the files, and what
//! hangs on these.

use std::io;
use std::sync::Arc;

use comity_policy::Digest;
use sha2::{Digest as _, Sha256};

use crate::chain::{ChainHead, Line, SALT_BYTES};
use crate::prepare::{Half, bare};
use crate::record::build::{self, Http, Made};
use crate::record::metadata::{Block, Changes};
use crate::record::{WarcPlace, WarcPlaces};
use crate::repeats::Repeat;
use crate::warc::grammar::{RecordHeader, WarcType};
use crate::warc::writer::Span;
use crate::{CrawlFacts, Fetched, Record};

/// The parts of an exchange that a record is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange<'a> {
    pub(crate) event: &'a Fetched,
    /// As [`Made::judged`].
    pub(crate) judged: Option<&'a str>,
    /// Of the metadata record and the record line.
    pub(crate) id: &'a str,
    pub(crate) response: Option<&'a Half>,
    pub(crate) request: Option<&'a Half>,
    pub(crate) in_warc: bool,
}

/// What else goes into a record, and may be another when its turn comes: then it is made anew.
#[derive(Clone, Debug)]
pub(crate) struct Beside {
    pub(crate) crawl: Arc<CrawlFacts>,
    /// Id of the robots.txt response that the decision rests on, where it is remembered.
    pub(crate) robots_record: Option<String>,
}

/// A record without its places.
#[derive(Debug)]
pub(crate) struct Draft {
    beside: Beside,
    salt: [u8; SALT_BYTES],
    /// The canonical JSON up to the places: they come last.
    begin: String,
    /// Of salt and begin.
    sum: Sha256,
    header: RecordHeader,
    block: Block,
}

impl Draft {
    /// # Errors
    /// When the record is no JSON.
    pub(crate) fn of(
        exchange: Exchange<'_>,
        repeat: Option<&Repeat>,
        beside: Beside,
        salt: [u8; SALT_BYTES],
    ) -> io::Result<Self> {
        let Exchange { event, judged, id, response, request, in_warc } = exchange;
        let http = Http {
            request: request.map(|half| &half.head),
            payload_sha256: response.map(|half| half.digests.payload_sha256),
            repeat,
        };
        let nowhere = |half: &Half| half.place(Span { offset: 0, length: 0 });
        let stand_in = in_warc.then(|| WarcPlaces {
            file: String::new(),
            metadata_offset: 0,
            request: request.map(nowhere),
            response: response.map(nowhere),
        });
        let made = Made {
            crawl: &beside.crawl,
            record_id: bare(id).to_owned(),
            warc: stand_in,
            robots_record: beside.robots_record.clone(),
            judged,
        };
        let record = build::fetched(event, &http, made);
        let mut begin = json(&record)?;
        let end = places_json(record.warc.as_ref())?;
        let length = begin.strip_suffix(end.as_str()).map(str::len);
        begin.truncate(length.ok_or_else(|| io::Error::other("the places are not the record's last"))?);
        let changes = Changes { request: request.map(|half| &half.head), response: response.map(|half| &half.head) };
        let sum = Sha256::new_with_prefix(salt).chain_update(&begin);
        Ok(Self { header: header(exchange), block: Block::of(&record, &changes), beside, salt, begin, sum })
    }

    /// Whether it is still what would be made now.
    pub(crate) fn rests_on(&self, beside: &Beside) -> bool {
        Arc::ptr_eq(&self.beside.crawl, &beside.crawl) && self.beside.robots_record == beside.robots_record
    }

    pub(crate) const fn salt(&self) -> [u8; SALT_BYTES] {
        self.salt
    }

    /// The line that follows `head`, of the record with its places.
    ///
    /// # Errors
    /// When the places are no JSON.
    pub(crate) fn line(&self, head: Option<ChainHead>, places: Option<&WarcPlaces>) -> io::Result<Line> {
        let end = places_json(places)?;
        let commitment = Digest::from_bytes(self.sum.clone().chain_update(&end).finalize().into());
        let mut body = String::with_capacity(self.begin.len() + end.len());
        body.push_str(&self.begin);
        body.push_str(&end);
        Ok(Line::committed(head, (self.salt, commitment), body))
    }

    /// Header and block of the WARC metadata record.
    pub(crate) fn metadata(&self, commitment: Digest) -> (RecordHeader, String) {
        (self.header.clone(), self.block.with(commitment))
    }
}

/// The last member of a record's JSON, and its end.
fn places_json(places: Option<&WarcPlaces>) -> io::Result<String> {
    let mut json = Vec::with_capacity(MOST_PLACES);
    json.extend_from_slice(b",\"warc\":");
    serde_json::to_writer(&mut json, &places)?;
    json.push(b'}');
    String::from_utf8(json).map_err(io::Error::other)
}

/// Room for the places of an exchange, which nearly always suffices.
const MOST_PLACES: usize = 512;
/// And for a record.
const MOST_RECORD: usize = 4096;

fn json(record: &Record) -> io::Result<String> {
    let mut json = Vec::with_capacity(MOST_RECORD);
    serde_json::to_writer(&mut json, record)?;
    String::from_utf8(json).map_err(io::Error::other)
}

fn header(exchange: Exchange<'_>) -> RecordHeader {
    let capture = &exchange.event.capture;
    let mut header = RecordHeader::new(WarcType::Metadata, exchange.id, &capture.started.to_string());
    header.push_target(capture.url.as_str());
    header.push_some("WARC-Concurrent-To", exchange.response.or(exchange.request).map(|half| half.id.as_str()));
    header
}

impl Half {
    /// Where it lies.
    pub(crate) fn place(&self, span: Span) -> WarcPlace {
        WarcPlace { id: bare(&self.id).to_owned(), offset: span.offset, length: span.length }
    }
}

#[cfg(test)]
mod tests;
