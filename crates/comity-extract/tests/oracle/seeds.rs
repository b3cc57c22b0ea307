//! The laws of the fuzz targets on the seeds, and on seeds with bytes changed.

#[allow(unreachable_pub, clippy::pedantic, reason = "a library of its own, for the fuzzer")]
#[path = "../../fuzz/src/lib.rs"]
mod laws;

use proptest::collection::vec;
use proptest::prelude::Strategy;
use proptest::prelude::{ProptestConfig, any, prop_oneof, proptest};
use proptest::sample::{Index, select};

type Law = fn(&[u8]);

const LAWS: [(&str, Law); 5] = [
    ("html", laws::html),
    ("srcset", laws::srcset),
    ("refresh", laws::refresh),
    ("url", laws::url),
    ("embedded", laws::embedded),
];

fn seeds() -> Vec<(String, Vec<u8>)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/seeds");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.display().to_string(), std::fs::read(&path).unwrap())).collect()
}

#[test]
fn every_law_on_every_seed() {
    let seeds = seeds();
    assert!(seeds.len() >= 20, "only {} seeds", seeds.len());
    for (name, bytes) in &seeds {
        for (law, holds) in LAWS {
            println!("{law} {name}");
            holds(bytes);
        }
    }
}

/// Pieces that mean something to one of the parsers.
const PIECES: &str = "< > </ <! <!-- --> ' \" = / ? # & ; , ( ) : . .. % %2e url= 0 1x <a <svg> </svg> <template> </template> <script> \
    </script> <title> </title> <noscript> href= //h http:// é \\ @ [ ]";

fn change() -> impl Strategy<Value = (Index, usize, Vec<u8>)> {
    let pieces: Vec<&str> = PIECES.split_ascii_whitespace().chain([" ", "\n"]).collect();
    let piece =
        prop_oneof![4 => select(pieces).prop_map(|piece| piece.as_bytes().to_vec()), 1 => vec(any::<u8>(), 0..3)];
    (any::<Index>(), 0..6_usize, piece)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if crate::is_long() { 20_000 } else { 400 }, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_law_on_changed_seeds(seed in select(seeds()), changes in vec(change(), 1..6)) {
        let mut bytes = seed.1;
        for (place, removed, piece) in changes {
            let at = place.index(bytes.len() + 1);
            let until = (at + removed).min(bytes.len());
            bytes.splice(at..until, piece);
        }
        LAWS.iter().for_each(|(_, holds)| holds(&bytes));
    }
}
