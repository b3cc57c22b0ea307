use std::path::Path;

use super::unread;
use crate::{ArchiveError, read_records};

/// Lines whose payload was erased: runs of their numbers, sorted. The record of an erasure stands behind what it erased, so
/// these are read first.
#[derive(Debug, Default)]
pub(super) struct Gone(Vec<(u64, u64)>);

impl Gone {
    pub(super) fn read(dir: &Path) -> Result<Self, ArchiveError> {
        let mut runs = Vec::new();
        for line in read_records(dir).map_err(|e| unread(dir, &e))? {
            let line = line.map_err(|e| unread(dir, &e))?;
            // Only these are parsed whole. The text of a record is canonical: it is written so and in no other way.
            if line.standing().is_none_or(|body| !body.contains(r#""errand":"erasure""#)) {
                continue;
            }
            let erasure = line.record().map_err(|e| unread(dir, &e))?.and_then(|record| record.erasure);
            runs.extend(erasure.into_iter().flat_map(|erasure| erasure.payloads));
        }
        Ok(Self::of(runs))
    }

    fn of(mut runs: Vec<(u64, u64)>) -> Self {
        runs.sort_unstable();
        let mut merged: Vec<(u64, u64)> = Vec::new();
        for (first, last) in runs {
            match merged.last_mut() {
                Some(run) if first <= run.1 => run.1 = run.1.max(last),
                _ => merged.push((first, last)),
            }
        }
        Self(merged)
    }

    pub(super) fn payload(&self, seq: u64) -> bool {
        let after = self.0.partition_point(|(first, _)| *first <= seq);
        after.checked_sub(1).and_then(|at| self.0.get(at)).is_some_and(|(_, last)| seq <= *last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_touch_or_overlap_hold_what_each_of_them_held() {
        let runs = [(7, 9), (1, 2), (8, 20), (2, 2), (30, 30), (9, 12)];
        let gone = Gone::of(runs.to_vec());
        for seq in 0..40 {
            let held = runs.iter().any(|(first, last)| (*first..=*last).contains(&seq));
            assert_eq!(gone.payload(seq), held, "{seq}");
        }
    }
}
