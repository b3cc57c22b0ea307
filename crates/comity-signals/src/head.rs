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

impl EmbeddedFacts {
    /// Values that are kept of each property (our choice).
    pub const MAX_VALUES: usize = 16;
    /// Bytes that are kept of a value.
    pub const MAX_VALUE_BYTES: usize = 2048;

    /// Adds a value of `reservation`, unless it is known. One that reserves is kept even where there is no room: it takes the place of
    /// one that does not (signals reference §1.4: leniency may only ever produce a denial).
    pub fn add_reservation(&mut self, value: &str) {
        keep(&mut self.tdm_reservation, value, |value| value == "1");
    }

    /// Adds a value of `policy`, unless it is known or there is no room.
    pub fn add_policy(&mut self, value: &str) {
        keep(&mut self.tdm_policy, value, |_| false);
    }

    /// Adds a value of `DataMining`, as [`add_reservation`](Self::add_reservation): one that prohibits is kept.
    pub fn add_data_mining(&mut self, value: &str) {
        keep(&mut self.data_mining, value, prohibits);
    }
}

/// Whether a term of PLUS, an IRI or the end of one, prohibits.
pub(crate) fn prohibits(value: &str) -> bool {
    const PROHIBITED: &str = "DMI-PROHIBITED";
    let term = value.trim().rsplit(['/', '#']).next().unwrap_or_default();
    term.get(..PROHIBITED.len()).is_some_and(|start| start.eq_ignore_ascii_case(PROHIBITED))
}

fn keep(values: &mut Vec<String>, value: &str, denies: impl Fn(&str) -> bool) {
    let value = value.trim();
    let value = value.get(..value.floor_char_boundary(EmbeddedFacts::MAX_VALUE_BYTES)).unwrap_or(value);
    if value.is_empty() || values.iter().any(|known| known == value) {
        return;
    }
    if values.len() >= EmbeddedFacts::MAX_VALUES {
        let weakest = values.iter().rposition(|known| !denies(known)).filter(|_| denies(value));
        let Some(weakest) = weakest else { return };
        values.remove(weakest);
    }
    values.push(value.to_owned());
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
    fn no_denial_is_crowded_out() {
        let permits = |n: usize| format!("http://ns.useplus.org/ldf/vocab/DMI-ALLOWED-{n}");
        for before in [0, 1, EmbeddedFacts::MAX_VALUES, 100] {
            for behind in [0, 100] {
                let mut facts = EmbeddedFacts::default();
                for n in 0..before {
                    facts.add_reservation("0");
                    facts.add_reservation(&n.saturating_add(2).to_string());
                    facts.add_data_mining(&permits(n));
                }
                facts.add_reservation(" 1 ");
                facts.add_data_mining("DMI-Prohibited-AIMLTRAINING");
                for n in before..before + behind {
                    facts.add_reservation("1");
                    facts.add_reservation(&n.saturating_add(2).to_string());
                    facts.add_data_mining(&permits(n));
                }
                assert!(facts.tdm_reservation.contains(&"1".to_owned()), "{before}, {behind}: {facts:?}");
                assert!(facts.data_mining.iter().any(|value| prohibits(value)), "{before}, {behind}: {facts:?}");
                for values in [&facts.tdm_reservation, &facts.data_mining] {
                    assert!(values.len() <= EmbeddedFacts::MAX_VALUES);
                    assert!(values.iter().all(|one| values.iter().filter(|other| *other == one).count() == 1));
                }
            }
        }
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
