//! Link types: the words of a `rel` attribute.

use std::fmt;

/// The link types of one element, as a set of those known here; unknown words are dropped.
///
/// Source: the HTML standard, "Link types", and the microformats registry it names; words compare
/// ASCII case-insensitively and are separated by ASCII white space.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Rel(u32);

impl Rel {
    /// `nofollow`: the author does not vouch for the target.
    pub const NOFOLLOW: Self = Self(1);
    /// `ugc`: written by a user of the site.
    pub const UGC: Self = Self(1 << 1);
    /// `sponsored`: a paid link.
    pub const SPONSORED: Self = Self(1 << 2);
    /// `canonical`: the preferred URL of this document.
    pub const CANONICAL: Self = Self(1 << 3);
    /// `alternate`: another form of this document.
    pub const ALTERNATE: Self = Self(1 << 4);
    /// `next`: the next document of a series.
    pub const NEXT: Self = Self(1 << 5);
    /// `prev`, and `previous` that the standard treats alike.
    pub const PREV: Self = Self(1 << 6);
    /// `license`, and `copyright` that the standard treats alike.
    pub const LICENSE: Self = Self(1 << 7);
    /// `terms-of-service`.
    pub const TERMS_OF_SERVICE: Self = Self(1 << 8);
    /// `privacy-policy`.
    pub const PRIVACY_POLICY: Self = Self(1 << 9);
    /// `author`.
    pub const AUTHOR: Self = Self(1 << 10);
    /// `help`.
    pub const HELP: Self = Self(1 << 11);
    /// `stylesheet`.
    pub const STYLESHEET: Self = Self(1 << 12);
    /// `icon` and its vendor forms.
    pub const ICON: Self = Self(1 << 13);
    /// `preload`, `modulepreload`, `prefetch`, `prerender`.
    pub const PRELOAD: Self = Self(1 << 14);
    /// `preconnect`, `dns-prefetch`: a host, no document.
    pub const PRECONNECT: Self = Self(1 << 15);
    /// `manifest`.
    pub const MANIFEST: Self = Self(1 << 16);
    /// `search`: an OpenSearch description.
    pub const SEARCH: Self = Self(1 << 17);

    /// Reads a `rel` attribute. Linear.
    #[must_use]
    pub fn parse(value: &str) -> Self {
        value.split_ascii_whitespace().fold(Self::default(), |rel, word| Self(rel.0 | bit(word)))
    }

    /// Whether every type of `other` is in this set.
    #[must_use]
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether any type of `other` is in this set.
    #[must_use]
    pub fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether no known type is in this set.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Both sets together.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The words of the set, in the order of the table here.
    pub fn words(self) -> impl Iterator<Item = &'static str> {
        WORDS.iter().filter(move |(_, rel)| self.contains(*rel)).map(|(word, _)| *word)
    }

    /// Whether a `link` element of these types leads to a document: the types that the HTML standard's
    /// table lists as hyperlinks, without `search`; an alternate stylesheet is a stylesheet.
    pub(crate) fn is_document(self) -> bool {
        const DOCUMENTS: Rel = Rel::CANONICAL
            .union(Rel::ALTERNATE)
            .union(Rel::NEXT)
            .union(Rel::PREV)
            .union(Rel::LICENSE)
            .union(Rel::TERMS_OF_SERVICE)
            .union(Rel::PRIVACY_POLICY)
            .union(Rel::AUTHOR)
            .union(Rel::HELP);
        self.intersects(DOCUMENTS) && !self.contains(Self::STYLESHEET)
    }
}

impl fmt::Debug for Rel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rel({self})")
    }
}

impl fmt::Display for Rel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, word) in self.words().enumerate() {
            if place > 0 {
                f.write_str(" ")?;
            }
            f.write_str(word)?;
        }
        Ok(())
    }
}

/// One word per type: the one that is printed.
const WORDS: [(&str, Rel); 18] = [
    ("nofollow", Rel::NOFOLLOW),
    ("ugc", Rel::UGC),
    ("sponsored", Rel::SPONSORED),
    ("canonical", Rel::CANONICAL),
    ("alternate", Rel::ALTERNATE),
    ("next", Rel::NEXT),
    ("prev", Rel::PREV),
    ("license", Rel::LICENSE),
    ("terms-of-service", Rel::TERMS_OF_SERVICE),
    ("privacy-policy", Rel::PRIVACY_POLICY),
    ("author", Rel::AUTHOR),
    ("help", Rel::HELP),
    ("stylesheet", Rel::STYLESHEET),
    ("icon", Rel::ICON),
    ("preload", Rel::PRELOAD),
    ("preconnect", Rel::PRECONNECT),
    ("manifest", Rel::MANIFEST),
    ("search", Rel::SEARCH),
];

/// Other words for the same types.
const SYNONYMS: [(&str, Rel); 9] = [
    ("previous", Rel::PREV),
    ("copyright", Rel::LICENSE),
    ("apple-touch-icon", Rel::ICON),
    ("apple-touch-icon-precomposed", Rel::ICON),
    ("mask-icon", Rel::ICON),
    ("modulepreload", Rel::PRELOAD),
    ("prefetch", Rel::PRELOAD),
    ("prerender", Rel::PRELOAD),
    ("dns-prefetch", Rel::PRECONNECT),
];

fn bit(word: &str) -> u32 {
    let known = WORDS.iter().chain(&SYNONYMS).find(|(name, _)| name.eq_ignore_ascii_case(word));
    known.map_or(0, |(_, rel)| rel.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_in_any_case_and_unknown_ones_dropped() {
        let rows = [
            ("nofollow", "nofollow"),
            ("  NoFollow\tUGC\nnoopener ", "nofollow ugc"),
            ("previous copyright", "prev license"),
            ("shortcut icon", "icon"),
            ("nofollow,ugc", ""),
            ("", ""),
        ];
        for (value, words) in rows {
            assert_eq!(Rel::parse(value).to_string(), words, "{value:?}");
        }
    }

    #[test]
    fn each_word_has_its_own_bit() {
        for (place, (word, rel)) in WORDS.iter().enumerate() {
            assert_eq!(rel.0, 1 << place, "{word}");
        }
    }
}
