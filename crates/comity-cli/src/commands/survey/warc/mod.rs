//! The survey of captures in WARC files of any tool, without a request.
//!
//! | file | what it holds |
//! |---|---|
//! | `records` | WARC 1.0 and 1.1, gzip of any shape, zstd, or plain: record by record, bounded |
//! | `http` | a captured response: status, fields, body without its codings |

mod http;
mod records;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use comity_gate::policy::{Digest, WallTime};
use comity_gate::signals::UnixSeconds;
use comity_robots::{MAX_BYTES, Robots};
use comity_url::{CrawlUrl, Origin};
use sha2::{Digest as _, Sha256};

use self::http::Response;
use self::records::{Record, Records};
use super::ask::instant;
use super::row::{AiTxtCopy, Home, Row, SiteFile, TdmrepCopy};
use super::says;
use crate::exit::Failure;

/// Passes over the files: one, and one for each redirect of a robots.txt (RFC 9309 §2.3.1.2).
const MOST_PASSES: usize = 6;

/// Which file of a site a capture is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum File {
    Robots,
    Tdmrep,
    AiTxt,
    Home,
}

/// A redirect of an origin's robots.txt: where it leads, and the latest capture there.
#[derive(Clone, Debug)]
struct Led {
    to: String,
    found: Option<(WallTime, Response)>,
}

/// Rows by origin: the latest capture of each file counts. Memory: about 2 KB an origin.
#[derive(Debug, Default)]
pub(super) struct Captures {
    rows: BTreeMap<String, Row>,
    at: BTreeMap<(String, File), WallTime>,
    /// By origin, where its robots.txt leads and what is found there so far.
    led: BTreeMap<String, Led>,
    /// What was odd about the files.
    pub(super) notes: Vec<String>,
}

impl Captures {
    /// Reads the files, as often as redirects of robots.txt lead on.
    ///
    /// # Errors
    /// A file that cannot be opened. One that breaks is read as far as it can be, and noted.
    pub(super) fn read(files: &[PathBuf]) -> Result<Self, Failure> {
        let mut captures = Self::default();
        files.iter().try_for_each(|file| captures.file(file, None))?;
        for _ in 1..MOST_PASSES {
            let wanted = captures.wanted();
            if wanted.is_empty() {
                break;
            }
            files.iter().try_for_each(|file| captures.file(file, Some(&wanted)))?;
            captures.follow();
        }
        Ok(captures)
    }

    /// Origins by the URL that their robots.txt leads to.
    fn wanted(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut wanted = BTreeMap::<String, BTreeSet<String>>::new();
        for (origin, led) in &self.led {
            wanted.entry(led.to.clone()).or_default().insert(origin.clone());
        }
        wanted
    }

    /// Puts what the redirects led to into the rows; those that lead on are looked for in the next pass.
    fn follow(&mut self) {
        for (origin, led) in std::mem::take(&mut self.led) {
            let (Some(row), Ok(of)) = (self.rows.get_mut(&origin), Origin::parse(&origin)) else { continue };
            // A loop, or never captured: it stays `captured_redirect`.
            let Some((_, response)) = led.found.filter(|_| !row.robots.chain.contains(&led.to)) else { continue };
            row.robots.chain.push(led.to.clone());
            let next = robots(row, &of, &response);
            self.leads(next, &led.to, origin);
        }
    }

    fn leads(&mut self, next: Option<String>, from: &str, origin: String) {
        let to = next.and_then(|to| CrawlUrl::parse(from).ok()?.join(&to).ok());
        if let Some(to) = to {
            self.led.insert(origin, Led { to: to.to_string(), found: None });
        }
    }

    /// The rows, by origin.
    pub(super) fn rows(self) -> impl Iterator<Item = Row> {
        self.rows.into_values()
    }

    fn file(&mut self, path: &Path, wanted: Option<&BTreeMap<String, BTreeSet<String>>>) -> Result<(), Failure> {
        let unreadable = |error: std::io::Error| Failure::usage(format!("{}: {error}", path.display()));
        let mut records = Records::open(path).map_err(unreadable)?;
        loop {
            let wants = |uri: &str| wanted.map_or_else(|| file_of(uri).is_some(), |wanted| wanted.contains_key(uri));
            match (records.next(wants), wanted) {
                (Ok(Some(record)), None) => self.first(&record),
                (Ok(Some(record)), Some(wanted)) => self.target(&record, wanted),
                (Ok(None), _) => return Ok(()),
                (Err(error), None) => {
                    self.notes.push(format!("{}: {error}; read as far as that", path.display()));
                    return Ok(());
                }
                (Err(_), Some(_)) => return Ok(()),
            }
        }
    }

    /// A capture at one of the addresses that a survey asks.
    fn first(&mut self, record: &Record) {
        let Some((url, file)) = file_of(&record.uri) else { return };
        let at = date(record);
        let origin = url.origin().to_string();
        let key = (origin.clone(), file);
        if self.at.get(&key).is_some_and(|known| *known > at) {
            return;
        }
        let row = self.rows.entry(origin.clone()).or_insert_with(|| Row::new(&origin, None));
        if row.robots.class.is_empty() {
            "not_captured".clone_into(&mut row.robots.class);
        }
        if record.kind == "revisit" {
            // The same bytes as an earlier capture of this very address: what is known holds, as of then. One that repeats another
            // address says nothing that can be read here.
            let same = record.refers_to.as_ref().is_none_or(|uri| *uri == record.uri);
            if file == File::Robots && row.says.is_some() && same {
                row.at.clone_from(&record.date);
            }
            return;
        }
        let Some(response) = Response::parse(&record.block) else { return };
        self.at.insert(key, at);
        match file {
            File::Robots => {
                row.at.clone_from(&record.date);
                row.robots.chain = vec![url.to_string()];
                let next = robots(row, url.origin(), &response);
                // A redirect of an older capture leads nowhere any more.
                self.led.remove(&origin);
                self.leads(next, url.as_str(), origin);
            }
            File::Tdmrep => row.tdmrep = Some(tdmrep(url.origin(), &response)),
            File::AiTxt => row.ai_txt = Some(ai_txt(&response)),
            File::Home => row.home = Some(home(&url, &response, at)),
        }
    }

    /// A capture that a redirect of robots.txt led to: the latest counts, wherever it stands.
    fn target(&mut self, record: &Record, wanted: &BTreeMap<String, BTreeSet<String>>) {
        let Some(response) = Response::parse(&record.block).filter(|_| record.kind == "response") else { return };
        let at = date(record);
        for origin in wanted.get(&record.uri).into_iter().flatten() {
            if let Some(led) =
                self.led.get_mut(origin).filter(|led| led.found.as_ref().is_none_or(|(known, _)| *known <= at))
            {
                led.found = Some((at, response.clone()));
            }
        }
    }
}

/// `WARC-Date`; what has none is older than everything.
fn date(record: &Record) -> WallTime {
    instant(&record.date).unwrap_or_else(|| WallTime::from_unix_millis(0))
}

/// Which file of its site a URL names.
fn file_of(uri: &str) -> Option<(CrawlUrl, File)> {
    let file = if uri.ends_with("/robots.txt") {
        File::Robots
    } else if uri.ends_with("/.well-known/tdmrep.json") {
        File::Tdmrep
    } else if uri.ends_with("/ai.txt") {
        File::AiTxt
    } else if uri.ends_with('/') && uri.matches('/').count() == 3 {
        File::Home
    } else {
        return None;
    };
    let url = CrawlUrl::parse(uri).ok()?;
    let path = match file {
        File::Robots => "/robots.txt",
        File::Tdmrep => "/.well-known/tdmrep.json",
        File::AiTxt => "/ai.txt",
        File::Home => "/",
    };
    (url.request_target() == path).then_some((url, file))
}

/// Puts an answer for robots.txt into the row; what it leads to.
fn robots(row: &mut Row, origin: &Origin, response: &Response) -> Option<String> {
    let copy = &mut row.robots;
    copy.status = Some(response.status);
    (copy.bytes, copy.digest, copy.truncated, copy.reason) = (None, None, false, None);
    row.says = None;
    let class = match response.status {
        200..=299 => {
            let read = response.body.get(..MAX_BYTES).unwrap_or(&response.body);
            let digest = Digest::from_bytes(Sha256::digest(read).into());
            copy.bytes = Some(read.len() as u64);
            copy.digest = Some(format!("sha256:{digest}"));
            copy.truncated = response.body.len() > MAX_BYTES || response.cut;
            row.says = Some(says::robots(&Robots::parse(&response.body), origin.host()));
            "parsed"
        }
        300..=399 => "captured_redirect",
        429 | 500.. => "unreachable",
        _ => "absent",
    };
    class.clone_into(&mut row.robots.class);
    if class == "unreachable" {
        row.robots.reason = Some("robots.unreachable".to_owned());
    }
    response.field("location").filter(|_| class == "captured_redirect").map(str::to_owned)
}

fn site_file(response: &Response) -> SiteFile {
    let state = match response.status {
        200..=299 => "file",
        429 | 500.. => "unreachable",
        _ => "absent",
    };
    let mut file = SiteFile { state: state.to_owned(), status: Some(response.status), ..SiteFile::default() };
    if state == "file" {
        file.bytes = Some(response.body.len() as u64);
        file.digest = Some(format!("sha256:{}", Digest::from_bytes(Sha256::digest(&response.body).into())));
    }
    file
}

fn tdmrep(origin: &Origin, response: &Response) -> TdmrepCopy {
    let got = site_file(response);
    if got.state != "file" {
        return TdmrepCopy { got, ..TdmrepCopy::default() };
    }
    let (rules, reservation, policy) = says::tdmrep(&response.body, origin.as_str());
    TdmrepCopy { got, rules, reservation, policy }
}

fn ai_txt(response: &Response) -> AiTxtCopy {
    let got = site_file(response);
    let ai_train = if got.state == "file" { says::ai_txt(&response.body) } else { None };
    AiTxtCopy { got, ai_train }
}

fn home(url: &CrawlUrl, response: &Response, at: WallTime) -> Home {
    let got = site_file(response);
    if got.state != "file" {
        return Home { got, ..Home::default() };
    }
    let head = super::ask::head(url, response.field("content-type"), &response.body);
    let (verdicts, terms) = says::home(&response.fields, &head, UnixSeconds(at.unix_millis() / 1000));
    Home { got, verdicts, terms }
}
