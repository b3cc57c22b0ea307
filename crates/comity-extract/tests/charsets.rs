//! How the bytes of a page are read.

#![expect(clippy::unwrap_used, reason = "the URLs of the tests are constants")]

use comity_extract::{CharsetSource, ContentKind, Page, PageLimits, PageReader};
use comity_url::CrawlUrl;

fn page(url: &str, content_type: Option<&str>, bytes: &[u8]) -> Page {
    let url = CrawlUrl::parse(url).unwrap();
    let mut reader = PageReader::new(&url, content_type, PageLimits::default());
    reader.push(bytes);
    reader.finish()
}

fn utf_16(text: &str, to_bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(to_bytes).collect()
}

#[test]
fn the_first_declaration_that_counts_wins() {
    use CharsetSource::{Assumed, ByteOrderMark, Detector, Header, Meta, XmlDeclaration};
    let meta: &[u8] = b"<meta charset=koi8-r><p>";
    let late = [vec![b' '; 1024], meta.to_vec()].concat();
    type Row = (&'static str, Option<&'static str>, Vec<u8>, &'static str, CharsetSource);
    let rows: [Row; 11] = [
        ("mark over header", Some("text/html;charset=koi8-r"), b"\xef\xbb\xbf<p>".to_vec(), "UTF-8", ByteOrderMark),
        ("header over meta", Some("text/html;charset=gbk"), meta.to_vec(), "GBK", Header),
        ("meta", Some("text/html"), meta.to_vec(), "KOI8-R", Meta),
        ("unknown header label", Some("text/html;charset=nonsense"), meta.to_vec(), "KOI8-R", Meta),
        ("meta beyond 1,024 bytes", Some("text/html"), late, "UTF-8", Assumed),
        (
            "XML declaration",
            Some("text/html"),
            b"<?xml version='1.0' encoding='big5'?><p>".to_vec(),
            "Big5",
            XmlDeclaration,
        ),
        ("ASCII", Some("text/html"), b"<p>plain".to_vec(), "UTF-8", Assumed),
        ("UTF-8", Some("text/html"), "<p>Größe übrigens".into(), "UTF-8", Detector),
        ("Latin-1", Some("text/html"), b"<p>Gr\xf6\xdfe und \xdcbermut f\xfcr alle".to_vec(), "windows-1252", Detector),
        ("empty", Some("text/html"), Vec::new(), "UTF-8", Assumed),
        ("UTF-16", Some("text/html"), utf_16("\u{feff}<p>x", u16::to_be_bytes), "UTF-16BE", ByteOrderMark),
    ];
    for (what, content_type, bytes, name, source) in rows {
        let charset = page("http://h.test/", content_type, &bytes).charset.expect(what);
        assert_eq!((charset.name, charset.source), (name, source), "{what}");
    }
}

#[test]
fn the_detector_knows_the_top_level_domain_and_survives_any_host() {
    for host in ["h.ru", "127.0.0.1", "[::1]", "xn--e1afmkfd.xn--p1ai", "localhost", "h_x.test"] {
        let page = page(&format!("http://{host}/"), Some("text/html"), b"<a href=x>\xef\xf0\xe8\xe2\xe5\xf2</a>");
        assert_eq!(page.links.len(), 1, "{host}");
    }
    let russian =
        page("http://h.ru/", Some("text/html"), b"<p>\xcf\xf0\xe8\xe2\xe5\xf2, \xea\xe0\xea \xe4\xe5\xeb\xe0?");
    assert_eq!(russian.charset.unwrap().name, "windows-1251");
}

#[test]
fn links_are_decoded_and_queries_written_in_the_charset() {
    let latin = b"<meta charset=iso-8859-1><title>\xe9</title><a href='/\xe9?q=\xe9'>";
    let latin = page("http://h.test/", Some("text/html"), latin);
    assert_eq!(latin.links[0].url.as_str(), "http://h.test/%C3%A9?q=%E9");
    assert_eq!(latin.head.title.as_deref(), Some("é"));

    for to_bytes in [u16::to_le_bytes, u16::to_be_bytes] {
        let bytes = utf_16("\u{feff}<a href='/é?é'>", to_bytes);
        let page = page("http://h.test/", Some("text/html"), &bytes);
        assert_eq!(page.links[0].url.as_str(), "http://h.test/%C3%A9?%C3%A9");
    }

    let japanese = page("http://h.test/", Some("text/html;charset=shift_jis"), b"<a href='/?q=\x95\x5c'>");
    assert_eq!(japanese.links[0].url.as_str(), "http://h.test/?q=%95\\");
}

#[test]
fn undecodable_bytes_are_replaced_and_noted() {
    let page = page("http://h.test/", Some("text/html;charset=utf-8"), b"<a href='/\xff'>\xc3");
    assert_eq!(page.links[0].url.as_str(), "http://h.test/%EF%BF%BD");
    assert!(page.notes.replaced);
}

#[test]
fn only_html_has_links() {
    let rows = [
        (Some("text/html"), ContentKind::Html, 1),
        (Some("Application/XHTML+XML; x=y"), ContentKind::Html, 1),
        (None, ContentKind::Sniffed, 1),
        (Some(""), ContentKind::Sniffed, 1),
        (Some("text/plain"), ContentKind::Other, 0),
        (Some("application/pdf"), ContentKind::Other, 0),
        (Some("image/svg+xml"), ContentKind::Other, 0),
    ];
    for (content_type, content, links) in rows {
        let page = page("http://h.test/", content_type, b"\n <a href=x>");
        assert_eq!((page.content, page.links.len()), (content, links), "{content_type:?}");
    }
    let rows: [(&[u8], ContentKind); 5] = [
        (b"%PDF-1.7 <a href=x>", ContentKind::Other),
        (b"{\"a\":\"<a href=x>\"}", ContentKind::Other),
        (b"\xef\xbb\xbf\r\n<a href=x>", ContentKind::Sniffed),
        (b"", ContentKind::Other),
        (b"   ", ContentKind::Other),
    ];
    for (bytes, content) in rows {
        let page = page("http://h.test/", None, bytes);
        assert_eq!(page.content, content, "{:?}", String::from_utf8_lossy(bytes));
        assert_eq!(page.links.len(), usize::from(content != ContentKind::Other));
    }
}
