//! The origins beside the one asked: the other scheme, with and without www.

use comity::policy::Reason;
use comity_gate::{FetchedRobots, HopMeaning, RobotsClass};
use comity_robots::Robots;
use comity_url::{HostKind, Origin, Scheme};

use crate::commands::asker::Asker;

/// One of them, held against the origin asked.
#[derive(Debug)]
pub(super) struct Sibling {
    pub(super) found: FetchedRobots,
    pub(super) relation: Relation,
}

/// What a sibling is to the origin asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    /// Says the same to crawlers.
    Same,
    /// Says something else.
    Differs,
    /// No such site: the name does not exist, or nothing listens.
    NotThere,
}

impl Relation {
    /// The stable word.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Differs => "differs",
            Self::NotThere => "not_there",
        }
    }
}

impl Sibling {
    /// Where its first redirect leads.
    pub(super) fn redirects_to(&self) -> Option<&str> {
        match &self.found.hops.first()?.meaning {
            HopMeaning::Redirect(target) => Some(target.as_str()),
            _ => None,
        }
    }
}

/// Asks every sibling of the origin, each at its own pace.
pub(super) fn compare(asker: &Asker, own: &FetchedRobots) -> Vec<Sibling> {
    let found = asker.ask_all(&siblings(&own.origin));
    found.into_iter().map(|found| Sibling { relation: relation(own, &found), found }).collect()
}

/// The other scheme where both have their own port, and the name with or without `www.`; an address has one name.
fn siblings(origin: &Origin) -> Vec<Origin> {
    let mut hosts = vec![origin.host().to_owned()];
    if let HostKind::Domain(name) = origin.host_kind()
        && origin.registrable_domain().is_some()
    {
        hosts.push(name.strip_prefix("www.").map_or_else(|| format!("www.{name}"), ToOwned::to_owned));
    }
    let plain = origin.port() == origin.scheme().default_port();
    let schemes: &[Scheme] = if plain { &[Scheme::Https, Scheme::Http] } else { &[origin.scheme()] };
    let port = if plain { String::new() } else { format!(":{}", origin.port()) };
    let all = schemes.iter().flat_map(|scheme| hosts.iter().map(move |host| (scheme, host)));
    let all = all.filter_map(|(scheme, host)| Origin::parse(&format!("{scheme}://{host}{port}")).ok());
    all.filter(|sibling| sibling != origin).collect()
}

fn relation(own: &FetchedRobots, other: &FetchedRobots) -> Relation {
    match other.class {
        RobotsClass::Unreachable { cause: Reason::FetchDns | Reason::FetchRefused | Reason::AddressNone, .. } => {
            Relation::NotThere
        }
        _ if says(own) == says(other) => Relation::Same,
        _ => Relation::Differs,
    }
}

/// What an answer says to crawlers.
#[derive(PartialEq, Eq)]
enum Says<'a> {
    Rules(&'a [u8]),
    NoRules,
    Nothing,
}

fn says(found: &FetchedRobots) -> Says<'_> {
    match (&found.file, &found.class) {
        (Some((_, bytes)), _) if Robots::parse(bytes).groups().next().is_some() => Says::Rules(bytes),
        (Some(_), _) | (None, RobotsClass::Absent { .. } | RobotsClass::RedirectLimit { .. }) => Says::NoRules,
        (None, _) => Says::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whom_an_origin_stands_beside() {
        let rows: [(&str, &[&str]); 6] = [
            ("https://a.test", &["https://www.a.test", "http://a.test", "http://www.a.test"]),
            ("http://www.a.test", &["https://www.a.test", "https://a.test", "http://a.test"]),
            ("http://a.test:8080", &["http://www.a.test:8080"]),
            ("https://127.0.0.1", &["http://127.0.0.1"]),
            ("http://[::1]:8080", &[]),
            ("http://localhost", &["https://localhost"]),
        ];
        for (origin, expected) in rows {
            let found: Vec<_> = siblings(&Origin::parse(origin).unwrap()).iter().map(ToString::to_string).collect();
            assert_eq!(found, expected, "{origin}");
        }
    }
}
