//! The URLs of a `srcset` attribute.

/// The URL of each candidate, in order. Descriptors are stepped over, not judged: a URL with a bad
/// descriptor is still a URL the author wrote.
///
/// Source: the HTML standard, "parse a srcset attribute". Linear.
pub(crate) fn candidates(value: &str) -> impl Iterator<Item = &str> {
    let mut rest = value;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c: char| c == ',' || is_space(c));
        if rest.is_empty() {
            return None;
        }
        let (word, behind) = rest.split_at(rest.find(is_space).unwrap_or(rest.len()));
        let url = word.trim_end_matches(',');
        rest = if url.len() < word.len() { behind } else { after_descriptors(behind) };
        Some(url)
    })
}

/// What follows the comma that ends the descriptors; commas within parentheses do not end them.
fn after_descriptors(text: &str) -> &str {
    let mut in_parentheses = false;
    for (place, c) in text.char_indices() {
        match c {
            '(' => in_parentheses = true,
            ')' => in_parentheses = false,
            ',' if !in_parentheses => return text.get(place + 1..).unwrap_or(""),
            _ => {}
        }
    }
    ""
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0c')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_are_cut_as_the_standard_cuts_them() {
        let rows: [(&str, &[&str]); 12] = [
            ("a.jpg", &["a.jpg"]),
            ("a.jpg 1x, b.jpg 2x", &["a.jpg", "b.jpg"]),
            ("a.jpg 1x,b.jpg 2x", &["a.jpg", "b.jpg"]),
            ("a.jpg, b.jpg", &["a.jpg", "b.jpg"]),
            ("a.jpg,b.jpg", &["a.jpg,b.jpg"]),
            ("/w_1,h_2/a.jpg 480w,\n /w_2,h_3/a.jpg 800w", &["/w_1,h_2/a.jpg", "/w_2,h_3/a.jpg"]),
            (" ,, a.jpg ,,", &["a.jpg"]),
            ("a.jpg,,, b.jpg", &["a.jpg", "b.jpg"]),
            ("data:image/png;base64,AA== 1x, b.jpg 2x", &["data:image/png;base64,AA==", "b.jpg"]),
            ("a.jpg (x, y) 1x, b.jpg", &["a.jpg", "b.jpg"]),
            ("a.jpg (x, b.jpg", &["a.jpg"]),
            ("", &[]),
        ];
        for (value, urls) in rows {
            assert_eq!(candidates(value).collect::<Vec<_>>(), urls, "{value:?}");
        }
    }
}
