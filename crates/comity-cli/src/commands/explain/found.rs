use std::path::Path;

use comity_archive::{ChainVerifier, Checkpoint, Line, QueryForm, Record};
use comity_url::CrawlUrl;

use super::copy::Copy;
use super::each_line;
use crate::exit::Failure;

/// One record of the URL, with what the directory holds about it.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) seq: u64,
    /// Digest that the line commits to its content with.
    pub(super) commitment: String,
    pub(super) record: Record,
    /// The copy of robots.txt that decided; a text says why there is none.
    pub(super) copy: Result<Copy, String>,
    /// The first checkpoint that covers the line; a text says what was changed in the line or before it.
    pub(super) sealed: Result<Option<Sealed>, String>,
    /// The erasure that took its body: when, and the request that it answered.
    pub(super) body_erased: Option<String>,
}

/// A checkpoint behind a line.
#[derive(Clone, Debug)]
pub(super) struct Sealed {
    pub(super) n: u64,
    pub(super) at: String,
    pub(super) key: Option<String>,
    lines: u64,
    link: String,
}

impl Found {
    /// Every record of the URL, in the order of the chain.
    pub(super) fn all(dir: &Path, url: &CrawlUrl) -> Result<Vec<Self>, Failure> {
        let seals = seals(dir);
        let (mut found, mut chain) = (Vec::<Self>::new(), Followed::default());
        each_line(dir, |line, record| {
            chain.follow(line, &seals);
            // An erasure stands behind what it took.
            if let Some(erasure) = record.as_ref().and_then(|record| record.erasure.as_ref()) {
                let took = |seq: u64| erasure.payloads.iter().any(|(first, last)| (*first..=*last).contains(&seq));
                for one in found.iter_mut().filter(|one| took(one.seq)) {
                    one.body_erased = Some(format!("erased at {}, request {}", erasure.at, erasure.request));
                }
            }
            let Some(record) = record.filter(|record| is_of(record, url)) else { return };
            let sealed = chain
                .broken
                .as_ref()
                .map(Broken::text)
                .map_or_else(|| Ok(seals.iter().find(|sealed| sealed.lines > line.seq).cloned()), Err);
            let copy = Copy::of(dir, &record);
            let commitment = line.commitment.to_string();
            found.push(Self { seq: line.seq, commitment, record, copy, sealed, body_erased: None });
        })?;
        for one in &mut found {
            // A checkpoint speaks for a line through the links up to its own: those behind it have to hold, too.
            if let Ok(Some(sealed)) = &one.sealed
                && let Some(broken) = chain.broken.as_ref().filter(|broken| broken.seq < sealed.lines)
            {
                one.sealed = Err(broken.text());
            } else if matches!(&one.sealed, Ok(Some(sealed)) if sealed.lines > chain.lines) {
                one.sealed = Err(format!("the chain ends at {} lines, before its checkpoint", chain.lines));
            }
        }
        Ok(found)
    }
}

/// The chain as far as it was read.
#[derive(Debug, Default)]
struct Followed {
    chain: ChainVerifier,
    lines: u64,
    broken: Option<Broken>,
}

/// The first line where it does not hold.
#[derive(Debug)]
struct Broken {
    seq: u64,
    problem: String,
}

impl Broken {
    fn text(&self) -> String {
        format!("line {} was changed: {}", self.seq, self.problem)
    }
}

impl Followed {
    fn follow(&mut self, line: &Line, seals: &[Sealed]) {
        if self.broken.is_some() {
            return;
        }
        let seq = self.lines;
        let step = self.chain.step(line).map_err(|fault| fault.problem);
        self.lines += 1;
        let other = seals.iter().find(|seal| seal.lines == self.lines && seal.link != line.link.to_string());
        let problem = step.err().or_else(|| other.map(|seal| format!("checkpoint {} names another", seal.n)));
        self.broken = problem.map(|problem| Broken { seq, problem });
    }
}

/// Long URLs are cut in records, and the queries of URLs may be.
fn is_of(record: &Record, url: &CrawlUrl) -> bool {
    let form = record.query.as_deref().and_then(QueryForm::from_word).unwrap_or_default();
    // As it stands in a record, or as it was asked for.
    let url = if record.url == url.as_str() { url.clone() } else { form.url(url) };
    record.url_length == url.as_str().len() as u64 && url.as_str().starts_with(record.url.as_str())
}

/// Whatever is wrong with checkpoints, `comity verify` tells; here those that hold by themselves are named.
fn seals(dir: &Path) -> Vec<Sealed> {
    let text = std::fs::read_to_string(dir.join("checkpoints.jsonl")).unwrap_or_default();
    let seal = |line: &str| {
        let Checkpoint { n, at, lines, link, signed, .. } = Checkpoint::parse(line).ok()?;
        Some(Sealed { n, at, lines, link: link.to_string(), key: signed.map(|signed| signed.key) })
    };
    text.lines().filter_map(seal).collect()
}
