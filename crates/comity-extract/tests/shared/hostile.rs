//! Markup made to cost; shared by the tests and the bench.

/// Name, what stands once, what is repeated as often as there is room.
pub(crate) const HOSTILE: &[(&str, &str, &str)] = &[
    ("nested tags", "", "<div>"),
    ("open paragraphs", "", "<p>x"),
    ("nested svg", "", "<svg>"),
    ("svg and a stray end tag", "<svg><g><g><g><g>", "</x><g>"),
    ("svg, full, and stray end tags", "<svg><desc>", "<b><i></x>"),
    ("nested foreign objects", "", "<svg><foreignObject><p>"),
    ("nested math", "", "<math><mi>"),
    ("nested templates", "", "<template>"),
    ("one attribute", "<a href='", "x"),
    ("one attribute, bare", "<a href=", "x"),
    ("one name", "<", "x"),
    ("one name of an attribute", "<a ", "x"),
    ("attributes", "<a ", "a=b "),
    ("hrefs", "<a ", "href=x "),
    ("references", "<a href='", "&amp;"),
    ("slashes", "<a", "/"),
    ("links", "", "<a href=x>"),
    ("srcset", "<img srcset='", "a 1x, "),
    ("metas", "", "<meta name=robots content=none>"),
    ("noscript", "", "<noscript><a href=x></noscript>"),
    ("a title", "<title>", "x</titl"),
    ("a script", "<script><!--", "<script>--</scrip"),
    ("NULs", "<a href=", "\0"),
    ("long links", "", "<a href='/0123456789012345678901234567890123456789012345678901234567890123456789?q=\u{e9}'>"),
];
