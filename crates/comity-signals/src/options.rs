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

/// The knobs of signals reference §1.5 that concern the carriers read here.
///
/// The default is the `cautious` profile, retired labels ignored, non-standard `Content-Signal` values unread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SignalOptions {
    /// Literal or cautious.
    pub profile: Profile,
    /// Retired `Content-Usage` labels. An operator who maps them gets the denials in either profile.
    pub aipref_legacy: LegacyLabels,
    /// Reads the `Content-Signal` values `disallow`, `false` and `0` as `no`; never anything as `yes`.
    pub signal_lenient_values: bool,
}
