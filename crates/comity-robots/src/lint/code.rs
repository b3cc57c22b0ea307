//! The codes: stable, never renamed, never used again for something else.

use core::fmt;

use super::Severity;

/// The kinds of faults. Each has a section in `docs/lints.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum LintCode {
    /// A named group lets its agent fetch what the `*` group refuses: it replaces that group whole (RFC 9309 §2.2.1).
    HidesGlobal,
    /// A rule starts with neither `/` nor `*`, so it never matches (Google's parser).
    NeverMatches,
    /// A rule never decides: a longer one matches wherever it does.
    Shadowed,
    /// A pair of rules that a first-match reader answers otherwise.
    OrderReliant,
    /// A rule that ends in the middle of a word refuses longer words as well.
    PrefixBleed,
    /// A rule with capitals leaves the lower-case spelling open (paths are compared with case, RFC 9309 §2.2.2).
    CaseOpen,
    /// Two rules that differ in case only.
    CaseTwins,
    /// A final `$` decides a contest, because it counts as an octet (Google's parser).
    DollarLength,
    /// A query string slips past a rule that ends in `$`.
    DollarQuery,
    /// A rule catches a parameter only directly behind `?`.
    ParameterPosition,
    /// `Noindex` has no effect (dropped by Google in 2019).
    Noindex,
    /// `Host` has no effect (withdrawn by Yandex in 2018).
    Host,
    /// `Clean-param` is read by Yandex only.
    CleanParam,
    /// A Crawl-delay that Google's crawlers ignore.
    CrawlDelayGoogle,
    /// A Crawl-delay above 300 seconds.
    CrawlDelayLarge,
    /// A Crawl-delay that is no number of seconds.
    CrawlDelayUnreadable,
    /// A key that only lenient readers take for the one that was meant.
    KeyTypo,
    /// No colon between key and value.
    MissingColon,
    /// A user-agent value that names nobody, or another token than it seems to.
    TokenCut,
    /// The file is longer than the 500 KiB that are read (RFC 9309 §2.5).
    BeyondLimit,
    /// A byte-order mark at the start.
    ByteOrderMark,
    /// A NUL byte ends its line.
    NulByte,
    /// A line is longer than the 16,663 bytes that are kept (Google's parser).
    LongLine,
    /// The file is UTF-16: nothing is read.
    Utf16,
    /// The file is an HTML page.
    Html,
    /// A signal line of the `*` group does not reach a named group.
    SignalHidden,
    /// A signal line with a key that nobody defines.
    SignalKey,
    /// A signal line with a value that says nothing.
    SignalValue,
    /// A group for a control token, which no crawler sends.
    ControlToken,
    /// A rule holds an absolute URL, so it never matches.
    AbsoluteUrl,
    /// A sitemap without scheme and host.
    SitemapRelative,
    /// A sitemap of another host.
    SitemapHost,
    /// A rule holds a raw space, so it never matches a URL as it is sent.
    RawSpace,
    /// A rule holds bytes outside ASCII.
    NonAscii,
    /// A rule before the first user-agent line belongs to nobody (RFC 9309 §2.2.2).
    OutsideGroup,
    /// A key that nobody reads, but close to one that all do.
    UnknownKey,
    /// Two groups that are one, because no rule stands between them.
    GroupsJoined,
    /// A part of the file was too large to be examined.
    NotExamined,
}

/// Code, name and usual severity, in the order of the codes.
const CODES: [(LintCode, &str, &str, Severity); 38] = {
    use LintCode as C;
    use Severity::{Error, Info, Warning};
    [
        (C::HidesGlobal, "R001", "hides-global", Warning),
        (C::NeverMatches, "R002", "never-matches", Error),
        (C::Shadowed, "R003", "shadowed", Warning),
        (C::OrderReliant, "R004", "order-reliant", Info),
        (C::PrefixBleed, "R005", "prefix-bleed", Info),
        (C::CaseOpen, "R006", "case-open", Info),
        (C::CaseTwins, "R007", "case-twins", Info),
        (C::DollarLength, "R008", "dollar-length", Info),
        (C::DollarQuery, "R009", "dollar-query", Warning),
        (C::ParameterPosition, "R010", "parameter-position", Warning),
        (C::Noindex, "R011", "noindex", Warning),
        (C::Host, "R012", "host", Info),
        (C::CleanParam, "R013", "clean-param", Info),
        (C::CrawlDelayGoogle, "R014", "crawl-delay-google", Info),
        (C::CrawlDelayLarge, "R015", "crawl-delay-large", Warning),
        (C::CrawlDelayUnreadable, "R016", "crawl-delay-unreadable", Warning),
        (C::KeyTypo, "R017", "key-typo", Warning),
        (C::MissingColon, "R018", "missing-colon", Warning),
        (C::TokenCut, "R019", "token-cut", Warning),
        (C::BeyondLimit, "R020", "beyond-limit", Error),
        (C::ByteOrderMark, "R021", "byte-order-mark", Info),
        (C::NulByte, "R022", "nul-byte", Warning),
        (C::LongLine, "R023", "long-line", Warning),
        (C::Utf16, "R024", "utf-16", Error),
        (C::Html, "R025", "html", Error),
        (C::SignalHidden, "R026", "signal-hidden", Warning),
        (C::SignalKey, "R027", "signal-key", Warning),
        (C::SignalValue, "R028", "signal-value", Warning),
        (C::ControlToken, "R029", "control-token", Info),
        (C::AbsoluteUrl, "R030", "absolute-url", Error),
        (C::SitemapRelative, "R031", "sitemap-relative", Warning),
        (C::SitemapHost, "R032", "sitemap-host", Info),
        (C::RawSpace, "R033", "raw-space", Error),
        (C::NonAscii, "R034", "non-ascii", Info),
        (C::OutsideGroup, "R035", "outside-group", Error),
        (C::UnknownKey, "R036", "unknown-key", Error),
        (C::GroupsJoined, "R037", "groups-joined", Warning),
        (C::NotExamined, "R038", "not-examined", Info),
    ]
};

impl LintCode {
    /// Every code, in order.
    pub fn all() -> impl Iterator<Item = Self> {
        CODES.iter().map(|(code, ..)| *code)
    }

    /// The code, such as `R001`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.row().map_or("", |(_, code, ..)| code)
    }

    /// A name in words, such as `hides-global`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().map_or("", |(_, _, name, _)| name)
    }

    /// The severity of most findings of this code; a finding may be milder or worse.
    #[must_use]
    pub fn severity(self) -> Severity {
        self.row().map_or(Severity::Info, |(.., severity)| *severity)
    }

    fn row(self) -> Option<&'static (Self, &'static str, &'static str, Severity)> {
        CODES.iter().find(|(code, ..)| *code == self)
    }
}

impl fmt::Display for LintCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn codes_are_numbered_in_order() {
        for (at, code) in LintCode::all().enumerate() {
            assert_eq!(code.as_str(), format!("R{:03}", at + 1));
            assert!(!code.name().is_empty());
        }
    }
}
