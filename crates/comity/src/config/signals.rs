//! `[signals]`, `[[grant]]` and `[[terms]]`: what is made of what sites say about use.

use std::collections::BTreeMap;
use std::sync::Arc;

use comity_gate::{AskFiles, AskTdmrep};
use comity_policy::{
    Grant, GrantDraft, GrantError, Grants, Review, ReviewDraft, ReviewError, Reviews, Silence, WallTime,
};
use comity_robots::Dialect;
use comity_signals::{RslConditions, SignalOptions, UseCeiling};
use serde::{Deserialize, Serialize};

use super::resolve::one_of;
use super::{ConfigError, ConfigFile, CrawlConfig, Moment, knobs};

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

/// One `[[terms]]`: what was read in the terms of one origin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TermsSection {
    /// The exact origin, `"https://news.example"`. Required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// Where the terms stand. Required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Who has read them. Required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reviewed_by: Option<String>,
    /// When. Required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reviewed_on: Option<Moment>,
    /// SHA-256 of the text that was read, 64 hex digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// What else is to be known, one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// `{ ai_train = "denied" }`: judged purposes, each `denied` or `allowed`. Required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdicts: Option<BTreeMap<String, String>>,
}

/// Checks every `[[terms]]`.
///
/// # Errors
/// The first that cannot be used: which one, at which key, and what to write.
pub(super) fn reviews(typed: Option<&[TermsSection]>) -> Result<Reviews, ConfigError> {
    let draft = |one: &TermsSection| ReviewDraft {
        origin: one.origin.clone(),
        url: one.url.clone(),
        reviewed_by: one.reviewed_by.clone(),
        reviewed_on: one.reviewed_on.map(|moment| moment.0),
        digest: one.digest.clone(),
        verdicts: one.verdicts.clone().unwrap_or_default().into_iter().collect(),
        note: one.note.clone(),
    };
    let drafts: Vec<ReviewDraft> = typed.unwrap_or_default().iter().map(draft).collect();
    let named = |error: ReviewError| {
        let place = format!("[[terms]] number {}, {}", error.number, error.key);
        ConfigError::new(error).at(&place)
    };
    Reviews::new(&drafts).map_err(named)
}

impl ConfigFile {
    /// Its grants alone: for whoever holds records against the configuration that they name.
    ///
    /// # Errors
    /// The first that cannot be used.
    pub fn read_grants(&self) -> Result<Grants, ConfigError> {
        grants(self.grants.as_deref())
    }

    /// Its reviewed terms alone.
    ///
    /// # Errors
    /// The first that cannot be used.
    pub fn read_reviews(&self) -> Result<Reviews, ConfigError> {
        reviews(self.terms.as_deref())
    }

    /// Its `[signals]`, as records were decided under it; defaults where it says nothing.
    ///
    /// # Errors
    /// A word that is none.
    pub fn read_signals(&self) -> Result<SignalSettings, ConfigError> {
        signals(self)
    }

    /// Its robots dialect and what it takes silence for, as records were decided under it; defaults where it says nothing.
    ///
    /// # Errors
    /// A word that is none.
    pub fn read_rules(&self) -> Result<(Dialect, Silence), ConfigError> {
        let dialect = one_of("[robots] dialect", self.robots.dialect.as_deref(), &DIALECTS)?;
        Ok((dialect, one_of("[signals] unspecified", self.signals.unspecified.as_deref(), &SILENCES)?))
    }
}

const DIALECTS: [(&str, Dialect); 2] = [("standard", Dialect::Standard), ("google", Dialect::Google)];

/// What is to be said of grants and reviews at the start.
pub(crate) fn use_notes(config: &CrawlConfig, now: WallTime) -> Vec<String> {
    let mut notes = grant_notes(&config.grants, now);
    notes.extend(review_notes(&config.reviews, config.signals.ask));
    notes
}

/// Each, and whether it has run out.
fn grant_notes(grants: &Grants, now: WallTime) -> Vec<String> {
    let note = |grant: &Arc<Grant>| {
        let end = if grant.expires() <= now { "; it has run out and permits nothing" } else { "" };
        format!("grant: {grant}{end}")
    };
    grants.all().iter().map(note).collect()
}

/// Each, and what nobody will notice.
fn review_notes(reviews: &Reviews, ask: AskFiles) -> Vec<String> {
    let note = |review: &Arc<Review>| {
        let blind = match (ask.terms, review.digest()) {
            (true, Some(_)) => "",
            _ => "; whether the text has changed since is not looked at",
        };
        format!("terms: {review}{blind}")
    };
    reviews.all().iter().map(note).collect()
}

/// `[signals]`, resolved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SignalSettings {
    /// What is done where nobody says anything about a declared purpose.
    pub silence: Silence,
    /// Which files about use are asked for.
    pub ask: AskFiles,
    /// How far signals are read beyond their own words.
    pub options: SignalOptions,
    /// Which conditions of RSL licences are met.
    pub conditions: RslConditions,
    /// The most that is done with content, where that is declared.
    pub level: Option<UseCeiling>,
}

const SILENCES: [(&str, Silence); 2] = [("proceed", Silence::Proceed), ("refuse", Silence::Refuse)];
const TERMS: [(&str, bool); 2] = [("note", false), ("copy", true)];
const TDMREPS: [(&str, AskTdmrep); 2] = [("needed", AskTdmrep::WhenNeeded), ("always", AskTdmrep::Always)];

pub(super) fn signals(file: &ConfigFile) -> Result<SignalSettings, ConfigError> {
    Ok(SignalSettings {
        silence: one_of("[signals] unspecified", file.signals.unspecified.as_deref(), &SILENCES)?,
        ask: AskFiles {
            tdmrep: one_of("[signals] tdmrep", file.signals.tdmrep.as_deref(), &TDMREPS)?,
            ai_txt: file.signals.ai_txt.unwrap_or_default(),
            trust_txt: file.signals.trust_txt.unwrap_or_default(),
            licences: file.signals.licences.unwrap_or_default(),
            terms: one_of("[signals] terms", file.signals.terms.as_deref(), &TERMS)?,
        },
        options: knobs::options(&file.signals)?,
        conditions: knobs::conditions(&file.signals)?,
        level: knobs::level(&file.signals)?,
    })
}

/// Every key with its value in force.
pub(super) fn resolved(settings: &SignalSettings, file: &mut ConfigFile) {
    file.signals.unspecified = Some(settings.silence.as_str().to_owned());
    let ask = settings.ask;
    let word = TDMREPS.iter().find(|(_, value)| *value == ask.tdmrep).map(|(word, _)| (*word).to_owned());
    file.signals.tdmrep = word;
    (file.signals.ai_txt, file.signals.licences) = (Some(ask.ai_txt), Some(ask.licences));
    file.signals.trust_txt = Some(ask.trust_txt);
    file.signals.terms = Some(if ask.terms { "copy" } else { "note" }.to_owned());
    knobs::resolved(settings, &mut file.signals);
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "[agent]\nname = \"MyBot/1.0\"\ncontact = \"https://example.com/bot\"\n[crawl]\nseeds = [\"https://a.test/\"]\n";

    fn resolve(more: &str) -> Result<CrawlConfig, ConfigError> {
        CrawlConfig::resolve(ConfigFile::parse(&format!("{GOOD}{more}"), None)?)
    }

    #[test]
    fn reviewed_terms_are_read_and_a_fault_names_its_place() {
        let terms = |more: &str| {
            let text = "[[terms]]\norigin = \"https://a.test\"\nurl = \"https://a.test/terms\"\nreviewed_by = \"Counsel\"\n\
                        reviewed_on = 2026-11-30\n";
            resolve(&format!("{text}{more}"))
        };
        let read = terms("verdicts = { ai_train = \"denied\", search = \"allowed\" }\n").unwrap();
        assert_eq!(read.reviews.all().len(), 1);
        assert_eq!(read.reviews.all()[0].verdicts().len(), 2);
        assert_eq!(read.resolved().terms.unwrap()[0].verdicts.as_ref().unwrap()["ai_train"], "denied");
        let error = terms("verdicts = { training = \"denied\" }\n").unwrap_err().to_string();
        assert!(error.contains("[[terms]] number 1, verdicts"), "{error}");
    }

    #[test]
    fn the_keys_are_read_shown_and_documented() {
        let set = resolve(
            "[signals]\nunspecified = \"refuse\"\ntdmrep = \"always\"\nai_txt = true\ntrust_txt = true\nlicences = true\nterms = \"copy\"\n",
        );
        let set = set.unwrap();
        let ask = AskFiles { tdmrep: AskTdmrep::Always, ai_txt: true, trust_txt: true, licences: true, terms: true };
        assert_eq!(set.signals, SignalSettings { silence: Silence::Refuse, ask, ..SignalSettings::default() });
        let again = set.resolved().signals;
        assert_eq!((again.unspecified.as_deref(), again.tdmrep.as_deref()), (Some("refuse"), Some("always")));
        assert_eq!((again.ai_txt, again.licences, again.terms.as_deref()), (Some(true), Some(true), Some("copy")));
        assert_eq!(again.trust_txt, Some(true));
        let unset = resolve("").unwrap().signals;
        let ask = AskFiles { tdmrep: AskTdmrep::WhenNeeded, ..AskFiles::default() };
        assert_eq!(unset, SignalSettings { silence: Silence::Proceed, ask, ..SignalSettings::default() });
        for wrong in ["unspecified = \"deny\"", "tdmrep = \"off\"", "terms = \"read\""] {
            assert!(resolve(&format!("[signals]\n{wrong}\n")).is_err(), "{wrong}");
        }
        let reference = include_str!("../../../../docs/configuration.md");
        let keys = [
            "unspecified",
            "tdmrep",
            "ai_txt",
            "trust_txt",
            "licences",
            "terms",
            "purposes",
            "reference",
            "approved_by",
        ];
        let more = ["expires", "basis", "origins", "origin", "url", "reviewed_by", "reviewed_on", "digest", "verdicts"];
        for key in keys.into_iter().chain(more).chain(["note"]) {
            assert!(reference.contains(&format!("| `{key}` |")), "{key} is not documented");
        }
        let typed = ConfigFile::parse(include_str!("../../../../configs/crawl.toml"), None).unwrap();
        assert_eq!(typed.signals, resolve("").unwrap().resolved().signals, "configs/crawl.toml has the defaults");
    }
}
