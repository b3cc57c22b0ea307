//! What a page says of its own use, read anew from the bytes that its WARC file holds: a record that leaves it out is found.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use comity::extract::{LIST_TYPES, PAGE_TYPES, PageLimits, PageReader};
use comity_archive::{Record, WarcReader, WarcRecord};
use comity_fetch::decode_stored;
use comity_signals::HeadFacts;
use comity_url::CrawlUrl;

use super::signals;

/// Bytes of a WARC member, of what it inflates to, and of the decoded body that are read (our choice: six times what a crawl takes by
/// default). A longer page is not read.
const MOST: u64 = 64 << 20;

/// Bytes that the reader of pages is given at a time, as a crawl gives them.
const BLOCK: usize = 16 * 1024;

/// What came of it.
#[derive(Debug)]
pub(super) enum Page {
    /// It says this; of what has no head nothing.
    Read(Box<HeadFacts>),
    /// Nothing was kept of it, rightly: withheld, not asked for, a repeat.
    NotKept,
    /// It was kept, and is not here: erased, pruned, cut, too long. What it said is not known but by its record.
    Unread,
}

/// The WARC files, one of them open.
#[derive(Debug)]
pub(super) struct Pages {
    dir: PathBuf,
    open: Option<(String, File)>,
}

impl Pages {
    pub(super) fn new(dir: &Path) -> Self {
        Self { dir: dir.join("warc"), open: None }
    }

    /// Reads the page of a record.
    pub(super) fn read(&mut self, record: &Record) -> Page {
        let Some(response) = record.response.as_ref().filter(|_| record.errand == "page") else { return Page::NotKept };
        let is_kept = record.outcome == "fetched" && response.repeats.is_none();
        if !is_kept {
            return Page::NotKept;
        }
        if response.body_length == 0 {
            return Page::Read(Box::default());
        }
        if response.truncated.is_some() {
            return Page::Unread;
        }
        self.body(record).and_then(|body| facts(record, &body)).map_or(Page::Unread, |facts| Page::Read(facts.into()))
    }

    /// The body as it was stored, in its content coding.
    fn body(&mut self, record: &Record) -> Option<Vec<u8>> {
        let places = record.warc.as_ref()?;
        let place = places.response.as_ref().filter(|place| place.length <= MOST)?;
        if self.open.as_ref().is_none_or(|(name, _)| *name != places.file) {
            // Of outside text only a plain name becomes a path.
            let is_name =
                !places.file.is_empty() && !places.file.contains(['/', '\\']) && !places.file.starts_with('.');
            let open = |name: String| File::open(self.dir.join(name)).ok();
            let file =
                is_name.then(|| open(places.file.clone()).or_else(|| open(format!("{}.open", places.file))))??;
            self.open = Some((places.file.clone(), file));
        }
        let (_, file) = self.open.as_mut()?;
        file.seek(SeekFrom::Start(place.offset)).ok()?;
        let mut member = Vec::new();
        file.take(place.length).read_to_end(&mut member).ok()?;
        let stored: WarcRecord = WarcReader::new(&member[..]).with_limit(MOST).next()?.ok()?;
        let id = stored.field("WARC-Record-ID")?.trim_matches(['<', '>']);
        if stored.kind() != "response" || id != place.id {
            return None;
        }
        stored.http().map(|(_, body)| body.to_vec())
    }
}

/// What the crawl read of this body; `None` when it is too long.
fn facts(record: &Record, body: &[u8]) -> Option<HeadFacts> {
    let fields = signals::fields(record)?;
    let values = |name: &str| {
        let of = fields.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name));
        of.map(|(_, value)| String::from_utf8_lossy(value).into_owned()).collect::<Vec<_>>()
    };
    let coding = values("content-encoding").join(", ");
    let most = usize::try_from(MOST).unwrap_or(usize::MAX);
    let decoded = if coding.is_empty() { body.to_vec() } else { decode_stored(&coding, body, most) };
    if decoded.len() >= most {
        return None;
    }
    let kind = values("content-type").into_iter().next();
    let essence = kind.as_deref().and_then(|kind| kind.split(';').next()).unwrap_or_default().trim().to_owned();
    let is_of = |types: &[&str]| types.iter().any(|known| essence.eq_ignore_ascii_case(known));
    let status = record.response.as_ref().map_or(0, |response| response.status);
    // As the crawl tells pages from lists, and a sitemap's errand from a page's.
    let is_sitemap = record.discovery.depth == 0 && !record.discovery.seed;
    let is_list = (200..300).contains(&status) && (is_of(&LIST_TYPES) || is_sitemap && !is_of(&PAGE_TYPES));
    if is_list {
        return Some(HeadFacts::default());
    }
    let url = CrawlUrl::parse(&record.url).ok()?;
    let mut reader = PageReader::new(&url, kind.as_deref(), PageLimits::default());
    decoded.chunks(BLOCK).for_each(|block| reader.push(block));
    Some(reader.finish().head)
}
