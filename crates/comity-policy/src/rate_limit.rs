use std::time::Duration;

use sfv::{BareItem, Item, List, ListEntry, Parser, StringRef};

use crate::{WallTime, parse_http_date, parse_retry_after};

/// What the rate-limit fields of one answer ask of the requests that follow it.
///
/// Advisory fields (draft-ietf-httpapi-ratelimit-headers-11 and the older families), obeyed all the same: they slow
/// down, and never count as a failure. Of several quotas the longest wait counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateLimit {
    /// A quota is spent: nothing before its reset, in so long a time.
    pub reset: Option<Duration>,
    /// A quota is spent and its reset is not told: own back-off.
    pub unknown_reset: bool,
    /// Requests are left: so far apart they last until the reset. Zero when nothing says so.
    pub spread: Duration,
}

/// What an answer says about the time of the next request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PaceFields {
    /// `Retry-After`, uncapped. It takes precedence over the rate-limit fields.
    pub retry_after: Option<Duration>,
    /// The rate-limit fields, uncapped; `None` when none says anything.
    pub rate_limit: Option<RateLimit>,
    /// What could not be read, and was ignored.
    pub notes: Vec<PaceNote>,
}

/// A pace field that could not be read: ignored, and noted (signals reference §11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PaceNote {
    /// `Retry-After` is neither seconds nor a date.
    RetryAfterInvalid,
    /// `RateLimit` or `RateLimit-Policy` is no list of items, or an item lacks its numbers.
    RateLimitUnparsable,
}

impl PaceNote {
    /// The code in logs and records.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RetryAfterInvalid => "retry_after_invalid",
            Self::RateLimitUnparsable => "ratelimit_unparsable",
        }
    }
}

/// Bytes of one field family that are read; a longer one says nothing.
const MOST_BYTES: usize = 4096;

/// Items of a list that are read; more make it unreadable.
const MOST_ITEMS: usize = 64;

/// A reset above this is a moment of Unix time and no delay (signals reference §11).
const LEAST_EPOCH: u64 = 1_000_000_000;

/// A moment above this counts milliseconds (our choice: seconds would lie beyond the year 5000).
const LEAST_EPOCH_MILLIS: u64 = 100_000_000_000;

/// The older families, the newest first.
const OLDER: [(&str, &str); 3] = [
    ("ratelimit-remaining", "ratelimit-reset"),
    ("x-ratelimit-remaining", "x-ratelimit-reset"),
    ("x-rate-limit-remaining", "x-rate-limit-reset"),
];

impl PaceFields {
    /// Reads the fields of a response: names in any case, values as received. Linear in their length.
    #[must_use]
    pub fn read<'a, F>(fields: F, now: WallTime) -> Self
    where
        F: IntoIterator<Item = (&'a str, &'a [u8])>,
    {
        let mut found = Found::default();
        for (name, value) in fields {
            found.take(name, value);
        }
        found.read(now)
    }
}

impl RateLimit {
    /// The longest wait that is told, and the spread; zero when there is none.
    #[must_use]
    pub fn told(&self) -> Duration {
        self.reset.unwrap_or_default().max(self.spread)
    }

    /// Several quotas bind at once: the longest wait counts.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            reset: self.reset.max(other.reset),
            unknown_reset: self.unknown_reset || other.unknown_reset,
            spread: self.spread.max(other.spread),
        }
    }

    const fn spent(reset: Option<Duration>) -> Self {
        Self { reset, unknown_reset: reset.is_none(), spread: Duration::ZERO }
    }

    fn is_silent(&self) -> bool {
        *self == Self::default()
    }
}

/// The values of the fields that are read here, those of one name joined.
#[derive(Debug, Default)]
struct Found {
    retry_after: Option<String>,
    date: Option<String>,
    limit: Option<String>,
    policy: Option<String>,
    /// Remaining and reset of each older family.
    older: [(Option<String>, Option<String>); OLDER.len()],
}

impl Found {
    fn take(&mut self, name: &str, value: &[u8]) {
        let Some(slot) = self.slot(name) else { return };
        // Bytes that are no text make the value unreadable, and that is noted.
        let value = String::from_utf8_lossy(value);
        match slot {
            None => *slot = Some(value.into_owned()),
            Some(known) if known.len() + value.len() <= MOST_BYTES => {
                known.push_str(", ");
                known.push_str(&value);
            }
            Some(known) => known.push_str(&" ".repeat(MOST_BYTES)),
        }
    }

    fn slot(&mut self, name: &str) -> Option<&mut Option<String>> {
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        if is("retry-after") {
            // The first counts; a list would be no Retry-After.
            return Some(&mut self.retry_after).filter(|slot| slot.is_none());
        } else if is("date") {
            return Some(&mut self.date).filter(|slot| slot.is_none());
        } else if is("ratelimit") {
            return Some(&mut self.limit);
        } else if is("ratelimit-policy") {
            return Some(&mut self.policy);
        }
        let families = OLDER.iter().zip(&mut self.older);
        for ((remaining, reset), slots) in families {
            if is(remaining) {
                return Some(&mut slots.0);
            } else if is(reset) {
                return Some(&mut slots.1);
            }
        }
        None
    }

    /// True when a rate-limit field is there: most answers have none, and only a date.
    fn tells_rate(&self) -> bool {
        self.limit.is_some() || self.older.iter().any(|(left, reset)| left.is_some() || reset.is_some())
    }

    fn read(self, now: WallTime) -> PaceFields {
        let mut fields = PaceFields::default();
        let date = self.date.as_deref();
        if let Some(value) = &self.retry_after {
            fields.retry_after = parse_retry_after(value, date, now);
            fields.notes.extend(fields.retry_after.is_none().then_some(PaceNote::RetryAfterInvalid));
        }
        if !self.tells_rate() {
            return fields;
        }
        let now = date.and_then(parse_http_date).unwrap_or(now);
        let limit = self.limit.as_deref().map(|limit| read_limit(limit, self.policy.as_deref()));
        let older = self.older.iter().map(|(left, reset)| read_older(left.as_deref(), reset.as_deref(), now));
        let (mut asked, mut unread) = (RateLimit::default(), false);
        for reading in limit.into_iter().flatten().chain(older) {
            match reading {
                Some(quota) => asked = asked.and(quota),
                None => unread = true,
            }
        }
        fields.notes.extend(unread.then_some(PaceNote::RateLimitUnparsable));
        fields.rate_limit = (!asked.is_silent()).then_some(asked);
        fields
    }
}

/// The quotas of `RateLimit`, with the units of `RateLimit-Policy`; `None` stands for one that cannot be read.
fn read_limit(limit: &str, policy: Option<&str>) -> Vec<Option<RateLimit>> {
    if limit.len() > MOST_BYTES {
        return vec![None];
    }
    let Some(items) = parse_list(limit) else { return vec![read_dictionary(limit)] };
    // A policy that cannot be read leaves every unit at its default, requests.
    let policies = policy.filter(|text| text.len() <= MOST_BYTES).and_then(parse_list);
    let policies = policies.unwrap_or_default();
    items.iter().map(|item| read_item(item, &policies)).collect()
}

/// One item: `"name";r=50;t=30`.
fn read_item(item: &Item, policies: &[Item]) -> Option<RateLimit> {
    let whole = |value: &BareItem| u64::try_from(i64::from(value.as_integer()?)).ok();
    let remaining = item.params.get("r").and_then(whole)?;
    let reset = match item.params.get("t") {
        None => None,
        Some(reset) => Some(Duration::from_secs(whole(reset)?)),
    };
    Some(match (remaining, reset) {
        (0, reset) => RateLimit::spent(reset),
        (left, Some(reset)) if counts_requests(item, policies) => {
            RateLimit { spread: spread(reset, left), ..RateLimit::default() }
        }
        (_, _) => RateLimit::default(),
    })
}

/// Whether the quota of an item counts requests: other units cannot be spread over requests.
fn counts_requests(item: &Item, policies: &[Item]) -> bool {
    let own = |policy: &&Item| policy.bare_item == item.bare_item;
    let unit = policies.iter().rfind(own).and_then(|policy| policy.params.get("qu"));
    unit.is_none_or(|unit| unit.as_string().map(StringRef::as_str) == Some("requests"))
}

/// The items of a list (RFC 9651 §4.2.1); `None` when it is none, or holds an inner list or more than anybody needs.
fn parse_list(text: &str) -> Option<Vec<Item>> {
    let list: List = Parser::new(text).parse().ok()?;
    let item = |entry| match entry {
        ListEntry::Item(item) => Some(item),
        ListEntry::InnerList(_) => None,
    };
    list.into_iter().map(item).collect::<Option<Vec<_>>>().filter(|items| items.len() <= MOST_ITEMS)
}

fn spread(reset: Duration, left: u64) -> Duration {
    // Rounded up: never sooner than asked.
    let micros = reset.as_micros().div_ceil(u128::from(left.max(1)));
    Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
}

/// The one field of draft-ietf-httpapi-ratelimit-headers-07: `limit=100, remaining=0, reset=5`.
fn read_dictionary(text: &str) -> Option<RateLimit> {
    let (mut remaining, mut reset) = (None, None);
    for member in text.split(',') {
        let (key, value) = member.split_once('=')?;
        match key.trim() {
            "remaining" => remaining = Some(number(value)?),
            "reset" => reset = Some(number(value)?),
            _ => {}
        }
    }
    let spent = remaining? == Duration::ZERO;
    Some(if spent { RateLimit::spent(reset) } else { RateLimit::default() })
}

/// An older family: nothing is asked until nothing remains. `None` when what remains cannot be read.
fn read_older(remaining: Option<&str>, reset: Option<&str>, now: WallTime) -> Option<RateLimit> {
    let Some(remaining) = remaining else { return Some(RateLimit::default()) };
    let bounded = |text: &&str| text.len() <= MOST_BYTES;
    // Of several values the strictest counts.
    let least = bounded(&remaining).then(|| remaining.split(',').filter_map(number).min())??;
    if !least.is_zero() {
        return Some(RateLimit::default());
    }
    let resets = |text: &str| text.split(',').filter_map(|text| reset_in(text, now)).max();
    Some(RateLimit::spent(reset.filter(bounded).and_then(resets)))
}

/// How long until a reset: seconds, or a moment of Unix time.
fn reset_in(text: &str, now: WallTime) -> Option<Duration> {
    let value = number(text)?;
    let number = value.as_secs();
    if number <= LEAST_EPOCH {
        return Some(value);
    }
    let at = if number <= LEAST_EPOCH_MILLIS { value.as_millis() } else { u128::from(number) };
    Some(WallTime::from_unix_millis(i64::try_from(at).unwrap_or(i64::MAX)).since(now))
}

/// Digits with a decimal fraction or without, as a duration in seconds, rounded up to the millisecond.
fn number(text: &str) -> Option<Duration> {
    let text = text.trim();
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.len() <= 15 && text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return None;
    }
    let millis = fraction.bytes().chain(*b"000").take(3).fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'));
    let more = fraction.bytes().skip(3).any(|digit| digit != b'0');
    Some(Duration::from_secs(whole.parse().ok()?) + Duration::from_millis(millis + u64::from(more)))
}
