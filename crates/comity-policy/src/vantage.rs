use std::fmt;
use std::sync::Arc;

/// From where a request leaves: robots copies are kept per origin and vantage, since sites answer by country.
///
/// Pace, back-off and opt-outs know no vantage: a site is one site, from wherever it is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Vantage {
    /// From this machine.
    #[default]
    Direct,
    /// Through an exit whose country nobody named.
    Exit,
    /// Through an exit in a country, ISO 3166-1 alpha-2 in upper case, as its operator claims.
    Country([u8; 2]),
}

impl Vantage {
    /// The exits of a country, by its two letters in either case; `None` for anything else.
    #[must_use]
    pub fn country(code: &str) -> Option<Self> {
        let letters: [u8; 2] = code.as_bytes().try_into().ok()?;
        letters.iter().all(u8::is_ascii_alphabetic).then(|| Self::Country(letters.map(|l| l.to_ascii_uppercase())))
    }
}

impl fmt::Display for Vantage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Direct => f.write_str("direct"),
            Self::Exit => f.write_str("exit"),
            Self::Country(code) => f.write_str(std::str::from_utf8(code).unwrap_or("??")),
        }
    }
}

/// The exit that an exchange left through, as far as records may tell of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Via {
    /// The operator's name of its pool.
    pub pool: Option<Arc<str>>,
    /// Its autonomous system, as the operator claims.
    pub asn: Option<u32>,
    /// Scheme, host and port; `None` for an exit of a residential pool, which is somebody's home (design §10).
    pub exit: Option<Arc<str>>,
    /// Who looked the site's name up.
    pub names: Names,
    /// How the exit was asked.
    pub form: Form,
}

/// Who looks the names of sites up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// This machine: the exit is told the address that passed the guard, and the address has its clock.
    Here,
    /// The exit: no address is seen, none is charged.
    Exit,
}

/// How an exit is asked to pass a request on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A stream of our own to the site: `CONNECT` (RFC 9110 §9.3.6) or SOCKS5 (RFC 1928). What answers there is the site.
    Tunnel,
    /// The exit reads the request, in absolute-form (RFC 9112 §3.2.2), and sends one of its own. What answers may be the exit.
    Forward,
}

impl Names {
    /// `here` or `exit`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Here => "here",
            Self::Exit => "exit",
        }
    }
}

impl Form {
    /// `tunnel` or `forward`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tunnel => "tunnel",
            Self::Forward => "forward",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn countries_are_two_letters() {
        for (code, shown) in
            [("DE", Some("DE")), ("us", Some("US")), ("D", None), ("DEU", None), ("D1", None), ("é", None)]
        {
            assert_eq!(Vantage::country(code).map(|found| found.to_string()).as_deref(), shown, "{code}");
        }
        assert_eq!([Vantage::Direct, Vantage::Exit].map(|vantage| vantage.to_string()), ["direct", "exit"]);
    }
}
