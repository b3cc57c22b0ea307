use comity_url::{HostKind, Origin};

/// The public suffix by ICANN and private rules: `github.io`. `None` for addresses, and for suffixes that the list does not have.
pub(super) fn private(origin: &Origin) -> Option<&str> {
    let HostKind::Domain(name) = origin.host_kind() else { return None };
    let suffix = psl::suffix(name.as_bytes()).filter(psl::Suffix::is_known)?;
    name.get(name.len().checked_sub(suffix.as_bytes().len())?..)
}

/// The public suffix by ICANN's rules alone: `io` of `a.github.io`. `None` as for [`private`].
pub(super) fn registry(origin: &Origin) -> Option<&str> {
    let mut name = private(origin)?;
    loop {
        let suffix = psl::suffix(name.as_bytes())?;
        let found = name.get(name.len().checked_sub(suffix.as_bytes().len())?..)?;
        match suffix.typ()? {
            psl::Type::Icann => return Some(found),
            // Below the first label of a private rule stands one of ICANN's, or another private one.
            psl::Type::Private => name = found.split_once('.')?.1,
        }
    }
}

/// The domain one label below a suffix of the host.
pub(super) fn below<'a>(origin: &'a Origin, suffix: Option<&str>) -> Option<&'a str> {
    let host = origin.host();
    let rest = host.strip_suffix(suffix?)?.strip_suffix('.')?;
    host.get(rest.rfind('.').map_or(0, |dot| dot + 1)..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_by_both_kinds_of_rules() {
        let rows = [
            ("https://www.example.co.uk", Some("co.uk"), Some("example.co.uk"), Some("co.uk"), Some("example.co.uk")),
            ("https://a.b.github.io", Some("io"), Some("github.io"), Some("github.io"), Some("b.github.io")),
            (
                "https://x.s3.amazonaws.com",
                Some("com"),
                Some("amazonaws.com"),
                Some("s3.amazonaws.com"),
                Some("x.s3.amazonaws.com"),
            ),
            ("https://com", Some("com"), None, Some("com"), None),
            ("http://127.0.0.1:80", None, None, None, None),
            ("http://a.test:8099", None, None, None, None),
        ];
        for (text, suffix, domain, private_suffix, private_domain) in rows {
            let origin = Origin::parse(text).unwrap();
            assert_eq!((registry(&origin), below(&origin, registry(&origin))), (suffix, domain), "{text}");
            let found = (private(&origin), below(&origin, private(&origin)));
            assert_eq!(found, (private_suffix, private_domain), "{text}");
        }
    }
}
