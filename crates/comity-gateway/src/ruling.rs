use std::sync::Arc;
use std::time::Duration;

use comity_gate::{Later, NoPermit};
use comity_policy::{Decision, Reason};

/// The three answers that every surface can give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It may be sent.
    Allow,
    /// It may, but not yet.
    Wait,
    /// It may not.
    Deny,
}

impl Verdict {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Wait => "wait",
            Self::Deny => "deny",
        }
    }
}

/// What a request is refused for before any site is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Objection {
    pub(crate) reason: Reason,
    /// For people; holds nothing of the network's inside.
    pub(crate) detail: String,
}

impl Objection {
    pub(crate) fn new(reason: Reason, detail: impl Into<String>) -> Self {
        Self { reason, detail: detail.into() }
    }
}

/// A decision with its name, ready for every surface.
#[derive(Clone, Debug)]
pub(crate) struct Ruling {
    pub(crate) id: String,
    pub(crate) verdict: Verdict,
    pub(crate) reason: Reason,
    pub(crate) detail: Option<String>,
    pub(crate) retry_after: Option<Duration>,
    /// The judgement with its evidence, where it came so far.
    pub(crate) decision: Option<Arc<Decision>>,
}

impl Ruling {
    /// The judge let it through.
    pub(crate) fn allow(id: String, decision: Arc<Decision>) -> Self {
        let reason = decision.reason;
        Self { id, verdict: Verdict::Allow, reason, detail: None, retry_after: None, decision: Some(decision) }
    }

    /// Allowed, but the origin's turn lies ahead.
    pub(crate) fn wait(id: String, reason: Reason, wait: Duration, decision: Option<Arc<Decision>>) -> Self {
        Self { id, verdict: Verdict::Wait, reason, detail: None, retry_after: Some(wait), decision }
    }

    /// Refused without asking any site.
    pub(crate) fn object(id: String, objection: Objection) -> Self {
        let Objection { reason, detail } = objection;
        Self { id, verdict: Verdict::Deny, reason, detail: Some(detail), retry_after: None, decision: None }
    }

    /// What the gate said instead of a permit.
    pub(crate) fn no_permit(id: String, no: NoPermit) -> Self {
        match no {
            NoPermit::Refused(refusal) => {
                let reason = public(refusal.reason());
                let decision = Some(refusal.decision().clone());
                Self { id, verdict: Verdict::Deny, reason, detail: None, retry_after: None, decision }
            }
            NoPermit::NotNow(later) => Self::not_now(id, later),
            // The detail of the guard names addresses of the inside: it stays inside (gateway reference §6.6).
            other => Self::object(id, Objection::new(public(other.reason()), public(other.reason()).text())),
        }
    }

    fn not_now(id: String, later: Later) -> Self {
        let reason = public(later.clock);
        // A site that is closed for robots.txt is refused, and so is one that nothing but a change can open.
        let verdict =
            if reason == Reason::RobotsUnreachable || later.wait.is_none() { Verdict::Deny } else { Verdict::Wait };
        Self { id, verdict, reason, detail: None, retry_after: later.wait, decision: None }
    }
}

/// The gateway's word for a reason, where its table (gateway reference §2) has one of its own.
fn public(reason: Reason) -> Reason {
    match reason {
        Reason::AddressPrivate | Reason::AddressNone => Reason::TargetAddress,
        // A flight that was aborted has learnt nothing: closed, like one that failed.
        Reason::ParkRobots | Reason::FetchCancelled => Reason::RobotsUnreachable,
        other => other,
    }
}
