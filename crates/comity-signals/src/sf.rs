//! Dictionaries of structured fields (RFC 9651 §4.2.2), read by the `sfv` crate.
//!
//! What the crate takes and refuses is held to a table here, because a failure anywhere voids a whole statement.

use sfv::{Dictionary, Parser};

/// Parses a whole field value; `None` when any part of it breaks the grammar. Of a repeated key the last value counts.
pub(crate) fn dictionary(text: &[u8]) -> Option<Dictionary> {
    Parser::new(text).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sfv::{ListEntry, TokenRef};

    #[test]
    fn what_the_grammar_takes() {
        let rows: [(&str, &str, Option<&str>); 22] = [
            ("a=n", "a", Some("n")),
            ("  a=n , b=y\t,\tc=x  ", "b", Some("y")),
            ("a=n, a=y", "a", Some("y")),
            ("a=n, a", "a", None),
            ("a;p=n, b=y", "b", Some("y")),
            ("a=n;p;q=\"x\"; r=?1", "a", Some("n")),
            ("a=(x y;p \"z\");q, b=n", "b", Some("n")),
            ("a=(), b=n", "b", Some("n")),
            ("a=-12.345, b=n", "b", Some("n")),
            ("a=123456789012345, b=n", "b", Some("n")),
            ("a=\"q\\\"\\\\\", b=n", "b", Some("n")),
            ("a=:aGk=:, b=n", "b", Some("n")),
            ("a=?0, b=n", "b", Some("n")),
            ("a=@-12, b=n", "b", Some("n")),
            ("a=%\"f%c3%bc\", b=n", "b", Some("n")),
            ("*a.b_c-d9=n", "*a.b_c-d9", Some("n")),
            ("a=*b:c/d!", "a", Some("*b:c/d!")),
            ("a=N", "a", Some("N")),
            ("", "a", None),
            ("   ", "a", None),
            ("a=n\t", "a", Some("n")),
            ("a,b,c=n", "c", Some("n")),
        ];
        for (text, key, token) in rows {
            let dictionary = dictionary(text.as_bytes()).unwrap_or_else(|| panic!("{text:?} is refused"));
            let found = match dictionary.get(key) {
                Some(ListEntry::Item(item)) => item.bare_item.as_token().map(TokenRef::as_str),
                _ => None,
            };
            assert_eq!(found, token, "{key} in {text:?}");
        }
    }

    #[test]
    fn what_voids_the_whole_field() {
        let rows = [
            "A=n",
            "a = n",
            "a= n",
            "a =n",
            "a=n b=y",
            "a=n,",
            "a=n,,b=y",
            ",a=n",
            "a=n;",
            "a=n;P",
            "\ta=n",
            "a=",
            "=n",
            "9a=n",
            "a='n'",
            "a=\u{201c}n\u{201d}",
            "a=\"n",
            "a=\"\\n\"",
            "a=\"\u{fc}\"",
            "a=(x",
            "a=(x\ty)",
            "a=(x,y)",
            "a=((x))",
            "a=1234567890123456",
            "a=1.",
            "a=1.2345",
            "a=1234567890123.1",
            "a=-",
            "a=:x",
            "a=:x y:",
            "a=?2",
            "a=?",
            "a=@1.5",
            "a=@",
            "a=%\"%C3%BC\"",
            "a=%\"%ff\"",
            "a=%\"%4\"",
            "a=%x",
            "a=n\0",
            "a=n\u{a0}",
            "a;=n",
        ];
        for text in rows {
            assert_eq!(dictionary(text.as_bytes()), None, "{text:?}");
        }
    }
}
