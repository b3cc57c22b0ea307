//! What a `Content-Usage` statement says: draft-ietf-aipref-vocab-08, signals reference §4.3 and §4.6.

use sfv::{ListEntry, TokenRef};

use crate::diagnostic::DiagnosticCode;
use crate::found::{Carried, Found, Ground};
use crate::sf;
use crate::{LegacyLabels, Purpose, SignalOptions, Verdict};

/// The labels of vocab-08, compared with case.
const LABELS: [(&str, Purpose); 3] =
    [("train-ai", Purpose::AiTrain), ("ai-use", Purpose::AiInput), ("search", Purpose::Search)];

/// The labels of vocab-01 to vocab-04 that were dropped, with what their `n` denies once mapped (our choice).
const LEGACY: [(&str, &[Purpose]); 8] = [
    ("all", &Purpose::ALL),
    ("bots", &Purpose::ALL),
    ("tdm", &[Purpose::Tdm, Purpose::AiTrain]),
    ("ai", &[Purpose::AiTrain]),
    ("genai", &[Purpose::AiTrain]),
    ("train-genai", &[Purpose::AiTrain]),
    ("ai-output", &[Purpose::AiInput]),
    ("inference", &[Purpose::AiInput]),
];

/// Reads one statement: the value of a robots.txt line without its path, or the joined header value.
pub(crate) fn read(found: &mut Found, at: Carried<'_>, value: &[u8], options: SignalOptions) {
    let Some(dictionary) = sf::dictionary(value) else {
        return found.note(DiagnosticCode::AiprefUnparsable, at, &String::from_utf8_lossy(value));
    };
    for (label, purpose) in LABELS {
        match dictionary.get(label).map(token) {
            Some(Some("y")) => found.state(at, purpose, Verdict::Allowed, Ground::Said),
            Some(Some("n")) => found.state(at, purpose, Verdict::Denied, Ground::Said),
            Some(_) => found.note(DiagnosticCode::AiprefBadValue, at, label),
            None => {}
        }
    }
    for key in dictionary.keys().filter(|key| !LABELS.iter().any(|(label, _)| *label == key.as_str())) {
        found.note(DiagnosticCode::AiprefUnknownLabel, at, key.as_str());
    }
    for (label, purposes) in LEGACY {
        let Some(value) = dictionary.get(label) else { continue };
        found.note(DiagnosticCode::AiprefLegacyLabel, at, label);
        if options.aipref_legacy == LegacyLabels::Map && token(value) == Some("n") {
            for purpose in purposes {
                found.state(at, *purpose, Verdict::Denied, Ground::Derived);
            }
        }
    }
}

/// A bare token, parameters dropped; anything else is no value of the vocabulary.
fn token(entry: &ListEntry) -> Option<&str> {
    match entry {
        ListEntry::Item(item) => item.bare_item.as_token().map(TokenRef::as_str),
        ListEntry::InnerList(_) => None,
    }
}
