//! Product tokens: the names that a user-agent line can hold.

use alloc::boxed::Box;
use core::fmt;
use core::hash::{Hash, Hasher};

use crate::bytes::{is_space, is_token_byte, split_while};

/// The name of a crawler as robots.txt knows it: one or more of `A-Z a-z _ -` (RFC 9309 §2.2.1).
///
/// Compared and hashed without ASCII case; shown as written.
#[derive(Clone, Debug)]
pub struct ProductToken(Box<str>);

impl ProductToken {
    /// Takes `text` exactly as it is.
    ///
    /// # Errors
    /// [`TokenError`] when `text` is empty or holds any other character: no file can name such a token.
    pub fn new(text: &str) -> Result<Self, TokenError> {
        match token_note(text) {
            None => Ok(Self(text.into())),
            Some(note) => Err(note.into()),
        }
    }

    /// Takes the longest token at the start of `text`, as Google's parser reads a user-agent line: `BOT/2.0` is `BOT`.
    ///
    /// # Errors
    /// [`TokenError`] when `text` does not start with a token character.
    pub fn cut(text: &str) -> Result<Self, TokenError> {
        let end = text.bytes().position(|byte| !is_token_byte(byte)).unwrap_or(text.len());
        match text.get(..end) {
            Some(token) if !token.is_empty() => Ok(Self(token.into())),
            _ => Self::new(text),
        }
    }

    /// The token as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ProductToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for ProductToken {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl PartialEq for ProductToken {
    fn eq(&self, other: &Self) -> bool {
        self.0.eq_ignore_ascii_case(&other.0)
    }
}

impl Eq for ProductToken {}

impl Hash for ProductToken {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for byte in self.0.bytes() {
            state.write_u8(byte.to_ascii_lowercase());
        }
        state.write_u8(0xFF);
    }
}

/// Why a text is no product token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TokenError {
    /// Nothing was given.
    Empty,
    /// A character outside `A-Z a-z _ -`.
    Character {
        /// Its place, in bytes from the start.
        at: usize,
        /// The character.
        found: char,
    },
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("product token is empty"),
            Self::Character { at, found } => {
                write!(f, "product token holds {found:?} at byte {at}; only letters, '-' and '_' can be named")
            }
        }
    }
}

impl core::error::Error for TokenError {}

/// Why a token, taken as given, can never be named by a file, so that the `*` group applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TokenNote {
    /// Nothing was given.
    Empty,
    /// A character that ends every token in a file: a digit, `*`, `/`, a space.
    Unnameable {
        /// Its place, in bytes from the start.
        at: usize,
        /// The character.
        found: char,
    },
}

impl fmt::Display for TokenNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the token is empty: no file can name it, the * group applies"),
            Self::Unnameable { found, .. } => {
                write!(f, "the token holds {found:?}: no file can name it, the * group applies")
            }
        }
    }
}

impl From<TokenNote> for TokenError {
    fn from(note: TokenNote) -> Self {
        match note {
            TokenNote::Empty => Self::Empty,
            TokenNote::Unnameable { at, found } => Self::Character { at, found },
        }
    }
}

/// Says why no file can name `token` (`AI2Bot`, `MJ12bot`, `*`); `None` for a token that can be named.
#[must_use]
pub fn token_note(token: &str) -> Option<TokenNote> {
    if token.is_empty() {
        return Some(TokenNote::Empty);
    }
    let allowed = |c: char| u8::try_from(c).is_ok_and(is_token_byte);
    token.char_indices().find(|&(_, c)| !allowed(c)).map(|(at, found)| TokenNote::Unnameable { at, found })
}

/// What a user-agent value names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Named<'a> {
    /// `*`, alone or before white space.
    Global,
    /// The longest run of token characters at the start of the value; empty when it names nobody.
    Token(&'a [u8]),
}

impl<'a> Named<'a> {
    /// Reads a trimmed user-agent value (RFC 9309 §2.2.1; Google's parser for `*` with text behind it).
    pub(crate) fn read(value: &'a [u8]) -> Self {
        if is_global(value) { Self::Global } else { Self::Token(split_while(value, is_token_byte).0) }
    }

    /// The name as text; `*` for the global group, `None` when the value names nobody.
    pub(crate) fn as_text(self) -> Option<&'a str> {
        match self {
            Self::Global => Some("*"),
            // Token characters are ASCII, so this never fails.
            Self::Token(token) => core::str::from_utf8(token).ok().filter(|text| !text.is_empty()),
        }
    }
}

/// Whether a user-agent value names everybody: `*`, alone or before white space.
pub(crate) const fn is_global(value: &[u8]) -> bool {
    match value {
        [b'*'] => true,
        [b'*', next, ..] => is_space(*next),
        _ => false,
    }
}

/// Whether a user-agent value names `token`: cut, then equality without ASCII case, never by prefix or part.
pub(crate) fn names(value: &[u8], token: &[u8]) -> bool {
    // `*` in a caller's token must not meet the global group: a token is non-empty token characters only.
    !token.is_empty()
        && value.get(..token.len()).is_some_and(|head| head.eq_ignore_ascii_case(token))
        && value.get(token.len()).is_none_or(|&next| !is_token_byte(next))
        && token.iter().copied().all(is_token_byte)
}
