//! Whether a page is usable, by what its record says; what an archive or a later erasure took away counts as well.

use std::collections::HashSet;

use comity_archive::{PurposeRecord, Record, SignalRecord};
use comity_signals::Purpose;

use super::rows::Why;
use crate::args::SilenceArg;

/// Runs of line numbers: first and last of each.
#[derive(Debug, Default)]
pub(super) struct Runs(Vec<(u64, u64)>);

impl Runs {
    pub(super) fn add(&mut self, runs: &[(u64, u64)]) {
        self.0.extend_from_slice(runs);
    }

    fn sort(mut self) -> Self {
        self.0.sort_unstable();
        let mut merged: Vec<(u64, u64)> = Vec::new();
        for (first, last) in self.0 {
            match merged.last_mut() {
                Some(run) if first <= run.1 => run.1 = run.1.max(last),
                _ => merged.push((first, last)),
            }
        }
        Self(merged)
    }

    fn holds(&self, seq: u64) -> bool {
        let after = self.0.partition_point(|(first, _)| *first <= seq);
        after.checked_sub(1).and_then(|at| self.0.get(at)).is_some_and(|(_, last)| seq <= *last)
    }
}

/// Judges records in the order of their lines: what repeats an earlier capture is usable only where that is.
#[derive(Debug)]
pub(super) struct Judge {
    pub(super) purpose: Purpose,
    silence: Option<SilenceArg>,
    without_payload: Runs,
    /// Ids of the responses that were found usable: 16 bytes each.
    usable: HashSet<u128>,
}

impl Judge {
    pub(super) fn new(purpose: Purpose, silence: Option<SilenceArg>, without_payload: Runs) -> Self {
        Self { purpose, silence, without_payload: without_payload.sort(), usable: HashSet::new() }
    }

    /// `None` when the page is usable; else why not. The outcome first, then what is said of the use, then what is left.
    pub(super) fn left(&self, seq: u64, record: &Record) -> Option<Why> {
        let outcome = match record.outcome.as_str() {
            "fetched" | "not_modified" => None,
            _ => Some(Why::of_record(record, self.purpose)),
        };
        outcome.or_else(|| self.denied(record)).or_else(|| self.gone(seq, record))
    }

    /// The page of this record goes into the export.
    pub(super) fn take(&mut self, record: &Record) {
        let response = record.warc.as_ref().and_then(|places| places.response.as_ref());
        self.usable.extend(response.and_then(|place| id(&place.id)));
    }

    fn denied(&self, record: &Record) -> Option<Why> {
        let name = self.purpose.as_str();
        let Some(found) = record.decision.as_ref().and_then(|decision| decision.purposes.get(name)) else {
            // The crawl did not say that it wanted it for this: what it did not look at may deny it.
            return Some(Why::new("purpose.not_declared"));
        };
        if is_lifted(record, name) {
            return None;
        }
        match (found.verdict.as_str(), self.refuses_silence(found)) {
            ("allowed", _) | ("unspecified", false) => None,
            ("unspecified", true) => Some(Why::new("signal.unspecified")),
            _ => Some(Why::new(&format!("signal.{name}")).said(denial(record, name))),
        }
    }

    fn refuses_silence(&self, found: &PurposeRecord) -> bool {
        match self.silence {
            Some(silence) => silence == SilenceArg::Refuse,
            None => found.decision != "proceed",
        }
    }

    fn gone(&self, seq: u64, record: &Record) -> Option<Why> {
        if self.without_payload.holds(seq) {
            return Some(Why::new("erased.payload"));
        }
        let Some(response) = record.response.as_ref() else { return Some(Why::new("no_response")) };
        let original = response.repeats.as_ref().map(|repeats| repeats.record.as_deref().and_then(id));
        match original {
            Some(Some(original)) if self.usable.contains(&original) => None,
            Some(_) => Some(Why::new("original.left_out")),
            None if (200..300).contains(&response.status) => None,
            None => Some(Why::new("status")),
        }
    }
}

/// By a grant for the purpose, or an override that lifted a refusal by signals, as recorded.
fn is_lifted(record: &Record, purpose: &str) -> bool {
    record.decision.as_ref().is_some_and(|decision| {
        decision.grants.iter().any(|grant| grant.purpose == purpose)
            || decision.r#override.iter().flat_map(|found| &found.lifted).any(|lifted| lifted.scope == "signals")
    })
}

/// The first statement that denies a use.
pub(super) fn denial<'a>(record: &'a Record, purpose: &str) -> Option<&'a SignalRecord> {
    record.signals.iter().find(|one| one.purpose == purpose && one.verdict == "denied")
}

/// The number behind `urn:uuid:…`.
fn id(urn: &str) -> Option<u128> {
    let hex: String = urn.strip_prefix("urn:uuid:")?.chars().filter(|c| *c != '-').collect();
    (hex.len() == 32 && !hex.starts_with('+')).then(|| u128::from_str_radix(&hex, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_hold_what_lies_in_them() {
        let mut runs = Runs::default();
        runs.add(&[(7, 9), (3, 3)]);
        runs.add(&[(8, 12), (1, 1)]);
        let runs = runs.sort();
        let held: Vec<u64> = (0..20).filter(|seq| runs.holds(*seq)).collect();
        assert_eq!(held, [1, 3, 7, 8, 9, 10, 11, 12]);
        assert!(!Runs::default().sort().holds(0));
    }

    #[test]
    fn an_id_is_a_uuid_or_nothing() {
        assert_eq!(id("urn:uuid:00000000-0000-8000-a000-00000000000f"), Some(0x8000_a000_0000_0000_000f));
        for other in [
            "",
            "urn:uuid:",
            "urn:uuid:f",
            "00000000-0000-8000-a000-00000000000f",
            "urn:uuid:+0000000-0000-8000-a000-00000000000f",
        ] {
            assert_eq!(id(other), None, "{other}");
        }
    }
}
