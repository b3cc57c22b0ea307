//! RSS 0.9x to 2.0, Atom and JSON Feed.

use comity_extract::SitemapFormat;

use super::{gzip, locs, read};

#[test]
fn feeds_name_their_items() {
    let rows: [(&str, &str, SitemapFormat, &[&str]); 8] = [
        (
            "RSS 2.0",
            "<rss version='2.0' xmlns:atom='a'><channel><link>http://h/home</link><atom:link href='/feed' rel='self'/>\
             <item><title>1</title><link>http://h/1</link><guid>no</guid></item>\
             <item><link>\n/2?a&amp;b\n</link><enclosure url='/x.mp3'/></item>\
             <item><guid>http://h/3</guid></item><item><guid isPermaLink='false'>http://h/no</guid></item>\
             <item><guid isPermaLink='true'>tag:h,2026:4</guid></item></channel></rss>",
            SitemapFormat::Rss,
            &["http://h/1", "http://h.test/2?a&b", "http://h/3"],
        ),
        (
            "RSS 0.91",
            "<!DOCTYPE rss PUBLIC '-//Netscape' 'http://my.netscape.com/rss.dtd'><rss version='0.91'><channel><item><link>/1</link></item></channel></rss>",
            SitemapFormat::Rss,
            &["http://h.test/1"],
        ),
        (
            "an item with an Atom link",
            "<rss><channel><item><atom:link href='/1'/></item><item><atom:link rel='self' href='/no'/></item></channel></rss>",
            SitemapFormat::Rss,
            &["http://h.test/1"],
        ),
        (
            "RSS 1.0",
            "<rdf:RDF xmlns:rdf='r' xmlns='http://purl.org/rss/1.0/'><channel rdf:about='/c'><link>/home</link><items><rdf:Seq><rdf:li resource='/1'/></rdf:Seq></items></channel>\
             <item rdf:about='http://h/1'><link>http://h/1?l</link></item><item rdf:about='http://h/2'><title>x</title></item></rdf:RDF>",
            SitemapFormat::Rdf,
            &["http://h/1?l", "http://h/2"],
        ),
        (
            "Atom",
            "<feed xmlns='http://www.w3.org/2005/Atom'><link href='/home'/><link rel='self' href='/feed'/>\
             <entry><link rel='self' href='/no'/><link rel='alternate' type='text/html' href='/1'/><link href='/1.pdf'/><id>x</id></entry>\
             <entry><link href='2'/></entry><entry><link rel='enclosure' href='/no.mp3'/></entry></feed>",
            SitemapFormat::Atom,
            &["http://h.test/1", "http://h.test/s/2"],
        ),
        (
            "Atom with bases",
            "<a:feed xml:base='http://b/x/' xmlns:a='http://www.w3.org/2005/Atom'><a:entry><a:link href='1'/></a:entry><a:entry xml:base='y/'><a:link href='2'/></a:entry></a:feed>",
            SitemapFormat::Atom,
            &["http://b/x/1", "http://b/x/y/2"],
        ),
        (
            "JSON Feed",
            "{\"version\": \"https://jsonfeed.org/version/1.1\", \"home_page_url\": \"http://h/home\", \"items\": [{\"id\": \"1\", \"url\": \"http://h/1\"},\
             {\"id\": \"http://h/2\"}, {\"id\": 3, \"url\": null, \"content_text\": {\"a\": [1]}}, {\"id\": \"x\", \"url\": \"/4\"}]}",
            SitemapFormat::JsonFeed,
            &["http://h/1", "http://h/2", "http://h.test/4"],
        ),
        ("an empty JSON Feed", "{\"items\": []}", SitemapFormat::JsonFeed, &[]),
    ];
    for (what, text, format, wanted) in rows {
        let found = read(text);
        assert_eq!((found.format, locs(&found)), (format, wanted.to_vec()), "{what}: {}", found.notes);
        assert!(!found.is_damaged(), "{what}: {}", found.notes);
        assert_eq!(read(gzip(text.as_bytes())), found, "{what}, packed");
    }
}

#[test]
fn dates_of_items() {
    let rows = [
        (
            "<rss><channel><item><link>/</link><pubDate>Mon, 30 Nov 2026 10:00:00 GMT</pubDate></item></channel></rss>",
            "2026-11-30T10:00:00Z",
        ),
        ("<RDF><item><link>/</link><dc:date>2026-11-30T10:00:00Z</dc:date></item></RDF>", "2026-11-30T10:00:00Z"),
        (
            "<feed><entry><link href='/'/><published>2026-11-01T00:00:00Z</published><updated>2026-11-30T10:00:00Z</updated></entry></feed>",
            "2026-11-30T10:00:00Z",
        ),
        ("<feed><entry><link href='/'/><published>2026-11-01</published></entry></feed>", "2026-11-01T00:00:00Z"),
        ("{\"items\":[{\"url\":\"/\",\"date_published\":\"2026-11-30T10:00:00+00:00\"}]}", "2026-11-30T10:00:00Z"),
    ];
    for (text, wanted) in rows {
        let found = read(text);
        let dates: Vec<_> = found.entries.iter().map(|entry| entry.lastmod.as_ref().unwrap().at.to_string()).collect();
        assert_eq!(dates, [wanted], "{text}");
    }
}

#[test]
fn a_cut_json_feed_gives_what_stands_before_the_cut() {
    let whole = "{\"version\": \"https://jsonfeed.org/version/1\", \"items\": [{\"url\": \"http://h/1\"}, {\"url\": \"http://h/2\"}, {\"url\": \"http://h/3\"}]}";
    let found = read(&whole[..whole.len() - 20]);
    assert_eq!((locs(&found), found.is_damaged()), (vec!["http://h/1", "http://h/2"], true));
}
