//! The known name that somebody may have meant.

/// The nearest of the known names, if it is at least so near (0 to 1, Jaro-Winkler).
pub(super) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>, least: f64) -> Option<&'a str> {
    let scored = known.into_iter().map(|known| (strsim::jaro_winkler(word, known), known));
    scored.filter(|(score, _)| *score > least).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, known)| known)
}
