/// How long a text for people has to be, in characters: blanks around it and runs of blanks within do not count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Words {
    pub(crate) least: usize,
    pub(crate) most: usize,
}

/// A text for people, trimmed, on one line, within its bounds.
///
/// # Errors
/// What is wrong with it, without naming it.
pub(crate) fn plain(text: &str, words: Words) -> Result<String, String> {
    let text = text.trim();
    if text.chars().any(char::is_control) {
        return Err("it holds a line end or another control character".to_owned());
    }
    let counted = text.split_whitespace().map(|word| word.chars().count() + 1).sum::<usize>().saturating_sub(1);
    match counted {
        0 => Err("it is empty".to_owned()),
        n if n < words.least => Err(format!("it has {n} characters, at least {} are needed", words.least)),
        _ if text.chars().count() > words.most => Err(format!("it is longer than {} characters", words.most)),
        _ => Ok(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_do_not_make_a_text_longer() {
        let words = Words { least: 5, most: 8 };
        assert_eq!(plain("  a  b c ", words), Ok("a  b c".to_owned()));
        for (text, says) in [("", "empty"), (" \t ", "empty"), ("a    b", "3 characters"), ("a\nb c d", "line end")] {
            assert!(plain(text, words).unwrap_err().contains(says), "{text:?}");
        }
        assert!(plain("123456789", words).unwrap_err().contains("longer than 8"));
    }
}
