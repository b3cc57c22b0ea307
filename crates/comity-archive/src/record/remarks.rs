//! What stands beside the verdicts: constraints, and what was odd.

use comity_signals::{Constraints, Diagnostic, Remarks, Verdict};
use serde::{Deserialize, Serialize};

use super::judged::place;
use super::parts::cut_to;

/// Diagnostics in one record, at most; the first of each code always.
const MAX_DIAGNOSTICS: usize = 32;
/// Bytes of a URL or policy.
const MAX_URL: usize = 2048;
/// Bytes of the text that a diagnostic is about.
const MAX_TEXT: usize = 200;

/// What a site asks whatever the purpose (signals reference §1.3): of each member what was said, left out where nothing was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConstraintsRecord {
    /// False: no cached copy is to be shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<bool>,
    /// False: no link of the page may be followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub follow: Option<bool>,
    /// `denied`: images of the page are not for training.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_ai_train: Option<String>,
    /// False: images of the page are not to be indexed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_index: Option<bool>,
    /// True: a permission depends on a condition that is not met.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub license_required: Option<bool>,
    /// Licences that were named, RSL or not, at most 32.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub license_urls: Vec<String>,
    /// What is asked for the content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<PriceRecord>,
    /// The longest excerpt to be shown, in characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snippet_max: Option<u32>,
    /// The policy next to a TDMRep reservation, as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tdm_policy: Option<String>,
    /// False: no translation is to be offered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub translate: Option<bool>,
    /// From then on `search` is denied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unavailable_after: Option<String>,
    /// `use=` of Content-Signal, the lowest: `immediate`, `reference` or `full`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub use_ceiling: Option<String>,
}

/// An amount of money.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriceRecord {
    /// A decimal number as written.
    pub amount: String,
    /// Three letters.
    pub currency: String,
}

/// One oddity (signals reference §1.6). It changes no verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiagnosticRecord {
    /// What was odd.
    pub code: String,
    /// Where in the carrier: `whole`, or a `line`, `header`, `rule` or `element` with its number.
    pub place: String,
    /// The carrier, as in `signals`.
    pub source: String,
    /// What is meant, at most 200 bytes of it; left out where there is nothing to quote.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
}

/// What was left out of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OmittedRecord {
    /// Diagnostics; left out where none was.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub diagnostics: u64,
    /// Group tokens.
    pub group: u64,
    /// Statements.
    pub signals: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
const fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl ConstraintsRecord {
    /// `None` where nobody asks anything.
    #[must_use]
    pub fn of(held: &Constraints) -> Option<Self> {
        let no = |wish: bool| (!wish).then_some(false);
        let price = |price: &comity_signals::Price| PriceRecord {
            amount: price.amount.clone(),
            currency: price.currency.clone(),
        };
        let record = Self {
            cache: no(held.cache),
            follow: no(held.follow),
            image_ai_train: (held.image_ai_train == Verdict::Denied).then(|| Verdict::Denied.as_str().to_owned()),
            image_index: no(held.image_index),
            license_required: held.license_required.then_some(true),
            license_urls: held.license_urls.iter().map(|url| cut_to(url, MAX_URL)).collect(),
            price: held.price.as_ref().map(price),
            snippet_max: held.snippet_max,
            tdm_policy: held.tdm_policy.as_deref().map(|policy| cut_to(policy, MAX_URL)),
            translate: no(held.translate),
            unavailable_after: held.unavailable_after.map(|date| date.to_string()),
            use_ceiling: held.use_ceiling.map(|ceiling| ceiling.as_str().to_owned()),
        };
        (record != Self::default()).then_some(record)
    }
}

/// What was odd, and how much of it was left out.
pub(super) fn diagnostics(remarks: &Remarks) -> (Vec<DiagnosticRecord>, u64) {
    let all = remarks.diagnostics.as_slice();
    let mut codes = Vec::new();
    let firsts = all.iter().filter(|one| {
        let is_first = !codes.contains(&one.code);
        if is_first {
            codes.push(one.code);
        }
        is_first
    });
    let firsts: Vec<&Diagnostic> = firsts.collect();
    let mut room = MAX_DIAGNOSTICS.saturating_sub(firsts.len());
    let is_kept = |one: &&Diagnostic| {
        let is_first = firsts.iter().any(|first| std::ptr::eq(*first, *one));
        let fits = is_first || room > 0;
        room -= usize::from(fits && !is_first);
        fits
    };
    let kept: Vec<_> = all.iter().filter(is_kept).map(record).collect();
    let omitted = (all.len() - kept.len()) as u64 + u64::from(remarks.diagnostics.omitted());
    (kept, omitted)
}

fn record(one: &Diagnostic) -> DiagnosticRecord {
    DiagnosticRecord {
        code: one.code.as_str().to_owned(),
        place: place(one.place),
        source: one.source.as_str().to_owned(),
        text: cut_to(&one.text, MAX_TEXT),
    }
}
