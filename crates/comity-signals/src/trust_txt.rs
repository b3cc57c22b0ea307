//! `trust.txt` (JournalList, April 2024): signals reference §9.

use crate::diagnostic::DiagnosticCode;
use crate::found::{Carried, Found, Ground};
use crate::{Diagnostics, Place, Purpose, Remarks, Source, Statement, Verdict};

const KEY: &str = "datatrainingallowed";

/// What a `trust.txt` says of training: `datatrainingallowed=yes` or `no`; of several lines the strictest (our choice).
///
/// A line that names the key and says neither is odd, and so is a file that was cut. Beside either nothing is permitted: what is not
/// understood may be a denial (signals reference §1.4: leniency may only ever produce one).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustTxt {
    statement: Option<Statement>,
    diagnostics: Diagnostics,
}

impl TrustTxt {
    /// Bytes of a file that are read (our choice).
    pub const MAX_BYTES: usize = 512 * 1024;

    /// Reads a body; of a longer one than [`Self::MAX_BYTES`] the beginning. Cost: linear.
    #[must_use]
    pub fn parse(body: &[u8]) -> Self {
        let mut found = Found::default();
        let mut strictest: Option<(Verdict, u32, String)> = None;
        let is_cut = body.len() > Self::MAX_BYTES;
        let body = body.get(..Self::MAX_BYTES).unwrap_or(body);
        let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
        for (line, bytes) in (1..).zip(body.split(|byte| matches!(byte, b'\n' | b'\r'))) {
            // Any encoding does: the words are ASCII, and a comment need not be.
            let text = String::from_utf8_lossy(bytes);
            let text = text.trim();
            let Some(value) = value(text) else { continue };
            let Some(verdict) = verdict(value) else {
                found.note(DiagnosticCode::TrustBadValue, carried(Place::Line(line), text), text);
                continue;
            };
            if strictest.as_ref().is_none_or(|(known, ..)| verdict > *known) {
                strictest = Some((verdict, line, text.to_owned()));
            }
        }
        if is_cut {
            found.note(DiagnosticCode::TrustTruncated, carried(Place::Whole, ""), "");
        }
        let is_odd = found.diagnostics != Diagnostics::NONE;
        if let Some((verdict, line, raw)) = strictest.filter(|(said, ..)| *said == Verdict::Denied || !is_odd) {
            found.state(carried(Place::Line(line), &raw), Purpose::AiTrain, verdict, Ground::Said);
        }
        Self { statement: found.statements.pop(), diagnostics: found.diagnostics }
    }

    /// What it says; `None` where it says nothing that counts.
    #[must_use]
    pub const fn statement(&self) -> Option<&Statement> {
        self.statement.as_ref()
    }

    /// What was odd.
    #[must_use]
    pub const fn diagnostics(&self) -> &Diagnostics {
        &self.diagnostics
    }

    /// Bytes of memory beside itself, for a cache that is bounded in bytes.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let odd = self.diagnostics.as_slice().iter().map(|one| size_of_val(one) + one.text.len());
        self.statement.as_ref().map_or(0, |said| said.raw.len()) + odd.sum::<usize>()
    }
}

impl From<&TrustTxt> for Remarks {
    fn from(said: &TrustTxt) -> Self {
        Self { diagnostics: said.diagnostics.clone(), ..Self::NONE }
    }
}

const fn carried(place: Place, raw: &str) -> Carried<'_> {
    Carried { source: Source::TrustTxt, place, raw, path: None }
}

/// What follows the key, without the comment, where a line begins with it.
fn value(line: &str) -> Option<&str> {
    let said = line.split('#').next().unwrap_or(line);
    let (key, rest) = said.split_at_checked(KEY.len())?;
    let goes_on = rest.starts_with(|next: char| next.is_ascii_alphanumeric() || matches!(next, '-' | '_'));
    (key.eq_ignore_ascii_case(KEY) && !goes_on).then_some(rest)
}

fn verdict(rest: &str) -> Option<Verdict> {
    match rest.trim().strip_prefix('=')?.trim() {
        no if no.eq_ignore_ascii_case("no") => Some(Verdict::Denied),
        yes if yes.eq_ignore_ascii_case("yes") => Some(Verdict::Allowed),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Verdict::{Allowed, Denied};

    #[test]
    fn rows() {
        type Row<'a> = (&'a [u8], Option<(Verdict, u32)>, &'a [u32]);
        let rows: [Row<'_>; 19] = [
            (b"member=https://example.org\ndatatrainingallowed=no\n", Some((Denied, 2)), &[]),
            (b"DataTrainingAllowed = YES # really", Some((Allowed, 1)), &[]),
            (b"datatrainingallowed=yes\rdatatrainingallowed=no\rdatatrainingallowed=no", Some((Denied, 2)), &[]),
            (b"#datatrainingallowed=no", None, &[]),
            (b"datatrainingallowedhere=no\ndatatrainingallowed-by=no", None, &[]),
            (b"", None, &[]),
            // Bytes that are no UTF-8 hide nothing.
            (b"\xff\xfe=\ndatatrainingallowed=no", Some((Denied, 2)), &[]),
            (b"\xef\xbb\xbfdatatrainingallowed=no", Some((Denied, 1)), &[]),
            (b"datatrainingallowed=no # f\xfcr alle", Some((Denied, 1)), &[]),
            (b"datatrainingallowed=yes # f\xfcr alle", Some((Allowed, 1)), &[]),
            // What is not understood is odd.
            (b"datatrainingallowed=maybe", None, &[1]),
            (b"datatrainingallowed", None, &[1]),
            (b"datatrainingallowed: no", None, &[1]),
            (b"datatrainingallowed=no;", None, &[1]),
            (b"datatrainingallowed=n\xf6", None, &[1]),
            // Beside it nothing is permitted, and what is denied stays so.
            (b"datatrainingallowed=yes\ndatatrainingallowed=no.", None, &[2]),
            (b"datatrainingallowed=\ndatatrainingallowed=yes", None, &[1]),
            (b"datatrainingallowed=no.\ndatatrainingallowed=no", Some((Denied, 2)), &[1]),
            (b"datatrainingallowed=no\ndatatrainingallowed=yes,", Some((Denied, 1)), &[2]),
        ];
        for (body, wanted, odd) in rows {
            let file = TrustTxt::parse(body);
            let said = file.statement().map(|said| (said.verdict, said.place));
            let shown = String::from_utf8_lossy(body);
            assert_eq!(said, wanted.map(|(verdict, line)| (verdict, Place::Line(line))), "{shown:?}");
            let found: Vec<_> = file.diagnostics().as_slice().iter().map(|one| (one.code, one.place)).collect();
            let odd: Vec<_> = odd.iter().map(|line| (DiagnosticCode::TrustBadValue, Place::Line(*line))).collect();
            assert_eq!(found, odd, "{shown:?}");
        }
    }

    #[test]
    fn a_file_that_was_cut_permits_nothing() {
        for (word, wanted) in [("yes", None), ("no", Some(Denied))] {
            let body = format!("{}datatrainingallowed={word}\n", "\n".repeat(100_000));
            let whole = TrustTxt::parse(body.as_bytes());
            assert_eq!(whole.statement().map(|said| said.verdict == Denied), Some(word == "no"), "{word}");
            let long = format!("{body}{}", "x".repeat(TrustTxt::MAX_BYTES + 1 - body.len()));
            let cut = TrustTxt::parse(long.as_bytes());
            assert_eq!(cut.statement().map(|said| said.verdict), wanted, "{word}");
            assert!(cut.diagnostics().contains(DiagnosticCode::TrustTruncated), "{word}");
        }
    }
}
