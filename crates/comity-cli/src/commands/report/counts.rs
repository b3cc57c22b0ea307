use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use comity_archive::{Record, ResponseRecord};
use comity_signals::Purpose;
use comity_url::Origin;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::chain::{Broken, follow};
use super::crawl::Crawl;

/// What the second pass counts. Grows with domains, and by 16 bytes with each origin.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// Exchanges that were begun, by errand.
    pub(super) requests: BTreeMap<String, u64>,
    /// Begin of the first and of the last of them.
    pub(super) period: Option<(String, String)>,
    /// Origins that one of them went to, by the head of the digest of their text.
    origins: HashSet<[u8; 16]>,
    /// Pages that count: answered with 2xx, not left out.
    pub(super) pages: u64,
    /// Of these, those whose body lies in a WARC file.
    pub(super) kept: u64,
    /// Bytes of their bodies as they were received.
    pub(super) bytes: u64,
    /// Pages that count and rest on an override, or on a grant.
    pub(super) overridden: u64,
    pub(super) granted: u64,
    pub(super) domains: HashMap<String, Share>,
    pub(super) left: LeftOut,
    /// For each purpose: how often it was decided which way.
    pub(super) purposes: BTreeMap<String, Decided>,
    /// How many robots decisions rested on which standing of the file.
    pub(super) robots: BTreeMap<String, u64>,
}

/// What was collected from a registrable domain; from the host where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) bytes: u64,
    pub(super) pages: u64,
}

/// Records of pages that count for nothing.
#[derive(Debug, Default, Serialize)]
pub(super) struct LeftOut {
    /// Not asked for, by reason.
    pub(super) not_fetched: BTreeMap<String, u64>,
    /// Answered, and by what the answer says not kept.
    pub(super) withheld: u64,
    /// Asked for without a full answer.
    pub(super) failed: u64,
    /// Asked for again and found as before.
    pub(super) not_modified: u64,
    /// Answered with bytes that count where they were first met.
    pub(super) repeated: u64,
    /// Answered with another status than 2xx.
    pub(super) other_status: u64,
    /// Body erased, record kept.
    pub(super) body_erased: u64,
    /// Lines whose record was erased, of whatever errand.
    pub(super) record_erased: u64,
    /// Not allowed, or not judged, for the purpose that was asked for.
    pub(super) not_for_purpose: u64,
}

/// How a purpose was decided.
#[derive(Debug, Default, Serialize)]
pub(super) struct Decided {
    pub(super) proceed: u64,
    pub(super) refuse: u64,
    /// Of both, those where nobody had said anything.
    pub(super) unspecified: u64,
}

impl Counts {
    /// Reads the records that the first pass read.
    ///
    /// # Errors
    /// When they are others now.
    pub(super) fn read(dir: &Path, crawl: &Crawl, purpose: Option<Purpose>) -> Result<Self, Broken> {
        let mut counts = Self::default();
        let again = follow(dir, &crawl.places, Some(crawl.chain.lines), |line, record| match record {
            Some(record) => counts.take(&record, crawl.is_bodiless(line.seq), purpose),
            None => counts.left.record_erased += 1,
        })?;
        if again.head != crawl.chain.head {
            return Err("the records were changed while they were read".to_owned());
        }
        Ok(counts)
    }

    pub(super) fn origins(&self) -> usize {
        self.origins.len()
    }

    pub(super) fn requests(&self) -> u64 {
        self.requests.values().sum()
    }

    fn take(&mut self, record: &Record, is_bodiless: bool, purpose: Option<Purpose>) {
        let origin = Origin::parse(origin_of(&record.url)).ok();
        if record.request.is_some() {
            *self.requests.entry(record.errand.clone()).or_default() += 1;
            let at = &record.time.started;
            let (first, last) = self.period.get_or_insert_with(|| (at.clone(), at.clone()));
            if at < first {
                first.clone_from(at);
            }
            if at > last {
                last.clone_from(at);
            }
            self.origins.extend(origin.as_ref().map(named));
        }
        if record.errand != "page" {
            return;
        }
        self.decided(record);
        if let Some(response) = self.counts(record, is_bodiless, purpose) {
            let bytes = response.body_length;
            self.pages += 1;
            self.kept += u64::from(record.warc.as_ref().is_some_and(|warc| warc.response.is_some()));
            self.bytes += bytes;
            if let Some(decision) = &record.decision {
                self.overridden += u64::from(decision.r#override.is_some());
                self.granted += u64::from(!decision.grants.is_empty());
            }
            let domain =
                origin.map_or_else(|| origin_of(&record.url).to_owned(), |origin| domain_of(&origin).to_owned());
            let share = self.domains.entry(domain).or_default();
            *share = Share { bytes: share.bytes + bytes, pages: share.pages + 1 };
        }
    }

    fn decided(&mut self, record: &Record) {
        if let Some(robots) = &record.robots {
            *self.robots.entry(robots.state.clone()).or_default() += 1;
        }
        for (purpose, one) in record.decision.iter().flat_map(|decision| &decision.purposes) {
            let decided = self.purposes.entry(purpose.clone()).or_default();
            let way = if one.decision == "proceed" { &mut decided.proceed } else { &mut decided.refuse };
            *way += 1;
            decided.unspecified += u64::from(one.verdict == "unspecified");
        }
    }

    /// The answer of a page that counts; of others, why not.
    fn counts<'a>(
        &mut self,
        record: &'a Record,
        is_bodiless: bool,
        purpose: Option<Purpose>,
    ) -> Option<&'a ResponseRecord> {
        let left = &mut self.left;
        let response = record.response.as_ref();
        let to = match (record.outcome.as_str(), response) {
            ("not_fetched", _) => left.not_fetched.entry(record.reason.clone()).or_default(),
            ("withheld", _) => &mut left.withheld,
            ("not_modified", _) => &mut left.not_modified,
            ("fetched", Some(response)) if !(200..=299).contains(&response.status) => &mut left.other_status,
            ("fetched", Some(_)) if is_bodiless => &mut left.body_erased,
            ("fetched", Some(response)) if response.repeats.is_some() => &mut left.repeated,
            ("fetched", Some(_)) if purpose.is_some_and(|purpose| !allows(record, purpose)) => {
                &mut left.not_for_purpose
            }
            ("fetched", Some(_)) => return response,
            _ => &mut left.failed,
        };
        *to += 1;
        None
    }

    /// The largest domains: so many of a hundred, at least one; the larger first, those of a size by their name.
    pub(super) fn top(&self, percent: usize, most: usize) -> Vec<(&str, Share)> {
        let mut all: Vec<(&str, Share)> = self.domains.iter().map(|(name, share)| (name.as_str(), *share)).collect();
        all.sort_unstable_by(|(a, one), (b, other)| other.bytes.cmp(&one.bytes).then_with(|| a.cmp(b)));
        all.truncate((all.len() * percent).div_ceil(100).min(most));
        all
    }
}

/// Whether the record decided that it may be used so. What was not judged is not allowed.
fn allows(record: &Record, purpose: Purpose) -> bool {
    let decided = record.decision.as_ref().and_then(|decision| decision.purposes.get(purpose.as_str()));
    decided.is_some_and(|one| one.decision == "proceed")
}

/// Scheme and authority. The URL of a record may be cut, behind its path's begin.
fn origin_of(url: &str) -> &str {
    let host = url.find("://").map_or(0, |at| at + 3);
    let end = url.get(host..).and_then(|rest| rest.find(['/', '?', '#'])).map_or(url.len(), |at| host + at);
    url.get(..end).unwrap_or(url)
}

fn domain_of(origin: &Origin) -> &str {
    origin.registrable_domain().unwrap_or_else(|| origin.host())
}

fn named(origin: &Origin) -> [u8; 16] {
    let mut head = [0; 16];
    head.iter_mut().zip(Sha256::digest(origin.as_str())).for_each(|(to, byte)| *to = byte);
    head
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_of_the_domains_is_rounded_up_and_in_order() {
        let of = |domains: u64| Counts {
            domains: (0..domains).map(|n| (format!("d{n:05}.test"), Share { bytes: n / 2, pages: 1 })).collect(),
            ..Counts::default()
        };
        let rows =
            [(0, 0, 0), (1, 1, 1), (10, 1, 1), (11, 2, 1), (40, 4, 2), (20_000, 2_000, 1_000), (30_000, 3_000, 1_000)];
        for (domains, ten, sme) in rows {
            let counts = of(domains);
            assert_eq!((counts.top(10, usize::MAX).len(), counts.top(5, 1_000).len()), (ten, sme), "{domains}");
        }
        let counts = of(40);
        let names: Vec<&str> = counts.top(10, usize::MAX).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["d00038.test", "d00039.test", "d00036.test", "d00037.test"]);
    }

    #[test]
    fn the_origin_of_a_cut_url_is_found() {
        for (url, origin) in [
            ("http://a.test:80/x", "http://a.test:80"),
            ("https://a.test", "https://a.test"),
            ("https://a.test?q=http://b.test/", "https://a.test"),
            ("urn:uuid:1", "urn:uuid:1"),
        ] {
            assert_eq!(origin_of(url), origin);
        }
        let domain = |text: &str| domain_of(&Origin::parse(text).unwrap()).to_owned();
        assert_eq!(domain("https://www.example.co.uk"), "example.co.uk");
        assert_eq!(domain("http://127.0.0.1:8080"), "127.0.0.1");
        assert_eq!(domain("http://localhost"), "localhost");
    }
}
