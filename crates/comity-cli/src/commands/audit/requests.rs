//! What was sent and answered, as the WARC files of a crawl tell it.

use std::collections::HashMap;
use std::fs::File;
use std::io::BufReader;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use comity::policy::{WallTime, parse_retry_after};
use comity_archive::{WarcHead, WarcStream};
use comity_robots::Dialect;
use comity_url::CrawlUrl;
use sha2::{Digest as _, Sha256};

use crate::exit::Failure;

/// The longest HTTP head, or block of WARC fields, that is read.
const MAX_TEXT: usize = 4 << 20;
/// The most bytes of a robots.txt in a content coding, coded and decoded (our choice: twenty times what parsers read).
const MAX_DECODED: usize = 10 << 20;

/// Everything that the WARC files hold about requests, a few hundred bytes for each.
#[derive(Debug, Default)]
pub(super) struct Wire {
    pub(super) requests: Vec<Request>,
    /// Who asked, of each file: `files` and `agents` have the same places.
    pub(super) files: Vec<String>,
    pub(super) agents: Vec<Agent>,
}

/// What a `warcinfo` says of who asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Agent {
    pub(super) tokens: Vec<String>,
    pub(super) dialect: Dialect,
    /// When its file begins.
    pub(super) since: WallTime,
    /// SHA-256 of the configuration that its file was written under.
    pub(super) config: Option<String>,
}

/// One request.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) origin: String,
    pub(super) url: String,
    /// The target on the request line: what the rules are asked about.
    pub(super) target: Vec<u8>,
    /// `WARC-Date`: when it began.
    pub(super) at: WallTime,
    /// Milliseconds from then to the answer's head, or to the failure.
    pub(super) head_ms: i64,
    /// Milliseconds from its begin to the end of the exchange.
    pub(super) total_ms: i64,
    /// Milliseconds from the written request to the head; `None` without a head, and in files of earlier versions.
    pub(super) latency_ms: Option<i64>,
    /// The address that was connected to; `None` behind a proxy.
    pub(super) address: Option<IpAddr>,
    /// How long the answer asks to be left alone: `Retry-After`.
    pub(super) retry_after: Option<Duration>,
    pub(super) status: Option<u16>,
    pub(super) location: Option<String>,
    /// The origin whose robots.txt this was a hop for.
    pub(super) robots_for: Option<String>,
    /// What overrides lifted: `robots`, `rate`, …
    pub(super) lifted: Vec<String>,
    /// True when it rested on a stale copy, or its origin had been unreachable for so long that it counted as open.
    pub(super) patient: bool,
    /// True when the query of its URL was not written.
    pub(super) is_cut: bool,
    /// SHA-256 of the body; of a robots.txt in a content coding, decoded.
    pub(super) body: Option<String>,
    /// Place in [`Wire::files`].
    pub(super) file: usize,
    pub(super) offset: u64,
}

impl Wire {
    /// Reads every WARC file of the crawl.
    pub(super) fn read(dir: &Path) -> Result<Self, Failure> {
        let mut wire = Self::default();
        for path in warc_files(dir)? {
            wire.file(&path)?;
        }
        wire.requests.sort_by_key(|request| request.at);
        Ok(wire)
    }

    /// Takes every request as one that nothing excepted.
    pub(super) fn forget_exceptions(&mut self) {
        for request in &mut self.requests {
            request.lifted.clear();
            request.patient = false;
        }
    }

    fn file(&mut self, path: &Path) -> Result<(), Failure> {
        let wrong = |problem: String| Failure::storage(format!("{}: {problem}", path.display()));
        let file = File::open(path).map_err(|e| wrong(e.to_string()))?;
        let mut stream = WarcStream::new(BufReader::with_capacity(256 * 1024, file), 0);
        let number = self.files.len();
        self.files.push(path.file_name().unwrap_or_default().to_string_lossy().into_owned());
        self.agents.push(Agent::default());
        let mut event = HashMap::new();
        loop {
            let mut part = Part::default();
            let head = match stream.next_record(|head, piece| part.take(head, piece)) {
                None => return Ok(()),
                // What a kill left at the end of an open file was never acknowledged.
                Some(Err(_)) if path.extension().is_some_and(|end| end == "open") => return Ok(()),
                Some(Err(error)) => return Err(wrong(error.to_string()).hint("`comity verify` tells more")),
                Some(Ok(head)) => head,
            };
            let kind = head.kind().to_owned();
            match kind.as_str() {
                "warcinfo" => self.agents[number] = agent(&head, &part.lines()),
                "metadata" => {
                    let request = request(&event, &head, &part, number);
                    event.clear();
                    self.requests.extend(request);
                }
                _ => drop(event.insert(kind, (head, part))),
            }
        }
    }
}

/// The begin of a block, and the sum of what follows an HTTP head.
#[derive(Debug, Default)]
struct Part {
    text: Vec<u8>,
    body: Option<Sha256>,
    /// The begin of a body in a content coding: it may be a robots.txt.
    coded: Option<Vec<u8>>,
}

impl Part {
    fn take(&mut self, head: &WarcHead, piece: &[u8]) {
        if let Some(body) = &mut self.body {
            body.update(piece);
            return self.keep(piece);
        }
        let from = self.text.len().saturating_sub(3);
        let room = MAX_TEXT.saturating_sub(self.text.len()).min(piece.len());
        self.text.extend_from_slice(piece.get(..room).unwrap_or_default());
        if !matches!(head.kind(), "request" | "response" | "revisit") {
            return;
        }
        let end = self.text.get(from..).and_then(|fresh| fresh.windows(4).position(|w| w == b"\r\n\r\n"));
        if let Some(end) = end {
            let rest = self.text.split_off(from + end + 4);
            if head.kind() == "response" && find(&self.lines(), "content-encoding").is_some() {
                self.coded = Some(Vec::new());
            }
            self.keep(&rest);
            self.body = Some(Sha256::new_with_prefix(rest));
        }
    }

    fn keep(&mut self, piece: &[u8]) {
        if let Some(coded) = &mut self.coded {
            let room = MAX_DECODED.saturating_sub(coded.len()).min(piece.len());
            coded.extend_from_slice(piece.get(..room).unwrap_or_default());
        }
    }

    /// SHA-256 of the body without its content codings, as far as they can be undone: at most [`MAX_DECODED`] bytes.
    fn decoded_sum(&self) -> Option<String> {
        let Some(coded) = &self.coded else { return Some(hex(&self.body.clone()?.finalize())) };
        let codings = self.lines().into_iter().filter(|(name, _)| name.eq_ignore_ascii_case("content-encoding"));
        let codings: Vec<String> = codings.map(|(_, value)| value).collect();
        Some(hex(&Sha256::digest(comity_fetch::decode_stored(&codings.join(","), coded, MAX_DECODED))))
    }

    /// Its lines, cut at the colon.
    fn lines(&self) -> Vec<(String, String)> {
        let text = String::from_utf8_lossy(&self.text);
        let pair = |line: &str| line.split_once(':').map(|(name, value)| (name.to_owned(), value.trim().to_owned()));
        text.lines().filter_map(pair).collect()
    }
}

fn hex(sum: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(sum)
}

fn find<'a>(lines: &'a [(String, String)], name: &str) -> Option<&'a str> {
    lines.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
}

fn agent(head: &WarcHead, lines: &[(String, String)]) -> Agent {
    let tokens = lines.iter().filter(|(name, _)| name == "comity-agent-token").map(|(_, token)| token.clone());
    let google = find(lines, "robots").is_some_and(|policy| policy.contains("dialect google"));
    let config = find(lines, "comity-policy-digest").and_then(|text| text.strip_prefix("sha256:"));
    Agent {
        tokens: tokens.collect(),
        dialect: if google { Dialect::Google } else { Dialect::Standard },
        since: head.field("WARC-Date").and_then(|date| date.parse().ok()).unwrap_or_default(),
        config: config.filter(|hex| hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_hexdigit())).map(str::to_owned),
    }
}

/// Puts the records of one event together; `None` when nothing was sent.
fn request(
    event: &HashMap<String, (WarcHead, Part)>,
    metadata: &WarcHead,
    fields: &Part,
    file: usize,
) -> Option<Request> {
    let (sent, line) = event.get("request")?;
    let target = line.text.split(|b| *b == b' ').nth(1).unwrap_or_default().to_vec();
    let url = CrawlUrl::parse(sent.field("WARC-Target-URI")?).ok()?;
    let fields = fields.lines();
    let number = |name: &str| find(&fields, name).and_then(|text| text.parse::<i64>().ok());
    let answer = event.get("response").or_else(|| event.get("revisit"));
    let heads = answer.map(|(_, part)| part.lines()).unwrap_or_default();
    let status = answer.and_then(|(_, part)| std::str::from_utf8(part.text.get(9..12)?).ok()?.parse().ok());
    let robots = find(&fields, "comity-errand") == Some("robots");
    let lifted = fields.iter().filter(|(name, _)| name == "comity-override");
    let body = answer.filter(|(head, _)| robots && head.kind() == "response");
    let at: WallTime = metadata.field("WARC-Date")?.parse().ok()?;
    // Of an exchange that failed, or of files of earlier versions, the end of it or nothing is known.
    let head_ms = number("comity-head-ms").or_else(|| status.is_none().then(|| number("fetchTimeMs"))?).unwrap_or(0);
    let head = WallTime::from_unix_millis(at.unix_millis().saturating_add(head_ms));
    Some(Request {
        origin: url.origin().as_str().to_owned(),
        url: url.as_str().to_owned(),
        target,
        at,
        head_ms,
        total_ms: number("fetchTimeMs").unwrap_or(0),
        latency_ms: number("comity-latency-ms"),
        address: sent.field("WARC-IP-Address").and_then(|text| text.parse().ok()),
        retry_after: find(&heads, "retry-after").and_then(|told| parse_retry_after(told, find(&heads, "date"), head)),
        status,
        location: find(&heads, "location").map(ToOwned::to_owned),
        robots_for: find(&fields, "comity-robots-for").filter(|_| robots).map(ToOwned::to_owned),
        lifted: lifted.filter_map(|(_, text)| text.split(' ').nth(1).map(ToOwned::to_owned)).collect(),
        patient: matches!(find(&fields, "comity-robots-state"), Some("stale_ok" | "unreachable")),
        is_cut: find(&fields, "comity-query").is_some(),
        body: body.and_then(|(_, part)| part.decoded_sum()),
        file,
        offset: sent.offset,
    })
}

/// The WARC files of a crawl, open ones too, in order.
fn warc_files(dir: &Path) -> Result<Vec<PathBuf>, Failure> {
    let folder = dir.join("warc");
    let wrong = |e: std::io::Error| Failure::storage(format!("{}: {e}", folder.display()));
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(wrong)? {
        let path = entry.map_err(wrong)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let name = name.strip_suffix(".open").unwrap_or(&name);
        if name.ends_with(".warc.gz") || name.ends_with(".warc.zst") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
