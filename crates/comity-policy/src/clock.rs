use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A moment on the process's monotonic clock: microseconds since that clock's own start.
///
/// Comparable only with instants of the same [`Clock`]. Arithmetic saturates: a far future stays a far future.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

impl Instant {
    /// The clock's start.
    pub const START: Self = Self(0);
    /// Later than everything: "not before something else happens".
    pub const NEVER: Self = Self(u64::MAX);

    /// An instant `micros` microseconds after the clock's start.
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// Microseconds since the clock's start.
    #[must_use]
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// This instant moved by `by` into the future.
    #[must_use]
    pub fn after(self, by: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(by.as_micros()).unwrap_or(u64::MAX)))
    }

    /// How long after `earlier` this is; zero when it is not.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

/// A moment of civil time: milliseconds since 1970-01-01T00:00:00Z, leap seconds not counted.
///
/// `Display` writes RFC 3339 in UTC with milliseconds: `2026-11-30T09:15:00.250Z`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WallTime(i64);

impl WallTime {
    /// A moment `millis` milliseconds after the Unix epoch.
    #[must_use]
    pub const fn from_unix_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the Unix epoch.
    #[must_use]
    pub const fn unix_millis(self) -> i64 {
        self.0
    }

    /// This moment moved by `by` into the future; saturates.
    #[must_use]
    pub fn after(self, by: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX)))
    }

    /// How long after `earlier` this is; zero when it is not.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// A moment of the proleptic Gregorian calendar in UTC, or `None` when a part is out of range.
    #[must_use]
    pub fn from_civil(date: (i64, u32, u32), time: (u32, u32, u32)) -> Option<Self> {
        let (year, month, day) = date;
        let (hour, minute, second) = time;
        let valid = (1..=9999).contains(&year)
            && (1..=12).contains(&month)
            && day >= 1
            && day <= days_in_month(year, month)
            && hour <= 23
            && minute <= 59
            && second <= 60;
        let seconds = i64::from(hour) * 3600 + i64::from(minute) * 60 + i64::from(second);
        valid.then(|| Self((days_from_civil(year, month, day) * 86_400 + seconds) * 1000))
    }

    /// Year, month, day, hour, minute, second, millisecond in UTC.
    #[must_use]
    pub const fn civil(self) -> (i64, u32, u32, u32, u32, u32, u32) {
        let days = self.0.div_euclid(86_400_000);
        let millis = self.0.rem_euclid(86_400_000);
        let (year, month, day) = civil_from_days(days);
        let seconds = millis / 1000;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "parts of a day are small and positive"
        )]
        (
            year,
            month,
            day,
            (seconds / 3600) as u32,
            (seconds / 60 % 60) as u32,
            (seconds % 60) as u32,
            (millis % 1000) as u32,
        )
    }

    /// The 14 digits of WARC file names and CDXJ: `20261130091500`.
    #[must_use]
    pub fn digits14(self) -> String {
        let (y, mo, d, h, mi, s, _) = self.civil();
        format!("{y:04}{mo:02}{d:02}{h:02}{mi:02}{s:02}")
    }

    /// The 17 digits of WARC file names with milliseconds.
    #[must_use]
    pub fn digits17(self) -> String {
        format!("{}{:03}", self.digits14(), self.civil().6)
    }
}

impl fmt::Display for WallTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (y, mo, d, h, mi, s, ms) = self.civil();
        let Some(year) = u32::try_from(y).ok().filter(|year| *year <= 9999) else {
            return write!(f, "{y:04}-{mo:02}-{d:02}T{h:02}:{mi:02}:{s:02}.{ms:03}Z");
        };
        // At once, not part by part through the formatter: what is stored of a page holds a dozen of them.
        let mut text = *b"0000-00-00T00:00:00.000Z";
        let parts = [(0..4, year), (5..7, mo), (8..10, d), (11..13, h), (14..16, mi), (17..19, s), (20..23, ms)];
        for (place, mut number) in parts {
            for digit in text.get_mut(place).into_iter().flatten().rev() {
                *digit = b"0123456789"[(number % 10) as usize];
                number /= 10;
            }
        }
        f.write_str(std::str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

/// Both clocks, read at once: what joins a delay, which is monotonic, with an hour of the day, which is not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// The monotonic clock.
    pub now: Instant,
    /// Civil time, a millisecond behind at most.
    pub wall: WallTime,
}

impl Moment {
    /// Civil time at `at`, as far as this reading tells: up to two milliseconds behind, never ahead.
    #[must_use]
    pub fn wall_at(self, at: Instant) -> WallTime {
        if at >= self.now {
            return self.wall.after(at.since(self.now));
        }
        let back = i64::try_from(self.now.since(at).as_micros().div_ceil(1000)).unwrap_or(i64::MAX);
        WallTime::from_unix_millis(self.wall.unix_millis().saturating_sub(back))
    }

    /// The instant at which it is `wall`: up to a millisecond late, never early. [`Moment::now`] when that has passed.
    #[must_use]
    pub fn instant_at(self, wall: WallTime) -> Instant {
        self.now.after(wall.since(self.wall))
    }
}

/// Reads RFC 3339 with seconds: `2026-11-30T09:15:00.250Z`, `2026-11-30T10:15:00+01:00`. Digits past milliseconds are
/// passed over.
impl FromStr for WallTime {
    type Err = WallTimeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        read_rfc3339(text).ok_or(WallTimeError)
    }
}

/// A text that is no moment of RFC 3339.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WallTimeError;

impl fmt::Display for WallTimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no moment as RFC 3339 writes it, for instance 2026-11-30T09:15:00Z")
    }
}

impl std::error::Error for WallTimeError {}

fn read_rfc3339(text: &str) -> Option<WallTime> {
    let (head, tail) = text.split_at_checked(19)?;
    let marks = head.bytes().enumerate().filter(|(_, b)| !b.is_ascii_digit());
    if !marks.eq([(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')]) {
        return None;
    }
    let part = |from: usize, to: usize| head.get(from..to)?.parse::<u32>().ok();
    let date = (i64::from(part(0, 4)?), part(5, 7)?, part(8, 10)?);
    let moment = WallTime::from_civil(date, (part(11, 13)?, part(14, 16)?, part(17, 19)?))?;
    let (millis, zone) = read_fraction(tail)?;
    Some(WallTime(moment.0 + millis - read_zone(zone)? * 60_000))
}

/// Milliseconds of `.250Z`, and what follows.
fn read_fraction(text: &str) -> Option<(i64, &str)> {
    let Some(digits) = text.strip_prefix('.') else { return Some((0, text)) };
    let end = digits.find(|c: char| !c.is_ascii_digit()).filter(|end| *end > 0)?;
    let (digits, rest) = digits.split_at(end);
    let millis: String = digits.chars().chain("00".chars()).take(3).collect();
    Some((millis.parse().ok()?, rest))
}

/// Minutes east of UTC of `Z` or `+01:00`.
fn read_zone(text: &str) -> Option<i64> {
    if text == "Z" {
        return Some(0);
    }
    let (sign, clock) = text.split_at_checked(1)?;
    let sign = match sign {
        "+" => 1,
        "-" => -1,
        _ => return None,
    };
    let (hours, minutes) = clock.split_once(':').filter(|(h, m)| two_digits(h) && two_digits(m))?;
    let (hours, minutes) = (hours.parse::<u8>().ok()?, minutes.parse::<u8>().ok()?);
    (hours < 24 && minutes < 60).then(|| sign * (i64::from(hours) * 60 + i64::from(minutes)))
}

fn two_digits(text: &str) -> bool {
    text.len() == 2 && text.bytes().all(|b| b.is_ascii_digit())
}

/// Where time comes from. Levels 0 to 2 and the scheduler are *passed* instants; whoever does I/O reads them here.
///
/// Both readings never go backwards within a process.
pub trait Clock: Send + Sync + fmt::Debug {
    /// The monotonic clock: for every delay.
    fn now(&self) -> Instant;
    /// Civil time: for records, robots lives and anything that outlives the process.
    fn wall(&self) -> WallTime;

    /// Both at once.
    fn moment(&self) -> Moment {
        // Civil time first: read a little before the instant it goes with, it is behind and never ahead.
        let wall = self.wall();
        Moment { now: self.now(), wall }
    }
}

/// The largest day of a month.
const fn days_in_month(year: i64, month: u32) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Days since 1970-01-01, by the usual era arithmetic with years that begin in March.
const fn days_from_civil(year: i64, month: u32, day: u32) -> i64 {
    let y = if month <= 2 { year - 1 } else { year };
    let era = y.div_euclid(400);
    let year_of_era = y.rem_euclid(400);
    let shifted = (month as i64 + 9) % 12;
    let day_of_year = (153 * shifted + 2) / 5 + day as i64 - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// The inverse of [`days_from_civil`].
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "months and days are small and positive")]
const fn civil_from_days(days: i64) -> (i64, u32, u32) {
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let shifted = (5 * doy + 2) / 153;
    let day = (doy - (153 * shifted + 2) / 5 + 1) as u32;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 } as u32;
    let year = yoe + era * 400 + if month <= 2 { 1 } else { 0 };
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wall_time_is_written_as_rfc_3339() {
        let rows = [
            (0, "1970-01-01T00:00:00.000Z"),
            (1_796_030_100_250, "2026-11-30T09:15:00.250Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
            (253_402_300_800_000, "10000-01-01T00:00:00.000Z"),
            (-62_167_219_200_000, "0000-01-01T00:00:00.000Z"),
            (-62_167_219_200_001, "-001-12-31T23:59:59.999Z"),
        ];
        for (millis, text) in rows {
            assert_eq!(WallTime::from_unix_millis(millis).to_string(), text);
        }
    }

    #[test]
    fn rfc_3339_is_read_back_and_nothing_else() {
        for text in ["1970-01-01T00:00:00.000Z", "2026-11-30T09:15:00.250Z", "2000-02-29T23:59:59.999Z"] {
            assert_eq!(text.parse::<WallTime>().unwrap().to_string(), text);
        }
        let quarter_past_nine: WallTime = "2026-11-30T09:15:00Z".parse().unwrap();
        for text in ["2026-11-30T10:45:00+01:30", "2026-11-29T23:15:00.0-10:00", "2026-11-30T09:15:00.000999Z"] {
            assert_eq!(text.parse(), Ok(quarter_past_nine), "{text}");
        }
        assert_eq!("2026-11-30T09:15:00.2Z".parse(), Ok(quarter_past_nine.after(Duration::from_millis(200))));
        for text in [
            "",
            "2026-11-30",
            "2026-11-30T09:15:00",
            "2026-11-30 09:15:00Z",
            "2026-11-30T09:15Z",
            "2026-02-29T09:15:00Z",
            "2026-11-30T24:00:00Z",
            "2026-11-30T09:15:00.Z",
            "2026-11-30T09:15:00.25",
            "2026-11-30T09:15:00+1:00",
            "2026-11-30T09:15:00+ 1:00",
            "2026-11-30T09:15:00++1:00",
            "2026-11-30T09:15:00+24:00",
            "2026-11-30T09:15:00ZZ",
            "+026-11-30T09:15:00Z",
            "2026-11-30T09:15:0é",
        ] {
            assert_eq!(text.parse::<WallTime>(), Err(WallTimeError), "{text}");
        }
    }

    #[test]
    fn civil_dates_round_trip_for_every_day_of_four_centuries() {
        for day in 0..146_097_i64 {
            let at = WallTime::from_unix_millis(day * 86_400_000);
            let (y, m, d, ..) = at.civil();
            assert_eq!(WallTime::from_civil((y, m, d), (0, 0, 0)), Some(at), "{at}");
        }
        assert_eq!(WallTime::from_civil((2026, 2, 29), (0, 0, 0)), None);
        assert_eq!(WallTime::from_civil((2026, 13, 1), (0, 0, 0)), None);
    }

    #[test]
    fn a_moment_converts_both_ways_and_never_to_the_early_side() {
        let at = Moment { now: Instant::from_micros(5_000_500), wall: WallTime::from_unix_millis(1_000_000) };
        let rows = [(5_000_500, 1_000_000), (5_001_499, 1_000_000), (5_001_500, 1_000_001), (5_000_499, 999_999)];
        for (micros, millis) in rows {
            assert_eq!(at.wall_at(Instant::from_micros(micros)).unix_millis(), millis, "{micros}");
        }
        assert_eq!(at.instant_at(WallTime::from_unix_millis(1_000_250)).as_micros(), 5_250_500);
        assert_eq!(at.instant_at(WallTime::from_unix_millis(3)), at.now);
        assert_eq!(
            at.wall_at(Instant::NEVER).unix_millis(),
            1_000_000 + i64::try_from((u64::MAX - 5_000_500) / 1000).unwrap()
        );
    }

    #[test]
    fn instants_saturate() {
        assert_eq!(Instant::NEVER.after(Duration::from_secs(1)), Instant::NEVER);
        assert_eq!(Instant::START.since(Instant::NEVER), Duration::ZERO);
        assert_eq!(Instant::from_micros(5).after(Duration::from_micros(7)).as_micros(), 12);
    }
}
