//! `[signals]` and `[[grant]]`: what is made of what sites say about use.

use std::sync::Arc;

use comity_gate::AskTdmrep;
use comity_policy::{Grant, GrantDraft, GrantError, Grants, Silence, WallTime};
use serde::{Deserialize, Serialize};

use super::resolve::one_of;
use super::{ConfigError, ConfigFile, Moment};

/// One `[[grant]]`: uses of exact origins that a licence, a contract or a law permits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GrantSection {
    /// Exact origins, `["https://news.example"]`. Required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origins: Option<Vec<String>>,
    /// Any of `search`, `ai_input`, `ai_train`, `tdm`. Required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purposes: Option<Vec<String>>,
    /// `licence`, `contract`, `art3_research` or `own_content`. Required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basis: Option<String>,
    /// Number of the licence or contract, or where it is found. Required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// Who answers for it. Required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approved_by: Option<String>,
    /// From when it holds no longer. Required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<Moment>,
}

/// Checks every `[[grant]]`.
///
/// # Errors
/// The first that cannot be used: which one, at which key, and what to write.
pub(super) fn grants(typed: Option<&[GrantSection]>) -> Result<Grants, ConfigError> {
    let draft = |one: &GrantSection| GrantDraft {
        origins: one.origins.clone().unwrap_or_default(),
        purposes: one.purposes.clone().unwrap_or_default(),
        basis: one.basis.clone(),
        reference: one.reference.clone(),
        approved_by: one.approved_by.clone(),
        expires: one.expires.map(|moment| moment.0),
    };
    let drafts: Vec<GrantDraft> = typed.unwrap_or_default().iter().map(draft).collect();
    let named = |error: GrantError| {
        let place = format!("[[grant]] number {}, {}", error.number, error.key);
        ConfigError::new(error).at(&place)
    };
    Grants::new(&drafts).map_err(named)
}

/// What is to be said of grants at the start: each, and whether it has run out.
pub(crate) fn grant_notes(grants: &Grants, now: WallTime) -> Vec<String> {
    let note = |grant: &Arc<Grant>| {
        let end = if grant.expires() <= now { "; it has run out and permits nothing" } else { "" };
        format!("grant: {grant}{end}")
    };
    grants.all().iter().map(note).collect()
}

/// `[signals]`, resolved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SignalSettings {
    /// What is done where nobody says anything about a declared purpose.
    pub silence: Silence,
    /// Whether a site's tdmrep.json is asked for.
    pub tdmrep: AskTdmrep,
}

const SILENCES: [(&str, Silence); 2] = [("proceed", Silence::Proceed), ("refuse", Silence::Refuse)];
const TDMREPS: [(&str, AskTdmrep); 2] = [("needed", AskTdmrep::WhenNeeded), ("always", AskTdmrep::Always)];

pub(super) fn signals(file: &ConfigFile) -> Result<SignalSettings, ConfigError> {
    Ok(SignalSettings {
        silence: one_of("[signals] unspecified", file.signals.unspecified.as_deref(), &SILENCES)?,
        tdmrep: one_of("[signals] tdmrep", file.signals.tdmrep.as_deref(), &TDMREPS)?,
    })
}

/// Every key with its value in force.
pub(super) fn resolved(settings: SignalSettings, file: &mut ConfigFile) {
    file.signals.unspecified = Some(settings.silence.as_str().to_owned());
    let word = TDMREPS.iter().find(|(_, value)| *value == settings.tdmrep).map(|(word, _)| (*word).to_owned());
    file.signals.tdmrep = word;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::CrawlConfig;

    const GOOD: &str = "[agent]\nname = \"MyBot/1.0\"\ncontact = \"https://example.com/bot\"\n[crawl]\nseeds = [\"https://a.test/\"]\n";

    fn resolve(more: &str) -> Result<CrawlConfig, ConfigError> {
        CrawlConfig::resolve(ConfigFile::parse(&format!("{GOOD}{more}"), None)?)
    }

    #[test]
    fn the_keys_are_read_shown_and_documented() {
        let set = resolve("[signals]\nunspecified = \"refuse\"\ntdmrep = \"always\"\n").unwrap();
        assert_eq!(set.signals, SignalSettings { silence: Silence::Refuse, tdmrep: AskTdmrep::Always });
        let again = set.resolved().signals;
        assert_eq!((again.unspecified.as_deref(), again.tdmrep.as_deref()), (Some("refuse"), Some("always")));
        let unset = resolve("").unwrap().signals;
        assert_eq!(unset, SignalSettings { silence: Silence::Proceed, tdmrep: AskTdmrep::WhenNeeded });
        for wrong in ["unspecified = \"deny\"", "tdmrep = \"off\"", "profile = \"cautious\""] {
            assert!(resolve(&format!("[signals]\n{wrong}\n")).is_err(), "{wrong}");
        }
        let reference = include_str!("../../../../docs/configuration.md");
        for key in ["unspecified", "tdmrep", "purposes", "reference", "approved_by", "expires", "basis", "origins"] {
            assert!(reference.contains(&format!("| `{key}` |")), "{key} is not documented");
        }
        let typed = ConfigFile::parse(include_str!("../../../../configs/crawl.toml"), None).unwrap();
        assert_eq!(typed.signals, resolve("").unwrap().resolved().signals, "configs/crawl.toml has the defaults");
    }
}
