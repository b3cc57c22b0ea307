//! What a `Content-Signal` value says: the policy of 24 September 2025 with `use=`, signals reference §5.1.

use crate::diagnostic::DiagnosticCode;
use crate::found::{Carried, Found, Ground};
use crate::{Purpose, SignalOptions, Verdict};

/// The most that a reader may do with content (`use=` of Content-Signal, announced 1 July 2026). Orders by freedom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UseCeiling {
    /// Interact, keep nothing.
    Immediate,
    /// Index, excerpt, link back.
    Reference,
    /// Summarise and reproduce.
    Full,
}

impl UseCeiling {
    /// All of them, the lowest first.
    pub const ALL: [Self; 3] = [Self::Immediate, Self::Reference, Self::Full];

    /// The value as written in the signal and in records.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Immediate => "immediate",
            Self::Reference => "reference",
            Self::Full => "full",
        }
    }

    /// The lower of two ceilings; one that was not named is none.
    #[must_use]
    pub fn lower(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        one.into_iter().chain(other).min()
    }

    fn read(value: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|c| value.eq_ignore_ascii_case(c.as_str()))
    }
}

const KEYS: [(&str, Purpose); 3] =
    [("search", Purpose::Search), ("ai-input", Purpose::AiInput), ("ai-train", Purpose::AiTrain)];

/// Reads the pairs of one value. Key and value compare without case; a pair that cannot be read loses only itself
/// (our choice: the policy defines no grammar).
pub(crate) fn read(found: &mut Found, at: Carried<'_>, value: &str, options: SignalOptions) -> Option<UseCeiling> {
    let mut ceiling = None;
    for pair in value.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (key, value) = (key.trim(), value.trim());
        if key.eq_ignore_ascii_case("use") {
            let named = UseCeiling::read(value);
            if named.is_none() {
                found.note(DiagnosticCode::SignalBadValue, at, pair);
            }
            ceiling = UseCeiling::lower(ceiling, named);
        } else if let Some((_, purpose)) = KEYS.iter().find(|(name, _)| key.eq_ignore_ascii_case(name)) {
            read_purpose(found, at, *purpose, pair, value, options);
        } else {
            found.note(DiagnosticCode::SignalUnknownKey, at, pair);
        }
    }
    ceiling
}

/// A `no` is an express reservation by the words of the policy (signals reference §5.3).
fn read_purpose(found: &mut Found, at: Carried<'_>, purpose: Purpose, pair: &str, value: &str, options: SignalOptions) {
    let is = |word: &str| value.eq_ignore_ascii_case(word);
    if is("yes") {
        return found.state(at, purpose, Verdict::Allowed, Ground::Said);
    }
    if is("no") {
        return found.state(at, purpose, Verdict::Denied, Ground::Reserved);
    }
    found.note(DiagnosticCode::SignalBadValue, at, pair);
    if options.signal_lenient_values && ["disallow", "false", "0"].into_iter().any(is) {
        found.state(at, purpose, Verdict::Denied, Ground::Said);
    }
}
