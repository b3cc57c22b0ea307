//! Markup put together at random: where the judge builds a tree, and where tags are broken.

use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, Strategy, prop_assert_eq, proptest};
use proptest::sample::select;

use crate::{ours, read, tree};

/// Broken tags, comments, references and raw text, in any order.
const BROKEN: &str = "<a <A href= href=x href='y href=\"z src=s ' \" > /> / = < </ </a </a> <! <!-- <!--> <!---> --> --!> - -- ! <? ?> \
    &amp; &amp &copy &copy= &#65 &#x41; &notin; &notit; & ; # x y é \0 1 <img <link <base <title> </title> </title <script> </script> \
    <script </script <scripts <style> </style> </styl </style/ <textarea> </textarea> <xmp> </xmp> <iframe> </iframe> <noscript> \
    </noscript> <noembed> </noembed> <noframes> </noframes> <template> </template> <![CDATA[ ]]> ]] <!doctype";

fn broken() -> impl Strategy<Value = String> {
    let pieces: Vec<&str> = BROKEN.split_ascii_whitespace().chain([" "]).collect();
    vec(select(pieces), 0..24).prop_map(|pieces| pieces.concat())
}

/// Elements that hold others, whether they may or not.
const NAMES: &str = "div p b span ul li table a section svg g desc foreignObject title math mi mtext mglyph annotation-xml \
    template noscript form button select option h1";

/// What elements hold, and what is markup in one of them and text in another.
const LEAVES: &str = "<a_href=x></a> <img_src=i> <image_href=j></image> <use_href=u_/> <g/> text <style><a_href=s></a></style> \
    <script><a_href=t></a></script> <textarea><a_href=r></a></textarea> <![CDATA[<a_href=c></a>]]> <!--<a_href=n>--> <font_color=red></font> <br> <svg/> \
    <noscript><a_href=o></a></noscript> <title><a_href=q></a></title> <link_href=l> <title/> <iframe_src=f></iframe> <base_href=/f/>";

/// Elements within elements, each of them closed.
fn nested() -> impl Strategy<Value = String> {
    let names: Vec<&str> = NAMES.split_ascii_whitespace().collect();
    let leaves: Vec<&str> = LEAVES.split_ascii_whitespace().collect();
    let leaf = select(leaves).prop_map(|leaf| leaf.replace('_', " "));
    let element = leaf.prop_recursive(6, 40, 5, move |inner| {
        (select(names.clone()), vec(inner, 0..5))
            .prop_map(|(name, inner)| format!("<{name}>{}</{name}>", inner.concat()))
    });
    vec(element, 1..4).prop_map(|elements| format!("<!doctype html><body>{}", elements.concat()))
}

fn is_alike(html: &str) -> Result<(), proptest::test_runner::TestCaseError> {
    let url = "http://h.test/a/b/c";
    let bytes = [b"\xef\xbb\xbf", html.as_bytes()].concat();
    prop_assert_eq!(ours(&read(url, &bytes)), tree::found(url, html), "{:?}", html);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if crate::is_long() { 20_000 } else { 1500 }, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn broken_tags_are_read_as_a_tree_builder_reads_them(html in broken()) {
        is_alike(&html)?;
    }

    #[test]
    fn nested_elements_are_read_as_a_tree_builder_reads_them(html in nested()) {
        is_alike(&html)?;
    }
}
