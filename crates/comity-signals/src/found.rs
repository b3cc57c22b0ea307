//! What a reading has found so far, bounded.

use crate::diagnostic::DiagnosticCode;
use crate::{Diagnostics, Place, Purpose, Source, Statement, Verdict};

/// Statements of one carrier that say the same, kept at most. More of them cannot change a verdict.
const MAX_ALIKE: usize = 8;

/// Bytes of the raw text that a statement keeps: as much of a robots rule as has to be read at least (signals
/// reference §7.1). The kept copy of the file, or the archived head, has the rest.
const MAX_RAW_BYTES: usize = 8192;

/// One value at one place of one carrier: what statements are made from.
#[derive(Clone, Copy)]
pub(crate) struct Carried<'a> {
    pub(crate) source: Source,
    pub(crate) place: Place,
    pub(crate) raw: &'a str,
    pub(crate) path: Option<&'a str>,
}

/// Why a statement holds, beside the words themselves.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ground {
    /// The carrier says so.
    Said,
    /// Said, and called a reservation under Article 4(3) CDSM by the document that defines the carrier.
    Reserved,
    /// Inferred from words about something else.
    Derived,
    /// A permission whose condition is not met.
    Conditional,
}

#[derive(Default)]
pub(crate) struct Found {
    pub(crate) statements: Vec<Statement>,
    pub(crate) diagnostics: Diagnostics,
}

impl Found {
    /// Keeps a statement, unless the same place has made it already or enough others of its carrier have.
    pub(crate) fn state(&mut self, at: Carried<'_>, purpose: Purpose, verdict: Verdict, ground: Ground) {
        let (derived, conditional) = (ground == Ground::Derived, ground == Ground::Conditional);
        let says_the_same = |s: &&Statement| {
            (s.source, s.purpose, s.verdict) == (at.source, purpose, verdict)
                && (s.derived, s.conditional) == (derived, conditional)
        };
        let alike = self.statements.iter().filter(says_the_same);
        if alike.clone().any(|s| s.place == at.place) || alike.count() >= MAX_ALIKE {
            return;
        }
        let mut statement = Statement::new(at.source, purpose, verdict, cut(at.raw, MAX_RAW_BYTES)).at(at.place);
        statement.path = at.path.map(|path| cut(path, MAX_RAW_BYTES).to_owned());
        statement.derived = derived;
        statement.conditional = conditional;
        statement.reservation = ground == Ground::Reserved;
        self.statements.push(statement);
    }

    pub(crate) fn note(&mut self, code: DiagnosticCode, at: Carried<'_>, text: &str) {
        self.diagnostics.add(code, at.source, at.place, text);
    }
}

/// The first `max` bytes of `text`, or a few less so that no character is cut.
pub(crate) fn cut(text: &str, max: usize) -> &str {
    text.get(..text.floor_char_boundary(max)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_equal_statements_is_bounded_and_keeps_every_verdict() {
        let mut found = Found::default();
        let at = |line| Carried { source: Source::RobotsContentSignal, place: Place::Line(line), raw: "x", path: None };
        for line in 0..1000 {
            found.state(at(line), Purpose::AiTrain, Verdict::Allowed, Ground::Said);
        }
        found.state(at(7), Purpose::AiTrain, Verdict::Denied, Ground::Reserved);
        found.state(at(7), Purpose::AiTrain, Verdict::Denied, Ground::Reserved);
        assert_eq!(found.statements.len(), MAX_ALIKE + 1);
        assert!(found.statements.iter().any(|s| s.verdict == Verdict::Denied && s.reservation));
    }

    #[test]
    fn cutting_keeps_characters_whole() {
        assert_eq!(cut("aü", 2), "a");
        assert_eq!(cut("aü", 3), "aü");
        assert_eq!(cut("", 3), "");
    }
}
