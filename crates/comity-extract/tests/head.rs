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
    let rows: [(&str, &[(&str, &str)]); 11] = [
        ("<meta name=MyBot content=noml>", &[("mybot", "noml")]),
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
fn what_has_no_room_still_denies() {
    let filler = "<meta name=robots content=all>".repeat(64);
    let long = format!("<meta name=robots content='{}noai'>", "x,".repeat(2047));
    let split = format!("<meta name=robots content='{},noarchive, noml'>", "x".repeat(4089));
    let others: String = (0..300).map(|n| format!("<meta name=bot{n} content=noindex>")).collect();
    let rows = [
        (format!("{filler}<meta name=robots content='NOAI, max-snippet:3'>"), "noai"),
        (format!("{filler}<meta name=MyBot content=noml>"), "noml"),
        (format!("{others}<meta name=robots content=noai>"), "noai"),
        (format!("{long}<p>"), "noai"),
        (split.clone(), "noarchive"),
        (split, "noml"),
    ];
    for (html, word) in rows {
        let read = page(&html);
        let says = |meta: &comity_signals::RobotsMeta| meta.content.split(',').any(|said| said.trim() == word);
        assert!(read.head.robots.iter().any(says), "{word}: {}", &html[html.len() - 60..]);
        assert!(read.notes.heads_cut > 0 && read.head.robots.len() <= 3 * 64, "{word}");
    }
    // As many of each word as there are names, and no more.
    let flood = page(&"<meta name=robots content='noai, noarchive, nothing'>".repeat(5000));
    assert_eq!(flood.head.robots.len(), 64 + 2);
    let tdm = page(&format!(
        "{}{}",
        "<meta name=tdm-reservation content=0>".repeat(64),
        "<meta name=tdm-reservation content=1>".repeat(9)
    ));
    assert_eq!((tdm.head.tdm_reservation.len(), tdm.head.tdm_reservation[64].as_str()), (65, "1"));
}

#[test]
fn a_permission_of_tdm_counts_in_the_head_alone() {
    let zero = "<meta name=tdm-reservation content=0>";
    let rows = [
        ("", true),
        ("<!doctype html><html> <head>\n", true),
        ("<title>words</title><style>a{}</style><script>x</script><!-- words -->", true),
        ("<template>words<p><svg></svg></template>", true),
        ("<head></head>", true),
        ("<head></head>\n words of a user ", false),
        ("words", false),
        ("<head></head><svg></svg>", false),
        ("<math>", false),
        ("<noscript>words</noscript>", false),
        ("<p>", false),
        ("</br>", false),
        ("<head></head></body>", false),
    ];
    for (before, counts) in rows {
        for chunk in [1, 7, 4096] {
            let url = CrawlUrl::parse("http://h.test/").unwrap();
            let mut reader = PageReader::new(&url, Some("text/html;charset=utf-8"), PageLimits::default());
            let html = format!("{before}{zero}<meta name=tdm-reservation content=1>");
            html.as_bytes().chunks(chunk).for_each(|bytes| reader.push(bytes));
            let wanted: &[&str] = if counts { &["0", "1"] } else { &["1"] };
            assert_eq!(reader.finish().head.tdm_reservation, wanted, "{before} by {chunk}");
        }
    }
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

#[test]
fn licences() {
    let head = page(
        "<link rel=license href=/l type=application/rsl+xml><p><a rel='nofollow License' href='l?a&amp;b'>x</a>\
         <a rel=copyright href=c><template><a rel=license href=n></template><link rel=license>",
    )
    .head;
    let found: Vec<_> = head.licences.iter().map(|link| (link.href.as_str(), link.media_type.as_deref())).collect();
    assert_eq!(found, [("/l", Some("application/rsl+xml")), ("l?a&b", None), ("c", None)]);
}

#[test]
fn link_fields() {
    let url = CrawlUrl::parse("http://h.test/a/b").unwrap();
    for content_type in ["text/html", "application/pdf"] {
        let mut reader = PageReader::new(&url, Some(content_type), PageLimits::default());
        reader.link_field("<c>; rel=canonical, </l>; rel=license; type=\"application/rsl+xml\"");
        reader.link_field("<x>; rel=alternate; hreflang=de, <n>; rel=next; anchor=\"/other\", <p.js>; rel=preload");
        reader.link_field("<mailto:a@b>; rel=author, <http://[>; rel=next");
        reader.push(b"<base href=/f/><a href=y hreflang=fr>");
        let page = reader.finish();
        let shown = |link: &comity_extract::Link| {
            let hreflang = link.hreflang.as_deref().unwrap_or("");
            format!("{} {} {} {} {hreflang}", link.tag.as_str(), link.url.path(), link.rel, link.is_page())
        };
        let mut wanted = vec![
            "header /a/c canonical true ",
            "header /l license true ",
            "header /a/x alternate true de",
            "header /a/p.js preload false ",
        ];
        if content_type == "text/html" {
            wanted.push("a /f/y  true fr");
        }
        assert_eq!(page.links.iter().map(shown).collect::<Vec<_>>(), wanted, "{content_type}");
        assert_eq!(page.links[1].media_type.as_deref(), Some("application/rsl+xml"));
        assert_eq!((page.notes.other_schemes, page.notes.unparseable), (1, 1));
    }
}

#[test]
fn licences_within_a_page() {
    let rows: [(&str, &[&str]); 8] = [
        ("<script type=application/rsl+xml><rsl>&amp;</rsl></script>", &["<rsl>&amp;</rsl>"]),
        ("<script type=' Application/RSL+XML '>a</script><script>b</script>", &["a"]),
        ("<script type=application/rsl+xml>a</script><script type=application/rsl+xml>b</script>", &["a", "b"]),
        ("<script type=application/rsl+xml>never closed <b>", &["never closed <b>"]),
        ("<script type=application/rsl+xml><!--<script>a</script>--></script>x", &["<!--<script>a</script>-->"]),
        ("<script type=application/ld+json>{}</script>", &[]),
        ("<script>type=application/rsl+xml</script>", &[]),
        ("<script type=application/rsl+xml></script><template><script>x</script></template>", &[""]),
    ];
    for (html, wanted) in rows {
        assert_eq!(page(html).head.inline_rsl, wanted, "{html}");
        // Cut anywhere, they are the same.
        let url = CrawlUrl::parse("http://h.test/").unwrap();
        let mut reader = PageReader::new(&url, Some("text/html;charset=utf-8"), PageLimits::default());
        html.as_bytes().chunks(3).for_each(|chunk| reader.push(chunk));
        assert_eq!(reader.finish().head.inline_rsl, wanted, "{html} in pieces");
    }
    let one = "<script type=application/rsl+xml>é</script>".replace('é', &"é".repeat(40_000));
    let cut = page(&one.repeat(6));
    assert_eq!((cut.head.inline_rsl.len(), cut.notes.heads_cut), (4, 6));
    assert!(cut.head.inline_rsl.iter().all(|text| text.len() == 64 * 1024));
}
