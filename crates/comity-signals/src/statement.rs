use std::fmt;

use crate::Purpose;

/// What a site says about one purpose. Silence is [`Verdict::Unspecified`], never a permission.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// Nothing was said.
    #[default]
    Unspecified,
    /// The use was permitted in so many words.
    Allowed,
    /// The use was refused.
    Denied,
}

impl Verdict {
    /// The name in records.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unspecified => "unspecified",
            Self::Allowed => "allowed",
            Self::Denied => "denied",
        }
    }

    /// The stricter of two statements on one purpose: denied, then allowed, then unspecified.
    ///
    /// Source: draft-ietf-aipref-vocab-08 ("most restrictive wins"); across families our choice.
    #[must_use]
    pub fn strictest(self, other: Self) -> Self {
        self.max(other)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The carrier of a statement: the source id of the signals catalogue.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// The access rules of robots.txt and how they are grouped: evidence of diagnostics, never of a statement.
    RobotsAccess,
    /// `DisallowAITraining` line of robots.txt (draft-canel-robots-ai-control-00, expired).
    RobotsAiTraining,
    /// `Content-Usage` line of robots.txt (draft-ietf-aipref-attach-05).
    RobotsContentUsage,
    /// `Content-Usage` response header.
    HeaderContentUsage,
    /// `Content-Signal` line of robots.txt (Content Signals policy, September 2025).
    RobotsContentSignal,
    /// `Content-Signal` response header.
    HeaderContentSignal,
    /// `/.well-known/tdmrep.json` (TDMRep, W3C Community Group report of 10 May 2024).
    TdmrepFile,
    /// `tdm-reservation` response header.
    HeaderTdm,
    /// `tdm-reservation` meta element.
    MetaTdm,
    /// `tdm:reservation` within a PDF, an image or an EPUB.
    EmbeddedTdm,
    /// `plus:DataMining` in XMP within an image or document.
    EmbeddedPlus,
    /// What the cautious profile infers from the value that TDMRep's layers come to: of no single layer.
    DerivedTdm,
    /// `X-Robots-Tag` response header.
    HeaderXRobotsTag,
    /// `robots-tag` response header (draft-illyes-repext-00, expired).
    HeaderRobotsTag,
    /// Robots meta element.
    MetaRobots,
    /// A group of robots.txt whose user-agent is a policy token
    /// (draft-kelley-aipref-training-preference-signal-00, an individual draft).
    RobotsPolicyToken,
    /// Groups of robots.txt for the agents of others, where the operator lets them count (signals reference §3.4).
    RobotsAiToken,
    /// An RSL document (RSL 1.0).
    Rsl,
    /// `/ai.txt` as Spawning defines it (2023).
    AiTxt,
    /// `/trust.txt` or `/.well-known/trust.txt` (JournalList, April 2024).
    TrustTxt,
    /// `crawler-price` and its kin: no use, a condition.
    HeaderPrice,
    /// `Retry-After`: no use, a pace.
    HeaderRetryAfter,
    /// `RateLimit` and its kin: no use, a pace.
    HeaderRateLimit,
    /// Terms in prose, as somebody has read them for the operator: no reader of this crate.
    Terms,
}

impl Source {
    /// The id in records, as in the catalogue.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RobotsAccess => "robots.access",
            Self::RobotsAiTraining => "robots.disallow-ai-training",
            Self::RobotsContentUsage => "robots.content-usage",
            Self::HeaderContentUsage => "header.content-usage",
            Self::RobotsContentSignal => "robots.content-signal",
            Self::HeaderContentSignal => "header.content-signal",
            Self::TdmrepFile => "tdmrep.file",
            Self::HeaderTdm => "header.tdm",
            Self::MetaTdm => "meta.tdm",
            Self::EmbeddedTdm => "embedded.tdm",
            Self::EmbeddedPlus => "embedded.plus",
            Self::DerivedTdm => "derived.tdm",
            Self::HeaderXRobotsTag => "header.x-robots-tag",
            Self::HeaderRobotsTag => "header.robots-tag",
            Self::MetaRobots => "meta.robots",
            Self::RobotsPolicyToken => "robots.policy-token",
            Self::RobotsAiToken => "robots.ai-token",
            Self::Rsl => "rsl",
            Self::AiTxt => "ai.txt",
            Self::TrustTxt => "trust.txt",
            Self::HeaderPrice => "header.crawler-price",
            Self::HeaderRetryAfter => "header.retry-after",
            Self::HeaderRateLimit => "header.ratelimit",
            Self::Terms => "terms",
        }
    }

    /// The document, with its version or date, that this reader follows: what a record names beside a statement.
    #[must_use]
    pub const fn spec(self) -> &'static str {
        match self {
            Self::RobotsAccess | Self::RobotsAiToken => "RFC 9309",
            Self::RobotsAiTraining => "draft-canel-robots-ai-control-00",
            Self::RobotsContentUsage | Self::HeaderContentUsage => {
                "draft-ietf-aipref-vocab-08, draft-ietf-aipref-attach-05"
            }
            Self::RobotsContentSignal | Self::HeaderContentSignal => "Content Signals policy, 2025-09-24",
            Self::TdmrepFile | Self::HeaderTdm | Self::MetaTdm | Self::EmbeddedTdm => {
                "TDMRep Community Group report, 2024-05-10"
            }
            Self::DerivedTdm => "TDMRep Community Group report, 2024-05-10; derived by comity",
            Self::HeaderXRobotsTag | Self::MetaRobots => "Google robots meta documentation",
            Self::EmbeddedPlus => "PLUS Data Mining, IPTC Photo Metadata 2023.1",
            Self::HeaderRobotsTag => "draft-illyes-repext-00",
            Self::RobotsPolicyToken => "draft-kelley-aipref-training-preference-signal-00",
            Self::Rsl => "RSL-SPEC-1.0, 2025-12-10",
            Self::AiTxt => "ai.txt, Spawning, 2023",
            Self::TrustTxt => "trust.txt, 2024-04",
            Self::HeaderPrice => "Cloudflare pay per crawl, 2025-07",
            Self::HeaderRetryAfter => "RFC 9110",
            Self::HeaderRateLimit => "draft-ietf-httpapi-ratelimit-headers-11",
            Self::Terms => "terms in prose, reviewed for the operator",
        }
    }

    /// True for a carrier that one person proposes and nobody is known to rely on: its denial counts, but a report that
    /// counts denials must not rest on it alone.
    #[must_use]
    pub const fn is_proposal(self) -> bool {
        matches!(self, Self::RobotsPolicyToken)
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Where in its carrier a statement stood. Lines count from 1, indices from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// Not known, or the carrier as a whole.
    #[default]
    Whole,
    /// A line of a text file.
    Line(u32),
    /// The n-th header field of its name.
    Header(u32),
    /// The n-th rule of a JSON array.
    Rule(u32),
    /// The n-th element of its kind in a document.
    Element(u32),
}

/// One wish read at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// The carrier.
    pub source: Source,
    /// The purpose spoken about.
    pub purpose: Purpose,
    /// What is said about it.
    pub verdict: Verdict,
    /// The exact text of the line's value, header value or rule, at most 8 KiB (lossy only where it was not UTF-8).
    pub raw: String,
    /// Where it stood.
    pub place: Place,
    /// The path pattern it was limited to, as written.
    pub path: Option<String>,
    /// True when comity inferred it from a statement on another purpose (cautious profile).
    pub derived: bool,
    /// True when the defining text calls it a reservation under Article 4(3) CDSM.
    pub reservation: bool,
    /// True when a permission became this denial because its condition is not met: a payment, a class of users, a report.
    pub conditional: bool,
}

impl Statement {
    /// A plain statement about the whole resource, neither derived nor a reservation.
    #[must_use]
    pub fn new(source: Source, purpose: Purpose, verdict: Verdict, raw: impl Into<String>) -> Self {
        Self {
            source,
            purpose,
            verdict,
            raw: raw.into(),
            place: Place::Whole,
            path: None,
            derived: false,
            reservation: false,
            conditional: false,
        }
    }

    /// The same statement with its place.
    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        self.place = place;
        self
    }
}
