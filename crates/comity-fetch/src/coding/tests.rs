use std::io::Write;

use bytes::Bytes;
use flate2::Compression;
use proptest::prelude::*;

use super::*;

/// Decodes `coded` in pieces of `step` bytes: what came out, and how it ended.
fn decode(codings: &[Coding], coded: &[u8], step: usize) -> (Vec<u8>, Result<(), Halt>) {
    let mut out = Vec::new();
    let mut stack = Stack::new(codings, 1 << 20).unwrap();
    let mut result = Ok(());
    for piece in coded.chunks(step.max(1)) {
        result = stack.push(piece, &mut |decoded| {
            assert!(!decoded.is_empty() && decoded.len() <= PIECE);
            out.extend_from_slice(decoded);
            if out.len() > 1 << 20 { Err(Halt::Enough) } else { Ok(()) }
        });
        if result.is_err() {
            break;
        }
    }
    let result = result.and_then(|()| stack.end());
    (out, result)
}

fn encode(coding: Coding, plain: &[u8]) -> Vec<u8> {
    match coding {
        Coding::Gzip => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(plain).unwrap();
            encoder.finish().unwrap()
        }
        Coding::Deflate => {
            let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(plain).unwrap();
            encoder.finish().unwrap()
        }
        Coding::Brotli => {
            let mut coded = Vec::new();
            let mut encoder = ::brotli::CompressorWriter::new(&mut coded, 4096, 5, 20);
            encoder.write_all(plain).unwrap();
            drop(encoder);
            coded
        }
        Coding::Zstd => ::zstd::stream::encode_all(plain, 3).unwrap(),
    }
}

fn raw_deflate(plain: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

const ALL: [Coding; 4] = [Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstd];

fn text(len: usize) -> Vec<u8> {
    (0..len).map(|n| b"the quick brown fox jumps over "[(n * n / 7) % 31]).collect()
}

#[test]
fn every_coding_round_trips_in_any_pieces() {
    for coding in ALL {
        for len in [0, 1, 1000, 16 << 10, 100_000] {
            let plain = text(len);
            let coded = encode(coding, &plain);
            for step in [1, 7, 4096, usize::MAX] {
                let (decoded, result) = decode(&[coding], &coded, step);
                assert!(decoded == plain && result == Ok(()), "{coding:?} {len} by {step}: {result:?}");
            }
        }
    }
}

#[test]
fn stacked_codings_are_undone_in_reverse() {
    let plain = text(50_000);
    for outer in ALL {
        for inner in ALL {
            let coded = encode(outer, &encode(inner, &encode(Coding::Gzip, &plain)));
            let (decoded, result) = decode(&[Coding::Gzip, inner, outer], &coded, 1000);
            assert!(decoded == plain && result == Ok(()), "{outer:?} {inner:?}: {result:?}");
        }
    }
}

#[test]
fn nothing_at_all_is_fine_in_every_coding() {
    for coding in ALL {
        assert_eq!(decode(&[coding], b"", 1), (Vec::new(), Ok(())), "{coding:?}");
    }
}

#[test]
fn odd_streams_that_browsers_read_are_read() {
    let (one, two) = (text(2000), text(3000));
    let gzip = |plain: &[u8]| encode(Coding::Gzip, plain);
    let zstd = |plain: &[u8]| encode(Coding::Zstd, plain);
    let both = [one.clone(), two.clone()].concat();
    let rows = [
        ("gzip members", Coding::Gzip, [gzip(&one), gzip(&two)].concat(), both.clone()),
        ("an empty gzip member", Coding::Gzip, [gzip(b""), gzip(&one)].concat(), one.clone()),
        ("gzip and garbage", Coding::Gzip, [gzip(&one), b"garbage".to_vec()].concat(), one.clone()),
        ("gzip and zeros", Coding::Gzip, [gzip(&one), vec![0; 512]].concat(), one.clone()),
        ("gzip and garbage like a member", Coding::Gzip, [gzip(&one), vec![0x1f, 0x8b, 9, 9, 9]].concat(), one.clone()),
        ("raw deflate", Coding::Deflate, raw_deflate(&one), one.clone()),
        ("deflate and garbage", Coding::Deflate, [encode(Coding::Deflate, &one), b"xx".to_vec()].concat(), one.clone()),
        ("br and garbage", Coding::Brotli, [encode(Coding::Brotli, &one), b"xx".to_vec()].concat(), one.clone()),
        ("zstd frames", Coding::Zstd, [zstd(&one), zstd(&two)].concat(), both),
        (
            "a skippable zstd frame",
            Coding::Zstd,
            [b"\x50\x2a\x4d\x18\x03\0\0\0abc".to_vec(), zstd(&one)].concat(),
            one.clone(),
        ),
        ("zstd and garbage", Coding::Zstd, [zstd(&one), b"garbage".to_vec()].concat(), one.clone()),
    ];
    for (name, coding, coded, plain) in rows {
        for step in [1, 5, usize::MAX] {
            let (decoded, result) = decode(&[coding], &coded, step);
            assert!(decoded == plain && result == Ok(()), "{name} by {step}: {} bytes, {result:?}", decoded.len());
        }
    }
}

#[test]
fn truncated_streams_give_what_they_hold_and_say_so() {
    let plain: Vec<u8> = (0..60_000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    for coding in ALL {
        let coded = encode(coding, &plain);
        let (decoded, result) = decode(&[coding], &coded[..coded.len() * 3 / 4], 1000);
        assert!(matches!(result, Err(Halt::Broken(_))), "{coding:?}: {result:?}");
        assert!(decoded.len() > plain.len() / 3 && plain.starts_with(&decoded), "{coding:?}: {}", decoded.len());
    }
}

#[test]
fn plain_text_is_no_coding() {
    for coding in ALL {
        let (decoded, result) = decode(&[coding], b"<!doctype html><title>forbidden</title>", 8);
        assert!(matches!(result, Err(Halt::Broken(_))), "{coding:?}: {result:?}");
        assert_eq!(decoded, b"", "{coding:?}");
    }
}

#[test]
fn windows_beyond_the_webs_are_refused() {
    let mut encoder = ::zstd::stream::raw::Encoder::new(1).unwrap();
    encoder.set_parameter(::zstd::stream::raw::CParameter::WindowLog(27)).unwrap();
    let mut writer = ::zstd::stream::zio::Writer::new(Vec::new(), encoder);
    writer.write_all(&text(1000)).unwrap();
    writer.finish().unwrap();
    let (coded, _) = writer.into_inner();
    assert!(matches!(decode(&[Coding::Zstd], &coded, 100).1, Err(Halt::Broken(_))));
    // RFC 7932 §9.1: 0x11 announces a large window, which is an extension of brotli and not of the web.
    assert!(matches!(decode(&[Coding::Brotli], &[0x11, 0x1e, 0, 0, 0, 0], 100).1, Err(Halt::Broken(_))));
}

#[test]
fn inner_layers_may_not_flood_outer_ones() {
    // Two MiB of empty stored blocks (RFC 1951 §3.2.4) come out of the one layer, and nothing out of the other.
    let blocks = [0, 0, 0, 0xff, 0xff].repeat((2 << 20) / 5);
    let coded = encode(Coding::Gzip, &blocks);
    assert_eq!(decode(&[Coding::Deflate, Coding::Gzip], &coded, 4096), (Vec::new(), Err(Halt::Enough)));
    // Members without end are an end too.
    let members = encode(Coding::Gzip, b"").repeat(5000);
    assert!(matches!(decode(&[Coding::Gzip], &members, 4096).1, Err(Halt::Broken(_))));
}

#[test]
fn lists_repeats_and_aliases_of_content_encoding_are_read() {
    type Row = (&'static [&'static str], Result<&'static [Coding], ()>);
    let rows: [Row; 12] = [
        (&[], Ok(&[])),
        (&["gzip"], Ok(&[Coding::Gzip])),
        (&["X-GZIP"], Ok(&[Coding::Gzip])),
        (&["gzip, identity"], Ok(&[Coding::Gzip])),
        (&["identity"], Ok(&[])),
        (&[" , deflate ,,"], Ok(&[Coding::Deflate])),
        (&["gzip", "br"], Ok(&[Coding::Gzip, Coding::Brotli])),
        (&["gzip,br, zstd"], Ok(&[Coding::Gzip, Coding::Brotli, Coding::Zstd])),
        (&["gzip,gzip,gzip,gzip"], Err(())),
        (&["utf-8"], Err(())),
        (&["gzip;q=1"], Err(())),
        (&["gzip", "compress"], Err(())),
    ];
    for (values, expected) in rows {
        let fields: Vec<(String, Bytes)> =
            values.iter().map(|v| ("content-Encoding".to_owned(), Bytes::from((*v).to_owned()))).collect();
        let found = codings(&ResponseHead { status: 200, fields: &fields });
        assert_eq!(found.map_err(|_| ()), expected.map(<[_]>::to_vec), "{values:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_bytes_make_a_decoder_panic_or_run_away(bytes in proptest::collection::vec(any::<u8>(), 0..400), step in 1_usize..50) {
        for coding in ALL {
            let (decoded, _) = decode(&[coding], &bytes, step);
            prop_assert!(decoded.len() <= (1 << 20) + PIECE);
        }
    }

    #[test]
    fn a_flipped_byte_never_panics_and_pieces_do_not_matter(at in any::<prop::sample::Index>(), bit in 0_u8..8, step in 1_usize..300) {
        let plain = text(3000);
        for coding in ALL {
            let mut coded = encode(coding, &plain);
            let index = at.index(coded.len());
            coded[index] ^= 1 << bit;
            let (whole, _) = decode(&[coding], &coded, usize::MAX);
            let (pieces, _) = decode(&[coding], &coded, step);
            // How much comes out before an error may depend on the pieces, what comes out may not.
            prop_assert!(whole.starts_with(&pieces) || pieces.starts_with(&whole), "{:?}", coding);
        }
    }
}
