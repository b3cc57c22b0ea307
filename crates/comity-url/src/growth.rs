//! Guards against URL spaces without end that no single URL shows: patterns that grow, hosts that are minted.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use self::row::Of;
pub use self::row::{CountedPages, GrowthRow, ROW};
use crate::canonical::normal_escapes;
use crate::{CrawlUrl, Origin};

mod row;

/// The form of a URL with its numbers left out: what a calendar, a pager or a counter makes without end.
///
/// `/cal/2026/11/30?view=day` and `/cal/2027/01/02?view=day` have one shape. Runs of digits are numbers, a segment or value
/// of 16 or more hexadecimal digits is one too (a session, a digest); everything else stands as written, so that
/// `/2026/11/30/a-title` is a shape of its own for every title. Parameters count in the order of their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    hash: u64,
    kind: ShapeKind,
}

/// What the numbers of a shape look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShapeKind {
    /// A date: a year and a month in a row, `2026-11`, parameters named after parts of a date.
    Calendar,
    /// Anything else.
    Numbers,
}

impl Shape {
    /// The shape of `url`; `None` when no number stands in it. Linear.
    #[must_use]
    pub fn of(url: &CrawlUrl) -> Option<Self> {
        let mut form = Form::default();
        let path = normal_escapes(url.path());
        for segment in path.split('/').skip(1) {
            form.path_segment(segment);
        }
        let query = normal_escapes(url.query().unwrap_or_default());
        let mut parameters: Vec<(&str, &str)> = query
            .split('&')
            .filter(|parameter| !parameter.is_empty())
            .map(|parameter| parameter.split_once('=').unwrap_or((parameter, "")))
            .collect();
        parameters.sort_unstable();
        for (name, value) in parameters {
            form.parameter(name, value);
        }
        form.finish()
    }

    /// What its numbers look like.
    #[must_use]
    pub const fn kind(self) -> ShapeKind {
        self.kind
    }
}

/// A shape under way.
#[derive(Default)]
struct Form {
    hasher: DefaultHasher,
    has_number: bool,
    is_date: bool,
    /// The segment before was a year.
    after_year: bool,
}

/// Parameters that name a part of a date.
const DATE_NAMES: [&str; 10] = ["date", "day", "week", "month", "year", "dt", "mon", "yr", "y", "d"];

impl Form {
    fn path_segment(&mut self, segment: &str) {
        let is_year = is_year(segment);
        self.is_date |= self.after_year && number(segment).is_some_and(|month| (1..=12).contains(&month));
        self.after_year = is_year;
        self.hasher.write_u8(b'/');
        self.text(segment);
    }

    fn parameter(&mut self, name: &str, value: &str) {
        let names_date = DATE_NAMES.iter().any(|part| name.eq_ignore_ascii_case(part));
        self.is_date |= names_date && number(value).is_some();
        self.hasher.write_u8(b'&');
        self.hasher.write(name.as_bytes());
        self.hasher.write_u8(b'=');
        self.text(value);
    }

    /// Writes a text with its numbers left out.
    fn text(&mut self, text: &str) {
        self.is_date |= is_date(text);
        if text.len() >= 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-') {
            self.has_number = true;
            return self.hasher.write_u8(1);
        }
        let mut in_number = false;
        for byte in text.bytes() {
            let is_digit = byte.is_ascii_digit();
            if !is_digit {
                self.hasher.write_u8(byte);
            } else if !in_number {
                self.hasher.write_u8(0);
                self.has_number = true;
            }
            in_number = is_digit;
        }
    }

    fn finish(self) -> Option<Shape> {
        let kind = if self.is_date { ShapeKind::Calendar } else { ShapeKind::Numbers };
        self.has_number.then(|| Shape { hash: self.hasher.finish(), kind })
    }
}

fn number(text: &str) -> Option<u32> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_year(text: &str) -> bool {
    text.len() == 4 && number(text).is_some_and(|year| (1800..2200).contains(&year))
}

/// `2026-11`, `2026-11-30`, `20261130`, and whatever follows a `T`.
fn is_date(text: &str) -> bool {
    let day = text.split(['T', 't']).next().unwrap_or(text);
    let Some((year, rest)) = day.split_at_checked(4).filter(|(year, _)| is_year(year)) else { return false };
    let month =
        if rest.len() == 4 { rest.get(..2) } else { rest.strip_prefix(['-', '.', '_']).and_then(|r| r.get(..2)) };
    !year.is_empty() && month.and_then(number).is_some_and(|month| (1..=12).contains(&month))
}

/// How many URLs of one shape an origin may add.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrowthLimits {
    /// URLs of one shape with numbers; 0 turns the guard off. Default 20,000 (our choice: above most shops and forums, well
    /// under the page budget of an origin).
    pub numbers: u32,
    /// URLs of one shape with a date; 0 turns the guard off. Default 2,000 (our choice: five years of days).
    pub calendar: u32,
}

impl Default for GrowthLimits {
    fn default() -> Self {
        Self { numbers: 20_000, calendar: 2_000 }
    }
}

impl GrowthLimits {
    const fn of(&self, shape: Shape) -> u32 {
        match shape.kind {
            ShapeKind::Calendar => self.calendar,
            ShapeKind::Numbers => self.numbers,
        }
    }
}

/// Counts the URLs of each shape on each origin, in bounded memory.
///
/// The 64 most frequent shapes of an origin are counted (the space-saving algorithm of Metwally, Agrawal and El Abbadi, 2005);
/// of a shape that came late the part that may belong to another is left out. So a shape is never counted too high. At most
/// 65,536 origins are held; then the one that came first is forgotten, and counts anew.
#[derive(Debug)]
pub struct PatternGrowth {
    limits: GrowthLimits,
    origins: Bounded<Counters>,
}

/// The shapes of one origin.
#[derive(Debug, Default)]
struct Counters {
    list: Vec<Counter>,
    /// Whether any of them is spent, or was.
    any_spent: bool,
}

/// One counted shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counter {
    shape: Shape,
    count: u32,
    /// What of the count may be another shape's.
    error: u32,
}

/// Shapes counted per origin.
const SHAPES: usize = 64;

impl PatternGrowth {
    /// Nothing counted yet.
    #[must_use]
    pub fn new(limits: GrowthLimits) -> Self {
        Self { limits, origins: Bounded::default() }
    }

    /// The limit that `shape` has reached on `origin`, if it has.
    #[must_use]
    pub fn spent(&self, origin: &Origin, shape: Shape) -> Option<u32> {
        let limit = self.limits.of(shape);
        let counter = self.origins.get(origin)?.list.iter().find(|counter| counter.shape == shape)?;
        (limit > 0 && counter.count.saturating_sub(counter.error) >= limit).then_some(limit)
    }

    /// Whether any shape of `origin` may be spent: where none is, none has to be looked for.
    #[must_use]
    pub fn any_spent(&self, origin: &Origin) -> bool {
        self.origins.get(origin).is_some_and(|counters| counters.any_spent)
    }

    /// Counts a URL that was queued; gives that as a row, which [`PatternGrowth::restore`] counts in another process.
    pub fn count(&mut self, origin: &Origin, shape: Shape) -> GrowthRow {
        let origin = hash(origin.as_str());
        let once = Counter { shape, count: 1, error: 0 };
        self.add(origin, once);
        GrowthRow::of_shape(origin, once)
    }

    fn add(&mut self, origin: u64, added: Counter) {
        let Counter { shape, count, .. } = added;
        let limit = self.limits.of(shape);
        let Counters { list: counters, any_spent } = self.origins.entry(origin);
        if let Some(counter) = counters.iter_mut().find(|counter| counter.shape == shape) {
            counter.count = counter.count.saturating_add(count);
            *any_spent |= limit > 0 && counter.count >= limit;
        } else if counters.len() < SHAPES {
            counters.push(added);
            *any_spent |= limit > 0 && count >= limit;
        } else if let Some(least) = counters.iter_mut().min_by_key(|counter| counter.count) {
            *least = Counter { shape, count: least.count.saturating_add(count), error: least.count };
        }
    }

    /// Counts what a row says: one of [`PatternGrowth::count`], or of [`PatternGrowth::rows`]. In the order in which they were
    /// given all rows make the same counts. A row of hosts is none of these.
    pub fn restore(&mut self, row: &GrowthRow) {
        if let Of::Shape(counter) = row.of {
            self.add(row.about, counter);
        }
    }

    /// All that is counted, a row for each shape of an origin.
    pub fn rows(&self) -> impl Iterator<Item = GrowthRow> {
        let held = self.origins.order.iter().filter_map(|origin| Some((origin, self.origins.values.get(origin)?)));
        held.flat_map(|(origin, counters)| counters.list.iter().map(|counter| GrowthRow::of_shape(*origin, *counter)))
    }
}

/// Counts the hosts under each registrable domain, so that a site cannot mint hosts without end. Hosts without a registrable
/// domain, addresses among them, are not counted; nor are those of the operator's seeds.
#[derive(Debug)]
pub struct HostGrowth {
    /// Hosts of one registrable domain; 0 turns the guard off.
    limit: u32,
    domains: HashMap<u64, Hosts>,
    held: usize,
}

#[derive(Debug, Default)]
struct Hosts {
    /// Each with whether it is counted: a seed's is not.
    known: HashMap<u64, bool>,
    seeds: usize,
}

/// Hosts held in all; beyond them no new one is counted, and the frontier's bound on origins holds alone.
const MOST_HOSTS: usize = 1_000_000;

impl HostGrowth {
    /// The default: 1,000 hosts (our choice: more than any one organisation shows, and few enough to be asked in an hour).
    pub const USUAL: u32 = 1_000;

    /// Nothing counted yet.
    #[must_use]
    pub fn new(limit: u32) -> Self {
        Self { limit, domains: HashMap::new(), held: 0 }
    }

    /// Whether the domain of `origin` has all the hosts that it may have, and this is none of them.
    #[must_use]
    pub fn is_spent(&self, origin: &Origin) -> bool {
        let hosts = origin.registrable_domain().and_then(|domain| self.domains.get(&hash(domain)));
        hosts.is_some_and(|hosts| {
            let counted = hosts.known.len() - hosts.seeds;
            self.limit > 0 && counted >= self.limit as usize && !hosts.known.contains_key(&hash(origin.host()))
        })
    }

    /// Counts the host of a URL that was queued; a new one is given as a row, which [`HostGrowth::restore`] counts in another
    /// process.
    pub fn count(&mut self, origin: &Origin) -> Option<GrowthRow> {
        let domain = hash(origin.registrable_domain()?);
        let host = hash(origin.host());
        self.add(domain, host, true).then(|| GrowthRow::of_host(domain, host))
    }

    /// Lets the host of a seed in, uncounted.
    pub fn add_seed(&mut self, origin: &Origin) {
        if let Some(domain) = origin.registrable_domain() {
            self.add(hash(domain), hash(origin.host()), false);
        }
    }

    /// Whether it is new.
    fn add(&mut self, domain: u64, host: u64, counts: bool) -> bool {
        if self.limit == 0 || self.held >= MOST_HOSTS {
            return false;
        }
        let hosts = self.domains.entry(domain).or_default();
        let is_new = !hosts.known.contains_key(&host);
        if is_new {
            hosts.known.insert(host, counts);
            hosts.seeds += usize::from(!counts);
            self.held += 1;
        }
        is_new
    }

    /// Counts the host of a row, if it is one of a host.
    pub fn restore(&mut self, row: &GrowthRow) {
        if let Of::Host(host) = row.of {
            self.add(row.about, host, true);
        }
    }

    /// All that is counted, a row for each host.
    pub fn rows(&self) -> impl Iterator<Item = GrowthRow> {
        let counted = |(domain, hosts): (&u64, &'_ Hosts)| {
            let domain = *domain;
            let counted: Vec<u64> = hosts.known.iter().filter(|(_, counts)| **counts).map(|(host, _)| *host).collect();
            counted.into_iter().map(move |host| GrowthRow::of_host(domain, host))
        };
        self.domains.iter().flat_map(counted)
    }
}

/// A value for each of the last 65,536 origins.
#[derive(Debug, Default)]
struct Bounded<T> {
    values: HashMap<u64, T>,
    order: VecDeque<u64>,
}

/// Origins held at once.
const MOST_ORIGINS: usize = 65_536;

impl<T: Default> Bounded<T> {
    fn get(&self, origin: &Origin) -> Option<&T> {
        self.values.get(&hash(origin.as_str()))
    }

    fn entry(&mut self, key: u64) -> &mut T {
        if !self.values.contains_key(&key) {
            if self.order.len() >= MOST_ORIGINS
                && let Some(first) = self.order.pop_front()
            {
                self.values.remove(&first);
            }
            self.order.push_back(key);
        }
        self.values.entry(key).or_default()
    }
}

/// Fixed keys: who aims collisions at a table only spends budgets of his own.
fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
