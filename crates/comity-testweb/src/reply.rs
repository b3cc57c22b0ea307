use std::sync::Arc;
use std::time::Duration;

use comity_policy::{WallTime, parse_retry_after};

use crate::answer::{Answer, Content, RetryAfter, Target, Wire};

/// Longest time a silent connection is held.
pub(crate) const SILENCE: Duration = Duration::from_secs(600);

/// Which answer a request got: cheap to keep in the log.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    Scripted(Arc<Answer>),
    /// A generated page of a site.
    Generated {
        site: usize,
        page: u32,
    },
}

impl Reply {
    /// The answer, when it is more than a generated page.
    pub(crate) fn answer(&self) -> Option<&Answer> {
        match self {
            Self::Scripted(answer) => Some(answer),
            Self::Generated { .. } => None,
        }
    }
}

impl Answer {
    /// True when no whole response comes over the wire.
    pub(crate) fn is_broken(&self) -> bool {
        !matches!(self.wire, Wire::Sound)
    }

    /// True when the response is meant to be cut.
    pub(crate) fn is_cut(&self) -> bool {
        matches!(self.wire, Wire::Cut(_))
    }

    /// The pause that the answer asks for: Retry-After of a redirect, a 429 or 503, else a spent quota's reset (RateLimit
    /// or X-RateLimit fields). Garbage, zero and past dates ask for none.
    pub(crate) fn pause(&self) -> Option<Duration> {
        let waits = matches!(self.seen_status()?, 300..=399 | 429 | 503);
        let told = self.told_pause().filter(|asked| waits && !asked.is_zero());
        told.or_else(|| self.quota_reset()).filter(|asked| !asked.is_zero())
    }

    fn told_pause(&self) -> Option<Duration> {
        match self.retry_after.as_ref() {
            Some(RetryAfter::Seconds(seconds)) => Some(Duration::from_secs(*seconds)),
            Some(RetryAfter::Date(after)) => Some(*after),
            // A date as raw text is not ours to date: the web's own clock is nobody's.
            Some(RetryAfter::Raw(text)) if text.trim().bytes().all(|byte| byte.is_ascii_digit()) => {
                parse_retry_after(text, None, WallTime::from_unix_millis(0))
            }
            Some(RetryAfter::Raw(_)) => None,
            None => parse_retry_after(&self.raw_field("retry-after")?, None, WallTime::from_unix_millis(0)),
        }
    }

    /// The reset of a quota of which nothing remains, where it is told in seconds.
    fn quota_reset(&self) -> Option<Duration> {
        let seconds = |text: &str| text.trim().parse().ok().map(Duration::from_secs);
        let parameter = |item: &str, name: &str| {
            item.split(';').skip(1).find_map(|part| part.trim().strip_prefix(name)?.strip_prefix('=').and_then(seconds))
        };
        // A string that is not closed makes the whole list unreadable, and asks for nothing.
        let closed = |limit: &String| limit.matches('"').count().is_multiple_of(2);
        let limit = self.raw_field("ratelimit").filter(closed).unwrap_or_default();
        let spent = limit.split(',').filter(|item| parameter(item, "r") == Some(Duration::ZERO));
        let told = spent.filter_map(|item| parameter(item, "t")).max();
        let older = self.raw_field("x-ratelimit-remaining").filter(|left| seconds(left) == Some(Duration::ZERO));
        let older = older.and_then(|_| seconds(&self.raw_field("x-ratelimit-reset")?));
        // Above this it is a moment of Unix time, and the web's own clock is nobody's.
        told.max(older.filter(|reset| reset.as_secs() < 1_000_000_000))
    }

    /// The status that a client sees.
    pub(crate) fn seen_status(&self) -> Option<u16> {
        match &self.wire {
            Wire::Raw(bytes) => status_of(bytes),
            Wire::Silence | Wire::Reset => None,
            Wire::Sound | Wire::Cut(_) => Some(self.status),
        }
    }

    /// Where a redirect leads, as written.
    pub(crate) fn redirect_target(&self) -> Option<Target> {
        let status = self.seen_status()?;
        if !matches!(status, 301 | 302 | 303 | 307 | 308) {
            return None;
        }
        self.location.clone().or_else(|| self.raw_field("location").map(Target::Verbatim))
    }

    /// A field's value, from the added ones or out of raw bytes.
    pub(crate) fn raw_field(&self, name: &str) -> Option<String> {
        let added = self.fields.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
        if let Some((_, value)) = added {
            return Some(value.clone());
        }
        let Wire::Raw(bytes) = &self.wire else { return None };
        let head = String::from_utf8_lossy(split_head(bytes)?.0).into_owned();
        let mut fields = head.lines().skip(1).filter_map(|line| line.split_once(':'));
        fields.find(|(own, _)| own.trim().eq_ignore_ascii_case(name)).map(|(_, value)| value.trim().to_owned())
    }

    /// The body that a client ends up with, coding undone; `None` when it cannot get it whole. `cut`: the connection
    /// ended before all was sent.
    pub(crate) fn whole_body(&self, cut: bool) -> Option<Vec<u8>> {
        // A coding that the field names and the web did not make is undone by nobody here.
        let undone = !self.fields.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-encoding"));
        match (&self.wire, &self.body) {
            _ if cut || !undone => None,
            (Wire::Sound | Wire::Cut(_), Content::Bytes(bytes)) => Some(bytes.to_vec()),
            (Wire::Sound | Wire::Cut(_), _) => Some(Vec::new()),
            (Wire::Raw(bytes), _) => self.raw_body(bytes),
            (Wire::Silence | Wire::Reset, _) => None,
        }
    }

    fn raw_body(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let body = split_head(bytes)?.1;
        let coded = self.raw_field("transfer-encoding").is_some() || self.raw_field("content-encoding").is_some();
        match self.raw_field("content-length").map(|length| length.parse::<usize>()) {
            _ if coded => None,
            None => Some(body.to_vec()),
            Some(Ok(length)) => body.get(..length).map(<[u8]>::to_vec),
            Some(Err(_)) => None,
        }
    }
}

/// The status in the first bytes of a response.
pub(crate) fn status_of(bytes: &[u8]) -> Option<u16> {
    let rest = bytes.strip_prefix(b"HTTP/1.1 ").or_else(|| bytes.strip_prefix(b"HTTP/1.0 "))?;
    std::str::from_utf8(rest.get(..3)?).ok()?.parse().ok()
}

fn split_head(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    Some((bytes.get(..end)?, bytes.get(end + 4..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_read_as_a_client_reads_them() {
        let rows = [
            (Answer::retry_after(429, 7), Some(7)),
            (Answer::retry_after(503, 0), None),
            (Answer::retry_after(200, 7), None),
            (Answer::retry_at(503, Duration::from_secs(9)), Some(9)),
            (Answer::retry_text(429, "abc"), None),
            (Answer::retry_text(429, " 12 "), Some(12)),
            (Answer::status(503).field("Retry-After", "4"), Some(4)),
            (Answer::raw("HTTP/1.1 429 Slow\r\nretry-after: 3\r\n\r\n"), Some(3)),
            (Answer::reset().with_status(503), None),
            (Answer::redirect(302, "/x").field("Retry-After", "5"), Some(5)),
            (Answer::text("x").field("RateLimit", "\"a\";r=0;t=9, \"b\";r=5;t=60"), Some(9)),
            (Answer::text("x").field("RateLimit", "\"a\";r=0"), None),
            (Answer::text("x").field("RateLimit", "\"a;r=0;t=9"), None),
            (Answer::retry_after(429, 4).field("RateLimit", "\"a\";r=0;t=9"), Some(4)),
            (Answer::text("x").field("X-RateLimit-Remaining", "0").field("X-RateLimit-Reset", "8"), Some(8)),
            (Answer::text("x").field("X-RateLimit-Remaining", "1").field("X-RateLimit-Reset", "8"), None),
        ];
        for (answer, seconds) in rows {
            assert_eq!(answer.pause().map(|pause| pause.as_secs()), seconds, "{answer:?}");
        }
    }

    #[test]
    fn only_whole_bodies_count() {
        let rows = [
            (Answer::text("x"), Some("x")),
            (Answer::status(404), Some("")),
            (Answer::text("x").cut_after(10), None),
            (Answer::text("x").coding(crate::Coding::Gzip), Some("x")),
            (Answer::text("x").field("Content-Encoding", "gzip"), None),
            (Answer::silence(), None),
            (Answer::raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabc"), Some("ab")),
            (Answer::raw("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc"), None),
            (Answer::raw("HTTP/1.0 200 OK\r\n\r\nabc"), Some("abc")),
            (Answer::raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n"), None),
            (Answer::raw("nonsense"), None),
        ];
        for (answer, body) in rows {
            assert_eq!(answer.whole_body(answer.is_cut()), body.map(|body| body.as_bytes().to_vec()), "{answer:?}");
        }
    }
}
