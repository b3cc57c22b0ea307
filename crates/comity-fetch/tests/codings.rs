//! Content codings through a whole fetch: what the sink gets, what is kept, what survives.

#![allow(clippy::unwrap_used, reason = "a test may end here")]

mod support;

use std::io::Write;

use comity_fetch::{FetchConfig, Limits};
use comity_policy::{Reason, Truncation};
use flate2::Compression;
use support::{Rig, config, once};

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

fn zlib(plain: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

fn br(plain: &[u8]) -> Vec<u8> {
    let mut coded = Vec::new();
    let mut encoder = brotli::CompressorWriter::new(&mut coded, 4096, 5, 20);
    encoder.write_all(plain).unwrap();
    drop(encoder);
    coded
}

fn zstd(plain: &[u8]) -> Vec<u8> {
    ::zstd::stream::encode_all(plain, 3).unwrap()
}

fn answer(status: u16, encoding: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status} X\r\nContent-Encoding: {encoding}\r\nContent-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

/// The field reports' inputs (scrapy 2388, urllib3 5189 and others).
#[tokio::test(start_paused = true)]
async fn the_status_survives_every_coding() {
    let plain = b"User-agent: *\nDisallow: /private\n".repeat(20);
    let coding = Some(Reason::FetchCoding);
    let cut = &gzip(&plain)[..40];
    // Name, status, Content-Encoding, body, fault, and what of `plain` the sink gets: all, something, nothing.
    type Row = (&'static str, u16, &'static str, Vec<u8>, Option<Reason>, &'static str);
    let rows: [Row; 16] = [
        ("gzip", 200, "gzip", gzip(&plain), None, "all"),
        ("x-gzip", 200, "x-gzip", gzip(&plain), None, "all"),
        ("zlib deflate", 200, "deflate", zlib(&plain), None, "all"),
        ("br", 200, "br", br(&plain), None, "all"),
        ("zstd", 200, "zstd", zstd(&plain), None, "all"),
        ("gzip and identity", 200, "gzip, identity", gzip(&plain), None, "all"),
        ("stacked", 200, "gzip, br", br(&gzip(&plain)), None, "all"),
        ("stacked in two fields", 200, "zstd\r\nContent-Encoding: gzip", gzip(&zstd(&plain)), None, "all"),
        ("three", 200, "gzip, gzip, gzip", gzip(&gzip(&gzip(&plain))), None, "all"),
        ("four", 200, "gzip, gzip, gzip, gzip", gzip(&gzip(&gzip(&gzip(&plain)))), coding, "nothing"),
        ("gzip said of plain text", 403, "gzip", plain.clone(), coding, "nothing"),
        ("br said of plain text", 404, "br", plain.clone(), coding, "nothing"),
        ("unknown", 200, "utf-8", plain.clone(), coding, "nothing"),
        ("unknown and no body", 204, "utf-8", Vec::new(), None, "nothing"),
        ("gzip and no body", 200, "gzip", Vec::new(), None, "nothing"),
        ("gzip cut short by the site", 200, "gzip", cut.to_vec(), coding, "something"),
    ];
    for (name, status, encoding, body, fault, gets) in rows {
        let wire = answer(status, encoding, &body);
        let rig = Rig::new(move |_, _| once(&wire));
        let page = rig.fetch("http://a.test/").await;
        let capture = &page.fetched.capture;
        assert_eq!((page.status(), page.fault()), (Some(status), fault), "{name}: {:?}", capture.detail);
        assert_eq!(page.failed(), None, "{name}: an answer is an answer");
        assert!(page.raw() == body, "{name}: the coded bytes are kept");
        assert_eq!(capture.truncated, None, "{name}: the record is whole");
        assert_eq!(capture.decoded_len, page.body.len() as u64, "{name}");
        let all = page.body == plain;
        let none = page.body.is_empty();
        let something = !all && !none && plain.starts_with(&page.body);
        assert!(
            match gets {
                "all" => all,
                "nothing" => none,
                _ => something,
            },
            "{name}: {:?}",
            page.text()
        );
    }
}

/// scrapy 7134, curl 21581: bombs stop at the bound of *decoded* bytes, in every coding and stack.
#[tokio::test(start_paused = true)]
async fn bombs_end_at_the_bound() {
    const MOST: u64 = 1 << 20;
    let zeros = vec![0; 16 << 20];
    let once_packed = gzip(&zeros);
    let rows = [
        ("gzip", once_packed.clone()),
        ("deflate", zlib(&zeros)),
        ("br", br(&zeros)),
        ("zstd", zstd(&zeros)),
        ("gzip, gzip", gzip(&once_packed)),
        ("gzip, br", br(&once_packed)),
        ("zstd, gzip", gzip(&zstd(&zeros))),
    ];
    for (encoding, body) in rows {
        for (max_ratio, fault) in [(u64::MAX, Reason::FetchTooLarge), (200, Reason::FetchRatio)] {
            let limits = Limits { max_body: MOST, max_ratio, ..Limits::default() };
            let wire = answer(200, encoding, &body);
            let rig = Rig::with(FetchConfig { limits, ..config() }, move |_, _| once(&wire));
            let page = rig.fetch("http://a.test/").await;
            let name = format!("{encoding} {max_ratio}");
            let ratio_cannot_bind = fault == Reason::FetchRatio && body.len() as u64 * 200 > MOST;
            let fault = if ratio_cannot_bind { Reason::FetchTooLarge } else { fault };
            // Of a body that came in several reads the first may already be over the ratio.
            let named = page.fault() == Some(fault) || (ratio_cannot_bind && page.fault() == Some(Reason::FetchRatio));
            assert!(named, "{name}: {:?}", page.fetched.capture.detail);
            assert_eq!(
                (page.status(), page.fetched.capture.truncated),
                (Some(200), Some(Truncation::Length)),
                "{name}"
            );
            assert!(page.body.len() as u64 <= MOST, "{name}");
            if fault == Reason::FetchTooLarge && max_ratio == u64::MAX {
                assert_eq!(page.body.len() as u64, MOST, "{name}: what fits is delivered");
            } else {
                assert!(page.body.len() > 64 << 10, "{name}: {}", page.body.len());
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn small_bodies_may_have_any_ratio() {
    let wire = answer(200, "gzip", &gzip(&[b' '; 64 << 10]));
    let rig = Rig::new(move |_, _| once(&wire));
    let page = rig.fetch("http://a.test/").await;
    assert_eq!((page.fault(), page.body.len()), (None, 64 << 10));
}

#[tokio::test(start_paused = true)]
async fn a_coded_body_that_is_cut_keeps_its_decoded_part() {
    let plain: Vec<u8> = (0..30_000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    let body = gzip(&plain);
    let wire = answer(200, "gzip", &body);
    let cut = wire[..wire.len() / 2].to_vec();
    let rig = Rig::new(move |_, _| once(&cut));
    let page = rig.fetch("http://a.test/").await;
    assert_eq!(
        (page.fault(), page.fetched.capture.truncated),
        (Some(Reason::FetchReset), Some(Truncation::Disconnect))
    );
    assert!(page.body.len() > 10_000 && plain.starts_with(&page.body), "{}", page.body.len());
    assert!(body.starts_with(&page.raw()));
}
