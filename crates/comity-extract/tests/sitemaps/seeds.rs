//! The laws of the fuzz targets: on the seeds, and on seeds with pieces put in.

#[allow(unreachable_pub, clippy::pedantic, reason = "a library of its own, for the fuzzer")]
#[path = "../../fuzz/src/sitemaps.rs"]
mod laws;

use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, Strategy, any, prop_oneof, proptest};
use proptest::sample::{Index, select};

fn seeds() -> Vec<Vec<u8>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/seeds");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

#[test]
fn every_law_on_every_seed() {
    let seeds = seeds();
    assert!(seeds.len() >= 20, "only {} seeds", seeds.len());
    for seed in &seeds {
        laws::sitemap(seed);
        laws::feed(seed);
    }
}

/// Pieces that mean something to a reader.
const PIECES: [&str; 36] = [
    "<url>",
    "</url>",
    "<loc>",
    "</loc>",
    "<sitemap>",
    "</urlset>",
    "/1",
    "&amp;",
    "&",
    ";",
    "<![CDATA[",
    "]]>",
    "<!--",
    "-->",
    "<",
    ">",
    "\"",
    "'",
    "<!",
    "<?",
    "?>",
    "<!DOCTYPE x [",
    "]>",
    "\n",
    "é",
    "<lastmod>2026</lastmod>",
    "<a b='",
    "<link/>",
    "<item>",
    "<entry>",
    "<x:link href='/2'/>",
    "{\"url\":\"/3\"},",
    "\\u0000",
    "<priority>",
    "</",
    "\0",
];

fn piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        8 => select(&PIECES[..]).prop_map(|text| text.as_bytes().to_vec()),
        1 => vec(any::<u8>(), 0..4),
        1 => select(vec![1_usize, 100, 1030]).prop_map(|len| vec![b' '; len]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn every_law_on_changed_seeds(seed in select(seeds()), changes in vec((any::<Index>(), 0_usize..6, piece()), 1..6)) {
        let mut bytes = seed;
        for (at, cut, piece) in changes {
            let at = at.index(bytes.len() + 1);
            bytes.splice(at..(at + cut).min(bytes.len()), piece);
        }
        laws::sitemap(&bytes);
        laws::feed(&bytes);
    }

    #[test]
    fn every_law_on_pieces(pieces in vec(piece(), 0..40)) {
        laws::sitemap(&[b"<urlset>".to_vec(), pieces.concat()].concat());
        laws::feed(&pieces.concat());
    }
}
