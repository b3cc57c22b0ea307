use bytes::Bytes;
use comity_policy::{Judge as _, Judgement, Reason, Standing};
use comity_url::CrawlUrl;
use http::header::{AGE, CONTENT_TYPE, HeaderName, HeaderValue};
use http::{Response, StatusCode};
use http_body_util::Full;

use crate::answer::Answer;
use crate::gateway::House;
use crate::ruling::Ruling;

impl House {
    /// robots.txt as the gate knows it: a thousand customers cost the site one request. `None` for other URLs, and where
    /// there is no copy to serve; then it is asked for like a page.
    pub(crate) async fn robots_file(&self, url: &CrawlUrl) -> Option<Result<Answer, Ruling>> {
        if !url.is_robots_txt() || url.query().is_some() {
            return None;
        }
        if matches!(self.gate.judge(url), Judgement::Refuse(_)) {
            return None; // opted out, or not to be connected to: the judge answers
        }
        let patience = self.config.hold_max;
        let Ok(news) = tokio::time::timeout(patience, self.gate.robots(url.origin())).await else {
            return Some(Err(self.later(Reason::RobotsUnreachable, Some(patience))));
        };
        if let Some(hold) = news.hold {
            return Some(Err(self.later(hold.reason, hold.wait)));
        }
        let (life, now) = (self.gate.robots_life(url.origin()), self.gate.clock().wall());
        let (fetched, status) = life.fetched().map_or((now, 404), |(fetched, status, _)| (fetched, status));
        let age = now.since(fetched).as_secs();
        match life.standing(now) {
            Standing::Rules { copy, .. } => {
                let file = self.copies.find(copy.digest)?;
                Some(Ok(from_cache(StatusCode::OK, file, age, copy.truncated)))
            }
            Standing::Absent | Standing::Denied => {
                let status = StatusCode::from_u16(status).unwrap_or(StatusCode::NOT_FOUND);
                Some(Ok(from_cache(status, Bytes::new(), age, false)))
            }
            Standing::RedirectLimit => Some(Ok(from_cache(StatusCode::NOT_FOUND, Bytes::new(), age, false))),
            Standing::Unreachable(failing) => {
                Some(Err(self.later(Reason::RobotsUnreachable, Some(failing.next_try.since(now)))))
            }
            // Refused by address, or open for lack of any file: the judge answers.
            Standing::Unknown | Standing::Open => None,
        }
    }
}

fn from_cache(status: StatusCode, file: Bytes, age: u64, truncated: bool) -> Answer {
    let mut answer = Response::new(Full::new(file));
    *answer.status_mut() = status;
    let fields = answer.headers_mut();
    fields.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    fields.insert(AGE, HeaderValue::from(age));
    let from = if truncated { "cache, truncated" } else { "cache" };
    fields.insert(HeaderName::from_static("comity-robots"), HeaderValue::from_static(from));
    answer
}
