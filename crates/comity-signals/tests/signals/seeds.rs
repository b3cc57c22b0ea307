//! The laws of the fuzz targets: on the seeds, and on seeds with pieces put in.

#![expect(clippy::expect_used, reason = "seeds that cannot be read fail the test")]

#[allow(unreachable_pub, clippy::pedantic, reason = "a library of its own, for the fuzzer")]
#[path = "../../fuzz/src/lib.rs"]
mod laws;

use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, Strategy, any, prop_oneof, proptest};
use proptest::sample::{Index, select};

fn seeds() -> Vec<Vec<u8>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/seeds");
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).expect("the seeds").map(|entry| entry.expect("a seed").path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).expect("a seed")).collect()
}

fn every_law(bytes: &[u8]) {
    for law in [laws::tdmrep, laws::rsl, laws::lines, laws::fields, laws::files] {
        law(bytes);
    }
}

#[test]
fn every_law_on_every_seed() {
    let seeds = seeds();
    assert!(seeds.len() >= 15, "only {} seeds", seeds.len());
    seeds.iter().for_each(|seed| every_law(seed));
}

/// Pieces that mean something to a reader.
const PIECES: [&str; 34] = [
    "{\"location\":\"/\",\"tdm-reservation\":0},",
    "{\"location\":\"/a\",\"tdm-reservation\":1}",
    "[",
    "]",
    ",",
    "\"",
    "{",
    "}",
    "<license>",
    "</license>",
    "<content url=\"/a\">",
    "</content>",
    "<permits type=\"usage\">",
    "</permits>",
    "<prohibits type=\"usage\">all</prohibits>",
    "<!DOCTYPE x>",
    "<!--",
    "-->",
    "<![CDATA[",
    "]]>",
    "&amp;",
    "&x;",
    "User-agent: *\n",
    "User-agent: FuzzBot\n",
    "Disallow: /a\n",
    "Allow: *\n",
    "Content-Usage: train-ai=y\n",
    "Content-Signal: ai-train=yes\n",
    "X-Robots-Tag: fuzzbot: noai\n",
    "tdm-reservation: 1\n",
    "\n",
    "\0",
    "\u{feff}",
    ":",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_law_on_damaged_seeds(
        seed in select(seeds()),
        damage in vec((any::<Index>(), prop_oneof![
            4 => select(PIECES.to_vec()).prop_map(|piece| piece.as_bytes().to_vec()),
            1 => vec(any::<u8>(), 0..4),
        ], any::<bool>()), 0..5),
    ) {
        let mut bytes = seed;
        for (place, piece, cut) in damage {
            let at = place.index(bytes.len() + 1);
            if cut {
                bytes.truncate(at);
            }
            let at = at.min(bytes.len());
            bytes.splice(at..at, piece);
        }
        every_law(&bytes);
    }
}
