use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::config::Config;

/// One resource, and what its carriers hold: a line of `comity signals batch`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    #[serde(default)]
    pub(super) id: Option<String>,
    /// What the case is about, for people.
    #[serde(default)]
    #[expect(dead_code, reason = "a member of the schema that changes nothing")]
    kind: Option<String>,
    #[serde(default)]
    pub(super) profile: ProfileName,
    #[serde(default)]
    pub(super) config: Config,
    #[serde(default)]
    pub(super) agent: Option<String>,
    pub(super) url: String,
    /// RFC 3339; by default the clock of this machine.
    #[serde(default)]
    pub(super) now: Option<String>,
    #[serde(default)]
    pub(super) input: Input,
    /// What whoever wrote the case expects: not looked at.
    #[serde(default)]
    #[expect(dead_code, reason = "a member of the schema that changes nothing")]
    expect: Value,
    #[serde(default)]
    #[expect(dead_code, reason = "a member of the schema that changes nothing")]
    note: Value,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ProfileName {
    #[default]
    Cautious,
    Literal,
}

/// What the carriers hold. A file that is given counts as answered with 200; what is absent was not asked for.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    pub(super) robots_txt: Option<String>,
    /// Of the page.
    pub(super) status: Option<u16>,
    /// Names and values in wire order, never folded.
    #[serde(default)]
    pub(super) headers: Vec<(String, String)>,
    pub(super) content_type: Option<String>,
    pub(super) html: Option<String>,
    pub(super) tdmrep: Option<String>,
    /// Licence documents by URL; `null` for one that could not be fetched.
    pub(super) rsl: Option<BTreeMap<String, Option<String>>>,
    pub(super) ai_txt: Option<String>,
    pub(super) trust_txt: Option<String>,
    /// A request that somebody signed.
    pub(super) request: Option<SignedRequest>,
    /// Key directories by resolved URL; `null` for one that could not be fetched.
    #[serde(default)]
    pub(super) directory: BTreeMap<String, Value>,
    /// A key whose thumbprint is asked for.
    pub(super) jwk: Option<Value>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SignedRequest {
    pub(super) method: String,
    pub(super) url: String,
    pub(super) headers: Vec<(String, String)>,
}

impl Case {
    /// A case about a resource of which nothing is known yet.
    pub(super) fn of_url(url: &str) -> Self {
        Self { url: url.to_owned(), ..Self::default() }
    }

    /// Our product token.
    pub(super) fn agent(&self) -> &str {
        self.agent.as_deref().unwrap_or("ComityBot")
    }
}
