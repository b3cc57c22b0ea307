use std::fmt;
use std::str::FromStr;

use comity_url::{CrawlUrl, Origin, Scheme};

/// Where a key directory is found on its origin.
pub(super) const WELL_KNOWN: &str = "/.well-known/http-message-signatures-directory";

/// The https URL that vouches for the signing key, sent as `Signature-Agent`.
///
/// Two forms, since the draft changed between its versions (docs/decisions/0025-web-bot-auth.md): the bare origin, below
/// which a verifier of version 00 looks for the well-known directory, or the directory's own URL, which one of version 01
/// fetches as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignatureAgent {
    origin: Origin,
    form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Origin,
    Directory,
}

impl SignatureAgent {
    /// The URL as sent.
    #[must_use]
    pub fn url(&self) -> String {
        match self.form {
            Form::Origin => self.origin.as_str().to_owned(),
            Form::Directory => self.directory(),
        }
    }

    /// Where the key directory has to be served.
    #[must_use]
    pub fn directory(&self) -> String {
        format!("{}{WELL_KNOWN}", self.origin.as_str())
    }

    /// The path of [`SignatureAgent::directory`].
    #[must_use]
    pub const fn directory_path(&self) -> &'static str {
        WELL_KNOWN
    }

    /// The origin that vouches for the key.
    #[must_use]
    pub const fn origin(&self) -> &Origin {
        &self.origin
    }
}

impl FromStr for SignatureAgent {
    type Err = AgentError;

    fn from_str(text: &str) -> Result<Self, AgentError> {
        let wrong = |why: &'static str| AgentError { text: text.to_owned(), why };
        // CrawlUrl would drop the first two silently.
        if text.contains(['#', '@', '?']) {
            return Err(wrong("has a user, a query or a fragment"));
        }
        let url = CrawlUrl::parse(text).map_err(|_| wrong("is no URL"))?;
        if url.origin().scheme() != Scheme::Https {
            return Err(wrong("is not https"));
        }
        let form = match url.request_target() {
            "/" => Form::Origin,
            WELL_KNOWN => Form::Directory,
            _ => return Err(wrong("has another path")),
        };
        Ok(Self { origin: url.origin().clone(), form })
    }
}

/// A text that is no [`SignatureAgent`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentError {
    text: String,
    why: &'static str,
}

impl fmt::Display for AgentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, why } = self;
        write!(
            f,
            "{text:?} {why}; write the https origin that serves the key directory, or the URL of its {WELL_KNOWN}"
        )
    }
}

impl std::error::Error for AgentError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_forms_are_sent_as_given_and_nothing_else_is_taken() {
        let rows = [
            ("https://bot.example.com", Some("https://bot.example.com")),
            ("https://Bot.Example.com/", Some("https://bot.example.com")),
            ("https://bot.example.com:8443", Some("https://bot.example.com:8443")),
            (
                "https://bot.example.com/.well-known/http-message-signatures-directory",
                Some("https://bot.example.com/.well-known/http-message-signatures-directory"),
            ),
            ("http://bot.example.com", None),
            ("bot.example.com", None),
            ("https://bot.example.com/jwks.json", None),
            ("https://bot.example.com/?a", None),
            ("https://bot.example.com/#a", None),
            ("https://me@bot.example.com/", None),
            ("https://bot.example.com/\"", None),
            ("", None),
        ];
        for (text, sent) in rows {
            let agent = text.parse::<SignatureAgent>();
            assert_eq!(agent.as_ref().map(SignatureAgent::url).ok().as_deref(), sent, "{text}");
            if let Ok(agent) = agent {
                assert!(agent.directory().ends_with(WELL_KNOWN));
            }
        }
    }
}
