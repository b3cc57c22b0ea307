/// How far signals are read beyond their own words (signals reference §1.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Profile {
    /// Only what the defining document tells any reader.
    Literal,
    /// Adds derived denials. Prohibitions propagate, permissions never do.
    #[default]
    Cautious,
}

impl Profile {
    /// The name in configuration and records.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Literal => "literal",
            Self::Cautious => "cautious",
        }
    }
}

/// What a `Content-Usage` label that the vocabulary has dropped stands for (signals reference §4.6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LegacyLabels {
    /// Nothing: as draft-ietf-aipref-vocab-08 treats any unknown label.
    #[default]
    Ignore,
    /// Denials of the purposes it once covered; its permissions stay without effect (our choice).
    Map,
}

/// What groups of robots.txt for the agents of others stand for (signals reference §3.3, §3.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OthersTokens {
    /// They are not looked at.
    Off,
    /// Evidence and nothing else: a group speaks to the agent that it names (RFC 9309).
    #[default]
    Record,
    /// When at least so many distinct agents of a class are denied the URL, the class's purpose is denied us too (our
    /// choice). 0 is read as 1.
    Deny {
        /// Distinct tokens that it takes.
        least: u32,
    },
}

/// The knobs of signals reference §1.5 that concern the carriers of one resource.
///
/// The default is the `cautious` profile, retired labels ignored, non-standard `Content-Signal` values unread, the agents of
/// others recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SignalOptions {
    /// Literal or cautious.
    pub profile: Profile,
    /// Retired `Content-Usage` labels. An operator who maps them gets the denials in either profile.
    pub aipref_legacy: LegacyLabels,
    /// Reads the `Content-Signal` values `disallow`, `false` and `0` as `no`; never anything as `yes`.
    pub signal_lenient_values: bool,
    /// Groups for the agents of others.
    pub others_tokens: OthersTokens,
}
