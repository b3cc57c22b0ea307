//! What a record says of the decision.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
/// What was decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionRecord {
    /// When.
    pub at: String,
    /// The most that is done with content: `immediate`, `reference` or `full`; left out where none is declared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_use_level: Option<String>,
    /// True when a declared purpose was decided by the setting for silence.
    pub default_applied: bool,
    /// The grants that it relies on; left out where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grants: Vec<GrantRecord>,
    /// The opt-out that refused.
    #[serde(default)]
    pub optout: Option<OptOutRecord>,
    /// The override that was in force, and what it lifted; null when nothing was lifted.
    #[serde(default)]
    pub r#override: Option<OverrideRecord>,
    /// Outcome for each declared purpose that signals speak about.
    pub purposes: BTreeMap<String, PurposeRecord>,
    /// The code of the decision itself: that of the outcome, unless the fetch failed afterwards.
    pub reason: String,
    /// Where it was decided twice: both decisions in order. Empty where the first was the only one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageRecord>,
}

/// A permission that lifted a denial of one use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantRecord {
    /// Who answers for it.
    pub approved_by: String,
    /// `licence`, `contract`, `art3_research` or `own_content`.
    pub basis: String,
    /// From when it holds no longer.
    pub expires: String,
    /// The use.
    pub purpose: String,
    /// Where it is found.
    pub reference: String,
}

/// One of several decisions on a URL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageRecord {
    /// What it rests on: `before_fetch`, `headers` (of the answer, too) or `page` (the page, too).
    pub after: String,
    /// When.
    pub at: String,
    /// The statements that decided it: for each declared purpose that is denied the first that denies it, as a place in
    /// `signals`, from 0.
    pub deciding: Vec<u64>,
    /// Its code.
    pub reason: String,
}

/// The line of an opt-out file that refused a URL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OptOutRecord {
    /// When it was written down.
    pub at: String,
    /// The file, as the configuration names it.
    pub file: String,
    /// The line's number, from 1.
    pub line: u64,
    /// Who asked for it.
    pub requested_by: String,
    /// What it covers: an origin, or a domain with its sub-domains.
    pub target: String,
}

/// The override behind a decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverrideRecord {
    /// Who answers for it.
    pub approved_by: String,
    /// `own_site`, `written_permission` or `statutory`.
    pub basis: String,
    /// From when it holds no longer.
    pub expires: String,
    /// Its name; the whole of it, with its justification, stands in the resolved configuration.
    pub id: String,
    /// Each thing it lifted, in the order of the judgement.
    pub lifted: Vec<LiftedRecord>,
}

/// One thing that an override lifted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiftedRecord {
    /// What would have refused, held or delayed the URL without it.
    pub reason: String,
    /// `robots`, `robots_5xx_as_404`, `rate` or `signals`.
    pub scope: String,
}

/// The outcome for one purpose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PurposeRecord {
    /// `proceed` or `refuse`.
    pub decision: String,
    /// `allowed`, `denied` or `unspecified`.
    pub verdict: String,
}
