use std::time::Duration;

use crate::WallTime;

/// Reads a `Retry-After` value: delta-seconds or an HTTP-date. `None` when it is neither.
///
/// A date counts from the response's own `Date` when that parses, else from `now`; a past date is zero
/// (signals reference §11; RFC 9110 §10.2.3). No cap is applied here.
#[must_use]
pub fn parse_retry_after(value: &str, date: Option<&str>, now: WallTime) -> Option<Duration> {
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) {
        return Some(Duration::from_secs(value.parse().unwrap_or(u64::MAX / 2_000_000)));
    }
    let until = parse_http_date(value)?;
    Some(until.since(date.and_then(parse_http_date).unwrap_or(now)))
}

/// Reads an HTTP-date in its three forms (RFC 9110 §5.6.7): IMF-fixdate, RFC 850, asctime.
#[must_use]
pub fn parse_http_date(text: &str) -> Option<WallTime> {
    let words: Vec<&str> = text.split([' ', '-', ',']).filter(|word| !word.is_empty()).take(8).collect();
    match *words.as_slice() {
        // Sun, 06 Nov 1994 08:49:37 GMT · Sunday, 06-Nov-94 08:49:37 GMT
        [_, day, month, year, time, "GMT" | "UTC"] => moment(year, month, day, time),
        // Sun Nov  6 08:49:37 1994
        [_, month, day, time, year] if time.contains(':') => moment(year, month, day, time),
        _ => None,
    }
}

fn moment(year: &str, month: &str, day: &str, time: &str) -> Option<WallTime> {
    const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let month = MONTHS.iter().position(|name| name.eq_ignore_ascii_case(month))?;
    let full: i64 = digits(year, 4)?.into();
    // RFC 9110 §5.6.7 asks for "not more than 50 years in the future"; two-digit years are decades old practice.
    let year = if year.len() == 2 { full + if full < 70 { 2000 } else { 1900 } } else { full };
    let mut parts = time.split(':');
    let (hour, minute, second) = (digits(parts.next()?, 2)?, digits(parts.next()?, 2)?, digits(parts.next()?, 2)?);
    if parts.next().is_some() {
        return None;
    }
    WallTime::from_civil((year, u32::try_from(month).ok()? + 1, digits(day, 2)?), (hour, minute, second))
}

fn digits(text: &str, most: usize) -> Option<u32> {
    let fits = !text.is_empty() && text.len() <= most && text.bytes().all(|b| b.is_ascii_digit());
    fits.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_dates_and_garbage() {
        let now = parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        let rows = [
            ("7", None, Some(7)),
            (" 120 ", None, Some(120)),
            ("0", None, Some(0)),
            ("Sun, 06 Nov 1994 08:50:37 GMT", None, Some(60)),
            ("Sunday, 06-Nov-94 08:50:37 GMT", None, Some(60)),
            ("Sun Nov  6 08:50:37 1994", None, Some(60)),
            ("Sun, 06 Nov 1994 08:00:00 GMT", None, Some(0)),
            ("Sun, 06 Nov 1994 08:50:37 GMT", Some("Sun, 06 Nov 1994 08:50:07 GMT"), Some(30)),
            ("abc", None, None),
            ("-5", None, None),
            ("1.5", None, None),
            ("", None, None),
            ("Sun, 31 Feb 1994 08:50:37 GMT", None, None),
            ("Sun, 06 Nov 1994 08:50:37 PST", None, None),
        ];
        for (value, date, seconds) in rows {
            assert_eq!(parse_retry_after(value, date, now).map(|d| d.as_secs()), seconds, "{value:?}");
        }
        assert!(parse_retry_after("99999999999999999999999", None, now).unwrap() > Duration::from_secs(86_400));
    }
}
