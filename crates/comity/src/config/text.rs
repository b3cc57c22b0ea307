//! A configuration as text, and back. Everybody goes through here: each way of reading or writing two hundred keys is a tenth of
//! this crate's machine code, and would be compiled again in every program that took one of its own.

use std::path::PathBuf;

use toml::Table;

use super::{ConfigError, ConfigFile};

impl ConfigFile {
    /// Reads a configuration text; `file` only names it in errors.
    ///
    /// # Errors
    /// Broken TOML, an unknown key (the nearest known name is offered), a value of the wrong kind: with its line.
    pub fn parse(text: &str, file: Option<&PathBuf>) -> Result<Self, ConfigError> {
        Self::of_text(text).map_err(|error| ConfigError::from_toml(file, text, &error))
    }

    /// The same, with the reader's own words.
    pub(crate) fn of_text(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text)
    }

    /// What was read as TOML already, from no file: errors name no line.
    pub(super) fn of_table(table: &Table) -> Result<Self, ConfigError> {
        Self::of_text(&table.to_string()).map_err(|error| ConfigError::of_toml("configuration", &error))
    }

    /// Its keys as TOML, those that are set; in the order of the reference.
    ///
    /// # Errors
    /// When a number is larger than TOML's 2^63 - 1.
    pub fn to_toml(&self) -> Result<String, ConfigError> {
        toml::to_string_pretty(self).map_err(|error| ConfigError::new(format!("it cannot be written as TOML: {error}")))
    }

    /// [`ConfigFile::to_toml`], read again; empty where it cannot be written.
    pub(crate) fn table(&self) -> Table {
        self.to_toml().ok().and_then(|text| text.parse().ok()).unwrap_or_default()
    }
}
