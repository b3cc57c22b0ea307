//! How far `[signals]` reads signals beyond their own words, and which conditions of licences are met (signals reference §1.5).

use comity_signals::{LegacyLabels, OthersTokens, Profile, RslConditions, SignalOptions, UseCeiling};

use super::keys::{self, Kind};
use super::resolve::one_of;
use super::{ConfigError, SignalSettings, SignalsSection};

const PROFILES: [(&str, Profile); 2] = [("cautious", Profile::Cautious), ("literal", Profile::Literal)];
const LEGACY: [(&str, LegacyLabels); 2] = [("ignore", LegacyLabels::Ignore), ("map", LegacyLabels::Map)];

/// What groups for the agents of others are taken for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Infer {
    Record,
    Off,
    Deny,
}

const INFER: [(&str, Infer); 3] = [("record", Infer::Record), ("off", Infer::Off), ("deny", Infer::Deny)];
/// More agents than any file names.
const MOST_TOKENS: u32 = 1000;

pub(super) fn options(typed: &SignalsSection) -> Result<SignalOptions, ConfigError> {
    let least = typed.infer_min_tokens.unwrap_or(1);
    if !(1..=MOST_TOKENS).contains(&least) {
        let error = ConfigError::new(format!("{least} is not from 1 to {MOST_TOKENS}"));
        return Err(error.at("[signals] infer_min_tokens").hint("how many agents of others a site has to refuse"));
    }
    let others_tokens = match one_of("[signals] infer_from_ai_tokens", typed.infer_from_ai_tokens.as_deref(), &INFER)? {
        Infer::Record => OthersTokens::Record,
        Infer::Off => OthersTokens::Off,
        Infer::Deny => OthersTokens::Deny { least },
    };
    if typed.infer_min_tokens.is_some_and(|least| least > 1) && !matches!(others_tokens, OthersTokens::Deny { .. }) {
        let error = ConfigError::new("it counts for denials alone, and none is drawn").at("[signals] infer_min_tokens");
        return Err(error.hint("write infer_from_ai_tokens = \"deny\", or leave it out"));
    }
    Ok(SignalOptions {
        profile: one_of("[signals] profile", typed.profile.as_deref(), &PROFILES)?,
        aipref_legacy: one_of("[signals] aipref_legacy", typed.aipref_legacy.as_deref(), &LEGACY)?,
        signal_lenient_values: typed.signal_lenient_values.unwrap_or_default(),
        others_tokens,
    })
}

const LEVELS: [(&str, Option<UseCeiling>); 4] = [
    ("undeclared", None),
    ("immediate", Some(UseCeiling::Immediate)),
    ("reference", Some(UseCeiling::Reference)),
    ("full", Some(UseCeiling::Full)),
];

/// The most that is done with content.
pub(super) fn level(typed: &SignalsSection) -> Result<Option<UseCeiling>, ConfigError> {
    one_of("[signals] content_use_level", typed.content_use_level.as_deref(), &LEVELS)
}

/// What the operator is and does, for licences that ask.
pub(super) fn conditions(typed: &SignalsSection) -> Result<RslConditions, ConfigError> {
    let word = |key: &str, typed: &str| {
        let words = match keys::find(&format!("signals.{key}")).map(|(_, key)| key.kind) {
            Some(Kind::Choice(words) | Kind::Choices(words)) => words,
            _ => &[],
        };
        let known = words.iter().map(|word| (*word, *word)).collect::<Vec<_>>();
        one_of(&format!("[signals] {key}"), Some(typed), &known).map(str::to_owned)
    };
    let region = typed.rsl_geo.clone();
    if let Some(wrong) = region.as_ref().filter(|own| own.len() != 2 || !own.bytes().all(|b| b.is_ascii_uppercase())) {
        let error = ConfigError::new(format!("{wrong:?} is no region")).at("[signals] rsl_geo");
        return Err(error.hint("two capital letters of ISO 3166-1, or EU"));
    }
    let met = typed.satisfies.iter().flatten().map(|one| word("satisfies", one));
    Ok(RslConditions {
        user: typed.rsl_user.as_deref().map(|own| word("rsl_user", own)).transpose()?,
        region,
        satisfies: met.collect::<Result<_, _>>()?,
    })
}

/// Every key with its value in force.
pub(super) fn resolved(settings: &SignalSettings, file: &mut SignalsSection) {
    let SignalOptions { profile, aipref_legacy, signal_lenient_values, others_tokens } = settings.options;
    let (infer, least) = match others_tokens {
        OthersTokens::Record => (Infer::Record, 1),
        OthersTokens::Off => (Infer::Off, 1),
        OthersTokens::Deny { least } => (Infer::Deny, least.max(1)),
    };
    file.profile = Some(profile.as_str().to_owned());
    file.aipref_legacy = word_of(&LEGACY, aipref_legacy);
    file.signal_lenient_values = Some(signal_lenient_values);
    (file.infer_from_ai_tokens, file.infer_min_tokens) = (word_of(&INFER, infer), Some(least));
    file.content_use_level = Some(settings.level.map_or("undeclared", UseCeiling::as_str).to_owned());
    let RslConditions { user, region, satisfies } = settings.conditions.clone();
    (file.rsl_user, file.rsl_geo, file.satisfies) = (user, region, Some(satisfies));
}

fn word_of<T: Copy + PartialEq>(words: &[(&str, T)], wanted: T) -> Option<String> {
    words.iter().find(|(_, value)| *value == wanted).map(|(word, _)| (*word).to_owned())
}

#[cfg(test)]
mod tests {
    use crate::config::{ConfigError, ConfigFile, CrawlConfig};

    use super::*;

    const GOOD: &str = "[agent]\nname = \"MyBot/1.0\"\ncontact = \"https://example.com/bot\"\n[crawl]\nseeds = [\"https://a.test/\"]\n";

    fn resolve(more: &str) -> Result<CrawlConfig, ConfigError> {
        CrawlConfig::resolve(ConfigFile::parse(&format!("{GOOD}[signals]\n{more}\n"), None)?)
    }

    #[test]
    fn each_knob_is_read_and_shown_again() {
        let default = SignalOptions::default();
        let rows = [
            ("profile = \"literal\"", SignalOptions { profile: Profile::Literal, ..default }),
            ("aipref_legacy = \"map\"", SignalOptions { aipref_legacy: LegacyLabels::Map, ..default }),
            ("signal_lenient_values = true", SignalOptions { signal_lenient_values: true, ..default }),
            ("infer_from_ai_tokens = \"off\"", SignalOptions { others_tokens: OthersTokens::Off, ..default }),
            (
                "infer_from_ai_tokens = \"deny\"",
                SignalOptions { others_tokens: OthersTokens::Deny { least: 1 }, ..default },
            ),
            (
                "infer_from_ai_tokens = \"deny\"\ninfer_min_tokens = 3",
                SignalOptions { others_tokens: OthersTokens::Deny { least: 3 }, ..default },
            ),
            ("", default),
        ];
        for (text, wanted) in rows {
            let read = resolve(text).unwrap();
            assert_eq!(read.signals.options, wanted, "{text}");
            assert_eq!(options(&read.resolved().signals).unwrap(), wanted, "{text}");
        }
    }

    #[test]
    fn conditions_are_read_and_shown_again() {
        let none = RslConditions::default();
        let rows = [
            ("", none.clone()),
            ("rsl_user = \"non-commercial\"", RslConditions { user: Some("non-commercial".into()), ..none.clone() }),
            ("rsl_geo = \"EU\"", RslConditions { region: Some("EU".into()), ..none.clone() }),
            (
                "satisfies = [\"attribution\", \"server\"]",
                RslConditions { satisfies: vec!["attribution".into(), "server".into()], ..none },
            ),
        ];
        for (text, wanted) in rows {
            let read = resolve(text).unwrap();
            assert_eq!(read.signals.conditions, wanted, "{text}");
            assert_eq!(conditions(&read.resolved().signals).unwrap(), wanted, "{text}");
        }
    }

    #[test]
    fn a_level_is_read_and_shown_again() {
        for (word, wanted) in LEVELS {
            let read = resolve(&format!("content_use_level = \"{word}\"")).unwrap();
            assert_eq!((read.signals.level, level(&read.resolved().signals).unwrap()), (wanted, wanted));
        }
        assert_eq!(resolve("").unwrap().signals.level, None);
    }

    #[test]
    fn what_is_no_value_is_refused_at_its_key() {
        let rows = [
            ("profile = \"bold\"", "profile"),
            ("aipref_legacy = \"deny\"", "aipref_legacy"),
            ("infer_from_ai_tokens = \"maybe\"", "infer_from_ai_tokens"),
            ("infer_from_ai_tokens = \"deny\"\ninfer_min_tokens = 0", "infer_min_tokens"),
            ("infer_from_ai_tokens = \"deny\"\ninfer_min_tokens = 1001", "infer_min_tokens"),
            ("infer_min_tokens = 2", "infer_min_tokens"),
            ("content_use_level = \"all\"", "content_use_level"),
            ("rsl_user = \"any\"", "rsl_user"),
            ("rsl_geo = \"eu\"", "rsl_geo"),
            ("rsl_geo = \"Europe\"", "rsl_geo"),
            ("satisfies = [\"money\"]", "satisfies"),
        ];
        for (text, key) in rows {
            let error = resolve(text).unwrap_err().to_string();
            assert!(error.contains(key), "{text}: {error}");
        }
    }
}
