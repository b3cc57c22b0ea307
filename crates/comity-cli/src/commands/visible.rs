use std::fmt::Write as _;

/// A text from outside for a terminal or a page: controls, and characters that change the direction of what stands around
/// them, are written out, so that nothing can pass itself off as something else.
pub(crate) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        let turns = matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
        if (c.is_control() && c != '\t') || turns {
            let _ = write!(shown, "\\u{{{:x}}}", u32::from(c));
        } else {
            shown.push(c);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_moves_the_cursor_or_turns_the_text() {
        assert_eq!(visible("a\u{1b}[2Jb\r\u{202e}c\u{feff}"), "a\\u{1b}[2Jb\\u{d}\\u{202e}c\\u{feff}");
        assert_eq!(visible("ü\t<b> 日本"), "ü\t<b> 日本");
    }
}
