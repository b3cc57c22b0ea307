use std::fmt;
use std::str::FromStr;

/// A use of content that signals speak about, in comity's normal form (signals reference §1.1).
///
/// ```
/// use comity_signals::Purpose;
/// assert_eq!("ai-train".parse(), Ok(Purpose::AiTrain)); // hyphens accepted on input
/// assert_eq!(Purpose::AiTrain.as_str(), "ai_train");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Purpose {
    /// An index whose output points users at the original, with links and short excerpts.
    Search,
    /// Content fed to a generative model at answer time: grounding, summaries, agent context.
    AiInput,
    /// Changing model weights: pre-training, fine-tuning.
    AiTrain,
    /// Text and data mining as a whole, the notion of Article 4 of the EU CDSM directive.
    Tdm,
}

impl Purpose {
    /// All judged purposes, in the order of records and tables.
    pub const ALL: [Self; 4] = [Self::Search, Self::AiInput, Self::AiTrain, Self::Tdm];

    /// The name in records, configuration and reasons: lower case, underscores.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::AiInput => "ai_input",
            Self::AiTrain => "ai_train",
            Self::Tdm => "tdm",
        }
    }

    pub(crate) const fn index(self) -> usize {
        match self {
            Self::Search => 0,
            Self::AiInput => 1,
            Self::AiTrain => 2,
            Self::Tdm => 3,
        }
    }
}

impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Purpose {
    type Err = ParsePurposeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.parse() {
            Ok(Declared::Judged(purpose)) => Ok(purpose),
            _ => Err(ParsePurposeError { text: text.to_owned(), known: &JUDGED }),
        }
    }
}

/// A purpose that the operator declares: one that is judged against signals, or one that is only recorded.
///
/// Source: our choice. No signal speaks of archiving, research or monitoring, so nothing can deny them; they
/// stand in the record all the same, because a later reader will ask what the crawl was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Declared {
    /// Judged against every signal of the resource.
    Judged(Purpose),
    /// Keeping a copy for the historical record.
    Archive,
    /// Scientific research.
    Research,
    /// Watching for change or availability.
    Monitoring,
    /// The operator's own site.
    OwnSite,
    /// Anything else; said in words elsewhere.
    Other,
}

impl Declared {
    /// Every name that [`FromStr`] takes, in the order of the documentation.
    pub const NAMES: [&'static str; 9] =
        ["search", "ai_input", "ai_train", "tdm", "archive", "research", "monitoring", "own_site", "other"];

    /// The name in records and configuration.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Judged(purpose) => purpose.as_str(),
            Self::Archive => "archive",
            Self::Research => "research",
            Self::Monitoring => "monitoring",
            Self::OwnSite => "own_site",
            Self::Other => "other",
        }
    }

    /// The judged purpose, if this is one.
    #[must_use]
    pub const fn judged(self) -> Option<Purpose> {
        match self {
            Self::Judged(purpose) => Some(purpose),
            _ => None,
        }
    }
}

impl fmt::Display for Declared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Declared {
    type Err = ParsePurposeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let name = text.to_ascii_lowercase().replace('-', "_");
        Ok(match name.as_str() {
            "search" => Self::Judged(Purpose::Search),
            "ai_input" => Self::Judged(Purpose::AiInput),
            "ai_train" => Self::Judged(Purpose::AiTrain),
            "tdm" => Self::Judged(Purpose::Tdm),
            "archive" => Self::Archive,
            "research" => Self::Research,
            "monitoring" => Self::Monitoring,
            "own_site" => Self::OwnSite,
            "other" => Self::Other,
            _ => return Err(ParsePurposeError { text: text.to_owned(), known: &Declared::NAMES }),
        })
    }
}

/// The names of [`Purpose`].
const JUDGED: [&str; 4] = ["search", "ai_input", "ai_train", "tdm"];

/// A name that is no purpose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsePurposeError {
    text: String,
    known: &'static [&'static str],
}

impl fmt::Display for ParsePurposeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown purpose {:?}, known are {}", self.text, self.known.join(", "))
    }
}

impl std::error::Error for ParsePurposeError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_parses_to_itself_with_either_separator() {
        for name in Declared::NAMES {
            assert_eq!(name.parse::<Declared>().unwrap().as_str(), name);
            assert_eq!(name.replace('_', "-").to_uppercase().parse::<Declared>().unwrap().as_str(), name);
        }
        assert!("training".parse::<Declared>().is_err());
        let error = "archive".parse::<Purpose>().unwrap_err();
        assert_eq!(error.to_string(), "unknown purpose \"archive\", known are search, ai_input, ai_train, tdm");
    }
}
