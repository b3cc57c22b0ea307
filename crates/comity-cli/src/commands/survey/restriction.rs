//! How far a robots.txt keeps an agent out, as one word.
//!
//! After the classes of the Data Provenance Initiative's audit of consent (2024), which they allow to be compared with; read from
//! the rules, not from a list of paths (our choice).

use comity_robots::{Robots, RuleKind, RuleSet};

/// The classes, the strictest last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Restriction {
    /// Nothing is disallowed, and no pace is asked for.
    None,
    /// Nothing is disallowed, and a pace is asked for.
    Delay,
    /// Something is disallowed.
    Some,
    /// Everything is disallowed but what a rule allows.
    Most,
    /// Everything is disallowed.
    Full,
}

impl Restriction {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Delay => "delay",
            Self::Some => "some",
            Self::Most => "most",
            Self::Full => "full",
        }
    }

    /// The class of the agent that `token` names, or, with `*`, of whoever is not named. `rules` are its rules.
    pub(super) fn of(robots: &Robots, token: &str, rules: &RuleSet) -> Self {
        let (mut allows, mut refuses) = (false, false);
        let named =
            |agent: comity_robots::AgentLine<'_>| agent.token().is_some_and(|name| name.eq_ignore_ascii_case(token));
        for rule in robots.groups().filter(|group| group.agents().any(named)).flat_map(|group| group.rules()) {
            // An empty value is no rule (RFC 9309 §2.2.2).
            match rule.kind() {
                _ if rule.value().is_empty() => {}
                RuleKind::Allow => allows = true,
                RuleKind::Disallow => refuses = true,
            }
        }
        // Nobody's path: refused only by a rule for everything.
        let everything = !rules.allows(b"/b7f0c1d2-nobody/knows/this");
        match (everything, refuses) {
            (true, _) if !allows => Self::Full,
            (true, _) => Self::Most,
            (false, true) => Self::Some,
            (false, false) if rules.crawl_delay().is_some() => Self::Delay,
            (false, false) => Self::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use comity_robots::Dialect;

    #[test]
    fn every_class_has_its_file() {
        let rows = [
            ("", Restriction::None),
            ("User-agent: *\nDisallow:\n", Restriction::None),
            ("User-agent: *\nAllow: /a\n", Restriction::None),
            ("User-agent: *\nDisallow:\nCrawl-delay: 3\n", Restriction::Delay),
            ("User-agent: *\nDisallow: /a\nCrawl-delay: 3\n", Restriction::Some),
            ("User-agent: *\nDisallow: /\nAllow: /a\n", Restriction::Most),
            ("User-agent: *\nDisallow: /\n", Restriction::Full),
            ("User-agent: *\nDisallow: *\n", Restriction::Full),
            ("User-agent: Other\nDisallow: /\n", Restriction::None),
        ];
        for (file, wanted) in rows {
            let robots = Robots::parse(file.as_bytes());
            assert_eq!(Restriction::of(&robots, "*", &robots.rules(&[], Dialect::Standard)), wanted, "{file:?}");
        }
        let classes = rows.map(|(_, class)| class);
        assert!(classes.iter().max() == Some(&Restriction::Full) && classes.iter().min() == Some(&Restriction::None));
    }
}
