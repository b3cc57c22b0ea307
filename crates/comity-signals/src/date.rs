//! Dates as `unavailable_after` writes them: RFC 822 and 1123, RFC 850, ISO 8601 (signals reference §7.1).

use std::fmt;

/// A moment of civil time: seconds since 1970-01-01T00:00:00Z, leap seconds not counted.
///
/// `Display` writes RFC 3339 in UTC.
///
/// ```
/// use comity_signals::UnixSeconds;
/// let moment = UnixSeconds::parse("Friday, 25-Jun-10 15:00:00 UTC").expect("RFC 850");
/// assert_eq!(moment.to_string(), "2010-06-25T15:00:00Z");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnixSeconds(pub i64);

/// A longer text is no date.
const MAX_DATE_BYTES: usize = 64;

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// Zone names of RFC 822 §5.1 without the military letters, in hours from UTC.
const ZONES: [(&str, i64); 12] = [
    ("z", 0),
    ("ut", 0),
    ("utc", 0),
    ("gmt", 0),
    ("est", -5),
    ("edt", -4),
    ("cst", -6),
    ("cdt", -5),
    ("mst", -7),
    ("mdt", -6),
    ("pst", -8),
    ("pdt", -7),
];

impl UnixSeconds {
    /// Reads a date in any of the accepted forms; `None` when it is none of them.
    ///
    /// Without a zone UTC is assumed, without a time the start of the day. A year of two digits from 70 on is of the
    /// twentieth century (our choice: the reading of RFC 850 that needs no clock).
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.len() > MAX_DATE_BYTES || !text.is_ascii() {
            return None;
        }
        iso(text).or_else(|| mail(text))
    }
}

impl fmt::Display for UnixSeconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, second) = (self.0.div_euclid(86_400), self.0.rem_euclid(86_400));
        let (year, month, day) = civil(days);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }
}

/// `2010-06-25`, with `T15:00`, `:00`, `.5`, and a zone.
fn iso(text: &str) -> Option<UnixSeconds> {
    let (date, rest) = text.split_at_checked(10)?;
    let mut parts = date.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let fits = year.len() == 4 && month.len() == 2 && day.len() == 2 && parts.next().is_none();
    let days = days(digits(year)?, digits(month)?, digits(day)?).filter(|_| fits)?;
    let Some(rest) = rest.strip_prefix(['T', 't', ' ']) else {
        return rest.is_empty().then_some(UnixSeconds(days * 86_400));
    };
    let end = rest.find(|c: char| !(c.is_ascii_digit() || matches!(c, ':' | '.'))).unwrap_or(rest.len());
    let (time, after) = rest.split_at_checked(end)?;
    Some(UnixSeconds(days * 86_400 + seconds(time)? - zone(after.trim())?))
}

/// `Fri, 25 Jun 2010 15:00:00 PST` and `Friday, 25-Jun-10 15:00:00 UTC`, the weekday and all behind the date optional.
fn mail(text: &str) -> Option<UnixSeconds> {
    let mut words = text.split([' ', '\t', ',']).filter(|word| !word.is_empty()).peekable();
    if words.peek()?.starts_with(|c: char| c.is_ascii_alphabetic()) {
        let name = words.next()?.trim_end_matches('.').to_ascii_lowercase();
        WEEKDAYS.iter().find(|day| name.len() >= 3 && day.starts_with(&name))?;
    }
    let first = words.next()?;
    let (day, month, year) = if first.contains('-') {
        let mut parts = first.split('-');
        let date = (parts.next()?, parts.next()?, parts.next()?);
        parts.next().is_none().then_some(date)?
    } else {
        (first, words.next()?, words.next()?)
    };
    let days = days(full_year(year)?, month_number(month)?, digits(day)?)?;
    let second = words.next().map_or(Some(0), seconds)?;
    let offset = words.next().map_or(Some(0), zone)?;
    words.next().is_none().then_some(UnixSeconds(days * 86_400 + second - offset))
}

/// `Jun`, `June`, in any case.
fn month_number(name: &str) -> Option<i64> {
    let head = name.get(..3)?;
    let place = MONTHS.iter().position(|month| head.eq_ignore_ascii_case(month))?;
    name.bytes().all(|byte| byte.is_ascii_alphabetic()).then_some(i64::try_from(place).ok()? + 1)
}

fn full_year(text: &str) -> Option<i64> {
    let year = digits(text)?;
    match text.len() {
        2 if year >= 70 => Some(1900 + year),
        2 => Some(2000 + year),
        4 => Some(year),
        _ => None,
    }
}

/// `HH:MM`, with `:SS` and a fraction that is dropped, as seconds of the day.
fn seconds(text: &str) -> Option<i64> {
    let mut parts = text.split(':');
    let (hour, minute) = (digits(parts.next()?)?, digits(parts.next()?)?);
    let second = match parts.next() {
        None => 0,
        Some(second) => match second.split_once('.') {
            None => digits(second)?,
            Some((whole, fraction)) => digits(fraction).and(digits(whole))?,
        },
    };
    // 60 is a leap second.
    let fits = hour <= 23 && minute <= 59 && second <= 60 && parts.next().is_none();
    fits.then_some(hour * 3600 + minute * 60 + second)
}

/// `UTC`, `PST`, `Z`, `+0200`, `+02:00`, `+02` or nothing, as seconds east of UTC.
fn zone(text: &str) -> Option<i64> {
    let sign = match text.chars().next() {
        None => return Some(0),
        Some('+') => 1,
        Some('-') => -1,
        Some(_) => return ZONES.iter().find(|(name, _)| text.eq_ignore_ascii_case(name)).map(|(_, h)| h * 3600),
    };
    let (hour, minute) = match *text.as_bytes() {
        [_, a, b] => ([a, b], [b'0', b'0']),
        [_, a, b, c, d] | [_, a, b, b':', c, d] => ([a, b], [c, d]),
        _ => return None,
    };
    let number = |pair: [u8; 2]| digits(str::from_utf8(&pair).ok()?);
    let (hour, minute) = (number(hour)?, number(minute)?);
    (hour <= 23 && minute <= 59).then_some(sign * (hour * 3600 + minute * 60))
}

/// Decimal digits only, at most nine of them.
fn digits(text: &str) -> Option<i64> {
    let plain = (1..=9).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok())?
}

/// Days since 1970-01-01 of a Gregorian date that exists; years of at most four digits.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let last = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        _ => return None,
    };
    // The year runs from March, so that the leap day is its last.
    let (year, month) = if month <= 2 { (year - 1, month + 9) } else { (year, month - 3) };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * month + 2) / 5 + day - 1;
    let count = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    (1..=last).contains(&day).then_some(count)
}

/// The inverse of [`days`].
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (year, month) = (year + era * 400, if month < 10 { month + 3 } else { month - 9 });
    (if month <= 2 { year + 1 } else { year }, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepted_forms() {
        let rows = [
            ("Friday, 25-Jun-10 15:00:00 UTC", "2010-06-25T15:00:00Z"),
            ("25 Jun 2010 15:00:00 PST", "2010-06-25T23:00:00Z"),
            ("25-Aug-2007 15:00:00 EST", "2007-08-25T20:00:00Z"),
            ("Fri, 25 Jun 2010 15:00:00 +0200", "2010-06-25T13:00:00Z"),
            ("fri 25 june 2010 15:00 gmt", "2010-06-25T15:00:00Z"),
            ("25 Jun 99", "1999-06-25T00:00:00Z"),
            ("2010-06-25", "2010-06-25T00:00:00Z"),
            ("2010-06-25T15:00", "2010-06-25T15:00:00Z"),
            ("2010-06-25 15:00:00.25 PDT", "2010-06-25T22:00:00Z"),
            ("2010-06-25T15:00:00-01:30", "2010-06-25T16:30:00Z"),
            ("2010-06-25t15:00:00z", "2010-06-25T15:00:00Z"),
            ("2024-02-29", "2024-02-29T00:00:00Z"),
            ("1969-12-31T23:59:59Z", "1969-12-31T23:59:59Z"),
            ("0000-01-01", "0000-01-01T00:00:00Z"),
        ];
        for (text, wanted) in rows {
            let read = UnixSeconds::parse(text).map(|moment| moment.to_string());
            assert_eq!(read.as_deref(), Some(wanted), "{text}");
        }
    }

    #[test]
    fn refused_forms() {
        let rows = [
            "",
            "never",
            "Friday",
            "Fryday, 25 Jun 2010",
            "25 Jum 2010",
            "31 Jun 2010",
            "2023-02-29",
            "2010-13-01",
            "2010-6-25",
            "2010-06-25T24:00",
            "2010-06-25T15:00 CET",
            "25 Jun 2010 15:00:00 XYZ",
            "25 Jun 2010 15",
            "25 Jun 2010 15:00:00 PST again",
            "2010-06-25T15:00:00+2",
            "25-Jun-010",
            "25 Jun 20100",
            "2010-06-25x",
            "é5 Jun 2010",
            "25 Jun 2010 99999999999:00",
        ];
        for text in rows {
            assert_eq!(UnixSeconds::parse(text), None, "{text}");
        }
    }
}
