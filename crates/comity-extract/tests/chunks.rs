//! Laws: what is found does not depend on where the bytes were cut, and no bytes panic.

#![expect(clippy::unwrap_used, reason = "the URLs of the tests are constants")]

use comity_extract::{Page, PageLimits, PageOptions, PageReader};
use comity_url::CrawlUrl;
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, Strategy, any, prop_assert_eq, prop_oneof, proptest};
use proptest::sample::select;

fn page(content_type: Option<&str>, bytes: &[u8], cuts: &[usize]) -> Page {
    let url = CrawlUrl::parse("http://h.test/a/b/c").unwrap();
    let options = PageOptions::default().with_forms(true).with_text_urls(true);
    let mut reader = PageReader::with_options(&url, content_type, PageLimits::default(), options);
    let mut rest = bytes;
    for cut in cuts.iter().cycle() {
        if rest.is_empty() || cuts.iter().all(|cut| *cut == 0) {
            break;
        }
        let (chunk, behind) = rest.split_at((*cut).min(rest.len()));
        reader.push(chunk);
        rest = behind;
    }
    reader.push(rest);
    reader.finish()
}

const PIECES: [&str; 49] = [
    "<a href=",
    "<a\nhref='",
    "x",
    "?a&amp;b=",
    "é",
    "日本",
    "'",
    "\"",
    ">",
    " ",
    "</a>",
    "<base href=/f/>",
    "<noscript>",
    "</noscript>",
    "<template>",
    "</template>",
    "<script>",
    "</script>",
    "<!--",
    "-->",
    "<title>",
    "</title>",
    "<svg>",
    "</svg>",
    "<img srcset='a 1x, b 2x'>",
    "<meta http-equiv=refresh content='0;url=t'>",
    "<meta charset=gbk>",
    "&copy",
    "=",
    "<link rel=canonical href=c>",
    "\0",
    "<",
    "/",
    "<div>",
    "</div>",
    "<plaintext>",
    "<select>",
    "<![CDATA[",
    "]]>",
    "<html lang=de>",
    "<form action=s>",
    "<form method=post action=s>",
    "</form>",
    "<button formmethod=get formaction=b>",
    "http://x.test/",
    "http",
    "://x.test",
    "&gt;",
    ").",
];

fn markup() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        8 => select(&PIECES[..]).prop_map(|text| text.as_bytes().to_vec()),
        1 => vec(any::<u8>(), 0..4),
        1 => select(vec![1_usize, 100, 1010, 5000]).prop_map(|len| vec![b' '; len]),
    ];
    vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

fn content_type() -> impl Strategy<Value = Option<&'static str>> {
    select(vec![None, Some("text/html"), Some("text/html;charset=utf-8"), Some("text/html;charset=shift_jis")])
}

/// Where text of many bytes a character lies beside the pieces that a chunk is read in changes nothing.
#[test]
fn characters_are_cut_nowhere() {
    type Wrap = fn(&str) -> String;
    let wraps: [(&str, Wrap); 4] = [
        ("title", |text| format!("<title>{text}</title>")),
        ("running text", |text| format!("<p>http://x.test/{text} <a href=/a>")),
        ("licence", |text| format!("<script type=application/rsl+xml>{text}</script>")),
        ("comment in a licence", |text| format!("<script type=application/rsl+xml><!-- {text} <b> --></script>")),
    ];
    for (what, wrap) in wraps {
        for character in ["é", "日", "🦀"] {
            for shift in 0..character.len() {
                let page_of = format!("{}{}", "x".repeat(shift), wrap(&character.repeat(400)));
                for start in 1..8 {
                    let whole = page(Some("text/html;charset=utf-8"), page_of.as_bytes(), &[usize::MAX]);
                    // A first piece that ends within a tag, then all the rest at once.
                    let cut = page(Some("text/html;charset=utf-8"), page_of.as_bytes(), &[shift + start, usize::MAX]);
                    assert_eq!(cut, whole, "{what} of {character}, moved by {shift}, cut behind {start} bytes");
                    assert!(format!("{cut:?}").contains(character) || what == "running text", "{what} of {character}");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn cuts_change_nothing(bytes in markup(), cuts in vec(0_usize..40, 1..8), content_type in content_type()) {
        prop_assert_eq!(page(content_type, &bytes, &cuts), page(content_type, &bytes, &[usize::MAX]));
    }

    #[test]
    fn no_bytes_panic(bytes in vec(any::<u8>(), 0..3000), content_type in content_type()) {
        let page = page(content_type, &bytes, &[usize::MAX]);
        assert!(page.links.len() <= bytes.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    #[test]
    fn pages_beyond_the_detector_prefix_are_read_alike(
        start in markup(), filler in 60_000_usize..70_000, end in markup(), cut in 20_usize..9000,
    ) {
        let bytes = [start, vec![b'x'; filler], end].concat();
        prop_assert_eq!(page(Some("text/html"), &bytes, &[cut]), page(Some("text/html"), &bytes, &[usize::MAX]));
    }
}
