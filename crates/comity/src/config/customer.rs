//! `[gateway.customer]`: who may ask the policy gateway.

use serde::{Deserialize, Serialize};

/// `[gateway.customer]`: a later layer replaces it whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CustomerSection {
    /// Name in credentials and records. Required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// SHA-256 of the password, 64 hex digits; required with `auth = "basic"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password_sha256: Option<String>,
    /// Product tokens that its requests are judged by, the strictest of them. Required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Vec<String>>,
    /// What it may declare; empty: every denial of any purpose denies. Default `["search"]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purposes: Option<Vec<String>>,
    /// `any` (default), or `contains_token`: its User-Agent has to carry one of its tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_agent: Option<String>,
}

impl CustomerSection {
    /// Lays `later` over this one, key by key.
    pub(super) fn join(&mut self, later: Self) {
        self.id = later.id.or(self.id.take());
        self.password_sha256 = later.password_sha256.or(self.password_sha256.take());
        self.tokens = later.tokens.or(self.tokens.take());
        self.purposes = later.purposes.or(self.purposes.take());
        self.user_agent = later.user_agent.or(self.user_agent.take());
    }
}
