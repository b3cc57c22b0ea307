//! Visiting a URL anew: with which conditions it is asked for, what the answer says of it, when it comes again.

use std::io::Read as _;
use std::time::Duration;

use comity_extract::{ChangeFreq, SitemapEntry, SitemapPriority};
use comity_fetch::Request;
use comity_frontier::{
    CaptureRef, Finding, Hint, Intervals, LONGEST_VALIDATOR, NextVisit, Revisit, RevisitPolicy, Visited,
};
use comity_policy::{Capture, Digest, Floor, Reason, Validators, WallTime};
use comity_url::Origin;
use sha2::{Digest as _, Sha256};

use super::Shared;
use super::errand::Errand;
use super::outcome::Next;
use crate::keep::{Earlier, Trip};
use crate::{Change, Error};

/// The priority within its origin of a page that is visited anew: behind everything that is new. Our choice: what was never
/// seen comes before what may have changed. Sitemaps, feeds and seeds, which tell of what is new, have 0.
const BEHIND_NEW: u8 = 3;

/// What an exchange has shown of a URL that is, or may be, visited anew.
#[derive(Clone, Copy, Debug)]
pub(super) struct News {
    pub(super) finding: Finding,
    /// SHA-256 of a body that came whole.
    payload: Option<Digest>,
}

impl News {
    /// Nothing is known of it: nobody wants to visit it anew.
    pub(super) const NONE: Self = Self { finding: Finding::First, payload: None };

    /// 304 or the same body.
    pub(super) const fn is_unchanged(self) -> bool {
        matches!(self.finding, Finding::Unchanged)
    }

    pub(super) const fn change(self) -> Change {
        match self.finding {
            Finding::First => Change::First,
            Finding::Unchanged => Change::Unchanged,
            Finding::Changed | Finding::Gone | Finding::Nothing => Change::Changed,
        }
    }
}

/// The request for a URL: with the validators of its last visit, byte for byte (RFC 9110 §13.1). Without, where that answer spoke
/// of its own use: it has to be heard again (docs/decisions/0052).
pub(super) fn request(trip: &Trip) -> Request {
    let Some(visited) = trip.visited.as_ref().filter(|visited| visited.is_silent) else { return Request::default() };
    let own = |text: &Option<Box<str>>| text.as_deref().map(ToOwned::to_owned);
    Request {
        if_none_match: own(&visited.validators.etag),
        if_modified_since: own(&visited.validators.last_modified),
        ..Request::default()
    }
}

/// Whether the answer may be 304 (RFC 9110 §15.4.5).
pub(super) const fn is_conditional(request: &Request) -> bool {
    request.if_none_match.is_some() || request.if_modified_since.is_some()
}

/// A 304 that nobody asked for is no answer: it names a copy that is not there.
pub(super) fn refuse_unasked(capture: &mut Capture, request: &Request) {
    if capture.status == Some(304) && capture.fault.is_none() && !is_conditional(request) {
        capture.fault = Some(Reason::FetchProtocol);
        capture.detail = Some("304 to a request without conditions".to_owned());
    }
}

impl Shared {
    /// What an answer says of its URL. Reads the body, where a policy wants it.
    pub(super) async fn news(&self, trip: &Trip, capture: &Capture) -> Result<News, Error> {
        let before = trip.visited.as_deref().filter(|visited| visited.is_visited());
        if self.live().revisit.policy == RevisitPolicy::Never && before.is_none() {
            return Ok(News::NONE);
        }
        let known = before.and_then(|before| before.payload);
        let is_whole = capture.fault.is_none() && capture.truncated.is_none();
        let (finding, payload) = match capture.status {
            Some(304) if is_whole => (Finding::Unchanged, known),
            Some(200..=299) => {
                let payload = if is_whole { digest(capture).await? } else { None };
                let finding = match (before, payload) {
                    (Some(_), Some(payload)) if Some(payload) == known => Finding::Unchanged,
                    (Some(before), _) if before.payload.is_some() => Finding::Changed,
                    _ => Finding::First,
                };
                (finding, payload)
            }
            Some(404 | 410) => (Finding::Gone, known),
            _ => (Finding::Nothing, known),
        };
        Ok(News { finding, payload })
    }

    /// When a URL whose exchange was recorded comes again. `stored` is where the archive keeps the body.
    pub(super) fn next_visit(
        &self,
        trip: &Trip,
        errand: Errand,
        (next, news): (&Next, News),
        seen: &Seen,
    ) -> Option<Box<Revisit>> {
        let before = trip.visited.as_deref();
        let was_visited = before.is_some_and(Visited::is_visited);
        // A feed that answers 304 does not say that it is one: its priority does.
        let told_news = was_visited && trip.priority == 0;
        let tells_news = trip.seed || errand == Errand::Sitemap || seen.is_list || told_news;
        // What was never there is not waited for, but for what the operator or the site itself has named.
        let is_wanted = tells_news || (self.live().revisit.pages && (was_visited || news.finding == Finding::First));
        let is_redirect = matches!(next, Next::Redirect(_) | Next::DeadRedirect);
        let moved_for_good = is_redirect && matches!(seen.status, Some(301 | 308));
        if moved_for_good || (is_redirect && !was_visited) || !is_wanted {
            return None;
        }
        let floor = self.revisit_floor(trip.url.origin(), seen);
        // One that is there for its user data alone says nothing of when.
        let told = before.filter(|before| before.is_visited() || !before.interval.is_zero());
        let NextVisit { interval, gone } = self.live().revisit.policy.next(told, news.finding, floor)?;
        let priority = match news.finding {
            _ if tells_news => 0,
            Finding::First | Finding::Changed => BEHIND_NEW,
            // It had no body to say what it is: as before.
            _ if was_visited => trip.priority,
            _ => BEHIND_NEW,
        };
        let visited = seen.visited(before, (interval, gone), news);
        Some(Box::new(Revisit { at: self.due_after(interval), priority, visited }))
    }

    /// When a URL comes again that was not requested, or without an answer. One that was never visited does not, nor one that the
    /// operator or an opt-out has left out.
    pub(super) fn next_try(&self, trip: &Trip, reason: Reason) -> Option<Box<Revisit>> {
        let before = trip.visited.as_deref().filter(|visited| visited.is_visited())?;
        if matches!(reason, Reason::Optout | Reason::UrlScope | Reason::UrlDepth) {
            return None;
        }
        let floor = self.revisit_floor(trip.url.origin(), &Seen::default());
        let NextVisit { interval, gone } = self.live().revisit.policy.next(Some(before), Finding::Nothing, floor)?;
        let visited = Visited { interval, gone, ..before.clone() };
        Some(Box::new(Revisit { at: self.due_after(interval), priority: trip.priority, visited }))
    }

    /// Civil time is told in whole milliseconds, cut off: one more, so that no visit is early.
    fn due_after(&self, interval: Duration) -> WallTime {
        self.clock.wall().after(interval.saturating_add(Duration::from_millis(1)))
    }

    fn revisit_floor(&self, origin: &Origin, seen: &Seen) -> Duration {
        let floor: Floor = self.gate.overrides().floor(origin, self.clock.wall());
        self.gate.politeness().revisit_floor_for(seen.peer, floor)
    }

    /// What the sitemap `list` of an origin says of when an entry changes; `None` where that does not count.
    pub(super) fn hint(&self, entry: &SitemapEntry, (from, list): (&Origin, &Seen)) -> Option<Hint> {
        let RevisitPolicy::Sitemap(intervals) = self.live().revisit.policy else { return None };
        let now = self.clock.wall();
        // A date in the future was not seen by anybody.
        let modified =
            entry.lastmod.as_ref().and_then(|date| date.at.0.checked_mul(1000)).map(WallTime::from_unix_millis);
        let modified = modified.filter(|modified| *modified <= now);
        // The address that the list came from says nothing of where another origin's pages are.
        let floor = match entry.loc.origin() {
            same if same == from => self.revisit_floor(same, list),
            other => self.revisit_floor(other, &Seen::default()),
        };
        Some(Hint { modified, interval: first_interval(entry, &intervals), least: intervals.min.max(floor) })
    }
}

/// The first interval of an entry, within the bounds: its `changefreq`; without one half of the usual for a page that its site
/// calls important, twice that for the others (our choice).
fn first_interval(entry: &SitemapEntry, intervals: &Intervals) -> Option<Duration> {
    const DAY: Duration = Duration::from_secs(24 * 3600);
    let interval = match (entry.changefreq, entry.priority) {
        (Some(ChangeFreq::Always), _) => intervals.min,
        (Some(ChangeFreq::Hourly), _) => DAY / 24,
        (Some(ChangeFreq::Daily), _) => DAY,
        (Some(ChangeFreq::Weekly), _) => DAY * 7,
        (Some(ChangeFreq::Monthly), _) => DAY * 30,
        (Some(ChangeFreq::Yearly), _) => DAY * 365,
        (Some(ChangeFreq::Never), _) => intervals.max,
        (None, Some(priority)) if priority > SitemapPriority::USUAL => intervals.start / 2,
        (None, Some(priority)) if priority < SitemapPriority::USUAL => intervals.start * 2,
        (None, _) => return None,
    };
    Some(intervals.clamp(interval))
}

/// What of an exchange outlives it: taken before the archive takes the capture.
#[derive(Debug, Default)]
pub(super) struct Seen {
    at: Option<WallTime>,
    peer: Option<std::net::IpAddr>,
    status: Option<u16>,
    validators: Validators,
    /// Whether it is a sitemap or feed.
    is_list: bool,
    /// Whether the answer said nothing of its own use.
    is_silent: bool,
    /// Where the archive keeps the body.
    pub(super) stored: Option<Earlier>,
}

impl Seen {
    pub(super) fn of(capture: &Capture, is_list: bool, is_silent: bool) -> Self {
        let short = |name| capture.field(name).filter(|value| value.len() <= LONGEST_VALIDATOR).map(Into::into);
        let validators = Validators { etag: short("etag"), last_modified: short("last-modified") };
        Self {
            at: Some(capture.started),
            peer: capture.peer,
            status: capture.status,
            validators,
            is_list,
            is_silent,
            stored: None,
        }
    }

    fn visited(&self, before: Option<&Visited>, (interval, gone): (Duration, u8), news: News) -> Visited {
        let has_body = matches!(self.status, Some(200..=299));
        let kept = before.cloned().unwrap_or_default();
        // A validator goes with the body that it was sent with. A 304 may name a newer one of the same body (RFC 9110 §15.4.5).
        let validators = match (has_body, self.status, news.payload) {
            (true, _, Some(_)) => self.validators.clone(),
            (true, _, None) => Validators::default(),
            (false, Some(304), _) => Validators {
                etag: self.validators.etag.clone().or(kept.validators.etag),
                last_modified: self.validators.last_modified.clone().or(kept.validators.last_modified),
            },
            (false, ..) => kept.validators,
        };
        let stored = self.stored.as_ref().map(|stored| CaptureRef {
            date: stored.date,
            record_id: stored.record_id.as_deref().map(Into::into),
            url: Some(stored.url.clone()),
        });
        let capture = match (has_body, news.is_unchanged()) {
            (true, false) => stored,
            // The same body once more: the first to lie in a WARC holds it.
            (true, true) if kept.capture.as_ref().is_none_or(|kept| kept.record_id.is_none()) => {
                stored.or(kept.capture)
            }
            // A 404, 503, 302 between two visits, and a 304 itself, hold none of it, wherever they are stored.
            (true, true) | (false, _) => kept.capture,
        };
        let is_silent = match (has_body, self.status) {
            (true, _) => self.is_silent,
            // Its own words count as much as those that it does not repeat.
            (false, Some(304)) => kept.is_silent && self.is_silent,
            (false, _) => kept.is_silent,
        };
        let (at, payload, user_data) = (self.at.or(kept.at), news.payload, kept.user_data);
        Visited { at, interval, validators, payload, capture, gone, is_silent, user_data }
    }
}

/// The capture that holds the body of an unchanged page.
pub(super) fn earlier(trip: &Trip, news: News) -> Option<Earlier> {
    let visited = trip.visited.as_deref().filter(|_| news.is_unchanged())?;
    let capture = visited.capture.as_ref()?;
    Some(Earlier {
        record_id: capture.record_id.as_deref().map(Into::into),
        url: capture.url.clone().unwrap_or_else(|| trip.url.clone()),
        date: capture.date,
        payload_sha256: visited.payload?,
    })
}

/// SHA-256 of a body in its content coding; of a spooled one off the loop. `None` when it cannot be read back.
async fn digest(capture: &Capture) -> Result<Option<Digest>, Error> {
    let (body, in_memory) = (capture.body.clone(), capture.body.len() <= IN_PLACE);
    let work = move || {
        let mut hash = Sha256::new();
        let mut buffer = vec![0; 64 << 10];
        let mut reader = body.reader().ok()?;
        loop {
            match reader.read(&mut buffer) {
                Ok(0) => return Some(Digest::from_bytes(hash.finalize().into())),
                Ok(count) => hash.update(buffer.get(..count)?),
                Err(_) => return None,
            }
        }
    };
    if in_memory {
        return Ok(work());
    }
    tokio::task::spawn_blocking(work).await.map_err(|e| Error::internal(format!("reading a body back failed: {e}")))
}

/// Bodies up to this are hashed where they are: less than a tenth of a millisecond.
const IN_PLACE: u64 = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    fn known(millis: i64) -> Visited {
        let validators = Validators { etag: Some("W/\"old\"".into()), last_modified: Some("then".into()) };
        let capture = CaptureRef { date: WallTime::from_unix_millis(millis), record_id: Some("old".into()), url: None };
        Visited {
            at: Some(WallTime::from_unix_millis(millis)),
            validators,
            payload: Some(Digest::from_bytes([1; 32])),
            capture: Some(capture),
            ..Visited::default()
        }
    }

    fn seen(status: u16, etag: Option<&str>) -> Seen {
        let validators = Validators { etag: etag.map(Into::into), last_modified: None };
        Seen { at: Some(WallTime::from_unix_millis(9)), status: Some(status), validators, ..Seen::default() }
    }

    #[test]
    fn a_validator_goes_with_its_body() {
        let (old, new) = (Digest::from_bytes([1; 32]), Digest::from_bytes([2; 32]));
        // Status, ETag, finding, payload → ETag, Last-Modified, payload, and whether the capture is the one stored now.
        let rows = [
            (200, Some("\"new\""), Finding::Changed, Some(new), Some("\"new\""), None, Some(new), true),
            (200, None, Finding::Changed, Some(new), None, None, Some(new), true),
            (200, Some("\"new\""), Finding::Changed, None, None, None, None, true),
            (200, Some("\"new\""), Finding::Unchanged, Some(old), Some("\"new\""), None, Some(old), false),
            (304, None, Finding::Unchanged, Some(old), Some("W/\"old\""), Some("then"), Some(old), false),
            (304, Some("\"x\""), Finding::Unchanged, Some(old), Some("\"x\""), Some("then"), Some(old), false),
            (404, Some("\"404\""), Finding::Gone, Some(old), Some("W/\"old\""), Some("then"), Some(old), false),
            (503, None, Finding::Nothing, Some(old), Some("W/\"old\""), Some("then"), Some(old), false),
            (302, None, Finding::Nothing, Some(old), Some("W/\"old\""), Some("then"), Some(old), false),
        ];
        for (status, etag, finding, payload, wanted_etag, wanted_date, wanted_payload, is_new) in rows {
            for stored in [None, Some("now")] {
                let row = format!("{status} {finding:?}, stored {stored:?}");
                let news = News { finding, payload };
                let seen = Seen { stored: stored.map(|id| stored_as(Some(id))), ..seen(status, etag) };
                let visited = seen.visited(Some(&known(5)), (Duration::from_secs(1), 0), news);
                let Visited { validators, .. } = &visited;
                assert_eq!(validators.etag.as_deref(), wanted_etag, "{row}");
                assert_eq!(validators.last_modified.as_deref(), wanted_date, "{row}");
                assert_eq!(visited.payload, wanted_payload, "{row}");
                let id = visited.capture.as_ref().and_then(|capture| capture.record_id.as_deref());
                assert_eq!(id, if is_new { stored } else { Some("old") }, "{row}");
                assert_eq!(visited.at, Some(WallTime::from_unix_millis(9)));
            }
        }
    }

    fn stored_as(id: Option<&str>) -> Earlier {
        Earlier {
            record_id: id.map(Into::into),
            url: comity_url::CrawlUrl::parse("http://a.test/now").unwrap(),
            date: WallTime::from_unix_millis(9),
            payload_sha256: Digest::from_bytes([1; 32]),
        }
    }

    /// The first run kept no WARC, the second does.
    #[test]
    fn a_body_that_lies_in_no_warc_is_held_by_the_first_that_does() {
        let payload = Some(Digest::from_bytes([1; 32]));
        let mut before = known(5);
        before.capture = before.capture.map(|capture| CaptureRef { record_id: None, ..capture });
        for (status, finding, wanted) in [
            (200, Finding::Unchanged, Some("now")),
            (304, Finding::Unchanged, None),
            (404, Finding::Gone, None),
            (503, Finding::Nothing, None),
        ] {
            let seen = Seen { stored: Some(stored_as(Some("now"))), ..seen(status, None) };
            let visited = seen.visited(Some(&before), (Duration::from_secs(1), 0), News { finding, payload });
            let capture = visited.capture.unwrap();
            assert_eq!(capture.record_id.as_deref(), wanted, "{status}");
            assert_eq!(capture.date.unix_millis(), if wanted.is_some() { 9 } else { 5 }, "{status}");
        }
    }

    #[test]
    fn what_a_sitemap_hints_stays_within_the_bounds() {
        let list = |text: &str| {
            let url = comity_url::CrawlUrl::parse("http://a.test/s.xml").unwrap();
            let mut reader = comity_extract::SitemapReader::new(&url, None, comity_extract::SitemapLimits::default());
            reader.push(format!("<urlset><url><loc>/x</loc>{text}</url></urlset>").as_bytes());
            reader.finish().entries.remove(0)
        };
        let hours = |hours: u64| Duration::from_secs(hours * 3600);
        let bounds = Intervals { min: hours(2), max: hours(100), start: hours(24) };
        let rows = [
            ("", None),
            ("<changefreq>always</changefreq>", Some(2)),
            ("<changefreq>hourly</changefreq>", Some(2)),
            ("<changefreq>DAILY</changefreq><priority>0.9</priority>", Some(24)),
            ("<changefreq>weekly</changefreq>", Some(100)),
            ("<changefreq>monthly</changefreq>", Some(100)),
            ("<changefreq>yearly</changefreq>", Some(100)),
            ("<changefreq>never</changefreq>", Some(100)),
            ("<changefreq>often</changefreq>", None),
            ("<priority>0.9</priority>", Some(12)),
            ("<priority>0.5</priority>", None),
            ("<priority>0.1</priority>", Some(48)),
        ];
        for (text, wanted) in rows {
            assert_eq!(first_interval(&list(text), &bounds), wanted.map(hours), "{text}");
        }
    }
}
