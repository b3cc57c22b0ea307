//! What a robots.txt says to the search and AI agents of others (signals reference §3.2 to §3.4): evidence of intent, and no
//! rule for us.

use std::sync::Arc;

use comity_robots::{AgentUse, Dialect, KnownAgent, Robots, RuleKind, RuleSet};

use crate::found::{Carried, Found, Ground};
use crate::{OthersTokens, Place, Purpose, SignalOptions, Source, Statement, Verdict};

/// The groups of one robots.txt for known agents of others, compiled: each token that the file names by itself.
///
/// A token that only falls back to `*` is not named. Tokens with digits (`AI2Bot`), which no file can name by RFC 9309, are
/// compared whole here all the same, because sites mean them.
///
/// A clone is the same groups; of a file that names nobody nothing is held.
#[derive(Clone, Debug, Default)]
pub struct AgentGroups(Option<Arc<Groups>>);

#[derive(Debug, Default)]
struct Groups {
    agents: Vec<NamedAgent>,
    /// The rules of each set of groups that is named: most files name their agents in one list.
    rules: Vec<RuleSet>,
}

#[derive(Debug)]
struct NamedAgent {
    token: &'static str,
    uses: Box<[AgentUse]>,
    /// Its place among the rules.
    rules: usize,
}

/// What one class of agents meets at one URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentClass {
    /// What the agents are for.
    pub agent_use: AgentUse,
    /// Those that the file names, in the order of the table.
    pub named: Vec<&'static str>,
    /// Those of them whose own group refuses the URL.
    pub denied: Vec<&'static str>,
}

impl AgentGroups {
    /// Finds the named agents and compiles their groups. Cost: once per file, the user-agent lines times the known agents,
    /// and a compilation for each set of groups that is named.
    #[must_use]
    pub fn compile(robots: &Robots, dialect: Dialect) -> Self {
        let lines: Vec<(u32, &[u8])> =
            robots.groups().flat_map(|group| group.agents().map(move |agent| (group.line(), agent.value()))).collect();
        let (mut found, mut sets) = (Groups::default(), Vec::<Vec<u32>>::new());
        for agent in KnownAgent::all() {
            let mut groups: Vec<u32> =
                lines.iter().filter(|(_, value)| names(value, agent.token())).map(|(group, _)| *group).collect();
            groups.dedup();
            if groups.is_empty() {
                continue;
            }
            let rules = sets.iter().position(|of| *of == groups).unwrap_or(sets.len());
            if rules == sets.len() {
                found.rules.push(rules_of(robots, &groups, dialect));
                sets.push(groups);
            }
            found.agents.push(NamedAgent { token: agent.token(), uses: agent.uses().collect(), rules });
        }
        found.agents.shrink_to_fit();
        found.rules.shrink_to_fit();
        Self((!found.agents.is_empty()).then(|| found.into()))
    }

    /// The same from the bytes of the file, as far as `options` look at them at all.
    #[must_use]
    pub fn parse(file: &[u8], dialect: Dialect, options: SignalOptions) -> Self {
        match options.others_tokens {
            OthersTokens::Off => Self::default(),
            OthersTokens::Record | OthersTokens::Deny { .. } => Self::compile(&Robots::parse(file), dialect),
        }
    }

    /// Whether an agent that the file names may be allowed `path` with one query and refused it with another.
    #[must_use]
    pub fn hangs_on_query(&self, path: &[u8]) -> bool {
        let any = self.0.iter().flat_map(|groups| &groups.rules).map(|rules| rules.with_any_query(path));
        any.into_iter().any(|any| any.may_allow() && any.may_refuse())
    }

    /// True when the file names no known agent.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Bytes held on the heap, for the weigher of a cache. What clones share is counted in each.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let agent = |agent: &NamedAgent| size_of::<NamedAgent>() + size_of_val(&*agent.uses);
        let bytes = |groups: &Arc<Groups>| {
            size_of::<Groups>()
                + groups.agents.iter().map(agent).sum::<usize>()
                + groups.rules.iter().map(|rules| size_of::<RuleSet>() + rules.heap_bytes()).sum::<usize>()
        };
        self.0.as_ref().map_or(0, bytes)
    }

    /// What the groups deny to us of the resource at `target`, where `options` take them for more than evidence. They say nothing of
    /// one that may not be crawled: that is the caller's to know.
    #[must_use]
    pub fn denials(&self, target: &[u8], options: SignalOptions) -> Vec<Statement> {
        match options.others_tokens {
            OthersTokens::Deny { .. } if !self.is_empty() => AgentClass::inferred(&self.classes(target), options),
            _ => Vec::new(),
        }
    }

    /// The classes with an agent that the file names, in the order of [`AgentUse`], judged for the resource at `target`.
    #[must_use]
    pub fn classes(&self, target: &[u8]) -> Vec<AgentClass> {
        let Some(groups) = &self.0 else { return Vec::new() };
        let denied: Vec<bool> = groups.rules.iter().map(|rules| !rules.allows(target)).collect();
        let mut classes: Vec<AgentClass> = Vec::new();
        for agent in &groups.agents {
            let denied = denied.get(agent.rules).copied().unwrap_or_default();
            for agent_use in agent.uses.iter().copied() {
                let place = classes.iter().position(|class| class.agent_use == agent_use).unwrap_or(classes.len());
                if place == classes.len() {
                    classes.push(AgentClass { agent_use, named: Vec::new(), denied: Vec::new() });
                }
                if let Some(class) = classes.get_mut(place) {
                    class.named.push(agent.token);
                    class.denied.extend(denied.then_some(agent.token));
                }
            }
        }
        classes.sort_by_key(|class| class.agent_use);
        classes
    }
}

impl AgentClass {
    /// True for agents that feed models: what signals reference §3.4 counts.
    #[must_use]
    pub const fn is_of_ai(&self) -> bool {
        matches!(self.agent_use, AgentUse::AiTrain | AgentUse::AiUser | AgentUse::AiSearch)
    }

    /// What denials of others stand for, where the operator says so (signals reference §3.4).
    pub(crate) fn inferred(classes: &[Self], options: SignalOptions) -> Vec<Statement> {
        let OthersTokens::Deny { least } = options.others_tokens else { return Vec::new() };
        let rows: [(Purpose, &[AgentUse]); 2] =
            [(Purpose::AiTrain, &[AgentUse::AiTrain]), (Purpose::AiInput, &[AgentUse::AiUser, AgentUse::AiSearch])];
        let mut found = Found::default();
        for (purpose, uses) in rows {
            let classes = classes.iter().filter(|class| uses.contains(&class.agent_use));
            let mut denied: Vec<&str> = classes.flat_map(|class| class.denied.iter().copied()).collect();
            denied.sort_unstable();
            denied.dedup();
            if denied.len() >= least.max(1) as usize {
                let raw = denied.join(", ");
                let at = Carried { source: Source::RobotsAiToken, place: Place::Whole, raw: &raw, path: None };
                found.state(at, purpose, Verdict::Denied, Ground::Derived);
            }
        }
        found.statements
    }
}

/// Whether a user-agent line names `token`: it begins with it, and no letter, digit, `_` or `-` follows.
fn names(value: &[u8], token: &str) -> bool {
    let Some((head, rest)) = value.split_at_checked(token.len()) else { return false };
    let goes_on = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    head.eq_ignore_ascii_case(token.as_bytes()) && !rest.first().is_some_and(goes_on)
}

/// The rules of these groups together, as they would be for an agent that all of them name.
fn rules_of(robots: &Robots, groups: &[u32], dialect: Dialect) -> RuleSet {
    let mut text = b"User-agent: *\n".to_vec();
    for rule in robots.groups().filter(|group| groups.contains(&group.line())).flat_map(|group| group.rules()) {
        let key: &[u8] = if rule.kind() == RuleKind::Allow { b"Allow: " } else { b"Disallow: " };
        text.extend([key, rule.value(), b"\n"].concat());
    }
    RuleSet::parse(&text, &[], dialect)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(robots: &str, target: &str) -> String {
        let classes =
            AgentGroups::compile(&Robots::parse(robots.as_bytes()), Dialect::Standard).classes(target.as_bytes());
        let show = |class: &AgentClass| {
            format!("{} {}/{}", class.agent_use.as_str(), class.named.join(","), class.denied.join(","))
        };
        classes.iter().map(show).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn agents_that_a_file_names() {
        let rows = [
            ("", "/", ""),
            ("User-agent: *\nDisallow: /", "/", ""),
            ("User-agent: gptbot/1.2\nDisallow: /", "/", "ai_train GPTBot/GPTBot"),
            ("User-agent: GPTBotter\nDisallow: /", "/", ""),
            ("User-agent: GPTBot\nDisallow: /a\nAllow: /a/b", "/a/b", "ai_train GPTBot/"),
            ("User-agent: AI2Bot\nDisallow: /", "/", "ai_train AI2Bot/AI2Bot"),
            ("User-agent: AI\nDisallow: /", "/", ""),
            ("User-agent: img2dataset\nUser-agent: *\nDisallow: /x", "/x", "ai_train img2dataset/img2dataset"),
            (
                "User-agent: GPTBot\nUser-agent: OAI-SearchBot\nDisallow: /\nUser-agent: OAI-SearchBot\nAllow: /p",
                "/p",
                "ai_search OAI-SearchBot/; ai_train GPTBot/GPTBot",
            ),
            (
                "User-agent: Google-Extended\nDisallow: /",
                "/",
                "ai_user Google-Extended/Google-Extended; ai_train Google-Extended/Google-Extended",
            ),
        ];
        for (robots, target, wanted) in rows {
            assert_eq!(ask(robots, target), wanted, "{robots:?}");
        }
    }

    #[test]
    fn agents_of_one_list_share_their_rules() {
        let list: String = KnownAgent::all().map(|agent| format!("User-agent: {}\n", agent.token())).collect();
        let rules: String = (0..5000).map(|n| format!("Disallow: /{n}/private\n")).collect();
        let groups = AgentGroups::compile(&Robots::parse(format!("{list}{rules}").as_bytes()), Dialect::Standard);
        let held = groups.0.as_ref().unwrap();
        assert_eq!((held.agents.len(), held.rules.len()), (KnownAgent::all().count(), 1));
        assert!(groups.classes(b"/7/private").iter().all(|class| class.named == class.denied));
    }
}
