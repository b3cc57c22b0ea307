//! What the head of a page says.

#![expect(clippy::unwrap_used, reason = "the URLs of the tests are constants")]

use comity_extract::{Page, PageLimits, PageReader};
use comity_url::CrawlUrl;

fn page(html: &str) -> Page {
    let url = CrawlUrl::parse("http://h.test/").unwrap();
    let mut reader = PageReader::new(&url, Some("text/html;charset=utf-8"), PageLimits::default());
    reader.push(html.as_bytes());
    reader.finish()
}

#[test]
fn titles() {
    let rows = [
        ("<title> One\n &amp;  two </title>", Some("One & two")),
        ("<title>a &lt;b&gt; <i>c</i></title>", Some("a <b> <i>c</i>")),
        ("<title>one</title><title>two</title>", Some("one")),
        ("<title></title><title>two</title>", None),
        ("<title></title><svg><title>two</title></svg>", None),
        ("<svg><title>no</title></svg><title>yes</title>", Some("yes")),
        ("<template><title>no</title></template><title>yes</title>", Some("yes")),
        ("<title>never closed", Some("never closed")),
        ("<body><title>late</title>", Some("late")),
        ("<p>none", None),
    ];
    for (html, wanted) in rows {
        assert_eq!(page(html).head.title.as_deref(), wanted, "{html}");
    }
}

#[test]
fn languages() {
    let rows = [
        ("<html lang=de-CH>", Some("de-CH")),
        ("<html xml:lang=fr>", Some("fr")),
        ("<html lang=' en '>", Some("en")),
        ("<html lang=''>", None),
        ("<html><html lang=en>", Some("en")),
        ("<html lang=de><html lang=en>", Some("de")),
        ("<body lang=en>", None),
    ];
    for (html, wanted) in rows {
        assert_eq!(page(html).head.language.as_deref(), wanted, "{html}");
    }
}

#[test]
fn robots_metas() {
    let rows: [(&str, &[(&str, &str)]); 10] = [
        ("<meta name=robots content='noindex, NoFollow'>", &[("robots", "noindex, NoFollow")]),
        ("<META NAME=' ROBOTS ' CONTENT=none>", &[("robots", "none")]),
        ("<meta content=none name=robots><meta name=robots content=all>", &[("robots", "none"), ("robots", "all")]),
        ("<meta name=MyBot content='max-snippet: 50'>", &[("mybot", "max-snippet: 50")]),
        ("<meta name=robots content=unheard-of>", &[("robots", "unheard-of")]),
        ("<meta name=description content='follow us'>", &[]),
        ("<meta name=viewport content='width=device-width'>", &[]),
        ("<meta name=robots>", &[]),
        ("<body><meta name=robots content=noai>", &[("robots", "noai")]),
        ("<template><meta name=robots content=none></template>", &[]),
    ];
    for (html, wanted) in rows {
        let head = page(html).head;
        let found: Vec<_> = head.robots.iter().map(|meta| (&*meta.name, &*meta.content)).collect();
        assert_eq!(found, wanted, "{html}");
    }
    assert!(page("<noscript><meta name=MyBot content=nofollow></noscript>").head.forbids_following("mybot"));
}

#[test]
fn canonical_and_tdm() {
    let head = page(
        "<link rel=canonical href='/c?a&amp;b'><link rel=canonical href=/d>\
         <meta name=TDM-Reservation content=1><meta name=tdm-policy content='https://h.test/p.json'>",
    )
    .head;
    assert_eq!(head.canonical.as_deref(), Some("/c?a&b"));
    assert_eq!(head.tdm_reservation, ["1"]);
    assert_eq!(head.tdm_policy, ["https://h.test/p.json"]);
}
