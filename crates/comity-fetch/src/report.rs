use std::time::Duration;

use comity_policy::{Errand, Exchange, Outcome, PaceFields, Permit, Reason, StalePermit};
use tracing::field::{self, Empty};

use crate::fault::Fault;
use crate::fetcher::Fetched;
use crate::visit::{Unanswered, Visit};

/// The span of an exchange: who is asked, and which hop of a robots.txt chain it is (a page is no hop: whoever follows its
/// redirects counts them). The rest is recorded at its end, and only what happened.
pub(crate) fn span(permit: &Permit) -> tracing::Span {
    tracing::debug_span!(
        "exchange",
        origin = %permit.url().origin(),
        target = permit.url().request_target(),
        hop = hop(permit.errand()),
        peer = Empty,
        protocol = Empty,
        status = Empty,
        reason = Empty,
        bytes = Empty,
        dns_ms = Empty,
        connect_ms = Empty,
        tls_ms = Empty,
        head_ms = Empty,
        body_ms = Empty,
        total_ms = Empty,
    )
}

const fn hop(errand: &Errand) -> Option<u8> {
    match errand {
        Errand::Robots { hop, .. } => Some(*hop),
        Errand::Judged(_) => None,
    }
}

/// The end of an exchange: what is told of it, and what the pacer has to know.
impl Visit {
    /// The permit came too late: nothing was sent, its slot is given back.
    pub(crate) fn refuse(mut self, stale: &StalePermit) -> Fetched {
        self.fail(Fault::new(Reason::PermitStale, stale.to_string()));
        self.finish(None)
    }

    pub(crate) fn give_up(mut self, unanswered: Unanswered) -> Fetched {
        self.fail(unanswered.fault);
        self.finish(unanswered.exchange)
    }

    /// The first fault counts.
    pub(crate) fn fail(&mut self, fault: Fault) {
        if self.capture.fault.is_none() {
            tracing::debug!(url = %self.capture.url, reason = %fault.reason, detail = %fault.detail, "fetch failed");
            self.capture.fault = Some(fault.reason);
            self.capture.detail = Some(fault.detail);
        }
    }

    pub(crate) fn finish(mut self, exchange: Option<Exchange>) -> Fetched {
        let now = self.now();
        self.capture.timings.total = now.since(self.start);
        self.capture.timings.body = self.head.map(|head| now.since(head));
        if !self.span.is_disabled() {
            self.report();
        }
        let outcome = self.outcome();
        Fetched { capture: self.capture, receipt: exchange.map(Exchange::finish), outcome }
    }

    /// Fills the span, and closes it with one event, whatever became of the exchange.
    fn report(&self) {
        let (capture, span) = (&self.capture, &self.span);
        let timings = &capture.timings;
        let millis = |part: Option<Duration>| part.map(|part| part.as_secs_f64() * 1000.0);
        // All at once: each time asks everybody who listens.
        tracing::record_all!(
            span,
            peer = capture.peer.map(field::display),
            protocol = capture.protocol.as_str(),
            status = capture.status,
            reason = capture.fault.map(Reason::code),
            bytes = capture.body.len(),
            dns_ms = millis(timings.dns),
            connect_ms = millis(timings.connect),
            tls_ms = millis(timings.tls),
            head_ms = millis(timings.head),
            body_ms = millis(timings.body),
            total_ms = millis(Some(timings.total)),
        );
        span.in_scope(|| tracing::debug!("exchange ended"));
    }

    /// Answered whenever a head came, whatever became of its body.
    fn outcome(&self) -> Outcome {
        let capture = &self.capture;
        match capture.status {
            Some(status) => {
                let fields = capture.fields.iter().map(|(name, value)| (name.as_str(), value.as_ref()));
                let now = capture.started.after(capture.timings.total);
                let PaceFields { retry_after, rate_limit, notes } = PaceFields::read(fields, now);
                for note in notes {
                    tracing::info!(url = %capture.url, note = note.as_str(), "pace field ignored");
                }
                Outcome::Answered { status, retry_after, rate_limit }
            }
            None => Outcome::Failed(capture.fault.unwrap_or(Reason::FetchReset)),
        }
    }
}
