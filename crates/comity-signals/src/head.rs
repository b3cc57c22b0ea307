/// What the head of a page says, as read by `comity-extract`: raw values, not yet judged.
///
/// Every list keeps document order and is bounded by the extractor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeadFacts {
    /// Robots metas: `robots` and product tokens.
    pub robots: Vec<RobotsMeta>,
    /// The text of the first `title` element, white space folded.
    pub title: Option<String>,
    /// The `lang` attribute of the root element.
    pub language: Option<String>,
    /// `rel=canonical`, as written.
    pub canonical: Option<String>,
    /// `tdm-reservation` metas: their content, as written.
    pub tdm_reservation: Vec<String>,
    /// `tdm-policy` metas: their content, as written.
    pub tdm_policy: Vec<String>,
    /// `link`, `a` and `area` elements with `rel=license`.
    pub licences: Vec<LicenceLink>,
    /// `script` elements of the type `application/rsl+xml`: their text, as written.
    pub inline_rsl: Vec<String>,
    /// What is embedded in a document or image that is no page.
    pub embedded: EmbeddedFacts,
}

/// What XMP packets within a document or image, or the package document of an EPUB, say of its use: values as written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EmbeddedFacts {
    /// `reservation` of TDMRep's namespace.
    pub tdm_reservation: Vec<String>,
    /// `policy` of the same.
    pub tdm_policy: Vec<String>,
    /// `DataMining` of PLUS: an IRI of its vocabulary, or the end of one.
    pub data_mining: Vec<String>,
}

/// One link to the terms under which a page may be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LicenceLink {
    /// The `href` attribute as written; relative to the page's base.
    pub href: String,
    /// The `type` attribute: `application/rsl+xml` for RSL.
    pub media_type: Option<String>,
}

/// One robots meta element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RobotsMeta {
    /// The `name` attribute in lower case: `robots` or a product token.
    pub name: String,
    /// The `content` attribute as written.
    pub content: String,
}

impl HeadFacts {
    /// True when a robots meta for everybody or for `token` says `nofollow` or `none`: no links of this page
    /// may be followed.
    ///
    /// Source: Google's robots meta documentation; names and values compare case-insensitively, several
    /// metas add up, the more restrictive wins.
    #[must_use]
    pub fn forbids_following(&self, token: &str) -> bool {
        self.says(token, &["nofollow", "none"])
    }

    /// True when a robots meta for everybody or for `token` says `noindex` or `none`.
    #[must_use]
    pub fn forbids_indexing(&self, token: &str) -> bool {
        self.says(token, &["noindex", "none"])
    }

    fn says(&self, token: &str, words: &[&str]) -> bool {
        self.robots
            .iter()
            .filter(|meta| meta.name.eq_ignore_ascii_case("robots") || meta.name.eq_ignore_ascii_case(token))
            .flat_map(|meta| meta.content.split(','))
            .any(|rule| words.iter().any(|word| rule.trim().eq_ignore_ascii_case(word)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(name: &str, content: &str) -> HeadFacts {
        HeadFacts { robots: vec![RobotsMeta { name: name.into(), content: content.into() }], ..HeadFacts::default() }
    }

    #[test]
    fn metas_for_everybody_and_for_us_count_others_do_not() {
        let rows = [
            ("robots", "NOFOLLOW", true, false),
            ("robots", "noindex, nofollow", true, true),
            ("ComityBot", "none", true, true),
            ("otherbot", "none", false, false),
            ("robots", "index,follow", false, false),
            ("robots", "nofollowing", false, false),
        ];
        for (name, content, nofollow, noindex) in rows {
            let facts = head(name, content);
            assert_eq!(facts.forbids_following("comitybot"), nofollow, "{name}: {content}");
            assert_eq!(facts.forbids_indexing("comitybot"), noindex, "{name}: {content}");
        }
    }
}
