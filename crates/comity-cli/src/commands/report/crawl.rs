use std::collections::BTreeMap;
use std::path::Path;

use comity_archive::{AgentRecord, Line, Record};

use super::chain::{Broken, Chain, Places, follow};

/// What the first pass over the records finds: grows with configurations and erasures, not with records.
#[derive(Debug, Default)]
pub(super) struct Crawl {
    pub(super) places: Places,
    pub(super) chain: Chain,
    /// Name of the crawl, as its records have it.
    pub(super) name: Option<String>,
    /// Records by the digest of the configuration that they name, in the order of their first.
    pub(super) under: Vec<Under>,
    /// Records that name none.
    pub(super) unnamed: u64,
    /// Who asked, in the order of first appearance, with the requests of each.
    pub(super) agents: Vec<(AgentRecord, u64)>,
    /// Runs of lines whose body was erased: first and last number, in order, without overlap.
    bodiless: Vec<(u64, u64)>,
    /// Configurations that an erasure took, with its id.
    pub(super) lost: BTreeMap<String, String>,
}

/// The records of one configuration.
#[derive(Debug)]
pub(super) struct Under {
    pub(super) digest: String,
    pub(super) records: u64,
    /// Number and begin of the first and of the last record.
    pub(super) first: (u64, String),
    pub(super) last: (u64, String),
}

impl Crawl {
    /// # Errors
    /// What does not hold.
    pub(super) fn read(dir: &Path) -> Result<Self, Broken> {
        let places = Places::read(dir)?;
        let mut crawl = Self::default();
        let chain =
            follow(dir, &places, None, |line, record| record.iter().for_each(|record| crawl.take(line, record)))?;
        crawl.bodiless = joined(std::mem::take(&mut crawl.bodiless));
        Ok(Self { places, chain, ..crawl })
    }

    fn take(&mut self, line: &Line, record: &Record) {
        if let Some(erasure) = &record.erasure {
            self.bodiless.extend(&erasure.payloads);
            self.lost.extend(erasure.configs.iter().map(|digest| (digest.clone(), erasure.id.clone())));
        }
        if self.name.is_none() {
            self.name = Some(record.crawl.clone());
        }
        self.agent(record);
        let Some(digest) = &record.agent.config_digest else {
            self.unnamed += 1;
            return;
        };
        let place = (line.seq, record.time.started.clone());
        match self.under.iter_mut().find(|under| under.digest == *digest) {
            Some(under) => (under.records, under.last) = (under.records + 1, place),
            None => {
                self.under.push(Under { digest: digest.clone(), records: 1, first: place.clone(), last: place });
            }
        }
    }

    fn agent(&mut self, record: &Record) {
        let sent = u64::from(record.request.is_some());
        let same = |one: &AgentRecord| {
            let other = &record.agent;
            (&one.user_agent, &one.contact, &one.from, &one.operator, &one.product_tokens, &one.purposes)
                == (
                    &other.user_agent,
                    &other.contact,
                    &other.from,
                    &other.operator,
                    &other.product_tokens,
                    &other.purposes,
                )
        };
        match self.agents.iter_mut().find(|(one, _)| same(one)) {
            Some((_, requests)) => *requests += sent,
            None => self.agents.push((record.agent.clone(), sent)),
        }
    }

    /// Whether the body of the line was erased.
    pub(super) fn is_bodiless(&self, seq: u64) -> bool {
        let at = self.bodiless.partition_point(|(_, last)| *last < seq);
        self.bodiless.get(at).is_some_and(|(first, _)| *first <= seq)
    }
}

/// Runs in order, those that touch as one.
fn joined(mut runs: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    runs.sort_unstable();
    let mut joined: Vec<(u64, u64)> = Vec::with_capacity(runs.len());
    for (first, last) in runs {
        match joined.last_mut().filter(|(_, end)| first <= end.saturating_add(1)) {
            Some((_, end)) => *end = last.max(*end),
            None => joined.push((first, last)),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_joined_and_found() {
        let crawl = Crawl { bodiless: joined(vec![(7, 9), (1, 2), (3, 3), (8, 8), (20, 20)]), ..Crawl::default() };
        assert_eq!(crawl.bodiless, [(1, 3), (7, 9), (20, 20)]);
        let found: Vec<u64> = (0..25).filter(|seq| crawl.is_bodiless(*seq)).collect();
        assert_eq!(found, [1, 2, 3, 7, 8, 9, 20]);
    }
}
