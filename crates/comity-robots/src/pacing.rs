//! What a group asks about pace: Crawl-delay, Request-rate, Visit-time.

use core::num::NonZeroU32;
use core::time::Duration;

use crate::bytes::{is_blank, split_while, trim};

const MINUTES_PER_DAY: u16 = 24 * 60;
const SECONDS_PER_DAY: u32 = 24 * 60 * 60;

/// `Request-rate: 1/10m 1300-1659`: so many requests in so long a time (1996 draft).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestRate {
    /// Requests in [`Self::per`].
    pub requests: NonZeroU32,
    /// The time they may be sent in; never zero.
    pub per: Duration,
    /// When the rate holds; always, if `None`.
    pub window: Option<VisitTime>,
}

impl RequestRate {
    /// The rate as a delay between two requests.
    #[must_use]
    pub fn delay(&self) -> Duration {
        self.per / self.requests.get()
    }

    /// Reads a trimmed value: `N/T`, an optional unit `s`, `m`, `h` or `d` at T, an optional window behind a blank.
    fn read(value: &[u8]) -> Option<Self> {
        let (rate, window) = split_while(value, |byte| !is_blank(byte));
        let (requests, rest) = split_while(rate, |byte| byte.is_ascii_digit());
        let (time, unit) = split_while(rest.strip_prefix(b"/")?, |byte| byte.is_ascii_digit());
        let unit = match unit {
            [] | [b's' | b'S'] => 1,
            [b'm' | b'M'] => 60,
            [b'h' | b'H'] => 60 * 60,
            [b'd' | b'D'] => 24 * 60 * 60,
            _ => return None,
        };
        let requests = u32::try_from(number(requests)?).unwrap_or(u32::MAX);
        let seconds = number(time)?.saturating_mul(unit);
        let window = match trim(window) {
            [] => None,
            text => Some(VisitTime::read(text)?),
        };
        let requests = NonZeroU32::new(requests)?;
        (seconds > 0).then_some(Self { requests, per: Duration::from_secs(seconds), window })
    }

    /// The stricter of two rates of one group: the slower; always in force unless both hold in the same window.
    fn stricter(self, other: Self) -> Self {
        let slower = if other.delay() > self.delay() { other } else { self };
        let window = self.window.filter(|window| other.window == Some(*window));
        Self { window, ..slower }
    }
}

/// `Visit-time: 0400-0845`: the hours, in UTC, in which a site wants to be visited (1996 draft). Both minutes belong to
/// the window; it may run over midnight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VisitTime {
    first: u16,
    last: u16,
}

impl VisitTime {
    /// The first minute of the window, counted from midnight UTC; 0 to 1439.
    #[must_use]
    pub const fn first_minute(&self) -> u16 {
        self.first
    }

    /// The last minute of the window, counted from midnight UTC; 0 to 1439. Less than the first minute when the window
    /// runs over midnight.
    #[must_use]
    pub const fn last_minute(&self) -> u16 {
        self.last
    }

    /// Whether a minute of the day (UTC; taken modulo 1440) lies in the window.
    #[must_use]
    pub const fn contains(&self, minute: u16) -> bool {
        let minute = minute % MINUTES_PER_DAY;
        if self.first <= self.last {
            self.first <= minute && minute <= self.last
        } else {
            self.first <= minute || minute <= self.last
        }
    }

    /// How long to wait at a second of the day (UTC; taken modulo 86,400) until the window is open; zero inside it.
    #[must_use]
    pub const fn wait(&self, second_of_day: u32) -> Duration {
        let second = second_of_day % SECONDS_PER_DAY;
        let minute = (second / 60) as u16;
        if self.contains(minute) {
            return Duration::ZERO;
        }
        let opens = self.first as u32 * 60;
        Duration::from_secs(((opens + SECONDS_PER_DAY - second) % SECONDS_PER_DAY) as u64)
    }

    /// The window from one minute to another; `None` when one is no minute of a day.
    pub(crate) fn between(first: u16, last: u16) -> Option<Self> {
        (first < MINUTES_PER_DAY && last < MINUTES_PER_DAY).then_some(Self { first, last })
    }

    /// Minutes in the window, both ends counted.
    const fn length(&self) -> u16 {
        (self.last + MINUTES_PER_DAY - self.first) % MINUTES_PER_DAY + 1
    }

    /// Reads `HHMM-HHMM` or `HH:MM-HH:MM`, blanks around the dash allowed, 2400 for the last minute of the day.
    fn read(value: &[u8]) -> Option<Self> {
        let (first, rest) = split_while(value, |byte| byte != b'-');
        let first = minute_of_day(trim(first))?;
        let last = minute_of_day(trim(rest.strip_prefix(b"-")?))?;
        (first < MINUTES_PER_DAY).then_some(Self { first, last: last.min(MINUTES_PER_DAY - 1) })
    }

    /// The stricter of two windows of one group: the shorter, the earlier line at a tie.
    const fn stricter(self, other: Self) -> Self {
        if other.length() < self.length() { other } else { self }
    }
}

/// The pace that the selected groups ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Pace {
    pub(crate) crawl_delay: Option<Duration>,
    pub(crate) request_rate: Option<RequestRate>,
    pub(crate) visit_time: Option<VisitTime>,
}

impl Pace {
    /// Adds a Crawl-delay line; the largest counts. `None` when the value is none.
    pub(crate) fn add_crawl_delay(&mut self, value: &[u8]) -> Option<()> {
        self.crawl_delay = self.crawl_delay.max(Some(read_crawl_delay(value)?));
        Some(())
    }

    /// Adds a Request-rate line; the slowest counts. `None` when the value is none.
    pub(crate) fn add_request_rate(&mut self, value: &[u8]) -> Option<()> {
        let rate = RequestRate::read(value)?;
        self.request_rate = Some(self.request_rate.map_or(rate, |known| known.stricter(rate)));
        Some(())
    }

    /// Adds a Visit-time line; the shortest window counts. `None` when the value is none.
    pub(crate) fn add_visit_time(&mut self, value: &[u8]) -> Option<()> {
        let window = VisitTime::read(value)?;
        self.visit_time = Some(self.visit_time.map_or(window, |known| known.stricter(window)));
        Some(())
    }
}

/// Digits, an optional point or comma with digits, an optional unit `s`, `sec` or `seconds`. No sign, exponent, `inf`,
/// hex or underscore. A number beyond 64 bits is the largest there is: the file asked for a long delay, so it gets one.
fn read_crawl_delay(value: &[u8]) -> Option<Duration> {
    let (whole, rest) = split_while(value, |byte| byte.is_ascii_digit());
    let (fraction, rest) = match rest {
        [b'.' | b',', rest @ ..] => split_while(rest, |byte| byte.is_ascii_digit()),
        _ => (&[][..], rest),
    };
    let unit = trim(rest);
    let known = [&b""[..], b"s", b"sec", b"seconds"].iter().any(|name| name.eq_ignore_ascii_case(unit));
    if !known || (whole.is_empty() && fraction.is_empty()) {
        return None;
    }
    let seconds = Duration::from_secs(number(whole).unwrap_or(0));
    Some(seconds.saturating_add(Duration::from_nanos(nanoseconds(fraction))))
}

/// The digits behind a decimal point in nanoseconds, rounded up: never sooner than asked.
fn nanoseconds(fraction: &[u8]) -> u64 {
    let digit = |place: usize| fraction.get(place).map_or(0, |digit| u64::from(digit - b'0'));
    let nanos = (0..9).fold(0, |sum, place| sum * 10 + digit(place));
    let more = fraction.iter().skip(9).any(|digit| *digit != b'0');
    nanos + u64::from(more)
}

/// Decimal digits as a number, the largest one at overflow; `None` without digits.
fn number(digits: &[u8]) -> Option<u64> {
    let add = |sum: u64, digit: &u8| sum.saturating_mul(10).saturating_add(u64::from(digit - b'0'));
    (!digits.is_empty()).then(|| digits.iter().fold(0, add))
}

/// `HHMM` or `HH:MM` up to 2400.
fn minute_of_day(text: &[u8]) -> Option<u16> {
    let digits = match text {
        [a, b, b':', c, d] | [a, b, c, d] => [*a, *b, *c, *d],
        _ => return None,
    };
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let [tens, hours, ten_minutes, minutes] = digits.map(|digit| u16::from(digit - b'0'));
    let (hour, minute) = (tens * 10 + hours, ten_minutes * 10 + minutes);
    (minute < 60 && hour * 60 + minute <= MINUTES_PER_DAY).then_some(hour * 60 + minute)
}
