//! Constraints and oddities, read anew: what a record says beside its verdicts.

use std::collections::BTreeSet;

use comity::policy::{PaceFields, PaceNote, WallTime};
use comity_archive::{ConstraintsRecord, Record};
use comity_signals::{
    DiagnosticCode, HeadFacts, PageReader, PaymentDemand, Remarks, RobotsReading, RslPointers, Source, TdmReading,
};

use super::signals::{self, SiteSaid};

/// What the record gets wrong. `head` is that of its page, `licences` what its licences come to.
pub(super) fn problem(
    record: &Record,
    said: &SiteSaid<'_>,
    (head, licences): (&HeadFacts, &Remarks),
    target: &[u8],
) -> Option<String> {
    let found = found(record, said, head, target)?.with(licences.clone());
    let wanted = ConstraintsRecord::of(&found.constraints);
    if wanted != record.constraints {
        return Some(format!("it says the site asks {:?}, its evidence {wanted:?}", record.constraints));
    }
    // Whether groups answer differently may hang on a query that is not written, where nothing that they say of uses does.
    let is_known = |code: &&str| record.query.is_none() || *code != DiagnosticCode::GroupAmbiguity.as_str();
    let stated: BTreeSet<&str> = record.diagnostics.iter().map(|one| one.code.as_str()).filter(is_known).collect();
    let found = found.diagnostics.as_slice().iter().map(|one| one.code.as_str());
    let wanted: BTreeSet<&str> = found.filter(is_known).collect();
    (stated != wanted).then(|| format!("it says {stated:?} was odd, by its evidence {wanted:?}"))
}

fn found(record: &Record, said: &SiteSaid<'_>, head: &HeadFacts, target: &[u8]) -> Option<Remarks> {
    let fields = signals::fields(record)?;
    let response = record.response.as_ref()?;
    let image = signals::is_image(record);
    let options = said.options;
    let mut all = Remarks::from(&RobotsReading::of_usage(said.rules, target, options));
    if !(said.rules.signals().is_empty() && said.rules.file_signals().is_empty()) {
        let none = HeadFacts::default();
        all = all.with(&RslPointers::read::<&str, &str>(Some(said.rules), &[], &none));
    }
    if let Some(demand) = PaymentDemand::read(response.status, &fields, None) {
        all = all.with(&demand);
    }
    let now: WallTime = record.time.started.parse().ok()?;
    let values = fields.iter().map(|(name, value)| (name.as_str(), value.as_slice()));
    for note in PaceFields::read(values, now).notes {
        all = match note {
            PaceNote::RetryAfterInvalid => all.noting(DiagnosticCode::RetryAfterInvalid, Source::HeaderRetryAfter),
            PaceNote::RateLimitUnparsable => all.noting(DiagnosticCode::RatelimitUnparsable, Source::HeaderRateLimit),
        };
    }
    all = all.with(&RslPointers::read(None, &fields, head));
    all = all.with(&TdmReading::read(said.tdmrep, target, &fields, head, options));
    for token in &record.agent.product_tokens {
        all = all.with(&PageReader { token, image, options }.read(&fields, head));
    }
    Some(all)
}
