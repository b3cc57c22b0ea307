//! Times, sizes and outcomes in words, and texts of sites made safe for a terminal.

use std::borrow::Cow;
use std::time::Duration;

use comity::policy::{Reason, WallTime};
use comity_gate::{FetchedRobots, HopMeaning, NotFollowed, RobotsClass};
use comity_url::Origin;

/// `https_shop.example`, `http_127.0.0.1@8080`: one name for a file or folder per origin.
pub(crate) fn file_name(origin: &Origin) -> String {
    format!("{}_{}", origin.scheme(), origin.authority().replace(':', "@"))
}

/// `2026-11-30 09:00:00 UTC`.
pub(crate) fn when(at: WallTime) -> String {
    let (year, month, day, hour, minute, second, _) = at.civil();
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// `24 h`, `1 h 30 min`, `5 min`, `12 s`, `1.5 s`, `20 ms`, `0.4 ms`: the two largest parts.
pub(crate) fn span(span: Duration) -> String {
    let (seconds, millis) = (span.as_secs(), span.subsec_millis());
    if span < Duration::from_millis(10) {
        return format!("{:.1} ms", span.as_micros() as f64 / 1000.0);
    }
    let two = |large: u64, unit: &str, small: u64, part: &str| match small {
        0 => format!("{large} {unit}"),
        _ => format!("{large} {unit} {small} {part}"),
    };
    match seconds {
        0 => format!("{millis} ms"),
        1..10 if (50..950).contains(&millis) => format!("{:.1} s", span.as_secs_f64()),
        1..10 => format!("{:.0} s", span.as_secs_f64()),
        10..60 => format!("{seconds} s"),
        60..3600 => two(seconds / 60, "min", seconds % 60, "s"),
        3600..172_800 => two(seconds / 3600, "h", seconds % 3600 / 60, "min"),
        _ => two(seconds / 86_400, "days", seconds % 86_400 / 3600, "h"),
    }
}

/// `1,234 bytes`.
pub(crate) fn bytes(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    format!("{text} byte{}", if count == 1 { "" } else { "s" })
}

/// A site's text for a terminal: control characters and those that turn the direction of writing are shown, not obeyed.
pub(crate) fn safe(text: &str) -> Cow<'_, str> {
    let acts = |c: char| {
        (c.is_control() && c != '\t')
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(acts) {
        return text.into();
    }
    text.chars()
        .map(|c| if acts(c) { c.escape_unicode().to_string() } else { c.to_string() })
        .collect::<String>()
        .into()
}

/// What came, in a few words: a file by its size, else [`end`].
pub(crate) fn answer(found: &FetchedRobots) -> String {
    match (&found.class, &found.file) {
        (RobotsClass::Parsed { .. }, Some((_, file))) => format!("a file of {}", bytes(file.len() as u64)),
        _ => end(found),
    }
}

/// How the chain ended, in a few words: `answers 503`, `there is none (404)`, `connection refused`.
pub(crate) fn end(found: &FetchedRobots) -> String {
    match found.class {
        RobotsClass::Parsed { status } => format!("answers {status}"),
        RobotsClass::Absent { status } => format!("there is none ({status})"),
        RobotsClass::RedirectLimit { status } => match found.hops.last().map(|hop| &hop.meaning) {
            Some(HopMeaning::NotFollowed(NotFollowed::TooMany)) => "more than five redirects".to_owned(),
            Some(HopMeaning::NotFollowed(NotFollowed::Loop)) => "redirects in a loop".to_owned(),
            _ => format!("a redirect ({status}) to no http or https URL"),
        },
        RobotsClass::Unreachable { cause: Reason::RobotsUnreachable, status: Some(206), .. } => {
            "answers 206, a part of the file".to_owned()
        }
        RobotsClass::Unreachable { cause: Reason::RobotsUnreachable, status: Some(status), .. } => {
            format!("answers {status}")
        }
        RobotsClass::Unreachable { cause, .. } => match detail(found) {
            Some(detail) => format!("{} ({cause}: {})", cause.text(), safe(detail)),
            None => format!("{} ({cause})", cause.text()),
        },
        RobotsClass::Later(ready) => format!("not asked, its turn is far ahead: {}", ready.clock.text()),
        _ => "not asked: what is known of it still holds".to_owned(),
    }
}

/// More about what failed.
fn detail(found: &FetchedRobots) -> Option<&str> {
    let hop = found.hops.last()?;
    match &hop.meaning {
        HopMeaning::NotAsked(refused) => Some(&refused.detail),
        _ => hop.capture.as_ref()?.detail.as_deref(),
    }
}

/// What to do about a site that could not be reached.
pub(crate) fn hint(found: &FetchedRobots) -> Option<&'static str> {
    let cause = match found.class {
        RobotsClass::Unreachable { cause, .. } => cause,
        RobotsClass::Absent { .. } => return Some("[robots] strict_4xx of your configuration reads that as a refusal"),
        _ => return None,
    };
    remedy(cause)
}

/// What to do about a site that cannot be reached for this reason.
pub(crate) fn remedy(cause: Reason) -> Option<&'static str> {
    Some(match cause {
        Reason::AddressPrivate => "--allow-address 127.0.0.0/8 lets loopback be asked, another network likewise",
        Reason::Optout => "comity optout list says who asked for it, and when",
        Reason::FetchDns => "look at the spelling, or give --resolve HOST=ADDR",
        Reason::FetchRefused => "nothing listens there: look at scheme and port",
        Reason::FetchTls => {
            "crawlers do not go on without a valid certificate; a root of your own goes into [fetch] roots"
        }
        Reason::FetchProtocol => "what listens there speaks no HTTP: look at scheme and port",
        Reason::RobotsUnreachable => "comity robots fetch ORIGIN shows the whole exchange",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_origin_has_a_name_of_its_own() {
        let rows = [
            ("https://shop.example", "https_shop.example"),
            ("http://shop.example", "http_shop.example"),
            ("http://127.0.0.1:8080", "http_127.0.0.1@8080"),
            ("http://[::1]:81", "http_[@@1]@81"),
        ];
        for (origin, name) in rows {
            assert_eq!(file_name(&Origin::parse(origin).unwrap()), name);
        }
    }

    #[test]
    fn spans_and_sizes() {
        for (millis, text) in [
            (4, "4.0 ms"),
            (20, "20 ms"),
            (1980, "2 s"),
            (1500, "1.5 s"),
            (2000, "2 s"),
            (59_900, "59 s"),
            (300_000, "5 min"),
            (5_400_000, "1 h 30 min"),
            (86_400_000, "24 h"),
            (30 * 86_400_000, "30 days"),
        ] {
            assert_eq!(span(Duration::from_millis(millis)), text);
        }
        assert_eq!(
            (bytes(1), bytes(999), bytes(512_000)),
            ("1 byte".into(), "999 bytes".into(), "512,000 bytes".into())
        );
    }

    #[test]
    fn what_would_act_on_a_terminal_is_shown() {
        assert_eq!(safe("a\u{1b}[31mb"), "a\\u{1b}[31mb");
        assert_eq!(safe("a\u{202e}b"), "a\\u{202e}b");
        assert!(matches!(safe("plain\tünï"), Cow::Borrowed(_)));
    }
}
