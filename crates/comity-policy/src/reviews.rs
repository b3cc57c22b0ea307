//! Reviewed terms: what somebody who is answerable for it has read in the terms of a site (docs/decisions/0060).

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use comity_signals::{Declared, Purpose, Source, Statement, Verdict};
use comity_url::{CrawlUrl, Origin};

use crate::{Digest, WallTime};

/// What one text of terms was found to say about uses of one origin. A denial counts like a statement of the site; a
/// permission is kept for the report and changes nothing, for that there are [`Grants`](crate::Grants).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Review {
    origin: Origin,
    url: CrawlUrl,
    reviewed_by: String,
    reviewed_on: WallTime,
    digest: Option<Digest>,
    verdicts: Vec<(Purpose, Verdict)>,
    note: Option<String>,
}

/// A review as typed, not yet checked.
#[derive(Clone, Debug, Default)]
pub struct ReviewDraft {
    /// The origin that the terms are of.
    pub origin: Option<String>,
    /// Where they stand.
    pub url: Option<String>,
    /// Who has read them.
    pub reviewed_by: Option<String>,
    /// When.
    pub reviewed_on: Option<WallTime>,
    /// SHA-256 of the text that was read, in hex.
    pub digest: Option<String>,
    /// Judged purposes, each `denied` or `allowed`.
    pub verdicts: Vec<(String, String)>,
    /// What else is to be known.
    pub note: Option<String>,
}

/// Why a review cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewError {
    /// Which one, from 1.
    pub number: usize,
    /// The key.
    pub key: &'static str,
    /// What is wrong, and what to write.
    pub what: String,
}

impl fmt::Display for ReviewError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.what)
    }
}

impl std::error::Error for ReviewError {}

/// Every review of a configuration. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Reviews {
    all: Arc<[Arc<Review>]>,
    by_origin: Arc<HashMap<Origin, Vec<Arc<Review>>>>,
}

/// Characters of a name or a note, at most.
const MOST_TEXT: usize = 500;

impl Reviews {
    /// Checks drafts.
    ///
    /// # Errors
    /// The first that cannot be used.
    pub fn new(drafts: &[ReviewDraft]) -> Result<Self, ReviewError> {
        let check = |(n, draft): (usize, &ReviewDraft)| {
            Review::check(draft).map(Arc::new).map_err(|(key, what)| ReviewError { number: n + 1, key, what })
        };
        let all: Vec<Arc<Review>> = drafts.iter().enumerate().map(check).collect::<Result<_, _>>()?;
        let mut by_origin: HashMap<Origin, Vec<Arc<Review>>> = HashMap::new();
        for one in &all {
            by_origin.entry(one.origin.clone()).or_default().push(one.clone());
        }
        Ok(Self { all: all.into(), by_origin: Arc::new(by_origin) })
    }

    /// Every review, in the order of the configuration.
    #[must_use]
    pub fn all(&self) -> &[Arc<Review>] {
        &self.all
    }

    /// Those of one origin.
    #[must_use]
    pub fn of(&self, origin: &Origin) -> &[Arc<Review>] {
        self.by_origin.get(origin).map_or(&[], Vec::as_slice)
    }

    /// What the terms of `origin` deny, as statements. What they allow is none: a permission overrides nothing.
    pub fn statements(&self, origin: &Origin) -> impl Iterator<Item = Statement> {
        self.of(origin).iter().flat_map(|review| review.statements())
    }
}

impl Review {
    /// The origin that the terms are of: exactly this one.
    #[must_use]
    pub const fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Where they stand.
    #[must_use]
    pub const fn url(&self) -> &CrawlUrl {
        &self.url
    }

    /// Who has read them.
    #[must_use]
    pub fn reviewed_by(&self) -> &str {
        &self.reviewed_by
    }

    /// When.
    #[must_use]
    pub const fn reviewed_on(&self) -> WallTime {
        self.reviewed_on
    }

    /// SHA-256 of the text that was read. Without it nobody can tell that the text has changed.
    #[must_use]
    pub const fn digest(&self) -> Option<Digest> {
        self.digest
    }

    /// What was found, purpose by purpose.
    #[must_use]
    pub fn verdicts(&self) -> &[(Purpose, Verdict)] {
        &self.verdicts
    }

    /// What else is to be known.
    #[must_use]
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    fn statements(&self) -> impl Iterator<Item = Statement> {
        let denied = self.verdicts.iter().filter(|(_, verdict)| *verdict == Verdict::Denied);
        denied.map(|(purpose, verdict)| Statement::new(Source::Terms, *purpose, *verdict, self.reference()))
    }

    /// Who read what, when: the raw text of its statements.
    fn reference(&self) -> String {
        let note = self.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
        format!("{}, reviewed {} by {}{note}", self.url, self.day(), self.reviewed_by)
    }

    /// The day of the review.
    fn day(&self) -> String {
        self.reviewed_on.to_string().chars().take(10).collect()
    }

    fn check(draft: &ReviewDraft) -> Result<Self, (&'static str, String)> {
        let missing = |key: &'static str| (key, format!("a review of terms needs {key}"));
        let origin = draft.origin.as_deref().ok_or_else(|| missing("origin"))?;
        let origin = Origin::parse(origin)
            .map_err(|error| ("origin", format!("{origin:?}: {error}; write https://example.com")))?;
        let url = draft.url.as_deref().ok_or_else(|| missing("url"))?;
        let url = CrawlUrl::parse(url).map_err(|error| ("url", format!("{url:?}: {error}")))?;
        let digest = draft.digest.as_deref().map(|hex| {
            let wrong = |_| ("digest", format!("{hex:?} is no SHA-256 in hex; write 64 hex digits"));
            hex.parse::<Digest>().map_err(wrong)
        });
        let verdicts: Vec<_> = draft.verdicts.iter().map(verdict).collect::<Result<_, _>>()?;
        if verdicts.is_empty() {
            return Err(missing("verdicts"));
        }
        Ok(Self {
            origin,
            url,
            reviewed_by: line("reviewed_by", draft.reviewed_by.as_deref())?.ok_or_else(|| missing("reviewed_by"))?,
            reviewed_on: draft.reviewed_on.ok_or_else(|| missing("reviewed_on"))?,
            digest: digest.transpose()?,
            verdicts,
            note: line("note", draft.note.as_deref())?,
        })
    }
}

fn verdict((purpose, verdict): &(String, String)) -> Result<(Purpose, Verdict), (&'static str, String)> {
    let Ok(Declared::Judged(purpose)) = purpose.parse::<Declared>() else {
        return Err(("verdicts", format!("{purpose:?} is none of search, ai_input, ai_train, tdm")));
    };
    let known = [Verdict::Denied, Verdict::Allowed].into_iter().find(|known| known.as_str() == verdict);
    known.map(|verdict| (purpose, verdict)).ok_or_else(|| ("verdicts", format!("{verdict:?}: write denied or allowed")))
}

fn line(key: &'static str, text: Option<&str>) -> Result<Option<String>, (&'static str, String)> {
    let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else { return Ok(None) };
    let is_line = text.chars().count() <= MOST_TEXT && !text.chars().any(char::is_control);
    if is_line { Ok(Some(text.to_owned())) } else { Err((key, format!("one line of {MOST_TEXT} characters at most"))) }
}

/// One line: verdicts, origin, where the terms stand, who read them and when.
impl fmt::Display for Review {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said: Vec<String> = self.verdicts.iter().map(|(purpose, verdict)| format!("{purpose} {verdict}")).collect();
        write!(f, "{} for {}; {}", said.join(", "), self.origin, self.reference())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft() -> ReviewDraft {
        ReviewDraft {
            origin: Some("https://a.test".to_owned()),
            url: Some("https://a.test/terms".to_owned()),
            reviewed_by: Some("Counsel".to_owned()),
            reviewed_on: Some("2026-11-30T00:00:00Z".parse().unwrap()),
            digest: Some("ab".repeat(32)),
            verdicts: vec![("ai-train".to_owned(), "denied".to_owned()), ("search".to_owned(), "allowed".to_owned())],
            note: Some("section 4".to_owned()),
        }
    }

    #[test]
    fn a_denial_is_a_statement_and_a_permission_is_none() {
        let reviews = Reviews::new(&[draft()]).unwrap();
        let origin = Origin::parse("https://a.test").unwrap();
        let said: Vec<Statement> = reviews.statements(&origin).collect();
        assert_eq!(said.len(), 1);
        assert_eq!(
            (said[0].source, said[0].purpose, said[0].verdict),
            (Source::Terms, Purpose::AiTrain, Verdict::Denied)
        );
        assert_eq!(said[0].raw, "https://a.test/terms, reviewed 2026-11-30 by Counsel: section 4");
        assert_eq!(reviews.statements(&Origin::parse("http://a.test").unwrap()).count(), 0);
    }

    #[test]
    fn each_key_is_checked_by_name() {
        type Spoil = fn(&mut ReviewDraft);
        let broken: [(&str, Spoil); 9] = [
            ("origin", |one| one.origin = None),
            ("origin", |one| one.origin = Some("a.test".to_owned())),
            ("url", |one| one.url = Some("terms".to_owned())),
            ("reviewed_by", |one| one.reviewed_by = Some(" ".to_owned())),
            ("reviewed_on", |one| one.reviewed_on = None),
            ("digest", |one| one.digest = Some("abc".to_owned())),
            ("verdicts", |one| one.verdicts.clear()),
            ("verdicts", |one| one.verdicts[0].0 = "archive".to_owned()),
            ("note", |one| one.note = Some("a\nb".to_owned())),
        ];
        for (key, spoil) in broken {
            let mut one = draft();
            spoil(&mut one);
            let error = Reviews::new(&[draft(), one]).unwrap_err();
            assert_eq!((error.number, error.key), (2, key), "{error}");
        }
        let unknown = ReviewDraft { verdicts: vec![("tdm".to_owned(), "maybe".to_owned())], ..draft() };
        assert_eq!(Reviews::new(&[unknown]).unwrap_err().key, "verdicts");
    }
}
