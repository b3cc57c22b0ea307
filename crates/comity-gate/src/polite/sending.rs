use std::sync::Arc;

use comity_policy::{Decision, Errand, Exchange, Instant, Outcome, PaceFields, Permit, Reason, Receipt, StalePermit};

use crate::Gate;

/// A request in the hands of somebody else's client: when it was written is not known, only when it was handed over.
///
/// Dropped at any point it is on the books as over now.
#[derive(Debug)]
pub(crate) struct Sending {
    gate: Gate,
    exchange: Option<Exchange>,
    handed: Instant,
}

/// A response under way: the origin's place is held until this is dropped.
#[derive(Debug)]
pub(crate) struct Answered {
    gate: Gate,
    receipt: Option<Receipt>,
    outcome: Outcome,
}

impl Sending {
    /// Spends the permit: from here on the client may write.
    pub(crate) fn begin(gate: &Gate, permit: Permit) -> Result<Self, StalePermit> {
        let handed = gate.clock().now();
        Ok(Self { exchange: Some(permit.redeem(handed)?), gate: gate.clone(), handed })
    }

    /// The decision that let the request through.
    pub(crate) fn decision(&self) -> Option<Arc<Decision>> {
        match self.exchange.as_ref()?.errand() {
            Errand::Judged(decision) => Some(decision.clone()),
            Errand::Robots { .. } => None,
        }
    }

    /// The response head is here.
    pub(crate) fn answered(mut self, status: u16, asked: PaceFields) -> Answered {
        let now = self.gate.clock().now();
        let receipt = self.exchange.take().map(|mut exchange| {
            exchange.written_since(self.handed, now);
            exchange.head(now);
            exchange.finish()
        });
        let PaceFields { retry_after, rate_limit, .. } = asked;
        Answered { gate: self.gate.clone(), receipt, outcome: Outcome::Answered { status, retry_after, rate_limit } }
    }

    /// There will be no response.
    pub(crate) fn failed(mut self, reason: Reason) {
        self.end(reason);
    }

    fn end(&mut self, reason: Reason) {
        let now = self.gate.clock().now();
        if let Some(mut exchange) = self.exchange.take() {
            exchange.written_since(self.handed, now);
            let _paced = self.gate.settle(exchange.finish(), Outcome::Failed(reason));
        }
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        self.end(Reason::FetchCancelled);
    }
}

impl Answered {
    /// The response is over.
    pub(crate) fn end(&mut self) {
        if let Some(receipt) = self.receipt.take() {
            let _paced = self.gate.settle(receipt, self.outcome);
        }
    }
}

impl Drop for Answered {
    fn drop(&mut self) {
        self.end();
    }
}
