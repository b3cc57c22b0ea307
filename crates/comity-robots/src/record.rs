//! The kinds of lines, and what is kept of each.

use crate::bytes::starts_with_ignore_case;
use crate::verdict::RuleKind;

/// A recognised record that is neither a user-agent line, a rule, nor a sitemap. None of them changes a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ExtensionKind {
    /// `Crawl-delay`: seconds between requests. No standard; honoured by many.
    CrawlDelay,
    /// `Request-rate` of the 1996 draft.
    RequestRate,
    /// `Visit-time` of the 1996 draft.
    VisitTime,
    /// `Content-Signal` (Cloudflare, 2025), also in the plural.
    ContentSignal,
    /// `Content-Usage` (draft-ietf-aipref-attach-05).
    ContentUsage,
    /// `License` (RSL 1.0).
    License,
    /// `DisallowAITraining` (draft-canel-robots-ai-control-00). Google's parser also reads the line as a disallow rule,
    /// by the start of its key, and so does this crate.
    DisallowAiTraining,
    /// `AllowAITraining` of the same draft; likewise also an allow rule.
    AllowAiTraining,
    /// `LLM-Policy`: a pointer to a policy file.
    LlmPolicy,
    /// `Host` (Yandex, withdrawn 2018).
    Host,
    /// `Clean-param` (Yandex).
    CleanParam,
    /// `Noindex`, dropped by Google in 2019.
    Noindex,
    /// `Robot-version` of the 1996 draft.
    RobotVersion,
}

/// Keys in lower case, matched whole and without case; the first name of a kind is its label.
pub(crate) const EXTENSIONS: [(&str, ExtensionKind); 14] = [
    ("crawl-delay", ExtensionKind::CrawlDelay),
    ("request-rate", ExtensionKind::RequestRate),
    ("visit-time", ExtensionKind::VisitTime),
    ("content-signal", ExtensionKind::ContentSignal),
    ("content-signals", ExtensionKind::ContentSignal),
    ("content-usage", ExtensionKind::ContentUsage),
    ("license", ExtensionKind::License),
    ("disallowaitraining", ExtensionKind::DisallowAiTraining),
    ("allowaitraining", ExtensionKind::AllowAiTraining),
    ("llm-policy", ExtensionKind::LlmPolicy),
    ("host", ExtensionKind::Host),
    ("clean-param", ExtensionKind::CleanParam),
    ("noindex", ExtensionKind::Noindex),
    ("robot-version", ExtensionKind::RobotVersion),
];

/// Spellings of the keys, recognised by prefix (Google's parser, its typo list included).
const USER_AGENT: [&[u8]; 3] = [b"user-agent", b"useragent", b"user agent"];
const DISALLOW: [&[u8]; 6] = [b"disallow", b"dissallow", b"dissalow", b"disalow", b"diasllow", b"disallaw"];
const SITEMAP: [&[u8]; 2] = [b"sitemap", b"site-map"];

impl ExtensionKind {
    /// The key in lower case, such as `content-signal`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        EXTENSIONS.iter().find(|(_, kind)| *kind == self).map_or("", |(label, _)| label)
    }

    /// Whether the record speaks about the use of pages: what [`crate::RuleSet::signals`] returns.
    #[must_use]
    pub const fn is_signal(self) -> bool {
        matches!(
            self,
            Self::ContentSignal
                | Self::ContentUsage
                | Self::License
                | Self::DisallowAiTraining
                | Self::AllowAiTraining
                | Self::LlmPolicy
        )
    }

    /// Whether the record ends a run of user-agent lines in the usage pass (comity's choice, because
    /// draft-ietf-aipref-attach-05 makes such lines rules of a group). In the access pass none does.
    #[must_use]
    pub const fn closes_usage_group(self) -> bool {
        matches!(
            self,
            Self::ContentSignal | Self::ContentUsage | Self::License | Self::CrawlDelay | Self::DisallowAiTraining
        )
    }

    /// The kind of a key, in any case.
    pub(crate) fn read(key: &[u8]) -> Option<Self> {
        EXTENSIONS.iter().find(|(label, _)| label.as_bytes().eq_ignore_ascii_case(key)).map(|(_, kind)| *kind)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Kind {
    #[default]
    Agent,
    Rule(RuleKind),
    Sitemap,
    Extension(ExtensionKind),
}

/// Where a recognised line stands in the text.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Record {
    pub(crate) value: u32,
    pub(crate) line: u32,
    pub(crate) value_len: u16,
    /// Bytes from the key to the value.
    pub(crate) value_behind: u16,
    /// Of a value that no dialect compares in another form, the place of its first star, or its length; else [`Record::UNREAD`].
    pub(crate) star: u16,
    pub(crate) kind: Kind,
}

impl Record {
    /// No place in a value: a line is at most 16,663 bytes long.
    pub(crate) const UNREAD: u16 = u16::MAX;

    /// Where the key starts.
    pub(crate) fn key(&self) -> usize {
        (self.value as usize).saturating_sub(usize::from(self.value_behind))
    }

    /// The value, in the text that the record was read from.
    pub(crate) fn value_in<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        let start = self.value as usize;
        text.get(start..start + usize::from(self.value_len)).unwrap_or_default()
    }
}

/// What a key means: at most one kind that Google's parser knows, and at most one extension.
pub(crate) fn classify(key: &[u8]) -> [Option<Kind>; 2] {
    // Most lines are one of these two, spelled right, and need no search.
    if key.eq_ignore_ascii_case(b"disallow") {
        return [Some(Kind::Rule(RuleKind::Disallow)), None];
    }
    if key.eq_ignore_ascii_case(b"allow") {
        return [Some(Kind::Rule(RuleKind::Allow)), None];
    }
    let any = |spellings: &[&[u8]]| spellings.iter().any(|s| starts_with_ignore_case(key, s));
    let extension = || ExtensionKind::read(key).map(Kind::Extension);
    match key.first().map(u8::to_ascii_lowercase) {
        Some(b'd') if any(&DISALLOW) => [Some(Kind::Rule(RuleKind::Disallow)), extension()],
        Some(b'a') if any(&[b"allow"]) => [Some(Kind::Rule(RuleKind::Allow)), extension()],
        Some(b'u') if any(&USER_AGENT) => [Some(Kind::Agent), None],
        Some(b's') if any(&SITEMAP) => [Some(Kind::Sitemap), None],
        Some(b'c' | b'r' | b'v' | b'l' | b'h' | b'n') => [None, extension()],
        _ => [None, None],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_small() {
        assert!(size_of::<Record>() <= 16);
    }

    #[test]
    fn every_label_is_read_back() {
        for (label, kind) in EXTENSIONS {
            assert!(classify(label.as_bytes()).contains(&Some(Kind::Extension(kind))), "{label}");
            assert!(label.starts_with(kind.as_str()), "{label}");
        }
    }
}
