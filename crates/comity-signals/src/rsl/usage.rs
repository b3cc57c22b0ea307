/// A use that RSL speaks about and comity judges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Usage {
    Search,
    AiInput,
    AiTrain,
    AiIndex,
    /// `all` itself: text and data mining as a whole.
    All,
}

/// A list of usage tokens. Tokens that RSL 1.0 does not define stand for nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct UsageSet(u8);

const ALL: u8 = 1;
const AI_ALL: u8 = 2;
const AI_TRAIN: u8 = 4;
const AI_INPUT: u8 = 8;
const AI_INDEX: u8 = 16;
const SEARCH: u8 = 32;

const TOKENS: [(&str, u8); 6] = [
    ("all", ALL),
    ("ai-all", AI_ALL),
    ("ai-train", AI_TRAIN),
    ("ai-input", AI_INPUT),
    ("ai-index", AI_INDEX),
    ("search", SEARCH),
];

impl UsageSet {
    pub(super) fn add(&mut self, token: &str) {
        let bit = TOKENS.iter().find(|(name, _)| token.eq_ignore_ascii_case(name)).map_or(0, |(_, bit)| *bit);
        self.0 |= bit;
    }

    /// What either lists.
    pub(super) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether a use is listed, by itself or through a collective token. `all` covers everything, and is covered by nothing
    /// but itself.
    pub(super) const fn covers(self, usage: Usage) -> bool {
        let bits = match usage {
            Usage::All => ALL,
            Usage::Search => ALL | SEARCH,
            Usage::AiInput => ALL | AI_ALL | AI_INPUT,
            Usage::AiTrain => ALL | AI_ALL | AI_TRAIN,
            Usage::AiIndex => ALL | AI_ALL | AI_INDEX,
        };
        self.0 & bits != 0
    }
}
