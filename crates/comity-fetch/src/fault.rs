use std::error::Error;
use std::io;

use comity_policy::{Reason, Truncation};

/// Why an exchange failed or was cut: one of the reasons, and more for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) reason: Reason,
    pub(crate) detail: String,
}

impl Fault {
    pub(crate) fn new(reason: Reason, detail: impl Into<String>) -> Self {
        Self { reason, detail: detail.into() }
    }

    /// A wait that ended.
    pub(crate) fn timed_out(reason: Reason) -> Self {
        Self::new(reason, reason.text())
    }

    /// What hyper says before there is a head.
    pub(crate) fn before_head(error: &hyper::Error) -> Self {
        let reason = if error.is_parse_too_large() {
            Reason::FetchHeaders
        } else if error.is_parse() || breaks_http2(error) || breaks_framing(error) {
            Reason::FetchProtocol
        } else {
            Reason::FetchReset
        };
        Self::new(reason, chain(error))
    }

    /// What hyper says within a body: broken framing, or an end before the end.
    pub(crate) fn within_body(error: &hyper::Error) -> Self {
        let framing = breaks_framing(error) || error.is_parse() || breaks_http2(error);
        let reason = if framing { Reason::FetchProtocol } else { Reason::FetchReset };
        Self::new(reason, chain(error))
    }

    /// How a body that this fault cut is marked.
    pub(crate) const fn truncation(&self) -> Truncation {
        match self.reason {
            Reason::FetchTooLarge | Reason::FetchRatio => Truncation::Length,
            Reason::FetchTimeoutIdle | Reason::FetchTimeoutTotal | Reason::FetchSlow => Truncation::Time,
            Reason::FetchReset => Truncation::Disconnect,
            _ => Truncation::Unspecified,
        }
    }
}

/// True when the site broke the rules of HTTP/2, or a bound on frames: our side ended it.
fn breaks_http2(error: &hyper::Error) -> bool {
    let flaw = |cause: &h2::Error| {
        let frames = cause.get_io().is_some_and(|error| error.kind() == io::ErrorKind::InvalidData);
        frames || cause.is_library()
    };
    causes(error).filter_map(|cause| cause.downcast_ref::<h2::Error>()).any(flaw)
}

/// True when the first I/O error among the causes is about what was read, and not about reading it.
fn breaks_framing(error: &hyper::Error) -> bool {
    let kind = causes(error).find_map(|cause| cause.downcast_ref::<io::Error>()).map(io::Error::kind);
    matches!(kind, Some(io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput))
}

/// An error and its causes in one line.
fn chain(error: &hyper::Error) -> String {
    causes(error).map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

fn causes(error: &hyper::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(Some(error as &(dyn Error + 'static)), |&error| error.source()).take(8)
}
