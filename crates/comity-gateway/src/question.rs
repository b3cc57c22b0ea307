use std::time::Duration;

use comity_policy::Reason;
use comity_url::{CrawlUrl, UrlError};
use serde::Deserialize;
use serde_json::Value;

use crate::gateway::House;
use crate::ruling::{Objection, Ruling};
use crate::wishes::Wishes;

/// A question to `POST /v1/decide` (gateway reference §3.8). Unknown fields are refused: typos in policy calls are
/// dangerous.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Question {
    pub(crate) url: String,
    #[serde(default)]
    method: Option<String>,
    #[serde(default)]
    client: Option<String>,
    #[serde(default)]
    token: Option<String>,
    #[serde(default)]
    user_agent: Option<String>,
    #[serde(default)]
    purposes: Vec<String>,
    #[serde(default)]
    max_wait_ms: Option<u64>,
    #[serde(default)]
    trace_id: Option<String>,
    #[serde(default)]
    visibility: Option<String>,
    #[serde(default)]
    mode: Option<String>,
    /// Part of the interface, not yet built: refused by name rather than passed over.
    #[serde(default)]
    connection_id: Option<Value>,
    #[serde(default)]
    vantage: Option<Value>,
}

/// A question that cannot be decided at all: 400.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadQuestion(pub(crate) String);

/// The answer to a question: what was asked, and the ruling.
pub(crate) struct Decided {
    pub(crate) url: CrawlUrl,
    /// `None` where an objection came first.
    pub(crate) wishes: Option<Wishes>,
    pub(crate) ruling: Ruling,
    pub(crate) trace_id: Option<String>,
}

impl Question {
    pub(crate) fn parse(body: &[u8]) -> Result<Self, BadQuestion> {
        let question: Self = serde_json::from_slice(body).map_err(|error| BadQuestion(error.to_string()))?;
        question.refuse_unbuilt()?;
        Ok(question)
    }

    fn refuse_unbuilt(&self) -> Result<(), BadQuestion> {
        let unbuilt = |what: &str| Err(BadQuestion(format!("{what} is not yet built")));
        match (self.mode.as_deref(), self.visibility.as_deref()) {
            (Some("reserve"), _) => return unbuilt("mode \"reserve\""),
            (_, Some("origin")) => return unbuilt("visibility \"origin\""),
            (Some(mode), _) if mode != "peek" => return Err(BadQuestion(format!("unknown mode {mode:?}"))),
            (_, Some(seen)) if seen != "path" => return Err(BadQuestion(format!("unknown visibility {seen:?}"))),
            _ => {}
        }
        if self.connection_id.is_some() {
            return unbuilt("connection_id");
        }
        if self.vantage.is_some() { unbuilt("vantage") } else { Ok(()) }
    }

    /// Longest wait for a robots.txt that is not yet known.
    const LONGEST_WAIT: Duration = Duration::from_secs(60);

    /// The decision, without spending anything: robots.txt is fetched where it has to be, the origin's turn is not taken.
    pub(crate) async fn decide(self, house: &House) -> Result<Decided, BadQuestion> {
        let url = CrawlUrl::parse(&self.url).map_err(|error: UrlError| BadQuestion(format!("url: {error}")))?;
        let (wishes, ruling) = match self.wishes(house, &url) {
            Ok(wishes) => {
                let ruling = self.peek(house, &wishes, &url).await;
                (Some(wishes), ruling)
            }
            Err(objection) => (None, Ruling::object(house.next_id(), objection)),
        };
        Ok(Decided { url, wishes, ruling, trace_id: self.trace_id })
    }

    async fn peek(&self, house: &House, wishes: &Wishes, url: &CrawlUrl) -> Ruling {
        let gate = &house.gate;
        let patience = self.max_wait_ms.map_or(house.config.hold_max, Duration::from_millis).min(Self::LONGEST_WAIT);
        let allowance = match gate.allow_within(&wishes.judge(gate), url, patience).await {
            Ok(allowance) => allowance,
            Err(no) => return Ruling::no_permit(house.next_id(), no),
        };
        let (ready, now, decision) = (gate.turn(url.origin()).ready, gate.clock().now(), allowance.decision().clone());
        if ready.at > now {
            Ruling::wait(house.next_id(), ready.clock, ready.at.since(now), Some(decision))
        } else {
            Ruling::allow(house.next_id(), decision)
        }
    }

    /// As whom and for what is asked, within what the customer was granted.
    fn wishes(&self, house: &House, url: &CrawlUrl) -> Result<Wishes, Objection> {
        let customer = &house.config.customer;
        if self.client.as_ref().is_some_and(|client| *client != customer.id) {
            return Err(Objection::new(Reason::AuthInvalid, "no such customer"));
        }
        if self.method.as_deref().is_some_and(|method| !matches!(method, "GET" | "HEAD")) {
            return Err(Objection::new(Reason::TargetMethod, "only GET and HEAD are decided"));
        }
        if !house.config.ports.contains(&url.origin().port()) {
            return Err(Objection::new(Reason::TargetPort, "this port is none of [gateway] ports"));
        }
        if self.user_agent.is_some() && !customer.may_send(self.user_agent.as_deref()) {
            return Err(Objection::new(Reason::AuthToken, "the User-Agent carries none of the customer's tokens"));
        }
        Wishes::new(customer, self.token.as_deref(), self.purposes.iter().map(String::as_str))
    }
}
