use std::fmt;
use std::path::PathBuf;

/// A configuration that cannot be used. `Display` is one line per cause, the last one says what to do.
#[derive(Debug)]
pub struct ConfigError {
    place: Option<String>,
    what: String,
    hint: Option<String>,
}

impl ConfigError {
    /// What is wrong, in one line.
    #[must_use]
    pub fn new(what: impl fmt::Display) -> Self {
        Self { place: None, what: what.to_string(), hint: None }
    }

    /// At which key: `[crawl] scope`.
    #[must_use]
    pub fn at(mut self, place: &str) -> Self {
        self.place = Some(place.to_owned());
        self
    }

    /// What to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// At which key, as it was told.
    pub(crate) fn place(&self) -> Option<&str> {
        self.place.as_deref()
    }

    /// What is wrong, without its place.
    pub(crate) fn what(&self) -> &str {
        &self.what
    }

    /// What to do next, if there is an obvious step.
    #[must_use]
    pub fn advice(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// An error of the TOML reader, with the nearest known name where a key is unknown.
    pub(crate) fn from_toml(file: Option<&PathBuf>, text: &str, error: &toml::de::Error) -> Self {
        let line = error.span().map(|span| text.bytes().take(span.start).filter(|b| *b == b'\n').count() + 1);
        let place = match (file, line) {
            (Some(file), Some(line)) => format!("{}:{line}", file.display()),
            (Some(file), None) => file.display().to_string(),
            (None, Some(line)) => format!("line {line}"),
            (None, None) => "configuration".to_owned(),
        };
        Self::of_toml(&place, error)
    }

    /// The same at a place that is known already.
    pub(super) fn of_toml(place: &str, error: &toml::de::Error) -> Self {
        let message = without_logins(error.message().lines().next().unwrap_or_default());
        let made = Self::new(&message).at(place);
        match nearest(&message) {
            Some(name) => made.hint(format!("did you mean `{name}`?")),
            None => made,
        }
    }
}

/// serde's message about a value of the wrong type, without the value where it may hold a login (`http://user:password@…`).
fn without_logins(message: &str) -> String {
    let parts = message.split_once('"').and_then(|(before, rest)| Some((before, rest.rsplit_once('"')?)));
    match parts {
        Some((before, (value, after))) if value.contains('@') => format!("{before}(withheld){after}"),
        _ => message.to_owned(),
    }
}

/// The known name that is nearest to the unknown one in serde's message, when one is near at all.
fn nearest(message: &str) -> Option<&str> {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let unknown = quoted.next().filter(|_| message.starts_with("unknown "))?;
    super::near::nearest(unknown, quoted, 0.75)
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => write!(f, "{place}: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

impl std::error::Error for ConfigError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_key_is_offered_and_only_when_it_is_near() {
        let rows = [
            ("unknown field `dealy`, expected one of `delay`, `total`", Some("delay")),
            ("unknown field `xyzzy`, expected one of `delay`, `total`", None),
            ("invalid type: string \"x\", expected `delay`", None),
        ];
        for (message, name) in rows {
            assert_eq!(nearest(message), name, "{message}");
        }
    }

    #[test]
    fn no_login_is_told_with_a_wrong_type() {
        let rows = [
            (
                "invalid type: string \"http://u:s3\\\"cret@h:1\", expected a sequence",
                "invalid type: string (withheld), expected a sequence",
            ),
            ("invalid type: string \"a@b\"", "invalid type: string (withheld)"),
            ("invalid type: string \"yes\", expected a boolean", "invalid type: string \"yes\", expected a boolean"),
            ("unknown field `x`, expected `y`", "unknown field `x`, expected `y`"),
        ];
        for (message, told) in rows {
            assert_eq!(without_logins(message), told);
        }
    }
}
