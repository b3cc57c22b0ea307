//! The content of `meta http-equiv=refresh`.

/// A refresh: seconds, and the reference to go to; an empty one reloads the page.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refresh<'a> {
    pub(crate) delay: u32,
    pub(crate) reference: &'a str,
}

/// Reads it by the "shared declarative refresh steps" of the HTML standard; `None` where they give up.
pub(crate) fn parse(content: &str) -> Option<Refresh<'_>> {
    let content = skip_space(content);
    let digits = content.len() - content.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, rest) = content.split_at(digits);
    if number.is_empty() && !rest.starts_with('.') {
        return None;
    }
    let delay = if number.is_empty() { 0 } else { number.parse().unwrap_or(u32::MAX) };
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let Some(first) = rest.chars().next() else { return Some(Refresh { delay, reference: "" }) };
    if first != ';' && first != ',' && !is_space(first) {
        return None;
    }
    let rest = skip_space(rest);
    let rest = skip_space(rest.strip_prefix([';', ',']).unwrap_or(rest));
    Some(Refresh { delay, reference: reference(rest) })
}

/// `url=` is optional, and so are the quotes. A start that is no `url=` is part of the reference; quotes
/// count behind `url=` or at the very start.
fn reference(text: &str) -> &str {
    if !text.starts_with(['u', 'U']) {
        return without_quotes(text);
    }
    let behind_name = text.get(..3).filter(|name| name.eq_ignore_ascii_case("url")).and_then(|_| text.get(3..));
    match behind_name.and_then(|rest| skip_space(rest).strip_prefix('=')) {
        Some(rest) => without_quotes(skip_space(rest)),
        None => text,
    }
}

fn without_quotes(text: &str) -> &str {
    let Some(quote) = text.chars().next().filter(|c| matches!(c, '"' | '\'')) else { return text };
    let inner = text.get(1..).unwrap_or("");
    inner.split(quote).next().unwrap_or(inner)
}

fn skip_space(text: &str) -> &str {
    text.trim_start_matches(is_space)
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0c')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_read_as_the_standard_reads_them() {
        let rows = [
            ("0;url=t.html", Some((0, "t.html"))),
            ("5; URL = 't.html'", Some((5, "t.html"))),
            ("  3 , uRl=\"t.html\" rest", Some((3, "t.html"))),
            ("1 t.html", Some((1, "t.html"))),
            ("1;'t.html' x", Some((1, "t.html"))),
            ("1;url='t.html", Some((1, "t.html"))),
            ("1;urltarget.html", Some((1, "urltarget.html"))),
            ("1;up.html", Some((1, "up.html"))),
            ("1;url.html", Some((1, "url.html"))),
            ("1;url=", Some((1, ""))),
            ("7", Some((7, ""))),
            ("7.5.;t", Some((7, "t"))),
            (".5;t", Some((0, "t"))),
            ("900; url=http://h.test/", Some((900, "http://h.test/"))),
            ("99999999999;t", Some((u32::MAX, "t"))),
            ("0x;url=t", None),
            (";url=t", None),
            ("url=t", None),
            ("", None),
            ("-1;url=t", None),
        ];
        for (content, wanted) in rows {
            let wanted = wanted.map(|(delay, reference)| Refresh { delay, reference });
            assert_eq!(parse(content), wanted, "{content:?}");
        }
    }
}
