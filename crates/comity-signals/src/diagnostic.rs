use std::fmt;

use crate::found::cut;
use crate::{Place, Source};

/// Diagnostics kept of each code; those beyond are counted by [`Diagnostics::omitted`].
pub const MAX_DIAGNOSTICS_PER_CODE: usize = 16;

/// Bytes of the offending text that a diagnostic keeps.
const MAX_TEXT_BYTES: usize = 200;

/// What was odd about a signal: the codes of signals reference §1.6 that the carriers read here can give.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DiagnosticCode {
    /// A `Content-Usage` value is no dictionary (RFC 9651 §4.2.2): it says nothing at all.
    AiprefUnparsable,
    /// A `Content-Usage` label that draft-ietf-aipref-vocab-08 does not define.
    AiprefUnknownLabel,
    /// A known label whose value is neither the token `y` nor the token `n`.
    AiprefBadValue,
    /// An unknown label that an earlier revision of the vocabulary defined.
    AiprefLegacyLabel,
    /// A `Content-Signal` key outside the policy.
    SignalUnknownKey,
    /// A `Content-Signal` value outside the policy.
    SignalBadValue,
    /// A usage line before the first user-agent line of robots.txt.
    SignalOutsideGroup,
    /// `unavailable_after` with something that is no date.
    XrobotsBadDate,
    /// A robots rule that nobody defines, or a known one with an unreadable argument.
    XrobotsUnknownRule,
    /// A `tdm-reservation` that is neither 0 nor 1: unset.
    TdmBadValue,
    /// `tdmrep.json` is one object instead of an array: read only when it reserves.
    TdmNotArray,
    /// `tdmrep.json` is no JSON: unset.
    TdmUnparsable,
    /// A `tdm-reservation` of `"1"` as a JSON string: read as 1.
    TdmLenientValue,
    /// Rules of `tdmrep.json` lie beyond what is read of the file.
    TdmTruncated,
    /// A line of `trust.txt` names training and says neither `yes` nor `no`: nothing is permitted beside it.
    TrustBadValue,
    /// `trust.txt` is longer than what is read of it: it permits nothing.
    TrustTruncated,
    /// An RSL document that does not conform: it permits nothing.
    RslInvalid,
    /// An RSL document that is named and could not be had.
    RslUnfetchable,
    /// A pointer to a licence that is no absolute `https` URL: ignored.
    RslBadUrl,
    /// A list of usages with commas, as the 0.9 draft of RSL wrote them.
    RslLegacyList,
    /// A price that cannot be read.
    PriceUnparsable,
    /// `Retry-After` is neither seconds nor a date.
    RetryAfterInvalid,
    /// A rate-limit field that is no list of items with their numbers.
    RatelimitUnparsable,
    /// Usage lines of robots.txt lie beyond what is kept of the file.
    RobotsTruncated,
    /// The two ways to cut groups disagree on access to the URL (signals reference §3.1).
    GroupAmbiguity,
}

impl DiagnosticCode {
    /// The code in records.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AiprefUnparsable => "aipref_unparsable",
            Self::AiprefUnknownLabel => "aipref_unknown_label",
            Self::AiprefBadValue => "aipref_bad_value",
            Self::AiprefLegacyLabel => "aipref_legacy_label",
            Self::SignalUnknownKey => "signal_unknown_key",
            Self::SignalBadValue => "signal_bad_value",
            Self::SignalOutsideGroup => "signal_outside_group",
            Self::XrobotsBadDate => "xrobots_bad_date",
            Self::XrobotsUnknownRule => "xrobots_unknown_rule",
            Self::TdmBadValue => "tdm_bad_value",
            Self::TdmNotArray => "tdm_not_array",
            Self::TdmUnparsable => "tdm_unparsable",
            Self::TdmLenientValue => "tdm_lenient_value",
            Self::TdmTruncated => "tdm_truncated",
            Self::TrustBadValue => "trust_bad_value",
            Self::TrustTruncated => "trust_truncated",
            Self::RslInvalid => "rsl_invalid",
            Self::RslUnfetchable => "rsl_unfetchable",
            Self::RslBadUrl => "rsl_bad_url",
            Self::RslLegacyList => "rsl_legacy_list",
            Self::PriceUnparsable => "price_unparsable",
            Self::RetryAfterInvalid => "retry_after_invalid",
            Self::RatelimitUnparsable => "ratelimit_unparsable",
            Self::RobotsTruncated => "robots_truncated",
            Self::GroupAmbiguity => "group_ambiguity",
        }
    }

    const fn in_words(self) -> &'static str {
        match self {
            Self::AiprefUnparsable => "value is no dictionary, nothing is read from it",
            Self::AiprefUnknownLabel => "unknown label ignored",
            Self::AiprefBadValue => "value is neither y nor n, label ignored",
            Self::AiprefLegacyLabel => "label is retired",
            Self::SignalUnknownKey => "unknown key ignored",
            Self::SignalBadValue => "value is outside the policy",
            Self::SignalOutsideGroup => "line stands before the first user-agent line",
            Self::XrobotsBadDate => "no date that can be read, rule ignored",
            Self::XrobotsUnknownRule => "unknown rule ignored",
            Self::TdmBadValue => "value is neither 0 nor 1, nothing is read from it",
            Self::TdmNotArray => "no array of rules, read only as a reservation",
            Self::TdmUnparsable => "file is no JSON array, nothing is read from it",
            Self::TdmLenientValue => "text \"1\" read as 1",
            Self::TdmTruncated => "rules beyond the limit not read",
            Self::TrustBadValue => "value is neither yes nor no, nothing is permitted beside it",
            Self::TrustTruncated => "file is longer than what is read, nothing is permitted by it",
            Self::RslInvalid => "document does not conform, its permissions are not read",
            Self::RslUnfetchable => "document could not be had, nothing is read from it",
            Self::RslBadUrl => "no absolute https URL, pointer ignored",
            Self::RslLegacyList => "list with commas, as an earlier draft wrote it",
            Self::PriceUnparsable => "no currency and amount, quote ignored",
            Self::RetryAfterInvalid => "neither seconds nor a date, ignored",
            Self::RatelimitUnparsable => "no list of items with their numbers, ignored",
            Self::RobotsTruncated => "usage lines beyond the limit not read",
            Self::GroupAmbiguity => "user-agent lists can be cut in two ways that disagree, the access reading counts",
        }
    }
}

impl fmt::Display for DiagnosticCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One oddity, with its evidence. It never changes a verdict by itself (signals reference §1.6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// What was odd.
    pub code: DiagnosticCode,
    /// The carrier.
    pub source: Source,
    /// Where in the carrier.
    pub place: Place,
    /// The label, pair, rule or value meant, at most 200 bytes of it; may be empty.
    pub text: String,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.source)?;
        match self.place {
            Place::Whole => {}
            Place::Line(n) => write!(f, " line {n}")?,
            Place::Header(n) => write!(f, " field {n}")?,
            Place::Rule(n) => write!(f, " rule {n}")?,
            Place::Element(n) => write!(f, " element {n}")?,
        }
        write!(f, ": {}", self.code.in_words())?;
        if self.text.is_empty() { Ok(()) } else { write!(f, ": {:?}", self.text) }
    }
}

/// The oddities of one reading, in the order they were met. Each code that occurred is present at least once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnostics {
    kept: Vec<Diagnostic>,
    omitted: u32,
}

impl Diagnostics {
    /// Nothing was odd.
    pub const NONE: Self = Self { kept: Vec::new(), omitted: 0 };

    /// The diagnostics kept, at most [`MAX_DIAGNOSTICS_PER_CODE`] of each code.
    #[must_use]
    pub fn as_slice(&self) -> &[Diagnostic] {
        &self.kept
    }

    /// How many more there were.
    #[must_use]
    pub const fn omitted(&self) -> u32 {
        self.omitted
    }

    /// Whether a code occurred.
    #[must_use]
    pub fn contains(&self, code: DiagnosticCode) -> bool {
        self.kept.iter().any(|kept| kept.code == code)
    }

    /// Adds those of another reading, within the same bounds.
    pub(crate) fn append(&mut self, other: Self) {
        self.omitted = self.omitted.saturating_add(other.omitted);
        for one in other.kept {
            if self.kept.iter().filter(|kept| kept.code == one.code).count() < MAX_DIAGNOSTICS_PER_CODE {
                self.kept.push(one);
            } else {
                self.omitted = self.omitted.saturating_add(1);
            }
        }
    }

    pub(crate) fn retain(&mut self, keep: impl Fn(&Diagnostic) -> bool) {
        self.kept.retain(keep);
    }

    pub(crate) fn add(&mut self, code: DiagnosticCode, source: Source, place: Place, text: &str) {
        if self.kept.iter().filter(|kept| kept.code == code).count() < MAX_DIAGNOSTICS_PER_CODE {
            self.kept.push(Diagnostic { code, source, place, text: cut(text, MAX_TEXT_BYTES).to_owned() });
        } else {
            self.omitted = self.omitted.saturating_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_one_code_does_not_crowd_out_another() {
        let mut diagnostics = Diagnostics::default();
        for n in 0..40 {
            diagnostics.add(DiagnosticCode::SignalUnknownKey, Source::RobotsContentSignal, Place::Line(n), "x");
        }
        diagnostics.add(DiagnosticCode::GroupAmbiguity, Source::RobotsAccess, Place::Whole, "");
        assert_eq!(diagnostics.as_slice().len(), MAX_DIAGNOSTICS_PER_CODE + 1);
        assert_eq!(diagnostics.omitted(), 24);
        assert!(diagnostics.contains(DiagnosticCode::GroupAmbiguity));
    }

    #[test]
    fn a_message_says_place_then_fact() {
        let mut diagnostics = Diagnostics::default();
        diagnostics.add(DiagnosticCode::SignalUnknownKey, Source::RobotsContentSignal, Place::Line(3), "ai-search=no");
        let text = diagnostics.as_slice()[0].to_string();
        assert_eq!(text, "robots.content-signal line 3: unknown key ignored: \"ai-search=no\"");
    }
}
