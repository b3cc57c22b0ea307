use serde::Serialize;

/// What an erasure did, or will do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ErasureReport {
    /// `urn:uuid:…` of the erasure; empty where there was nothing to erase.
    pub id: String,
    /// The random salt, in hex: with it, and only with it, it can be shown what was named. It is kept nowhere.
    pub receipt: String,
    /// The URL stood for every query of its path: so it was asked for, or the crawl writes none.
    pub any_query: bool,
    /// Record lines that went, or whose payload did, of which no query was written: they are of the path of the URL, and whether its query was
    /// theirs cannot be told.
    pub without_query: u64,
    /// Record lines of the same path with queries of their own, which stay: the URL was named without one.
    pub with_queries: u64,
    /// Record lines that became tombstones.
    pub lines: u64,
    /// Lines that keep a record, without the page that led to them.
    pub amended: u64,
    /// Lines that stay and whose payload went.
    pub payloads: u64,
    /// Sightings that went from the evidence.
    pub sightings: u64,
    /// Copies that went from the evidence.
    pub copies: u64,
    /// Configurations that went: each named it, and is not in force.
    pub configs: u64,
    /// Visits that repeat a capture whose payload went: they hold nothing of it.
    pub revisits: Listed,
    /// Pages of others whose bodies name the erased URL or origin.
    pub mentions: Listed,
    /// Copies in the evidence that name it: robots.txt of others, which stay.
    pub mentioning_copies: u64,
}

/// The first of something, and how many there are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// How many.
    pub total: u64,
    /// The first of them.
    pub first: Vec<Told>,
}

/// A line that is told of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Told {
    /// Its number.
    pub seq: u64,
    /// Its URL.
    pub url: String,
}

impl Listed {
    /// How many are listed.
    const MOST: usize = 1000;

    pub(super) fn add(&mut self, told: Told) {
        self.total += 1;
        if self.first.len() < Self::MOST {
            self.first.push(told);
        }
    }
}
