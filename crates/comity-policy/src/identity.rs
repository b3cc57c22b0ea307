use std::fmt;

use comity_robots::{KnownAgent, ProductToken};
use comity_signals::Declared;

/// Who we are towards a site: what is sent as User-Agent, matched in robots.txt, and declared as purpose.
///
/// comity impersonates nobody: a name or token of a known crawler, or a browser's, is refused (design §6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    name: String,
    contact: String,
    tokens: Vec<ProductToken>,
    purposes: Vec<Declared>,
    from: Option<String>,
}

/// Why an identity is refused. `Display` says what to do instead.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdentityError {
    /// No name was given.
    NameMissing,
    /// The name holds a byte that no User-Agent may hold, or is longer than 200 bytes.
    NameInvalid(String),
    /// No contact was given.
    ContactMissing,
    /// The contact is neither an http(s) URL nor an e-mail address.
    ContactInvalid(String),
    /// The From address is no e-mail address.
    FromInvalid(String),
    /// A token has other characters than `A-Z a-z _ -`.
    TokenInvalid(String),
    /// A token does not occur in the User-Agent (RFC 9309 §2.2.1).
    TokenNotInName {
        /// The token.
        token: String,
        /// The User-Agent that lacks it.
        user_agent: String,
    },
    /// Name or token is that of a known crawler or of a browser.
    Impersonation(String),
}

/// Words that only browsers' User-Agents begin with or carry.
const BROWSERS: [&str; 7] = ["mozilla", "applewebkit", "chrome", "firefox", "safari", "edg", "opera"];

impl Identity {
    /// Checks and builds an identity. Without tokens, the one at the head of the name is taken (`MyBot/1.0`: `MyBot`).
    ///
    /// # Errors
    /// Every rule of [`IdentityError`]; the first that is broken.
    pub fn new(name: &str, contact: &str, tokens: &[String], purposes: Vec<Declared>) -> Result<Self, IdentityError> {
        let (name, contact) = (name.trim(), contact.trim());
        check_name(name)?;
        check_contact(contact)?;
        let tokens = if tokens.is_empty() { vec![head_token(name)?] } else { parse_tokens(tokens)? };
        let identity = Self { name: name.to_owned(), contact: contact.to_owned(), tokens, purposes, from: None };
        identity.check_own_name()?;
        Ok(identity)
    }

    /// The same identity that also sends an e-mail address as From (RFC 9110 §10.1.2).
    ///
    /// # Errors
    /// [`IdentityError::FromInvalid`].
    pub fn with_from(self, from: &str) -> Result<Self, IdentityError> {
        let from = from.trim();
        if is_plain(from) && is_mail(from) {
            Ok(Self { from: Some(from.to_owned()), ..self })
        } else {
            Err(IdentityError::FromInvalid(from.to_owned()))
        }
    }

    /// The User-Agent as sent: `MyBot/1.0 (+https://example.com/bot)`.
    #[must_use]
    pub fn user_agent(&self) -> String {
        format!("{} (+{})", self.name, self.contact)
    }

    /// Name and version as configured.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The contact URL or e-mail address.
    #[must_use]
    pub fn contact(&self) -> &str {
        &self.contact
    }

    /// What is sent as From, if anything.
    #[must_use]
    pub fn from(&self) -> Option<&str> {
        self.from.as_deref()
    }

    /// The ordered fallback of product tokens; never empty.
    #[must_use]
    pub fn tokens(&self) -> &[ProductToken] {
        &self.tokens
    }

    /// What the content is wanted for.
    #[must_use]
    pub fn purposes(&self) -> &[Declared] {
        &self.purposes
    }

    fn check_own_name(&self) -> Result<(), IdentityError> {
        let user_agent = self.user_agent();
        for token in self.tokens.iter().map(ProductToken::as_str) {
            if is_known_agent(token) || is_browser(token) {
                return Err(IdentityError::Impersonation(token.to_owned()));
            }
            if !contains_ignoring_case(&user_agent, token) {
                return Err(IdentityError::TokenNotInName { token: token.to_owned(), user_agent });
            }
        }
        let own = |word: &str| self.tokens.iter().any(|token| token.as_str().eq_ignore_ascii_case(word));
        match words(&self.name).find(|word| !own(word) && (is_known_agent(word) || is_browser(word))) {
            Some(word) => Err(IdentityError::Impersonation(word.to_owned())),
            None => Ok(()),
        }
    }
}

/// True when `token` is a crawler of the known-agents table.
fn is_known_agent(token: &str) -> bool {
    KnownAgent::find(token).is_some()
}

fn is_browser(word: &str) -> bool {
    BROWSERS.iter().any(|browser| browser.eq_ignore_ascii_case(word))
}

fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))).filter(|w| !w.is_empty())
}

fn check_name(name: &str) -> Result<(), IdentityError> {
    if name.is_empty() {
        return Err(IdentityError::NameMissing);
    }
    let sendable = name.bytes().all(|b| (0x20..0x7f).contains(&b));
    if sendable && name.len() <= 200 { Ok(()) } else { Err(IdentityError::NameInvalid(name.to_owned())) }
}

fn check_contact(contact: &str) -> Result<(), IdentityError> {
    if contact.is_empty() {
        return Err(IdentityError::ContactMissing);
    }
    let url = contact.strip_prefix("https://").or_else(|| contact.strip_prefix("http://"));
    let is_url = url.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'));
    let is_contact = is_url || is_mail(contact.strip_prefix("mailto:").unwrap_or(contact));
    if is_plain(contact) && is_contact { Ok(()) } else { Err(IdentityError::ContactInvalid(contact.to_owned())) }
}

/// What can stand in the comment of a User-Agent and in a field of its own.
fn is_plain(text: &str) -> bool {
    text.len() <= 300 && text.bytes().all(|b| b.is_ascii_graphic() && !matches!(b, b'(' | b')'))
}

fn is_mail(text: &str) -> bool {
    text.split_once('@').is_some_and(|(user, host)| {
        !user.is_empty() && !user.contains(':') && host.contains('.') && !host.contains(['@', '/'])
    })
}

fn head_token(name: &str) -> Result<ProductToken, IdentityError> {
    let word = name.split(['/', ' ']).next().unwrap_or_default();
    ProductToken::new(word).map_err(|_| IdentityError::TokenInvalid(word.to_owned()))
}

fn parse_tokens(tokens: &[String]) -> Result<Vec<ProductToken>, IdentityError> {
    tokens.iter().map(|t| ProductToken::new(t).map_err(|_| IdentityError::TokenInvalid(t.clone()))).collect()
}

fn contains_ignoring_case(text: &str, part: &str) -> bool {
    text.as_bytes().windows(part.len().max(1)).any(|window| window.eq_ignore_ascii_case(part.as_bytes()))
}

impl fmt::Display for IdentityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NameMissing => f.write_str("no agent name: sites must be able to tell who asks; set [agent] name = \"MyBot/1.0\""),
            Self::NameInvalid(name) => write!(f, "agent name {name:?} cannot be sent: printable ASCII, at most 200 bytes"),
            Self::ContactMissing => f.write_str(
                "no contact: sites must be able to reach you; set [agent] contact to a URL or an e-mail address, or run `comity init`",
            ),
            Self::ContactInvalid(contact) => {
                write!(f, "contact {contact:?} is neither an http(s) URL nor an e-mail address")
            }
            Self::FromInvalid(from) => write!(f, "from {from:?} is no e-mail address"),
            Self::TokenInvalid(token) => write!(
                f,
                "product token {token:?} can never be named in a robots.txt: only A-Z a-z _ - count (RFC 9309 §2.2.1); set [agent] tokens"
            ),
            Self::TokenNotInName { token, user_agent } => write!(
                f,
                "product token {token:?} does not occur in the User-Agent {user_agent:?} (RFC 9309 §2.2.1), so a site could not know whom to name"
            ),
            Self::Impersonation(word) => {
                write!(f, "{word:?} is the name of somebody else's crawler or browser: comity impersonates nobody, choose your own")
            }
        }
    }
}

impl std::error::Error for IdentityError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(name: &str, contact: &str, tokens: &[&str]) -> Result<Identity, IdentityError> {
        Identity::new(name, contact, &tokens.iter().map(ToString::to_string).collect::<Vec<_>>(), Vec::new())
    }

    #[test]
    fn a_plain_identity_is_taken_and_sent_whole() {
        let own = identity("MyBot/1.0", "https://example.com/bot", &[]).unwrap();
        assert_eq!(own.user_agent(), "MyBot/1.0 (+https://example.com/bot)");
        assert_eq!(own.tokens().iter().map(ProductToken::as_str).collect::<Vec<_>>(), ["MyBot"]);
        assert!(identity("MyBot/1.0", "bot@example.com", &["mybot"]).is_ok(), "case does not matter");
    }

    #[test]
    fn from_is_an_address_or_nothing() {
        let own = identity("MyBot/1.0", "https://example.com/bot", &[]).unwrap();
        assert_eq!(own.from(), None);
        assert_eq!(own.clone().with_from(" bot@example.com ").unwrap().from(), Some("bot@example.com"));
        for text in [
            "",
            "bot",
            "bot@host",
            "@example.com",
            "a@b@example.com",
            "a b@example.com",
            "a@b.c\r\nX: y",
            "mailto:a@b.c",
        ] {
            let refused = own.clone().with_from(text);
            assert!(matches!(refused, Err(IdentityError::FromInvalid(_))), "{text}");
        }
    }

    #[test]
    fn what_is_refused_and_as_what() {
        type Check = fn(&IdentityError) -> bool;
        let rows: [(&str, &str, &[&str], Check); 12] = [
            ("", "a@b.c", &[], |e| matches!(e, IdentityError::NameMissing)),
            ("My\nBot", "a@b.c", &[], |e| matches!(e, IdentityError::NameInvalid(_))),
            ("MyBot", "", &[], |e| matches!(e, IdentityError::ContactMissing)),
            ("MyBot", "call me", &[], |e| matches!(e, IdentityError::ContactInvalid(_))),
            ("MyBot", "https://", &[], |e| matches!(e, IdentityError::ContactInvalid(_))),
            ("Bot2/1.0", "a@b.c", &[], |e| matches!(e, IdentityError::TokenInvalid(_))),
            ("MyBot", "a@b.c", &["My Bot"], |e| matches!(e, IdentityError::TokenInvalid(_))),
            ("MyBot", "a@b.c", &["OtherBot"], |e| matches!(e, IdentityError::TokenNotInName { .. })),
            ("Googlebot/2.1", "a@b.c", &[], |e| matches!(e, IdentityError::Impersonation(_))),
            ("MyBot GPTBot", "a@b.c", &["MyBot"], |e| matches!(e, IdentityError::Impersonation(_))),
            ("Mozilla/5.0 MyBot", "a@b.c", &["MyBot"], |e| matches!(e, IdentityError::Impersonation(_))),
            ("MyBot", "a@b.c", &["MyBot", "gptbot"], |e| matches!(e, IdentityError::Impersonation(_))),
        ];
        for (name, contact, tokens, check) in rows {
            let error = identity(name, contact, tokens).unwrap_err();
            assert!(check(&error), "{name:?} {contact:?} {tokens:?}: {error:?}");
            assert!(!error.to_string().ends_with('.'));
        }
    }
}
