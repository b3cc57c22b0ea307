//! `Link` fields of a response (RFC 8288).

/// One link of a field, as written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldLink<'a> {
    /// The URI reference between `<` and `>`.
    pub target: &'a str,
    /// The relation types, separated by spaces; empty when none is named.
    pub rel: String,
    /// The `hreflang` parameter.
    pub hreflang: Option<String>,
    /// The `type` parameter.
    pub media_type: Option<String>,
    /// Whether the link is one of another document.
    pub has_anchor: bool,
}

/// The links of a field's value, up to the first fault. Source: RFC 8288 appendix B.2 and B.3; of a parameter that
/// is repeated the first counts (§3.3). Linear.
pub fn links(field: &str) -> impl Iterator<Item = FieldLink<'_>> {
    let mut rest = field;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c: char| c == ',' || is_space(c));
        let (target, mut behind) = rest.strip_prefix('<')?.split_once('>')?;
        let mut link = FieldLink { target, ..FieldLink::default() };
        let mut has_rel = false;
        while let Some(parameter) = behind.trim_start_matches(is_space).strip_prefix(';') {
            let (name, value, after) = parameter_of(parameter);
            behind = after;
            match name.to_ascii_lowercase().as_str() {
                "rel" if !has_rel => {
                    link.rel = value;
                    has_rel = true;
                }
                "anchor" => link.has_anchor = true,
                "hreflang" if link.hreflang.is_none() => link.hreflang = Some(value),
                "type" if link.media_type.is_none() => link.media_type = Some(value),
                _ => {}
            }
        }
        rest = behind;
        Some(link)
    })
}

/// Name, value, and what follows.
fn parameter_of(text: &str) -> (&str, String, &str) {
    let text = text.trim_start_matches(is_space);
    let end = text.find(|c: char| matches!(c, '=' | ';' | ',') || is_space(c)).unwrap_or(text.len());
    let (name, behind) = text.split_at(end);
    let Some(value) = behind.trim_start_matches(is_space).strip_prefix('=') else {
        return (name, String::new(), behind);
    };
    let value = value.trim_start_matches(is_space);
    if let Some(quoted) = value.strip_prefix('"') {
        let (value, behind) = unquoted(quoted);
        return (name, value, behind);
    }
    let (value, behind) = value.split_at(value.find([';', ',']).unwrap_or(value.len()));
    (name, value.trim_end_matches(is_space).to_owned(), behind)
}

/// The value of a quoted string (RFC 9110 §5.6.4), and what follows its closing quote.
fn unquoted(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((place, c)) = chars.next() {
        match c {
            '"' => return (value, text.get(place + 1..).unwrap_or("")),
            '\\' => value.extend(chars.next().map(|(_, c)| c)),
            _ => value.push(c),
        }
    }
    (value, "")
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_as_the_appendix_reads_them() {
        let rows: [(&str, &[(&str, &str)]); 16] = [
            ("</c>; rel=canonical", &[("/c", "canonical")]),
            ("<a>;rel=\"next nofollow\" , <b> ; REL = prev", &[("a", "next nofollow"), ("b", "prev")]),
            ("<a,b;c>; rel=next", &[("a,b;c", "next")]),
            ("<a>; title=\"x, <n>; rel=no\"; rel=next", &[("a", "next")]),
            ("<a>; title=\"\\\"\"; rel=next", &[("a", "next")]),
            ("<a>; rel=next; rel=prev", &[("a", "next")]),
            ("<a>; rel; rel=prev", &[("a", "")]),
            ("<a>", &[("a", "")]),
            ("<a>, ,, <b>", &[("a", ""), ("b", "")]),
            ("<>; rel=self", &[("", "self")]),
            ("<a>; rel=next;;<b>", &[("a", "next")]),
            ("<a>; rel=\"next", &[("a", "next")]),
            ("<a>; rel=next x, <b>", &[("a", "next x"), ("b", "")]),
            ("<a; rel=next", &[]),
            ("a; rel=next, <b>", &[]),
            ("", &[]),
        ];
        for (field, wanted) in rows {
            let found: Vec<_> = links(field).map(|link| (link.target, link.rel)).collect();
            let found: Vec<_> = found.iter().map(|(target, rel)| (*target, rel.as_str())).collect();
            assert_eq!(found, wanted, "{field:?}");
        }
        let found = links("<a>; hreflang=de; type=\"application/rsl+xml\"; anchor=\"#x\"").next();
        let found = found.unwrap_or_default();
        assert_eq!((found.hreflang.as_deref(), found.media_type.as_deref()), (Some("de"), Some("application/rsl+xml")));
        assert!(found.has_anchor);
    }
}
