use std::collections::BTreeMap;

use comity_url::Origin;

/// Which share of the turns an origin's class gets when more is due than can be served.
///
/// Classes are served by deficit round robin, so the last one gets its turns too: of fifteen, eight, four, two and one. A
/// class in which nothing is due leaves its share to the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Eight turns of fifteen.
    First,
    /// Four: every origin that is not named.
    #[default]
    Second,
    /// Two.
    Third,
    /// One.
    Fourth,
}

/// The origins that are not of the second class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Classes {
    names: BTreeMap<String, Class>,
}

impl Class {
    /// All of them, in order.
    pub const ALL: [Self; 4] = [Self::First, Self::Second, Self::Third, Self::Fourth];

    /// Turns of fifteen.
    #[must_use]
    pub const fn share(self) -> u8 {
        8 >> self.place()
    }

    /// The class behind it, in a circle.
    pub(crate) const fn next(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::Third,
            Self::Third => Self::Fourth,
            Self::Fourth => Self::First,
        }
    }

    pub(crate) const fn place(self) -> usize {
        self as usize
    }
}

impl Classes {
    /// Puts an origin (`https://example.test`), or all origins of a host or registrable domain (`example.test`), into a class.
    /// Of several that hold the origin goes before the host, and the host before the domain.
    pub fn set(&mut self, name: &str, class: Class) {
        self.names.insert(name.to_ascii_lowercase(), class);
    }

    /// The class of an origin. Costs nothing when none was set, else up to three searches.
    #[must_use]
    pub fn of(&self, origin: &Origin) -> Class {
        if self.names.is_empty() {
            return Class::default();
        }
        let named = |name: &str| self.names.get(name).copied();
        let domain = || origin.registrable_domain().and_then(named);
        named(origin.as_str()).or_else(|| named(origin.host())).or_else(domain).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_holds() {
        let mut classes = Classes::default();
        classes.set("example.org", Class::Third);
        classes.set("www.Example.org", Class::First);
        classes.set("https://www.example.org", Class::Fourth);
        for (origin, class) in [
            ("https://www.example.org", Class::Fourth),
            ("http://www.example.org", Class::First),
            ("https://www.example.org:8443", Class::First),
            ("https://a.example.org", Class::Third),
            ("https://example.org", Class::Third),
            ("https://example.com", Class::Second),
            ("http://127.0.0.1", Class::Second),
        ] {
            assert_eq!(classes.of(&Origin::parse(origin).unwrap()), class, "{origin}");
        }
        assert_eq!(Class::ALL.map(Class::share), [8, 4, 2, 1]);
    }
}
