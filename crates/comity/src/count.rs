//! Numbers with the word that they count.

use std::fmt;

/// `1 page`, `2 pages`, `1 retry`, `2 retries`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Count(pub(crate) u64, pub(crate) &'static str);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(n, word) = *self;
        match (n, word.strip_suffix('y')) {
            (1, _) => write!(f, "1 {word}"),
            (_, Some(stem)) => write!(f, "{n} {stem}ies"),
            (_, None) => write!(f, "{n} {word}s"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_one() {
        let rows = [
            (0, "page", "0 pages"),
            (1, "page", "1 page"),
            (2, "page", "2 pages"),
            (1, "retry", "1 retry"),
            (2, "retry", "2 retries"),
        ];
        for (n, word, wanted) in rows {
            assert_eq!(Count(n, word).to_string(), wanted);
        }
    }
}
