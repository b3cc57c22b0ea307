//! Path patterns in files about one origin.

/// The path pattern of a location: as written when it begins with `/` or `*`, or what stands behind the origin when that is
/// ours, as in `https://example.com/a`. `None` for anything else, which matches nothing here (our choice).
pub(crate) fn path_on<'a>(origin: &str, location: &'a str) -> Option<&'a str> {
    let location = location.trim();
    if location.starts_with(['/', '*']) {
        return Some(location);
    }
    let head = location.get(..origin.len())?;
    let rest = location.get(origin.len()..)?;
    if origin.is_empty() || !head.eq_ignore_ascii_case(origin) {
        return None;
    }
    match rest {
        "" => Some("/"),
        _ => rest.starts_with('/').then_some(rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations() {
        let rows = [
            ("/", Some("/")),
            ("/a/*.jpg$", Some("/a/*.jpg$")),
            ("*", Some("*")),
            (" /a ", Some("/a")),
            ("https://example.com", Some("/")),
            ("HTTPS://Example.com/A", Some("/A")),
            ("https://example.com.evil.test/", None),
            ("https://example.community/", None),
            ("http://example.com/", None),
            ("https://other.test/", None),
            ("a/b", None),
            ("", None),
        ];
        for (location, wanted) in rows {
            assert_eq!(path_on("https://example.com", location), wanted, "{location:?}");
        }
        assert_eq!(path_on("", "x"), None);
    }
}
