//! Ordered fallback of tokens, as an agent reads a file.

use alloc::vec::Vec;

use crate::{Dialect, KnownAgent, Oddity, Robots, RuleSet};

#[cfg(doc)]
use crate::Selected;

/// For whom a file is read: product tokens in the order of fallback, and whether `*` applies when none is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain<'t> {
    tokens: Vec<&'t str>,
    global: bool,
}

impl<'t> Chain<'t> {
    /// These tokens, then `*`, as [`Robots::rules`] takes them.
    #[must_use]
    pub fn new(tokens: &[&'t str]) -> Self {
        Self { tokens: tokens.into(), global: true }
    }

    /// The chain by which this agent reads a file: `Googlebot-Image`, then `Googlebot`, then `*`; for `AdsBot-Google`
    /// itself only.
    #[must_use]
    pub fn of(agent: KnownAgent) -> Self {
        Self { tokens: agent.chain().collect(), global: !agent.is(Oddity::IgnoresGlobal) }
    }

    /// The tokens in order.
    #[must_use]
    pub fn tokens(&self) -> &[&'t str] {
        &self.tokens
    }

    /// Whether the `*` groups apply when no token is named.
    #[must_use]
    pub const fn takes_global(&self) -> bool {
        self.global
    }

    /// The rules that hold for it; [`Selected::None`] when only `*` groups are left and they do not apply.
    #[must_use]
    pub fn rules(&self, robots: &Robots, dialect: Dialect) -> RuleSet {
        if self.global || self.tokens.iter().any(|token| robots.names(token)) {
            return robots.rules(&self.tokens, dialect);
        }
        Robots::parse(b"").rules(&self.tokens, dialect)
    }
}
