//! What changed between the configuration that a crawl began with and the one it is to go on with.

use std::collections::BTreeMap;
use std::fmt;

use super::keys::{self, Unset};
use super::{ConfigError, ConfigFile};

/// Keys that say what the crawl means: who asks, what for, where, and by which rules. A URL that was decided under one
/// value must not stand beside one decided under another without anybody having said so. Our choice: everything else
/// (paces, limits, archive) only says how fast and how long.
const MEANING: [&str; 30] = [
    "agent.name",
    "agent.contact",
    "agent.tokens",
    "agent.purposes",
    "crawl.scope",
    "crawl.include",
    "crawl.exclude",
    "robots.dialect",
    "robots.strict_4xx",
    "robots.on_unreachable",
    "keys.tracking",
    "keys.sessions",
    "keys.clean_param",
    "signals.unspecified",
    "signals.tdmrep",
    "signals.ai_txt",
    "signals.trust_txt",
    "signals.licences",
    "signals.profile",
    "signals.aipref_legacy",
    "signals.signal_lenient_values",
    "signals.infer_from_ai_tokens",
    "signals.infer_min_tokens",
    "signals.content_use_level",
    "signals.rsl_user",
    "signals.rsl_geo",
    "signals.satisfies",
    "override",
    "grant",
    "terms",
];

/// One key, before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    key: String,
    before: Option<String>,
    after: Option<String>,
}

impl Change {
    /// `section.key`.
    pub(super) fn key(&self) -> &str {
        &self.key
    }

    /// True when the crawl would mean something else.
    pub(super) fn changes_meaning(&self) -> bool {
        // Crawls of earlier versions do not name what they did by default.
        let is_new = self.key.starts_with("signals.") && self.before.is_none() && self.after == default_of(&self.key);
        MEANING.contains(&self.key.as_str()) && !is_new
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "(not set)".to_owned());
        write!(f, "{}: {} -> {}", self.key, shown(&self.before), shown(&self.after))
    }
}

/// Every key whose value is another, in order of the keys. Both are resolved configurations.
pub(crate) fn changes(before: &ConfigFile, after: &ConfigFile) -> Vec<Change> {
    let (before, after) = (values(before), values(after));
    let names: std::collections::BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let change =
        |key: &String| Change { key: key.clone(), before: before.get(key).cloned(), after: after.get(key).cloned() };
    names.into_iter().map(change).filter(|change| change.before != change.after).collect()
}

/// Notes that tell the changes.
///
/// # Errors
/// When one would change what the crawl means, and nobody accepted that.
pub(crate) fn accept(changes: &[Change], accepted: bool) -> Result<Vec<String>, ConfigError> {
    let refused: Vec<&Change> = changes.iter().filter(|change| change.changes_meaning() && !accepted).collect();
    if refused.is_empty() {
        return Ok(changes.iter().map(|change| format!("changed since the crawl began: {change}")).collect());
    }
    let told: Vec<String> = refused.iter().map(ToString::to_string).collect();
    let text = format!("the crawl in this directory began under another configuration: {}", told.join("; "));
    Err(ConfigError::new(text)
        .at("--dir")
        .hint("go on as it began, or say --accept-config; what was decided so far stays as it was decided"))
}

/// What a key that is not written stands for, as TOML.
fn default_of(key: &str) -> Option<String> {
    match keys::find(key)?.1.default {
        Unset::Value(value) => Some(value.to_owned()),
        _ => None,
    }
}

/// `section.key` → its value as TOML.
fn values(file: &ConfigFile) -> BTreeMap<String, String> {
    let mut keys = BTreeMap::new();
    for (section, value) in file.table() {
        match value {
            toml::Value::Table(table) => {
                keys.extend(table.into_iter().map(|(key, value)| (format!("{section}.{key}"), value.to_string())));
            }
            other => {
                keys.insert(section, other.to_string());
            }
        }
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> ConfigFile {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn what_changes_the_meaning_is_refused_and_everything_is_told() {
        let before = "[agent]\nname = \"A/1\"\ncontact = \"https://a.test/\"\npurposes = [\"search\"]\n[crawl]\nseeds = [\"https://a.test/\"]\nscope = \"origins\"\nmax_pages = 5\n[robots]\ndialect = \"standard\"\n";
        let table = [
            ("max_pages = 5", "max_pages = 9", "crawl.max_pages: 5 -> 9", false),
            ("[robots]", "linger = \"1m\"\n[robots]", "crawl.linger: (not set) -> \"1m\"", false),
            ("A/1", "B/1", "agent.name: \"A/1\" -> \"B/1\"", true),
            ("[\"search\"]", "[\"tdm\"]", "agent.purposes: [\"search\"] -> [\"tdm\"]", true),
            ("\"origins\"", "\"any\"", "crawl.scope: \"origins\" -> \"any\"", true),
            ("\"standard\"", "\"google\"", "robots.dialect: \"standard\" -> \"google\"", true),
            ("[robots]", "[keys]\nsessions = true\n[robots]", "keys.sessions: (not set) -> true", true),
            (
                "[robots]",
                "[signals]\nprofile = \"literal\"\n[robots]",
                "signals.profile: (not set) -> \"literal\"",
                true,
            ),
            (
                "[robots]",
                "[signals]\nprofile = \"cautious\"\n[robots]",
                "signals.profile: (not set) -> \"cautious\"",
                false,
            ),
            ("[robots]", "[signals]\nsatisfies = []\n[robots]", "signals.satisfies: (not set) -> []", false),
            ("[robots]", "[signals]\nrsl_geo = \"DE\"\n[robots]", "signals.rsl_geo: (not set) -> \"DE\"", true),
            ("[robots]", "exclude = [\"*x*\"]\n[robots]", "crawl.exclude: (not set) -> [\"*x*\"]", true),
        ];
        assert_eq!(changes(&file(before), &file(before)), []);
        for (old, new, told, is_refused) in table {
            let changes = changes(&file(before), &file(&before.replace(old, new)));
            assert_eq!(changes.iter().map(ToString::to_string).collect::<Vec<_>>(), [told]);
            match accept(&changes, false) {
                Ok(notes) => assert!(!is_refused && notes[0].contains(told), "{notes:?}"),
                Err(error) => assert!(is_refused && error.to_string().contains(told), "{error}"),
            }
            assert!(accept(&changes, true).unwrap()[0].contains(told));
        }
    }
}
