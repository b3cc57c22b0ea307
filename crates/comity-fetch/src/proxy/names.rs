use std::net::{IpAddr, Ipv4Addr};

use comity_policy::Reason;

use crate::AddressGuard;
use crate::system::never_exists;

/// Checks a name that an exit will look up (invariant 11): no address is seen, so the name itself must not stand for an
/// inner place. What the name resolves to is the exit's answer, and the exit's network.
///
/// # Errors
/// `address.private` for names of this machine, of local networks, and of one label; `fetch.dns` for names that never exist.
pub(crate) fn check(name: &str, guard: &AddressGuard) -> Result<(), Reason> {
    let is_in = |zone: &str| name == zone || name.strip_suffix(zone).is_some_and(|rest| rest.ends_with('.'));
    if never_exists(name) {
        return Err(Reason::FetchDns);
    }
    if is_in("localhost") {
        return guard.check(IpAddr::V4(Ipv4Addr::LOCALHOST));
    }
    if !name.contains('.') || INNER.into_iter().any(is_in) {
        return Err(Reason::AddressPrivate);
    }
    Ok(())
}

/// Zones of local networks: RFC 6762 §3 and appendix G, RFC 8375, `internal` (reserved by ICANN in 2024), and what routers use.
const INNER: [&str; 9] =
    ["local", "localdomain", "internal", "intranet", "private", "corp", "home", "lan", "home.arpa"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_inner_places_are_refused() {
        let rows = [
            ("www.example.com", Ok(())),
            ("local.example.com", Ok(())),
            ("notlocal.org", Ok(())),
            ("mylocalhost.com", Ok(())),
            ("localhost", Err(Reason::AddressPrivate)),
            ("a.localhost", Err(Reason::AddressPrivate)),
            ("intranet", Err(Reason::AddressPrivate)),
            ("printer.local", Err(Reason::AddressPrivate)),
            ("metadata.google.internal", Err(Reason::AddressPrivate)),
            ("router.home.arpa", Err(Reason::AddressPrivate)),
            ("nas.lan", Err(Reason::AddressPrivate)),
            ("a.invalid", Err(Reason::FetchDns)),
            ("x.onion", Err(Reason::FetchDns)),
        ];
        for (name, verdict) in rows {
            assert_eq!(check(name, &AddressGuard::default()), verdict, "{name}");
        }
        let own = AddressGuard::new(vec!["127.0.0.0/8".parse().unwrap()]);
        assert_eq!((check("localhost", &own), check("intranet", &own)), (Ok(()), Err(Reason::AddressPrivate)));
    }
}
