use std::net::SocketAddr;

use comity_url::Origin;

/// Whom an exit is asked to connect to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target<'a> {
    /// An address that passed the guard: checked = connected, as far as the exit does what it is told.
    Address(SocketAddr),
    /// A name that passed the check of names; the exit looks it up.
    Name(&'a Origin),
}

impl Target<'_> {
    pub(crate) const fn address(&self) -> Option<SocketAddr> {
        match self {
            Self::Address(address) => Some(*address),
            Self::Name(_) => None,
        }
    }

    /// `host:port`, as `CONNECT` has it (RFC 9110 §9.3.6: the port is not left out).
    pub(crate) fn authority(&self) -> String {
        match self {
            Self::Address(address) => address.to_string(),
            Self::Name(origin) => format!("{}:{}", origin.host(), origin.port()),
        }
    }
}
