//! Table: references that hold another URL behind stray text (scrapy#2772, crawler#12, courlan#129).

use comity_url::{SuspiciousReference, looks_suspicious};

const BEHIND: Option<SuspiciousReference> = Some(SuspiciousReference::UrlBehindText);
const TWICE: Option<SuspiciousReference> = Some(SuspiciousReference::SchemeTwice);

const ROWS: &[(&str, Option<SuspiciousReference>)] = &[
    ("1.\thttps://other/", BEHIND),
    ("1. https://other/", BEHIND),
    ("\n 2)\r\n http://other/\n", BEHIND),
    ("see HTTPS://other/", BEHIND),
    ("“https://other/”", BEHIND),
    ("\"https://other/\"", BEHIND),
    ("%20https://other/", BEHIND),
    ("-https:\\\\other", BEHIND),
    ("a=https://other/", BEHIND),
    ("1https://other/", BEHIND),
    ("http://https://other/", TWICE),
    ("https://http://other/", TWICE),
    ("HTTP:\\\\http:\\\\other", TWICE),
    ("//https://other/", TWICE),
    // Ordinary references.
    ("", None),
    ("https://other/", None),
    (" \n http://h/x \n", None),
    ("ht\ttp://h/y", None),
    ("\\\\h\\z", None),
    ("//cdn.test/", None),
    ("x", None),
    ("/web/2020/https://other/", None),
    ("web/https://other/", None),
    ("?to=https://other/", None),
    ("login?next=http://other/", None),
    ("#https://other/", None),
    ("https://archive.test/https://other/", None),
    ("https://h/?u=https://https://", None),
    ("https:x", None),
    ("https:/x", None),
    ("1.https:x", None),
    ("about-https:", None),
    ("http://https/", None),
    // Other schemes are refused as such.
    ("mailto:a@b", None),
    ("view-source:https://other/", None),
    ("www: https://other/", None),
    ("javascript:location='https://other/'", None),
];

#[test]
fn slips_are_told_from_ordinary_references() {
    for &(reference, expected) in ROWS {
        assert_eq!(looks_suspicious(reference), expected, "row {reference:?}");
    }
    for kind in [SuspiciousReference::UrlBehindText, SuspiciousReference::SchemeTwice] {
        assert_eq!(kind.code(), "url.suspicious");
        assert!(kind.to_string().starts_with("link: "), "{kind:?}");
    }
}
