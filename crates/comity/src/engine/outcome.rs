use comity_policy::{Capture, Outcome, Reason};
use comity_url::CrawlUrl;

/// What to do with a URL after its exchange.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// It is done: a page, of whatever status.
    Done,
    /// It points elsewhere.
    Redirect(CrawlUrl),
    /// It points to something that is no http(s) URL, or nowhere.
    DeadRedirect,
    /// Nothing was sent to the site: it comes again in its turn, the attempt does not count.
    NotSent(Reason),
    /// It failed in a way that may pass.
    Retry(Reason),
    /// It failed, and trying again would not help.
    GiveUp(Reason),
}

/// Reads an exchange; `left` counts the tries that this URL has left.
pub(super) fn next(capture: &Capture, outcome: Outcome, sent: bool, left: u32) -> Next {
    match outcome {
        Outcome::Failed(reason) => failed(reason, sent, left),
        // Nobody asked for one (`revisit::refuse_unasked`).
        Outcome::Answered { status: 304, .. } if capture.fault == Some(Reason::FetchProtocol) => {
            Next::GiveUp(Reason::FetchProtocol)
        }
        // The crawl stopped before it was known whether the answer may be kept: the next run asks anew, whatever tries are left.
        Outcome::Answered { .. } if capture.fault == Some(Reason::FetchCancelled) => {
            Next::Retry(Reason::FetchCancelled)
        }
        Outcome::Answered { status: 301 | 302 | 303 | 307 | 308, .. } => redirect(capture),
        Outcome::Answered { status: 429 | 500 | 502 | 503 | 504, .. } if left > 0 => Next::Retry(Reason::RateBackoff),
        Outcome::Answered { .. } => match capture.fault {
            // The answer was cut by the network or a full disk, not by a limit of ours: a second try may bring the rest.
            Some(reason @ (Reason::FetchReset | Reason::FetchTimeoutIdle | Reason::FetchSpool)) if left > 0 => {
                Next::Retry(reason)
            }
            _ => Next::Done,
        },
    }
}

fn failed(reason: Reason, sent: bool, left: u32) -> Next {
    match reason {
        Reason::PermitStale | Reason::RateAddress | Reason::ConcAddress | Reason::RateVisitTime if !sent => {
            Next::NotSent(reason)
        }
        // The exit failed and the site was not asked: another one serves, or all wait. Where the request had gone out, the
        // site may be what answers so, and the try counts.
        reason if reason.is_proxy_down() && !sent => Next::NotSent(reason),
        Reason::FetchHeaders | Reason::FetchProtocol | Reason::FetchTls => Next::GiveUp(reason),
        _ if left > 0 => Next::Retry(reason),
        _ => Next::GiveUp(reason),
    }
}

fn redirect(capture: &Capture) -> Next {
    match capture.field("location").map(|location| capture.url.join(location)) {
        Some(Ok(target)) => Next::Redirect(target),
        _ => Next::DeadRedirect,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_of_an_exit_costs_no_try_unless_the_request_had_gone_out() {
        let reason = Reason::FetchProxyAuth;
        assert_eq!(failed(reason, false, 2), Next::NotSent(reason));
        assert_eq!(failed(reason, true, 2), Next::Retry(reason));
        assert_eq!(failed(reason, true, 0), Next::GiveUp(reason));
    }
}
