use std::time::Duration;

use comity_policy::{Errand, Exchange, Outcome, PaceFields, Permit, Reason, StalePermit};
use tracing::field::{Empty, display};

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
        span.record("peer", capture.peer.map(display));
        span.record("protocol", capture.protocol.as_str());
        span.record("status", capture.status);
        span.record("reason", capture.fault.map(Reason::code));
        span.record("bytes", capture.body.len());
        let timings = &capture.timings;
        let parts = [
            ("dns_ms", timings.dns),
            ("connect_ms", timings.connect),
            ("tls_ms", timings.tls),
            ("head_ms", timings.head),
            ("body_ms", timings.body),
            ("total_ms", Some(timings.total)),
        ];
        for (name, part) in parts {
            span.record(name, part.map(|part: Duration| part.as_secs_f64() * 1000.0));
        }
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
