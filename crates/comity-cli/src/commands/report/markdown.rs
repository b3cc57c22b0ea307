use crate::commands::visible::visible;

/// A text from outside as it may stand in Markdown, in a table too: it is shown as it is, and marks nothing up.
pub(super) fn plain(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '<' => shown.push_str("&lt;"),
            '>' => shown.push_str("&gt;"),
            '&' => shown.push_str("&amp;"),
            '\t' => shown.push(' '),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '$' => {
                shown.push('\\');
                shown.push(c);
            }
            _ => shown.push(c),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_outside_marks_anything_up() {
        let rows = [
            ("MyBot/1.0 (+https://example.com/bot)", "MyBot/1.0 (+https://example.com/bot)"),
            ("a|b", "a\\|b"),
            ("a\n\n# b", "a\\\\u{a}\\\\u{a}# b"),
            ("`x` *y* __z__ ~~w~~", "\\`x\\` \\*y\\* \\_\\_z\\_\\_ \\~\\~w\\~\\~"),
            ("<script>&amp;</script>", "&lt;script&gt;&amp;amp;&lt;/script&gt;"),
            ("[a](javascript:b) ![c](d) $e$", "\\[a\\](javascript:b) !\\[c\\](d) \\$e\\$"),
            ("a\\|b\tc\u{202e}", "a\\\\\\|b c\\\\u{202e}"),
        ];
        for (text, shown) in rows {
            assert_eq!(plain(text), shown);
        }
    }
}
