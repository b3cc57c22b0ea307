use std::path::Path;

use comity_policy::WallTime;
use comity_url::{CrawlUrl, HostKind, Surt};

use super::digests::Digests;
use super::unread;
use crate::{ArchiveError, RawText, Record, WarcPlace};

/// What a record is to the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// An answer that lies in a WARC file.
    Capture,
    /// Refused, failed, or of a crawl without WARC files.
    NoCapture,
    /// Its head lies there; nothing of its body was kept.
    Withheld,
    /// A tombstone lies there.
    PayloadErased,
    /// The URL stands cut in the record: it cannot be told from others.
    UrlCut,
}

impl Fate {
    pub(super) fn of(record: &Record, payload_erased: bool) -> Self {
        let lies = record.warc.as_ref().is_some_and(|warc| warc.response.is_some()) && record.response.is_some();
        match () {
            () if payload_erased => Self::PayloadErased,
            () if !lies => Self::NoCapture,
            () if record.outcome == "withheld" => Self::Withheld,
            () if record.url_length != record.url.len() as u64 => Self::UrlCut,
            () => Self::Capture,
        }
    }

    const fn mark(self) -> &'static str {
        match self {
            Self::Capture => "c",
            Self::NoCapture => "n",
            Self::Withheld => "w",
            Self::PayloadErased => "e",
            Self::UrlCut => "u",
        }
    }

    fn marked(mark: &str) -> Option<Self> {
        let all = [Self::Capture, Self::NoCapture, Self::Withheld, Self::PayloadErased, Self::UrlCut];
        all.into_iter().find(|fate| fate.mark() == mark)
    }
}

/// A line while it is sorted: its key, and its record as text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Held {
    pub(super) surt: String,
    pub(super) seq: u64,
    mark: String,
    sha1: String,
    body: String,
}

impl Held {
    pub(super) fn of(
        seq: u64,
        record: &Record,
        body: &str,
        fate: Fate,
        digests: &mut Digests,
    ) -> Result<Self, ArchiveError> {
        let place = record.warc.as_ref().and_then(|warc| Some((&warc.file, warc.response.as_ref()?)));
        let sha1 = match place.filter(|_| fate != Fate::PayloadErased) {
            Some((file, place)) => digests.at(file, place.offset)?.unwrap_or_default(),
            None => String::new(),
        };
        let surt = Surt::of_text(&record.url).as_str().to_owned();
        Ok(Self { surt, seq, mark: fate.mark().to_owned(), sha1, body: body.to_owned() })
    }

    /// Bytes that it holds.
    pub(super) const fn bytes(&self) -> usize {
        size_of::<Self>() + self.surt.len() + self.mark.len() + self.sha1.len() + self.body.len()
    }

    /// One line of a temporary file, with its end. Neither a key nor canonical JSON has a tab or a line end.
    pub(super) fn to_text(&self) -> String {
        let Self { surt, seq, mark, sha1, body } = self;
        format!("{surt}\t{seq}\t{mark}\t{sha1}\t{body}\n")
    }

    pub(super) fn parse(line: &str) -> Option<Self> {
        let mut parts = line.splitn(5, '\t').map(str::to_owned);
        let mut part = || parts.next();
        Some(Self { surt: part()?, seq: part()?.parse().ok()?, mark: part()?, sha1: part()?, body: part()? })
    }

    pub(super) fn row(self, dir: &Path) -> Result<Row, ArchiveError> {
        let Self { surt, seq, mark, sha1, body } = self;
        let record: Record = serde_json::from_str(&body).map_err(|e| unread(dir, &format!("record {seq}: {e}")))?;
        let at =
            record.time.started.parse().map_err(|_| unread(dir, &format!("record {seq}: no time of its begin")))?;
        let fate = Fate::marked(&mark).unwrap_or(Fate::NoCapture);
        let url = CrawlUrl::parse(&record.url).ok();
        Ok(Row { seq, surt, fate, url, at, sha1: Some(sha1).filter(|sha1| !sha1.is_empty()), record })
    }
}

/// A record, and what is worked out once for many columns.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) seq: u64,
    pub(super) record: Record,
    pub(super) surt: String,
    /// `None` where the text is no URL of the web: such a record is no capture.
    pub(super) url: Option<CrawlUrl>,
    pub(super) at: WallTime,
    pub(super) sha1: Option<String>,
    fate: Fate,
}

impl Row {
    pub(super) fn is_capture(&self) -> bool {
        matches!(self.fate, Fate::Capture | Fate::UrlCut)
    }

    /// The WARC file, and the response in it; of an erased payload it is no response any more.
    pub(super) fn place(&self) -> Option<(&str, &WarcPlace)> {
        let warc = self.record.warc.as_ref().filter(|_| self.fate != Fate::PayloadErased)?;
        Some((&warc.file, warc.response.as_ref()?))
    }

    fn name(&self) -> Option<&str> {
        match self.url.as_ref()?.origin().host_kind() {
            HostKind::Domain(name) => Some(name),
            HostKind::V4(_) | HostKind::V6(_) => None,
        }
    }

    /// The labels of the host from its end; none of an address.
    pub(super) fn label(&self, from_end: usize) -> Option<&str> {
        self.name()?.rsplit('.').nth(from_end).filter(|label| !label.is_empty())
    }

    pub(super) fn reversed(&self) -> Option<String> {
        Some(self.name()?.rsplit('.').collect::<Vec<_>>().join("."))
    }

    /// A field of the answer, its first.
    fn field(&self, name: &str) -> Option<&str> {
        let fields = &self.record.response.as_ref()?.fields;
        let (_, value) = fields.iter().find(|(key, _)| key.eq_ignore_ascii_case(name))?;
        if let RawText::Text(text) = value { Some(text) } else { None }
    }

    /// Where a redirect leads.
    pub(super) fn redirect(&self) -> Option<String> {
        let status = self.record.response.as_ref()?.status;
        let to = self.field("location").filter(|_| (300..400).contains(&status))?;
        CrawlUrl::join(self.url.as_ref()?, to).ok().map(|url| url.as_str().to_owned())
    }

    /// Common Crawl's three kinds of captures; files that state a site's wishes are no pages.
    pub(super) fn subset(&self) -> Option<&'static str> {
        let status = self.record.response.as_ref().filter(|_| self.is_capture())?.status;
        Some(match self.record.errand.as_str() {
            "robots" | "tdmrep" | "ai_txt" | "trust_txt" | "licence" | "terms" => "robotstxt",
            _ if (200..300).contains(&status) => "warc",
            _ => "crawldiagnostics",
        })
    }
}
