use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use comity_gate::{OptOutFault, OptOutFiles};
use comity_policy::{Override, OverrideDraft, OverrideError, OverrideScope, Overrides, WallTime};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::ConfigError;

/// One `[[override]]`: a written exception for exact origins, which runs out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OverrideSection {
    /// Its name in records; default: host of the first origin and day of `created`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Exact origins, `["https://my.example"]`. Required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origins: Option<Vec<String>>,
    /// Any of `robots`, `rate`, `signals`. Required without `robots_5xx_as_404`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<Vec<String>>,
    /// A robots.txt that answers 5xx counts as absent; default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub robots_5xx_as_404: Option<bool>,
    /// `own_site`, `written_permission` or `statutory`. Required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basis: Option<String>,
    /// At least 20 characters. Required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub justification: Option<String>,
    /// Who answers for it. Required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approved_by: Option<String>,
    /// From when it holds. Required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<Moment>,
    /// From when it holds no longer, at most 366 days later. Required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<Moment>,
}

/// `[optout]`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OptoutSection {
    /// Opt-out files, relative to the folder of the configuration file. Those of all layers count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<PathBuf>>,
}

/// A day (its begin in UTC) or a moment with its zone, as TOML writes them: `2026-11-30`, `2026-11-30T09:00:00Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment(pub WallTime);

impl OptoutSection {
    /// Takes in the files of a later layer. They add up, other than lists elsewhere: no layer ends an opt-out.
    pub fn join(&mut self, later: Self) {
        if let Some(later) = later.files {
            let files = self.files.get_or_insert_default();
            later.into_iter().for_each(|file| {
                if !files.contains(&file) {
                    files.push(file)
                }
            });
        }
    }

    /// Brings relative files to `folder`.
    pub(crate) fn anchor(&mut self, folder: &Path) {
        for file in self.files.iter_mut().flatten() {
            let joined = folder.join(&*file);
            *file = std::path::absolute(&joined).unwrap_or(joined);
        }
    }
}

/// Checks every `[[override]]`.
///
/// # Errors
/// The first that cannot be used: which one, at which key, and what to write.
pub(super) fn overrides(typed: Option<&[OverrideSection]>) -> Result<Overrides, ConfigError> {
    let drafts: Vec<OverrideDraft> = typed.unwrap_or_default().iter().map(OverrideSection::draft).collect();
    Overrides::new(&drafts).map_err(ConfigError::from)
}

/// Reads every opt-out file.
///
/// # Errors
/// The first line that cannot be read, or a file that cannot.
pub(super) fn optouts(typed: &OptoutSection) -> Result<OptOutFiles, ConfigError> {
    OptOutFiles::open(typed.files.as_deref().unwrap_or_default()).map_err(ConfigError::from)
}

impl OverrideSection {
    /// The override with every key and its value in force.
    pub(super) fn of(one: &Override) -> Self {
        let scope = one.scope().iter().filter(|scope| **scope != OverrideScope::Robots5xxAs404);
        Self {
            id: Some(one.id().to_owned()),
            origins: Some(one.origins().iter().map(ToString::to_string).collect()),
            scope: Some(scope.map(|scope| scope.as_str().to_owned()).collect()),
            robots_5xx_as_404: Some(one.lifts(OverrideScope::Robots5xxAs404)),
            basis: Some(one.basis().as_str().to_owned()),
            justification: Some(one.justification().to_owned()),
            approved_by: Some(one.approved_by().to_owned()),
            created: Some(Moment(one.created())),
            expires: Some(Moment(one.expires())),
        }
    }

    fn draft(&self) -> OverrideDraft {
        OverrideDraft {
            id: self.id.clone(),
            origins: self.origins.clone().unwrap_or_default(),
            scope: self.scope.clone().unwrap_or_default(),
            robots_5xx_as_404: self.robots_5xx_as_404.unwrap_or_default(),
            basis: self.basis.clone(),
            justification: self.justification.clone(),
            approved_by: self.approved_by.clone(),
            created: self.created.map(|moment| moment.0),
            expires: self.expires.map(|moment| moment.0),
        }
    }
}

impl From<OverrideError> for ConfigError {
    fn from(error: OverrideError) -> Self {
        let origin = error.origin.map(|origin| format!(" ({origin})")).unwrap_or_default();
        let place = format!("[[override]] {}{origin}, {}", error.number, error.field);
        Self::new(error.what).at(&place).hint(format!("write {}", error.write))
    }
}

impl From<OptOutFault> for ConfigError {
    fn from(fault: OptOutFault) -> Self {
        Self::new(fault.what).at(&fault.place).hint("mend the file: nobody is left out of it silently; `comity optout list` shows every line that cannot be read")
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = match toml::Value::deserialize(deserializer)? {
            toml::Value::Datetime(moment) => moment.to_string(),
            toml::Value::String(text) => text,
            other => other.to_string(),
        };
        let whole = if text.len() == 10 { format!("{text}T00:00:00Z") } else { text.clone() };
        let wrong =
            || format!("{text:?} is no day and no moment with its zone, write 2026-11-30 or 2026-11-30T09:00:00Z");
        whole.parse().map(Self).map_err(|_| serde::de::Error::custom(wrong()))
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let moment: toml::value::Datetime = self.to_string().parse().map_err(serde::ser::Error::custom)?;
        moment.serialize(serializer)
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.to_string();
        match (text.strip_suffix("T00:00:00.000Z"), text.strip_suffix(".000Z")) {
            (Some(day), _) => f.write_str(day),
            (None, Some(second)) => write!(f, "{second}Z"),
            (None, None) => f.write_str(&text),
        }
    }
}

/// What has to be said of overrides that end soon.
///
/// # Errors
/// When one has run out already.
pub(crate) fn expiring(overrides: &Overrides, now: WallTime) -> Result<Vec<String>, ConfigError> {
    overrides.check_none_is_past(now).map_err(ConfigError::from)?;
    let soon = overrides.all().iter().filter(|one| one.expires().since(now) < ENDS_SOON);
    Ok(soon.map(|one| format!("override {} runs out at {}", one.id(), one.expires())).collect())
}

/// An override that ends within this is named at the start.
const ENDS_SOON: Duration = Duration::from_secs(14 * 24 * 3600);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ConfigFile, CrawlConfig};

    const WHO: &str =
        "[agent]\nname = \"MyBot/1.0\"\ncontact = \"a@example.com\"\n[crawl]\nseeds = [\"https://a.test/\"]\n";
    const GOOD: &str = "[[override]]\norigins = [\"https://a.test\"]\nscope = [\"robots\", \"rate\"]\n\
                        basis = \"own_site\"\njustification = \"Our own shop, before release\"\n\
                        approved_by = \"Ann\"\ncreated = 2026-11-01\nexpires = 2027-01-01T12:00:00Z\n";

    fn resolve(more: &str) -> Result<CrawlConfig, ConfigError> {
        let mut file = ConfigFile::parse(WHO, None)?;
        file.overlay(ConfigFile::parse(more, None)?);
        CrawlConfig::resolve(file)
    }

    #[test]
    fn an_override_is_read_and_written_back_whole() {
        let config = resolve(GOOD).unwrap();
        let one = &config.overrides.all()[0];
        assert_eq!((one.id(), one.expires().to_string().as_str()), ("a.test-20261101", "2027-01-01T12:00:00.000Z"));
        let text = toml::to_string_pretty(&config.resolved()).unwrap();
        assert!(text.starts_with("[[override]]\nid = \"a.test-20261101\"\n"), "{text}");
        for line in ["robots_5xx_as_404 = false", "created = 2026-11-01", "expires = 2027-01-01T12:00:00Z"] {
            assert!(text.contains(&format!("\n{line}\n")), "{line}: {text}");
        }
        let again = CrawlConfig::resolve(ConfigFile::parse(&text, None).unwrap()).unwrap();
        assert_eq!(again.overrides.all(), config.overrides.all());
        assert_eq!(again.resolved(), config.resolved(), "a crawl can be run again from its crawl.toml");
    }

    #[test]
    fn what_cannot_be_used_names_override_origin_and_field_and_says_what_to_write() {
        let without = |key: &str| {
            let kept: Vec<&str> = GOOD.lines().filter(|line| !line.starts_with(key)).collect();
            kept.join("\n")
        };
        for key in ["scope", "basis", "justification", "approved_by", "created", "expires"] {
            let error = resolve(&without(key)).unwrap_err();
            assert_eq!(error.to_string(), format!("[[override]] 1 (https://a.test), {key}: it is missing"));
            assert!(error.advice().unwrap().starts_with(&format!("write {key} = ")), "{:?}", error.advice());
        }
        let error = resolve(&without("origins")).unwrap_err();
        assert_eq!(error.to_string(), "[[override]] 1, origins: it is missing");
        let rows = [
            (GOOD.replace("https://a.test", "https://*.a.test"), "[[override]] 1 (https://*.a.test), origins: "),
            (format!("{GOOD}{}", GOOD.replace("own_site", "habit")), "[[override]] 2 (https://a.test), basis: "),
            (GOOD.replace("2027-01-01T12", "2028-01-01T12"), "[[override]] 1 (https://a.test), expires: "),
            (GOOD.replace("approved_by", "approved"), "line 6: unknown field `approved`"),
            (GOOD.replace("2026-11-01", "\"last week\""), "line 7: \"last week\" is no day"),
            (
                GOOD.replace("2026-11-01", "2026-11-01T10:00:00"),
                "line 7: \"2026-11-01T10:00:00\" is no day and no moment",
            ),
            (GOOD.replace("2026-11-01", "20261101"), "line 7: \"20261101\" is no day"),
        ];
        for (text, says) in rows {
            let error = resolve(&text).unwrap_err();
            assert!(error.to_string().starts_with(says), "{says}: {error}");
        }
        assert!(resolve(&GOOD.replace("2026-11-01", "\"2026-11-01\"")).is_ok(), "a day as text is a day");
        assert!(resolve(&GOOD.replace("scope = [\"robots\", \"rate\"]", "robots_5xx_as_404 = true")).is_ok());
    }

    #[test]
    fn opt_out_files_of_all_layers_count_and_belong_to_the_folder_of_their_file() {
        let dir = std::env::temp_dir().join(format!("comity-optout-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let path = dir.join("c.toml");
        std::fs::write(&path, "[optout]\nfiles = [\"optout.jsonl\", \"/abs/none.jsonl\"]\n").unwrap();
        let mut file = ConfigFile::parse(WHO, None).unwrap();
        file.overlay(
            ConfigFile::parse("[optout]\nfiles = [\"/abs/none.jsonl\", \"/abs/more.jsonl\"]\n", None).unwrap(),
        );
        file.overlay(ConfigFile::read(&path).unwrap());
        let paths: Vec<PathBuf> = ["/abs/none.jsonl", "/abs/more.jsonl"].map(PathBuf::from).into();
        assert_eq!(file.optout.files, Some([paths, vec![dir.join("optout.jsonl")]].concat()));
        let config = CrawlConfig::resolve(file.clone()).unwrap();
        assert_eq!(config.notes.iter().filter(|note| note.contains("does not exist yet")).count(), 3);
        assert_eq!(config.resolved().optout, file.optout);
        std::fs::write(dir.join("optout.jsonl"), "\nno json\n").unwrap();
        let error = CrawlConfig::resolve(file).unwrap_err();
        let place = format!("{}:2: it is no JSON object", dir.join("optout.jsonl").display());
        assert_eq!(error.to_string(), place);
        std::fs::remove_dir_all(&dir).unwrap();
        let relative = ConfigFile::parse("[optout]\nfiles = [\"o.jsonl\"]\n", None).unwrap();
        let mut file = ConfigFile::parse(WHO, None).unwrap();
        file.overlay(relative);
        let here = std::env::current_dir().unwrap().join("o.jsonl");
        assert_eq!(CrawlConfig::resolve(file).unwrap().resolved().optout.files, Some(vec![here]));
    }
}
