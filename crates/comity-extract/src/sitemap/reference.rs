//! References of XML: five names and numbers. Nothing else is ever resolved, whatever a file declares.

use std::borrow::Cow;

/// A longer reference is none of these. `&#x0010FFFF;` has twelve bytes.
pub(super) const LONGEST: usize = 16;

/// What `&name;` stands for.
pub(super) fn resolve(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => number(name.strip_prefix('#').filter(|_| name.len() <= LONGEST)?),
    }
}

fn number(text: &str) -> Option<char> {
    let code = match text.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => text.parse(),
    };
    code.ok().and_then(char::from_u32).filter(|c| *c != '\0')
}

/// Resolves the references of an attribute's value; what is none stays as written and is counted in `odd`.
pub(super) fn unescape<'a>(value: &'a str, odd: &mut u32) -> Cow<'a, str> {
    if !value.contains('&') {
        return Cow::Borrowed(value);
    }
    let mut out = String::with_capacity(value.len());
    let mut rest = value;
    while let Some(at) = rest.find('&') {
        let (before, behind) = rest.split_at(at);
        out.push_str(before);
        let end = behind.bytes().take(LONGEST + 2).position(|byte| byte == b';');
        let found = end.and_then(|end| Some((resolve(behind.get(1..end)?)?, behind.get(end + 1..)?)));
        rest = if let Some((resolved, after)) = found {
            out.push(resolved);
            after
        } else {
            crate::notes::bump(odd);
            out.push('&');
            behind.get(1..).unwrap_or_default()
        };
    }
    out.push_str(rest);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_names_and_numbers_and_nothing_else() {
        let rows = [
            ("a&amp;b=1&#38;c&#x26;d", "a&b=1&c&d", 0),
            ("a&b=1&c;", "a&b=1&c;", 2),
            ("&eacute;&xxe;&", "&eacute;&xxe;&", 3),
            ("&#0;&#xD800;&#99999999999999999999;", "&#0;&#xD800;&#99999999999999999999;", 3),
            ("&lt;&gt;&quot;&apos;", "<>\"'", 0),
            ("", "", 0),
        ];
        for (text, wanted, count) in rows {
            let mut odd = 0;
            assert_eq!((unescape(text, &mut odd).as_ref(), odd), (wanted, count), "{text}");
        }
    }
}
