//! Policy tokens: groups of robots.txt that speak to a use (draft-kelley-aipref-training-preference-signal-00, an individual
//! draft of 30 October 2026).

use comity_robots::{Dialect, Evidence, Robots, RuleSet};

use crate::found::{Carried, Found, Ground};
use crate::{Place, Purpose, Source, Statement, Verdict};

/// The table; see its head for the format.
const TABLE: &str = include_str!("policy_tokens.tsv");

/// A token of the table, which is data with a source for each spelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyToken {
    /// As it stands in a user-agent line; compared without ASCII case.
    pub token: &'static str,
    /// What a Disallow under it denies.
    pub purpose: Purpose,
    /// The draft that defines it.
    pub draft: &'static str,
    /// Whether the spelling was read in the draft itself.
    pub verified: bool,
}

impl PolicyToken {
    /// Every token of the table, in its order.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
            let mut fields = line.split('\t');
            let (token, purpose, draft) = (fields.next()?, fields.next()?.parse().ok()?, fields.next()?);
            Some(Self { token, purpose, draft, verified: fields.next()? == "verified" })
        })
    }
}

/// The groups of one robots.txt that policy tokens name, compiled; of nearly every file none, which costs no heap.
#[derive(Clone, Debug, Default)]
pub struct PolicyGroups(Option<Box<Named>>);

/// Those that are named, with their rules. Behind a pointer: an answer that is passed around has room for one.
#[derive(Clone, Debug)]
struct Named(Vec<(PolicyToken, RuleSet)>);

impl PolicyGroups {
    /// A token that no group names says nothing: `*` speaks to crawlers, and is never taken for it.
    #[must_use]
    pub fn compile(robots: &Robots, dialect: Dialect) -> Self {
        let named = PolicyToken::all().filter(|policy| robots.names(policy.token));
        let named: Vec<_> = named.map(|policy| (policy, robots.rules(&[policy.token], dialect))).collect();
        Self((!named.is_empty()).then(|| Box::new(Named(named))))
    }

    /// Whether what the groups deny of `path` may be another thing with another query.
    #[must_use]
    pub fn hangs_on_query(&self, path: &[u8]) -> bool {
        let any = self.named().iter().map(|(_, rules)| rules.with_any_query(path));
        any.into_iter().any(|any| any.may_allow() && any.may_refuse())
    }

    fn named(&self) -> &[(PolicyToken, RuleSet)] {
        self.0.as_ref().map_or(&[], |named| named.0.as_slice())
    }

    /// The same from the bytes of the file. One without any of the tokens, which is nearly every file, is not parsed for it.
    #[must_use]
    pub fn parse(file: &[u8], dialect: Dialect) -> Self {
        let stands = |token: &str| file.windows(token.len()).any(|part| part.eq_ignore_ascii_case(token.as_bytes()));
        if !PolicyToken::all().any(|policy| stands(policy.token)) {
            return Self::default();
        }
        Self::compile(&Robots::parse(file), dialect)
    }

    /// What the groups deny of the resource at `target` (path and query in bytes, as they are sent). They say nothing of one that
    /// may not be crawled: that is the caller's to know.
    #[must_use]
    pub fn denials(&self, target: &[u8]) -> Vec<Statement> {
        let mut found = Found::default();
        self.read(&mut found, target);
        found.statements
    }

    /// Bytes held on the heap, for the weigher of a cache. What clones share is counted in each.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let of = |(_, rules): &(PolicyToken, RuleSet)| size_of::<(PolicyToken, RuleSet)>() + rules.heap_bytes();
        self.0.as_ref().map_or(0, |_| size_of::<Named>()) + self.named().iter().map(of).sum::<usize>()
    }

    /// States what the groups deny. What they allow is no permission (our choice: permissions never propagate).
    pub(crate) fn read(&self, found: &mut Found, target: &[u8]) {
        for (policy, rules) in self.named() {
            let evidence = rules.evidence(target);
            let Evidence::Rule(rule) = evidence else { continue };
            if evidence.allowed() {
                continue;
            }
            let (place, path) = (Place::Line(rule.line()), rule.pattern());
            let at = Carried { source: Source::RobotsPolicyToken, place, raw: policy.token, path: Some(&path) };
            found.state(at, policy.purpose, Verdict::Denied, Ground::Said);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_table_is_read_and_can_be_named() {
        let rows = TABLE.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(PolicyToken::all().count(), rows);
        for policy in PolicyToken::all() {
            assert_eq!(comity_robots::token_note(policy.token), None, "{}", policy.token);
            assert!(!policy.verified || !policy.draft.is_empty());
        }
    }
}
