//! Which links a page has: a table of markup as it is found. The page is `http://h.test/a/b/c`.

#![expect(clippy::unwrap_used, reason = "the URLs of the tests are constants")]

mod options;

use comity_extract::{Page, PageLimits, PageOptions, PageReader};
use comity_url::CrawlUrl;

fn page(html: &str) -> Page {
    page_with(html, PageOptions::default())
}

fn page_with(html: &str, options: PageOptions) -> Page {
    let url = CrawlUrl::parse("http://h.test/a/b/c").unwrap();
    let content_type = Some("text/html;charset=utf-8");
    let mut reader = PageReader::with_options(&url, content_type, PageLimits::default(), options);
    reader.push(html.as_bytes());
    reader.finish()
}

/// Links as `tag url`, with ` (rel)` where there is one.
fn links(html: &str) -> Vec<String> {
    links_of(&page(html))
}

fn links_of(page: &Page) -> Vec<String> {
    let link = |link: &comity_extract::Link| match link.rel.is_empty() {
        true => format!("{} {}", link.tag.as_str(), link.url),
        false => format!("{} {} ({})", link.tag.as_str(), link.url, link.rel),
    };
    page.links.iter().map(link).collect()
}

fn check(rows: &[(&str, &str, &[&str])]) {
    for (what, html, wanted) in rows {
        assert_eq!(links(html), *wanted, "{what}: {html:?}");
    }
}

/// Off they are none, and nothing is said of them.
fn check_option(options: PageOptions, rows: &[(&str, &str, &[&str])]) {
    for (what, html, wanted) in rows {
        let on = page_with(html, options);
        assert_eq!(links_of(&on), *wanted, "{what}: {html:?}");
        assert!(on.links.iter().all(comity_extract::Link::is_page), "{what}");
        let off = page(html);
        assert!(off.links.is_empty() && off.notes.is_empty(), "{what}: {off:?}");
    }
}

#[test]
fn bases() {
    check(&[
        ("none", "<a href=x>", &["a http://h.test/a/b/x"]),
        ("relative", "<base href='/f/'><a href='x'>", &["a http://h.test/f/x"]),
        ("without slash", "<base href='/f'><a href='x'>", &["a http://h.test/x"]),
        ("first of two counts", "<base href=/f/><base href=/g/><a href=x>", &["a http://h.test/f/x"]),
        ("without href does not count", "<base target=t><base href=/g/><a href=x>", &["a http://h.test/g/x"]),
        ("after the links", "<a href=x><base href=/f/><a href=y>", &["a http://h.test/f/x", "a http://h.test/f/y"]),
        ("other host", "<base href='//cdn.test/'><a href=x>", &["a http://cdn.test/x"]),
        ("relative path", "<base href='../'><a href=x>", &["a http://h.test/a/x"]),
        ("in the body", "<body><p><base href=/f/><a href=x>", &["a http://h.test/f/x"]),
        ("in a template", "<template><base href=/f/></template><a href=x>", &["a http://h.test/a/b/x"]),
        ("in svg", "<svg><base href=/f/></svg><a href=x>", &["a http://h.test/a/b/x"]),
        ("no URL", "<base href='http://['><base href=/g/><a href=x>", &["a http://h.test/a/b/x"]),
        ("data", "<base href='data:text/html,x'><a href=x>", &["a http://h.test/a/b/x"]),
        (
            "ftp",
            "<base href='ftp://h.test/'><a href=x><a href=//g.test/y><a href=http://k.test/>",
            &["a http://k.test/"],
        ),
        ("empty", "<base href=''><base href=/g/><a href=x>", &["a http://h.test/a/b/x"]),
        ("decoded", "<base href='/f?&amp;/'><a href='?x'>", &["a http://h.test/f?x"]),
    ]);
}

#[test]
fn hrefs() {
    check(&[
        ("newlines around", "<a\nhref=\" \n http://h/x \n\">", &["a http://h/x"]),
        ("tab within the scheme", "<a href=\"ht\ttp://h/y\">", &["a http://h/y"]),
        ("backslashes", r#"<a href="\\h\z">"#, &["a http://h/z"]),
        ("amp decoded once", "<a href='?&amp;p=2'>", &["a http://h.test/a/b/c?&p=2"]),
        ("double-encoded amp", "<a href='?x&amp;amp;p=2'>", &["a http://h.test/a/b/c?x&amp;p=2"]),
        ("copy before an equals sign", "<a href='?a=1&copy=2'>", &["a http://h.test/a/b/c?a=1&copy=2"]),
        ("copy at the end", "<a href='?a=1&copy'>", &["a http://h.test/a/b/c?a=1%C2%A9"]),
        ("numeric", "<a href='/&#x78;&#121;&#128;'>", &["a http://h.test/xy%E2%82%AC"]),
        ("first of two", "<a href=x href=y>", &["a http://h.test/a/b/x"]),
        ("upper case", "<A HREF=x>", &["a http://h.test/a/b/x"]),
        ("no blank between attributes", "<a class='c'href='x'id=i>", &["a http://h.test/a/b/x"]),
        ("slash as a separator", "<a/href=x/>", &["a http://h.test/a/b/x/"]),
        ("unquoted with slashes", "<a href=/x/y?z=1&w=2>", &["a http://h.test/x/y?z=1&w=2"]),
        ("quote within an unquoted value", "<a href=x\"y>", &["a http://h.test/a/b/x%22y"]),
        ("greater-than within quotes", "<a title='>' href='x>y'>", &["a http://h.test/a/b/x%3Ey"]),
        ("quote never closed", "<a href=x><a href='y><a href=z>", &["a http://h.test/a/b/x"]),
        (
            "escapes untouched",
            "<a href=/a%3d%3d><a href='/90%+x'><a href=/caf%e9><a href=/%7Eu><a href=/a%2fb>",
            &[
                "a http://h.test/a%3d%3d",
                "a http://h.test/90%+x",
                "a http://h.test/caf%e9",
                "a http://h.test/%7Eu",
                "a http://h.test/a%2fb",
            ],
        ),
        ("not ASCII", "<a href='/é?é'>", &["a http://h.test/%C3%A9?%C3%A9"]),
        ("international host", "<a href='http://bücher.test./'>", &["a http://xn--bcher-kva.test/"]),
        ("empty", "<a href=''><a href>", &["a http://h.test/a/b/c", "a http://h.test/a/b/c"]),
        ("fragment", "<a href='#top'>", &["a http://h.test/a/b/c"]),
        ("no href", "<a name=x><a data-href=x>", &[]),
        ("other schemes", "<a href=mailto:a@b><a href='JavaScript:x()'><a href=ftp://h/><a href='tel:1'>", &[]),
        ("NUL in the value", "<a href='x\0y'>", &["a http://h.test/a/b/x%EF%BF%BDy"]),
        ("NUL in the names", "<a\0 href=x><a hr\0ef=x>", &[]),
        ("user info", "<a href='http://u:p@h.test/'>", &["a http://h.test/"]),
        ("tag cut off", "<a href=x><a href=y", &["a http://h.test/a/b/x"]),
        ("area", "<map><area href=x rel='nofollow ugc'></map>", &["area http://h.test/a/b/x (nofollow ugc)"]),
        ("end tags have none", "</a href=x>", &[]),
    ]);
}

#[test]
fn what_is_markup_and_what_is_not() {
    check(&[
        ("comment", "<!-- <a href=x> --><a href=y>", &["a http://h.test/a/b/y"]),
        ("comment ends early", "<!--><a href=x> --><a href=y>", &["a http://h.test/a/b/x", "a http://h.test/a/b/y"]),
        ("comment ends wrongly", "<!-- --!><a href=x>", &["a http://h.test/a/b/x"]),
        ("comment never closed", "<a href=x><!-- <a href=y>", &["a http://h.test/a/b/x"]),
        ("bogus comment", "<! <a href=x><? <a href=y><a href=z>", &["a http://h.test/a/b/z"]),
        ("script", "<script>'<a href=x>'</script><a href=y>", &["a http://h.test/a/b/y"]),
        (
            "script twice escaped",
            "<script><!--<script></script><a href=x></script>--></script><a href=y>",
            &["a http://h.test/a/b/y"],
        ),
        (
            "style, textarea, title",
            "<style><a href=x></style><textarea><a href=x></textarea><title><a href=x></title>",
            &[],
        ),
        (
            "xmp, noembed, noframes",
            "<xmp><a href=x></xmp><noembed><a href=x></noembed><noframes><a href=x></noframes>",
            &[],
        ),
        ("iframe content", "<iframe src=i><a href=x></iframe>", &["iframe http://h.test/a/b/i"]),
        ("plaintext", "<a href=x><plaintext><a href=y>", &["a http://h.test/a/b/x"]),
    ]);
}

#[test]
fn templates_and_noscript() {
    check(&[
        ("template", "<template><a href=x><div><img src=y></div></template><a href=z>", &["a http://h.test/a/b/z"]),
        (
            "template in template",
            "<template><template></template><a href=x></template><a href=z>",
            &["a http://h.test/a/b/z"],
        ),
        (
            "noscript",
            "<noscript><a href='?a&amp;b'><img src=y></noscript><a href=z>",
            &["a http://h.test/a/b/c?a&b", "img http://h.test/a/b/y", "a http://h.test/a/b/z"],
        ),
        (
            "noscript with script and comment",
            "<noscript><script>'<a href=x>'</script><!--<a href=x>--><a href=y></noscript>",
            &["a http://h.test/a/b/y"],
        ),
        (
            "noscript in noscript",
            "<noscript>a<noscript><a href=x></noscript><a href=y>",
            &["a http://h.test/a/b/x", "a http://h.test/a/b/y"],
        ),
        (
            "noscript ends as markup ends, not as text",
            "<noscript><a href='x</noscript>'><!--</noscript>--><a href=y></noscript>",
            &["a http://h.test/a/b/x%3C/noscript%3E", "a http://h.test/a/b/y"],
        ),
        ("noscript empty", "<noscript></noscript><a href=x>", &["a http://h.test/a/b/x"]),
        (
            "noscript never closed",
            "<noscript><a href=x><a href=y>",
            &["a http://h.test/a/b/x", "a http://h.test/a/b/y"],
        ),
        ("noscript in a template", "<template><noscript><a href=x></noscript></template>", &[]),
        (
            "template in noscript",
            "<noscript><template><a href=x></template></noscript><a href=y>",
            &["a http://h.test/a/b/y"],
        ),
        ("base in noscript", "<noscript><base href=/f/></noscript><a href=x>", &["a http://h.test/f/x"]),
    ]);
}

#[test]
fn broken_and_foreign_markup() {
    check(&[
        (
            "broken nesting",
            "<b><a href=x><i></b><a href=y></i></div></p><a href=z>",
            &["a http://h.test/a/b/x", "a http://h.test/a/b/y", "a http://h.test/a/b/z"],
        ),
        (
            "ambiguous for a tokeniser",
            "<a href=x><select><xmp><script></script></xmp></select><a href=y>",
            &["a http://h.test/a/b/x", "a http://h.test/a/b/y"],
        ),
        ("CDATA in svg", "<svg><![CDATA[<a href=x>]]></svg><a href=y>", &["a http://h.test/a/b/y"]),
        ("CDATA in HTML is a bogus comment", "<![CDATA[<a href=x>]]><a href=y>", &["a http://h.test/a/b/y"]),
        ("style in svg is markup", "<svg><style><a href=x></style></svg>", &["a http://h.test/a/b/x"]),
        ("foreignObject", "<svg><foreignObject><a href=x></foreignObject></svg>", &["a http://h.test/a/b/x"]),
        ("text before the markup", "x < y <a href=x>", &["a http://h.test/a/b/x"]),
    ]);
}

#[test]
fn other_elements() {
    check(&[
        (
            "link",
            "<link rel=stylesheet href=s.css><link rel='Canonical' href=/c><link href=n><link rel=next>",
            &[
                "link http://h.test/a/b/s.css (stylesheet)",
                "link http://h.test/c (canonical)",
                "link http://h.test/a/b/n",
            ],
        ),
        ("empty link href loads nothing", "<link rel=canonical href=''>", &[]),
        ("frames", "<frameset><frame src=f></frameset>", &["frame http://h.test/a/b/f"]),
        ("empty src loads nothing", "<iframe src=''></iframe><img src=' '>", &[]),
        (
            "srcset",
            "<img src=a srcset='b 1x, c,d 2x,\ne'>",
            &[
                "img http://h.test/a/b/a",
                "img http://h.test/a/b/b",
                "img http://h.test/a/b/c,d",
                "img http://h.test/a/b/e",
            ],
        ),
        (
            "picture",
            "<picture><source srcset='a?x&amp;y 2x'><image src=b></picture>",
            &["source http://h.test/a/b/a?x&y", "img http://h.test/a/b/b"],
        ),
        (
            "media",
            "<video src=v poster=p><track src=t></video><audio src=u></audio><embed src=e><object data=o></object>",
            &[
                "video http://h.test/a/b/v",
                "video http://h.test/a/b/p",
                "track http://h.test/a/b/t",
                "audio http://h.test/a/b/u",
                "embed http://h.test/a/b/e",
                "object http://h.test/a/b/o",
            ],
        ),
        (
            "svg",
            "<svg><a xlink:href=x /><a href=y xlink:href=n /><image href=i /><use href='#u' /><use href='s.svg#u' /></svg>",
            &[
                "a http://h.test/a/b/x",
                "a http://h.test/a/b/y",
                "image http://h.test/a/b/i",
                "use http://h.test/a/b/s.svg",
            ],
        ),
        ("xlink outside svg", "<a xlink:href=x>", &[]),
    ]);
}

#[test]
fn refreshes_and_forms() {
    check(&[
        (
            "refresh with base and order",
            "<base href=/b/><meta content='0; url=t.html' http-equiv=refresh>",
            &["meta http://h.test/b/t.html"],
        ),
        (
            "refresh unquoted, upper case",
            "<META HTTP-EQUIV=Refresh CONTENT=0;URL=t.html>",
            &["meta http://h.test/a/b/t.html"],
        ),
        (
            "refresh in noscript",
            "<noscript><meta http-equiv=refresh content='0;url=t'></noscript>",
            &["meta http://h.test/a/b/t"],
        ),
        ("refresh without a URL reloads", "<meta http-equiv=refresh content=5>", &[]),
        (
            "refresh entity-decoded",
            "<meta http-equiv=refresh content='0;url=&quot;t?a&amp;b&quot;'>",
            &["meta http://h.test/a/b/t?a&b"],
        ),
        ("refresh by script", "<meta http-equiv=refresh content='0;url=javascript:x'>", &[]),
        ("forms are off", "<form action=f><input type=image src=i></form>", &[]),
    ]);
}

#[test]
fn a_refresh_tells_its_delay() {
    let page = page("<meta http-equiv=refresh content='900;url=t'>");
    assert_eq!(page.links[0].tag, comity_extract::LinkTag::Meta { delay: 900 });
}

#[test]
fn which_links_are_pages() {
    let rows = [
        ("<a href=x>", true),
        ("<a href=x rel=nofollow>", true),
        ("<area href=x>", true),
        ("<iframe src=x>", true),
        ("<frameset><frame src=x>", true),
        ("<meta http-equiv=refresh content='0;url=x'>", true),
        ("<link rel=canonical href=x>", true),
        ("<link rel=alternate hreflang=de href=x>", true),
        ("<link rel=next href=x>", true),
        ("<link rel=prev href=x>", true),
        ("<link rel=license href=x>", true),
        ("<link rel='alternate stylesheet' href=x>", false),
        ("<link rel=stylesheet href=x>", false),
        ("<link rel=icon href=x>", false),
        ("<link rel=preconnect href=//x>", false),
        ("<link rel=search href=x>", false),
        ("<link href=x>", false),
        ("<img src=x>", false),
        ("<video src=x>", false),
        ("<object data=x>", false),
        ("<a href='1.\thttps://other/'>", false),
        ("<a href='http://https://other/'>", false),
        ("<a href='/web/2020/https://other/'>", true),
    ];
    for (html, wanted) in rows {
        let page = page(html);
        assert_eq!(page.links.len(), 1, "{html}");
        assert_eq!(page.links[0].is_page(), wanted, "{html}");
    }
}

#[test]
fn suspicious_links_are_kept_and_flagged() {
    let page = page("<a href='1.\thttps://other/'><a href=x>");
    assert!(page.links[0].suspicious.is_some());
    assert_eq!(&*page.links[0].reference, "1.\thttps://other/");
    assert_eq!(page.links[1].suspicious, None);
    assert!(page.notes.is_empty());
}

#[test]
fn what_was_left_out_is_counted() {
    let page =
        page("<a href='http://['><a href='http://a b/'><a href=mailto:x><a href=ftp://h/><a href=data:,x><a href=x>");
    assert_eq!(page.links.len(), 1);
    assert_eq!((page.notes.unparseable, page.notes.other_schemes), (2, 3));
    assert_eq!(page.notes.to_string(), "2 references are no URL; 3 references are neither http nor https");
}

/// Faults that other crawlers had with links, each with an input of its kind: report, URL of the page, its markup, links.
type Report = (&'static str, &'static str, &'static str, &'static [&'static str]);

const REPORTS: &[Report] = &[
    (
        "stormcrawler#1448: escapes are escaped again",
        "http://h.test/",
        "<a href=/a%3d%3d><a href='/90%+x'><a href=/caf%e9><a href=/%7Euser><a href=/a%2fb>",
        &["/a%3d%3d", "/90%+x", "/caf%e9", "/%7Euser", "/a%2fb"],
    ),
    ("heritrix3#208: a relative base is ignored", "http://h.test/a/b/c", "<base href='/f/'><a href='x'>", &["/f/x"]),
    ("heritrix3#208: two bases", "http://h.test/a/b/c", "<base href=/f/><base href=/g/><a href=x>", &["/f/x"]),
    ("heritrix3#208: base after the links", "http://h.test/a/b/c", "<a href=x><base href=/f/>", &["/f/x"]),
    (
        "siteone-crawler#68: base of another host",
        "http://h.test/a/",
        "<base href='//cdn.test/'><a href=x>",
        &["//cdn.test/x"],
    ),
    ("scrapy#2772: blanks around", "http://h.test/", "<a\nhref=\" \n http://h/x \n\">", &["//h/x"]),
    ("scrapy#2772: a tab within", "http://h.test/", "<a href=\"ht\ttp://h/y\">", &["//h/y"]),
    ("scrapy#2772: backslashes", "http://h.test/", r#"<a href="\\h\z">"#, &["//h/z"]),
    (
        "scrapy#7042: refresh and base",
        "http://h.test/",
        "<base href=/b/><meta content='0; url=t.html' http-equiv=refresh>",
        &["/b/t.html"],
    ),
    ("scrapy#4967: unquoted", "http://h.test/", "<meta http-equiv=refresh content=0;url=t.html>", &["/t.html"]),
    (
        "scrapy#7042: in noscript",
        "http://h.test/",
        "<noscript><meta http-equiv=refresh content='0;url=t'></noscript>",
        &["/t"],
    ),
    (
        "Norconex#28: references decoded once",
        "http://h.test/l",
        "<a href='?&amp;p=2'><a href='?&amp;amp;p=2'>",
        &["/l?&p=2", "/l?&amp;p=2"],
    ),
    (
        "crawler-commons#172: one host, written in four ways",
        "http://h.test/",
        "<a href=http://b\u{fc}cher.test/><a href=http://xn--bcher-kva.test/><a href=http://XN--BCHER-KVA.TEST./><a href=http://xn--bcher-kva.test:80/>",
        &["//xn--bcher-kva.test/", "//xn--bcher-kva.test/", "//xn--bcher-kva.test/", "//xn--bcher-kva.test/"],
    ),
    ("spider#118: no slash is forced on", "http://h.test/", "<a href=/x><a href=/x/>", &["/x", "/x/"]),
    (
        "wpull#232: parameters stay",
        "http://h.test/",
        "<a href='/a?utm_source=x'><a href='/a;jsessionid=1'><a href='/a?id=1&ref=2'>",
        &["/a?utm_source=x", "/a;jsessionid=1", "/a?id=1&ref=2"],
    ),
];

#[test]
fn faults_of_other_crawlers() {
    for (report, url, html, wanted) in REPORTS {
        let url = CrawlUrl::parse(url).unwrap();
        let mut reader = PageReader::new(&url, Some("text/html;charset=utf-8"), PageLimits::default());
        reader.push(html.as_bytes());
        let found: Vec<CrawlUrl> = reader.finish().links.into_iter().map(|link| link.url).collect();
        let wanted: Vec<CrawlUrl> = wanted.iter().map(|wanted| url.join(wanted).unwrap()).collect();
        assert_eq!(found, wanted, "{report}");
    }
    let page = page("<a href=\"1.\thttps://other/\"><meta http-equiv=refresh content='900; url=/a/b/c'>");
    assert!(page.links[0].suspicious.is_some() && !page.links[0].is_page(), "scrapy#2772: a URL behind a list number");
    assert_eq!(page.links[1].url.as_str(), page.base, "scrapy#7042: a page that refreshes itself leads to itself");
    assert_eq!(page.links[1].tag, comity_extract::LinkTag::Meta { delay: 900 });
}

#[test]
fn a_page_that_echoes_its_query_does_not_grow() {
    let mut url = CrawlUrl::parse("http://h.test/?&p=2").unwrap();
    for _ in 0..3 {
        let mut reader = PageReader::new(&url, Some("text/html"), PageLimits::default());
        reader.push(format!("<a href=\"{}\">", url.request_target().replace('&', "&amp;")).as_bytes());
        url = reader.finish().links[0].url.clone();
        assert_eq!(url.as_str(), "http://h.test/?&p=2");
    }
}
