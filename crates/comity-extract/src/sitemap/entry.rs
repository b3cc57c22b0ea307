use comity_signals::UnixSeconds;
use comity_url::CrawlUrl;

/// One location that a sitemap or feed names.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SitemapEntry {
    /// Where it leads: http or https, fragment off.
    pub loc: CrawlUrl,
    /// What is there.
    pub kind: EntryKind,
    /// When it last changed, as far as that is a date: `lastmod`, `updated`, `pubDate`, `date_modified`.
    pub lastmod: Option<LastMod>,
    /// `priority`, where it is one.
    pub priority: Option<SitemapPriority>,
    /// `changefreq`, where it is one.
    pub changefreq: Option<ChangeFreq>,
    /// The same page in other languages (`xhtml:link` with `rel=alternate` and `hreflang`).
    pub alternates: Vec<Alternate>,
    /// Pictures and films of the page. They are no pages.
    pub media: Vec<Media>,
}

/// What a location holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EntryKind {
    /// A page.
    Url,
    /// A further sitemap: the file is an index.
    Sitemap,
}

impl EntryKind {
    /// `url` or `sitemap`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Url => "url",
            Self::Sitemap => "sitemap",
        }
    }
}

/// A date as it is written, and what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastMod {
    /// As written, outer white space off.
    pub text: Box<str>,
    /// The moment; of a date without a time its start, in UTC.
    pub at: UnixSeconds,
}

impl LastMod {
    /// Reads a W3C date (`2026`, `2026-11`, `2026-11-30`, with a time) or one of RFC 822, as feeds have it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let is_short = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        let at = match text.len() {
            4 if is_short => UnixSeconds::parse(&format!("{text}-01-01")),
            7 if is_short => UnixSeconds::parse(&format!("{text}-01")),
            _ => UnixSeconds::parse(text),
        };
        at.map(|at| Self { text: text.into(), at })
    }
}

/// The weight of a page among those of its site, in thousandths: 0 to 1,000.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SitemapPriority(u16);

impl SitemapPriority {
    /// What a page has that says nothing: 0.5 (sitemaps.org, "priority").
    pub const USUAL: Self = Self(500);

    /// Reads a decimal from 0.0 to 1.0; what is finer than a thousandth is dropped.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (whole, fraction) = text.trim().split_once('.').unwrap_or((text.trim(), ""));
        let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if (whole.is_empty() && fraction.is_empty()) || !are_digits(whole) || !are_digits(fraction) {
            return None;
        }
        let whole = whole.trim_start_matches('0');
        let digit = |place: usize| fraction.as_bytes().get(place).map_or(0, |digit| u16::from(digit - b'0'));
        let thousandths = digit(0) * 100 + digit(1) * 10 + digit(2);
        match (whole, thousandths) {
            ("", _) => Some(Self(thousandths)),
            ("1", 0) if fraction.bytes().all(|digit| digit == b'0') => Some(Self(1000)),
            _ => None,
        }
    }

    /// Thousandths.
    #[must_use]
    pub const fn thousandths(self) -> u16 {
        self.0
    }
}

/// How often a page is likely to change, by its site (sitemaps.org, "changefreq"): a hint and no command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChangeFreq {
    /// At each access.
    Always,
    /// Every hour.
    Hourly,
    /// Every day.
    Daily,
    /// Every week.
    Weekly,
    /// Every month.
    Monthly,
    /// Every year.
    Yearly,
    /// It is archived.
    Never,
}

impl ChangeFreq {
    /// Every one, the most frequent first.
    pub const ALL: [Self; 7] =
        [Self::Always, Self::Hourly, Self::Daily, Self::Weekly, Self::Monthly, Self::Yearly, Self::Never];

    /// Reads the word, in any case; `None` for any other.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str().eq_ignore_ascii_case(text.trim()))
    }

    /// The word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::Hourly => "hourly",
            Self::Daily => "daily",
            Self::Weekly => "weekly",
            Self::Monthly => "monthly",
            Self::Yearly => "yearly",
            Self::Never => "never",
        }
    }
}

/// A page in another language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alternate {
    /// `hreflang` as written; empty where it is missing.
    pub language: Box<str>,
    /// Where it is.
    pub url: CrawlUrl,
}

/// A picture or film.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Media {
    /// Which.
    pub kind: MediaKind,
    /// Where it is.
    pub url: CrawlUrl,
}

/// What a piece of media is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MediaKind {
    /// `image:loc`.
    Image,
    /// `video:content_loc` or `video:player_loc`.
    Video,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priorities_and_dates() {
        let priorities = [
            ("0.5", Some(500)),
            (" 1.0 ", Some(1000)),
            ("1", Some(1000)),
            (".8", Some(800)),
            ("0.12345", Some(123)),
            ("00.3", Some(300)),
            ("1.0001", None),
            ("1.1", None),
            ("2", None),
            ("-1", None),
            ("", None),
            (".", None),
            ("high", None),
            ("0,5", None),
            ("NaN", None),
        ];
        for (text, wanted) in priorities {
            assert_eq!(SitemapPriority::parse(text).map(SitemapPriority::thousandths), wanted, "{text:?}");
        }
        let dates = [
            ("2026", Some("2026-01-01T00:00:00Z")),
            ("2026-11", Some("2026-11-01T00:00:00Z")),
            (" 2026-11-30\n", Some("2026-11-30T00:00:00Z")),
            ("2026-11-30T10:00:00+01:00", Some("2026-11-30T09:00:00Z")),
            ("Mon, 30 Nov 2026 10:00:00 GMT", Some("2026-11-30T10:00:00Z")),
            ("yesterday", None),
            ("2026-13-01", None),
            ("", None),
        ];
        for (text, wanted) in dates {
            assert_eq!(LastMod::parse(text).map(|date| date.at.to_string()).as_deref(), wanted, "{text:?}");
        }
    }
}
