use std::time::Duration;

use comity_gate::{Later, NoPermit};
use comity_policy::{Permit, Reason};
use comity_url::CrawlUrl;
use http::header::USER_AGENT;
use http::request::Parts;
use http::{HeaderMap, Request};
use tokio::sync::SemaphorePermit;

use crate::answer::{Answer, refusal};
use crate::auth::identify;
use crate::fields::is_loop;
use crate::gateway::House;
use crate::ruling::{Objection, Ruling};
use crate::target::target;
use crate::wishes::Wishes;

/// A request that gets no answer of a site, and the URL that it asked for, once that is known.
pub(crate) struct Refused {
    pub(crate) ruling: Ruling,
    pub(crate) url: Option<CrawlUrl>,
}

impl House {
    /// Answers one request on the proxy's listener. The future may be dropped at any await: a customer who goes away
    /// gives back what was held for him.
    pub(crate) async fn proxy<B>(&self, request: Request<B>) -> Answer {
        let (parts, _content) = request.into_parts();
        match self.serve(&parts).await {
            Ok(answer) => answer,
            Err(Refused { ruling, url }) => {
                note(&ruling, url.as_ref());
                refusal(self, &ruling, url.as_ref())
            }
        }
    }

    /// The order of checks is that of the gateway reference §2: the first refusal counts.
    async fn serve(&self, parts: &Parts) -> Result<Answer, Refused> {
        let early = |objection| Refused { ruling: Ruling::object(self.next_id(), objection), url: None };
        identify(&parts.headers, &self.config).map_err(early)?;
        let url = target(parts, &self.config.ports).map_err(early)?;
        let refused = |ruling| Refused { ruling, url: Some(url.clone()) };
        let wishes =
            self.wishes(&parts.headers).map_err(|objection| refused(Ruling::object(self.next_id(), objection)))?;
        let held = self.hold().map_err(refused)?;
        if let Some(found) = self.robots_file(&url).await {
            return found.map_err(refused);
        }
        let permit = self.permit(&wishes, &url).await.map_err(refused)?;
        drop(held);
        self.forward(permit, parts).await.map_err(refused)
    }

    /// What the fields of a request ask for, within what the customer was granted.
    fn wishes(&self, fields: &HeaderMap) -> Result<Wishes, Objection> {
        if is_loop(fields, &self.config.name) {
            return Err(Objection::new(Reason::TargetLoop, "this request has been here before"));
        }
        let text = |name: &str| fields.get(name).map(|value| value.to_str().unwrap_or_default());
        if !self.config.customer.may_send(text(USER_AGENT.as_str())) {
            return Err(Objection::new(Reason::AuthToken, "the User-Agent carries none of the customer's tokens"));
        }
        let purposes = text("comity-purpose").into_iter().flat_map(|list| list.split(','));
        Wishes::new(&self.config.customer, text("comity-token"), purposes)
    }

    /// A place among the requests that may be held, as long as there is room for answers.
    fn hold(&self) -> Result<SemaphorePermit<'_>, Ruling> {
        if self.room.is_full() {
            return Err(Ruling::wait(self.next_id(), Reason::ConcTotal, Duration::from_secs(1), None));
        }
        let full = || Ruling::wait(self.next_id(), Reason::ConcCustomer, Duration::from_secs(1), None);
        self.held.try_acquire().map_err(|_| full())
    }

    /// Judges, and waits for the turn as long as a request may be held.
    async fn permit(&self, wishes: &Wishes, url: &CrawlUrl) -> Result<Permit, Ruling> {
        let judge = wishes.judge(&self.gate);
        let permit = self.gate.permit_within(&judge, url, self.config.hold_max).await;
        permit.map_err(|no| Ruling::no_permit(self.next_id(), no))
    }

    pub(crate) fn later(&self, clock: Reason, wait: Option<Duration>) -> Ruling {
        let at = wait.map(|wait| self.gate.clock().now().after(wait));
        Ruling::no_permit(self.next_id(), NoPermit::NotNow(Later { clock, at, wait }))
    }
}

/// One line of the log for each decision.
pub(crate) fn note(ruling: &Ruling, url: Option<&CrawlUrl>) {
    tracing::info!(
        target: "comity_gateway::decision",
        id = %ruling.id,
        verdict = ruling.verdict.as_str(),
        reason = %ruling.reason,
        url = url.map(CrawlUrl::as_str),
        line = ruling.decision.as_ref().and_then(|decision| decision.rule.as_ref()).map(|rule| rule.line),
        wait_ms = ruling.retry_after.map(crate::record::millis),
    );
}
