use std::time::Duration;

use comity_fetch::signature::LegacyAgent;
use comity_signals::{Budget, LegacyLabels, OthersTokens, Price, Profile, RslConditions, SignalOptions};
use serde::Deserialize;
use serde_json::Value;

use super::case::ProfileName;

/// The knobs of a case (docs/cli.md), at their defaults where they are not given.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Config {
    #[serde(default)]
    aipref_legacy: Legacy,
    #[serde(default)]
    signal_lenient_values: bool,
    #[serde(default)]
    infer_from_ai_tokens: Infer,
    infer_min_tokens: Option<u32>,
    rsl_user: Option<String>,
    rsl_geo: Option<String>,
    #[serde(default)]
    satisfies: Vec<String>,
    #[serde(default)]
    wba_accept_legacy: bool,
    retry_after_cap_s: Option<u64>,
    budget: Option<BudgetText>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Legacy {
    #[default]
    Ignore,
    Map,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Infer {
    Off,
    #[default]
    Record,
    Deny,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BudgetText {
    currency: String,
    /// A decimal number, as text or as a number.
    max: Value,
}

impl Config {
    pub(super) fn options(&self, profile: ProfileName) -> SignalOptions {
        SignalOptions {
            profile: match profile {
                ProfileName::Cautious => Profile::Cautious,
                ProfileName::Literal => Profile::Literal,
            },
            aipref_legacy: match self.aipref_legacy {
                Legacy::Ignore => LegacyLabels::Ignore,
                Legacy::Map => LegacyLabels::Map,
            },
            signal_lenient_values: self.signal_lenient_values,
            others_tokens: match self.infer_from_ai_tokens {
                Infer::Off => OthersTokens::Off,
                Infer::Record => OthersTokens::Record,
                Infer::Deny => OthersTokens::Deny { least: self.infer_min_tokens.unwrap_or(1) },
            },
        }
    }

    pub(super) fn conditions(&self) -> RslConditions {
        RslConditions { user: self.rsl_user.clone(), region: self.rsl_geo.clone(), satisfies: self.satisfies.clone() }
    }

    pub(super) const fn legacy_agent(&self) -> LegacyAgent {
        if self.wba_accept_legacy { LegacyAgent::Accept } else { LegacyAgent::Refuse }
    }

    /// The longest wait that is kept to.
    pub(super) fn cap(&self) -> Duration {
        Duration::from_secs(self.retry_after_cap_s.unwrap_or(86_400))
    }

    pub(super) fn budget(&self) -> Result<Option<Budget>, String> {
        let Some(budget) = &self.budget else { return Ok(None) };
        let most = match &budget.max {
            Value::String(text) => text.clone(),
            number => number.to_string(),
        };
        let most = Price::new(&budget.currency, &most).ok_or_else(|| format!("budget: {most:?} is no amount"))?;
        Ok(Some(Budget { most }))
    }
}
