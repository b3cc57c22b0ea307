//! The laws of the fuzz targets on the seeds, and on seeds with bytes changed, as a plain test.

#![allow(clippy::unwrap_used, reason = "a test that cannot read its seeds has failed")]

#[allow(unreachable_pub, clippy::pedantic, reason = "a library of its own, for the fuzzer")]
#[path = "../fuzz/src/lib.rs"]
mod laws;

type Law = fn(&[u8]);

const LAWS: [(&str, Law); 4] =
    [("parse", laws::parse), ("matcher", laws::matcher), ("print", laws::print), ("stored", laws::stored)];

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

/// A plain generator (xorshift), so that every run asks the same.
fn next(state: &mut u64) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 33) as usize
}

/// Pieces that mean something to a parser.
const PIECES: [&[u8]; 16] = [
    b"\n",
    b"\r",
    b"*",
    b"$",
    b"/",
    b"user-agent: a\n",
    b"allow:",
    b"disallow:/",
    b"#",
    b"\0",
    b"%",
    b"%c3",
    b"index.html",
    b":",
    b"\xEF\xBB\xBF",
    b"user-agent:*\n",
];

#[test]
fn every_law_on_changed_seeds() {
    let seeds = seeds();
    let mut state = 0x9E37_79B9_7F4A_7C15;
    for _ in 0..1_000 {
        let (_, seed) = &seeds[next(&mut state) % seeds.len()];
        let mut bytes = seed.clone();
        bytes.truncate(2_000);
        for _ in 0..1 + next(&mut state) % 4 {
            let at = next(&mut state) % (bytes.len() + 1);
            let until = (at + next(&mut state) % 6).min(bytes.len());
            bytes.splice(at..until, PIECES[next(&mut state) % PIECES.len()].iter().copied());
        }
        for (_, holds) in LAWS {
            holds(&bytes);
        }
    }
}
