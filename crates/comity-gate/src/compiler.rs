use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use comity_policy::RobotsPolicy;
use comity_robots::{Dialect, RuleSet};
use comity_signals::{AgentGroups, PolicyGroups, SignalOptions};

/// Compiles robots.txt bytes for every token list, and shares equal rule sets between origins: millions of hosts of one
/// platform serve one file.
#[derive(Debug)]
pub(crate) struct Compiler {
    policy: Arc<RobotsPolicy>,
    token_lists: Vec<Vec<String>>,
    /// Whether the groups for the agents of others are looked at.
    options: SignalOptions,
    /// The last set of each hash: what is served often is nearly always here, and the table never grows.
    seen: Mutex<Box<[Option<RuleSet>]>>,
    /// Room that is used again. Who finds it taken compiles without.
    room: Mutex<comity_robots::Compiler>,
}

impl Compiler {
    /// Sets remembered for sharing: 32 KiB of pointers.
    const SEEN: usize = 4096;
    /// A set larger than this is shared by nobody; remembering it would only keep it alive.
    const LARGEST: usize = 16 * 1024;

    pub(crate) fn new(policy: Arc<RobotsPolicy>, token_lists: Vec<Vec<String>>, options: SignalOptions) -> Self {
        let seen = Mutex::new(vec![None; Self::SEEN].into());
        Self { policy, token_lists, options, seen, room: Mutex::default() }
    }

    /// How the rules are read.
    #[cfg(feature = "disk")]
    pub(crate) const fn policy(&self) -> &Arc<RobotsPolicy> {
        &self.policy
    }

    /// The lists of own tokens.
    pub(crate) fn token_lists(&self) -> &[Vec<String>] {
        &self.token_lists
    }

    /// The rules per token list, in the order of the lists; the groups of policy tokens, and those for the agents of others.
    pub(crate) fn compile(&self, bytes: &[u8]) -> (Box<[RuleSet]>, PolicyGroups, AgentGroups) {
        let dialect = self.policy.dialect;
        let tokens = self.token_lists.iter().map(|list| list.iter().map(String::as_str).collect::<Vec<_>>());
        let rules = tokens.map(|tokens| self.share(self.parse(bytes, &tokens, dialect))).collect();
        let agents = AgentGroups::parse(bytes, dialect, self.options);
        (rules, PolicyGroups::parse(bytes, dialect), agents)
    }

    fn parse(&self, bytes: &[u8], tokens: &[&str], dialect: Dialect) -> RuleSet {
        match self.room.try_lock() {
            Ok(mut room) => room.parse(bytes, tokens, dialect),
            Err(_) => RuleSet::parse(bytes, tokens, dialect),
        }
    }

    /// The same set as it is held already, if it is.
    fn share(&self, set: RuleSet) -> RuleSet {
        if set.heap_bytes() > Self::LARGEST {
            return set;
        }
        // Fixed keys: who aims collisions at the table only loses the sharing of his own file.
        let mut hasher = DefaultHasher::new();
        set.hash(&mut hasher);
        let place = usize::try_from(hasher.finish() % Self::SEEN as u64).unwrap_or_default();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        match seen.get_mut(place) {
            Some(Some(held)) if *held == set => held.clone(),
            Some(slot) => {
                *slot = Some(set.clone());
                set
            }
            None => set,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_rule_sets_are_held_once_and_unequal_ones_are_not_mixed_up() {
        let compiler = Compiler::new(Arc::default(), vec![vec!["MyBot".to_owned()]], SignalOptions::default());
        let file = b"User-agent: *\nDisallow: /cart\nDisallow: /search\nAllow: /search/help\n";
        let held = allocation_counter::measure(|| drop(compiler.compile(file))).bytes_current;
        let mut copies = Vec::with_capacity(1000);
        let counted = allocation_counter::measure(|| copies.extend((0..1000).map(|_| compiler.compile(file))));
        assert!(held > 100 && counted.bytes_current <= 1000 * 8, "{held} {}", counted.bytes_current);
        for n in 0..20_000 {
            let (set, ..) = compiler.compile(format!("User-agent: *\nDisallow: /{n}\n").as_bytes());
            assert!(!set[0].allows(format!("/{n}").as_bytes()) && set[0].allows(b"/x"), "{n}");
        }
    }
}
