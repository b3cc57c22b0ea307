//! Files that end early, archives that are opened again, files that are full.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../common/mod.rs"]
mod common;
mod kill;
mod threads;

use std::path::Path;

use comity_archive::{
    Archive, ArchiveConfig, ArchiveError, ChainHead, ChainVerifier, Damage, Line, RecordsReader, WarcFormat,
    WarcReader, read_records, read_records_from,
};
use common::*;

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";

fn fill(archive: &mut Archive, pages: std::ops::Range<u32>) {
    for n in pages {
        archive.append(&page(capture(&format!("https://a.test/{n}"), HEAD, b"hello"))).unwrap();
    }
}

fn check_chain(lines: &[Line]) -> u64 {
    let mut chain = ChainVerifier::default();
    lines.iter().for_each(|line| chain.step(line).unwrap());
    chain.report().lines
}

#[test]
fn a_warc_cut_anywhere_is_torn_exactly_there() {
    for format in [WarcFormat::Gzip, WarcFormat::Zstd] {
        cut_anywhere(format);
    }
}

fn cut_anywhere(format: WarcFormat) {
    let dir = tempfile::tempdir().unwrap();
    let mut archive = open(dir.path(), ArchiveConfig { format, ..config() }, 1);
    fill(&mut archive, 0..1);
    archive.close().unwrap();
    let bytes = std::fs::read(&files(dir.path(), "warc")[0]).unwrap();
    let starts: Vec<u64> = warc_records(dir.path()).iter().map(|r| r.offset).collect();
    assert_eq!(starts.len(), 4);
    for end in 0..bytes.len() {
        let whole = starts.iter().chain([&(bytes.len() as u64)]).filter(|start| **start <= end as u64).count() - 1;
        let read: Vec<_> = WarcReader::new(&bytes[..end]).collect();
        assert_eq!(read.iter().filter(|r| r.is_ok()).count(), whole, "cut at {end}");
        match read.last() {
            Some(Err(error)) => {
                assert!(matches!(error.damage, Damage::Torn), "cut at {end}: {error}");
                assert_eq!(error.offset, starts[whole], "cut at {end}");
            }
            _ => assert!(starts.contains(&(end as u64)), "cut at {end} unnoticed"),
        }
    }
}

#[test]
fn a_warc_with_a_flipped_byte_is_not_read_past_it() {
    let dir = tempfile::tempdir().unwrap();
    let mut archive = open(dir.path(), config(), 1);
    fill(&mut archive, 0..1);
    archive.close().unwrap();
    let bytes = std::fs::read(&files(dir.path(), "warc")[0]).unwrap();
    let good: Vec<_> = WarcReader::new(&bytes[..]).map(|r| r.unwrap()).collect();
    for at in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 0x10;
        for (found, good) in WarcReader::new(&flipped[..]).zip(&good) {
            // Time, flags and system of a gzip header are covered by nothing; the record itself is.
            if let Ok(found) = found {
                assert_eq!((&found.fields, &found.block), (&good.fields, &good.block), "byte {at}");
            }
        }
    }
}

#[test]
fn records_cut_anywhere_give_every_whole_frame_and_a_note() {
    let dir = tempfile::tempdir().unwrap();
    let mut archive = open(dir.path(), config(), 1);
    let mut ends = vec![0];
    let file = |dir: &Path| files(dir, "records").remove(0);
    for n in 0..2 {
        fill(&mut archive, n..n + 1);
        ends.push(std::fs::metadata(file(dir.path())).unwrap().len());
    }
    drop(archive); // Closed, the file would be packed.
    let file = file(dir.path());
    let bytes = std::fs::read(&file).unwrap();
    for end in 0..=bytes.len() {
        std::fs::write(&file, &bytes[..end]).unwrap();
        let whole = ends.iter().filter(|e| **e <= end as u64).count() - 1;
        let mut reader: RecordsReader = read_records(dir.path()).unwrap();
        let lines = collect(&mut reader);
        assert_eq!(lines.len(), whole, "cut at {end}");
        check_chain(&lines);
        let torn = !ends.contains(&(end as u64));
        assert_eq!(
            reader.torn().iter().map(|t| t.offset).collect::<Vec<_>>(),
            if torn { vec![ends[whole]] } else { vec![] }
        );
    }
}

#[test]
fn closed_records_are_packed_and_hold_the_same_lines() {
    let dir = tempfile::tempdir().unwrap();
    let mut archive = open(dir.path(), config(), 1);
    fill(&mut archive, 0..60);
    let before = lines(dir.path());
    let size = |dir: &Path| files(dir, "records").iter().map(|file| file.metadata().unwrap().len()).sum::<u64>();
    let open_size = size(dir.path());
    archive.close().unwrap();
    assert_eq!(lines(dir.path()), before);
    assert!(size(dir.path()) < open_size / 2, "{} of {open_size}", size(dir.path()));
    assert!(size(dir.path()) / 60 < 700, "a record takes {} bytes", size(dir.path()) / 60);
    // The same is made of what a kill leaves.
    let mut archive = open(dir.path(), config(), 2);
    fill(&mut archive, 60..120);
    drop(archive);
    open(dir.path(), config(), 3).close().unwrap();
    assert_eq!(check_chain(&lines(dir.path())), 120);
    assert!(size(dir.path()) / 120 < 700, "a record takes {} bytes", size(dir.path()) / 120);
}

#[test]
fn damaged_records_are_an_error_not_a_torn_end() {
    let dir = tempfile::tempdir().unwrap();
    let mut archive = open(dir.path(), config(), 1);
    fill(&mut archive, 0..2);
    drop(archive); // Closed, both lines would be in one frame.
    let file = files(dir.path(), "records").remove(0);
    let mut bytes = std::fs::read(&file).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1; // In the checksum of the last frame.
    std::fs::write(&file, &bytes).unwrap();
    let result: Result<Vec<_>, _> = read_records(dir.path()).unwrap().collect();
    assert!(result.is_err());
}

#[test]
fn what_a_killed_archive_left_open_is_closed_and_the_chain_goes_on_in_new_files() {
    let dir = tempfile::tempdir().unwrap();
    let mut first = open(dir.path(), config(), 1);
    fill(&mut first, 0..3);
    drop(first); // Neither synced nor closed.
    let left: Vec<_> = [files(dir.path(), "warc"), files(dir.path(), "records")].concat();
    let (warc, said) = (std::fs::read(&left[0]).unwrap(), lines(dir.path()));
    assert!(left.iter().all(|f| f.extension().unwrap() == "open"));

    let mut second = open(dir.path(), config(), 2);
    assert!(left.iter().all(|file| file.with_extension("").exists()));
    assert_eq!(std::fs::read(left[0].with_extension("")).unwrap(), warc, "whole events stay as they are");
    assert_eq!(lines(dir.path()), said);
    assert_eq!(check_index(dir.path()), 3);
    fill(&mut second, 3..5);
    second.close().unwrap();
    assert_eq!(check_chain(&lines(dir.path())), 5);
    check_tied(dir.path());
    assert_eq!(warc_records(dir.path()).iter().filter(|r| r.kind() == "warcinfo").count(), 2);
    assert_eq!(check_index(dir.path()), 5);
}

/// Whatever a WARC holds has its line, and whatever a line speaks of is there: file by file, event by event.
fn check_tied(dir: &Path) {
    let mut said: Vec<(String, u64)> = Vec::new();
    for line in lines(dir) {
        said.extend(line.record().unwrap().unwrap().warc.map(|warc| (warc.file, warc.metadata_offset)));
    }
    let mut there = Vec::new();
    for file in files(dir, "warc") {
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        assert!(name.ends_with(".warc.gz"), "{name} has its final name");
        let bytes = std::fs::read(&file).unwrap();
        let records: Vec<_> = WarcReader::new(&bytes[..]).map(|r| r.unwrap()).collect();
        let last = records.last().unwrap();
        assert!(last.kind() == "metadata", "{name} ends with a whole event");
        there.extend(records.iter().filter(|r| r.kind() == "metadata").map(|r| (name.clone(), r.offset)));
    }
    assert_eq!(said, there);
}

/// An archive of five events that was dropped, its WARC and its records cut to these parts of their lengths.
fn cut_both(warc: f64, records: f64, staged: bool) -> (tempfile::TempDir, usize) {
    let dir = tempfile::tempdir().unwrap();
    let mut first = open(dir.path(), config(), 1);
    if staged {
        // All lines in one frame.
        (0..5).for_each(|n| first.stage(&page(capture(&format!("https://a.test/{n}"), HEAD, b"hello"))).unwrap());
        first.flush().unwrap();
    } else {
        fill(&mut first, 0..5);
    }
    drop(first);
    let cut = |folder: &str, part: f64| {
        let file = files(dir.path(), folder).remove(0);
        let bytes = std::fs::read(&file).unwrap();
        let keep = (bytes.len() as f64 * part) as usize;
        // Half of the cuts leave what a power cut may: the length, but not the bytes.
        let mut left = bytes[..keep].to_vec();
        if keep.is_multiple_of(2) {
            left.resize(bytes.len(), 0);
        }
        std::fs::write(&file, left).unwrap();
    };
    cut("warc", warc);
    cut("records", records);
    let mut second = open(dir.path(), config(), 2);
    let kept = lines(dir.path()).len();
    fill(&mut second, 5..7);
    second.close().unwrap();
    (dir, kept)
}

#[test]
fn records_and_warc_are_cut_to_what_both_hold() {
    let mut seen = std::collections::BTreeSet::new();
    for step in 0..=20 {
        let part = f64::from(step) / 20.0;
        for (warc, records) in [(1.0, part), (part, 1.0), (part, part)] {
            for staged in [false, true] {
                let (dir, kept) = cut_both(warc, records, staged);
                assert_eq!(check_chain(&lines(dir.path())), kept as u64 + 2, "{warc} {records} {staged}");
                check_tied(dir.path());
                assert_eq!(check_index(dir.path()), kept + 2);
                seen.insert(kept);
            }
        }
    }
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5], "cuts of every kind were tried");
}

#[test]
fn nothing_is_touched_when_a_safe_line_would_go() {
    for folder in ["warc", "records"] {
        let dir = tempfile::tempdir().unwrap();
        let mut first = open(dir.path(), config(), 1);
        fill(&mut first, 0..3);
        first.sync().unwrap();
        fill(&mut first, 3..4);
        drop(first);
        let file = files(dir.path(), folder).remove(0);
        let mut bytes = std::fs::read(&file).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle..].fill(0);
        std::fs::write(&file, &bytes).unwrap();
        let result = Archive::create(dir.path(), config(), std::sync::Arc::new(StillClock), SeededEntropy::boxed(2));
        let error = result.unwrap_err();
        assert!(matches!(error, ArchiveError::Chain { .. }), "{error}");
        assert!(error.to_string().contains("nothing was changed"), "{error}");
        assert_eq!(std::fs::read(&file).unwrap(), bytes);
    }
}

/// An archive of five events that was dropped, one record line of it replaced, if its links stay; gives its WARC, whole.
fn with_line(at: usize, change: impl Fn(&Line) -> Line) -> (tempfile::TempDir, Vec<u8>) {
    let dir = tempfile::tempdir().unwrap();
    let mut first = open(dir.path(), config(), 1);
    fill(&mut first, 0..5);
    drop(first);
    let mut said = lines(dir.path());
    said[at] = change(&said[at]);
    let text: String = said.iter().map(|line| line.to_text() + "\n").collect();
    let mut frame = zstd::bulk::Compressor::new(3).unwrap();
    frame.include_checksum(true).unwrap();
    frame.include_contentsize(true).unwrap();
    std::fs::write(&files(dir.path(), "records")[0], frame.compress(text.as_bytes()).unwrap()).unwrap();
    let warc = std::fs::read(&files(dir.path(), "warc")[0]).unwrap();
    (dir, warc)
}

#[test]
fn records_of_an_erased_line_are_never_cut_away() {
    for at in 0..5 {
        // As a whole, and with the end of the last record gone.
        for lost in [0, 1] {
            let (dir, warc) = with_line(at, |line| line.erased("{}").unwrap());
            let file = files(dir.path(), "warc").remove(0);
            let places: Vec<u64> = warc_records(dir.path()).iter().map(|record| record.offset).collect();
            std::fs::write(&file, &warc[..warc.len() - lost]).unwrap();
            open(dir.path(), config(), 2).close().unwrap();
            let left = std::fs::read(file.with_extension("")).unwrap();
            // The event whose metadata record is cut goes, but for one that may be the erased line's own.
            let wanted = match (lost, at) {
                (0, _) => warc.len(),
                (_, 4) => usize::try_from(*places.last().unwrap()).unwrap(),
                _ => usize::try_from(places[1 + 4 * 3]).unwrap(),
            };
            assert_eq!(left.len(), wanted, "{at} {lost}");
            assert_eq!(left, warc[..wanted], "{at} {lost}");
            assert_eq!(lines(dir.path()).len(), if lost == 1 && at < 4 { 4 } else { 5 }, "{at} {lost}");
        }
    }
}

#[test]
fn a_record_of_another_schema_keeps_its_place_or_stops_the_archive() {
    for at in 0..5 {
        let with_body = |change: fn(&str) -> String| {
            with_line(at, move |line| {
                let comity_archive::Content::Kept { salt, body } = &line.content else { panic!("kept") };
                let content = comity_archive::Content::Kept { salt: salt.clone(), body: change(body) };
                Line { content, ..line.clone() }
            })
        };
        // A newer one, which says more and less than this version knows of.
        let (dir, warc) = with_body(|body| body.replacen("\"outcome\":", "\"result\":", 1));
        let file = files(dir.path(), "warc").remove(0);
        assert!(lines(dir.path())[at].record().is_err());
        drop(open(dir.path(), config(), 2));
        assert_eq!(std::fs::read(file.with_extension("")).unwrap(), warc, "{at}");
        // One whose place cannot be read.
        let (dir, warc) = with_body(|body| body.replacen("\"metadata_offset\":", "\"meta\":", 1));
        let file = files(dir.path(), "warc").remove(0);
        let result = Archive::create(dir.path(), config(), std::sync::Arc::new(StillClock), SeededEntropy::boxed(2));
        let error = result.unwrap_err().to_string();
        assert!(error.contains(&format!("record {at}")) && error.contains("nothing was changed"), "{error}");
        assert_eq!(std::fs::read(&file).unwrap(), warc, "{at}");
    }
}

#[test]
fn an_index_that_is_missing_is_made_at_the_next_start() {
    let dir = tempfile::tempdir().unwrap();
    let mut first = open(dir.path(), config(), 1);
    fill(&mut first, 0..3);
    first.close().unwrap();
    let index = indexes(dir.path()).remove(0);
    let before = std::fs::read(&index).unwrap();
    std::fs::remove_file(&index).unwrap();
    std::fs::write(index.with_extension("cdxj.tmp"), "half").unwrap();
    open(dir.path(), config(), 2).close().unwrap();
    assert_eq!(std::fs::read(&index).unwrap(), before, "the same that was written while the file was");
    assert!(!index.with_extension("cdxj.tmp").exists());
}

#[test]
fn records_that_are_missing_against_the_synced_head_stop_the_archive() {
    let dir = tempfile::tempdir().unwrap();
    let mut first = open(dir.path(), config(), 1);
    fill(&mut first, 0..2);
    first.sync().unwrap();
    drop(first);
    assert_eq!(ChainHead::load(dir.path()).unwrap().unwrap().seq, 1);
    let file = files(dir.path(), "records").remove(0);
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, &bytes[..bytes.len() - 3]).unwrap();
    let result = Archive::create(dir.path(), config(), std::sync::Arc::new(StillClock), SeededEntropy::boxed(2));
    assert!(matches!(result, Err(ArchiveError::Chain { .. })), "{result:?}");
}

#[test]
fn files_roll_over_between_events_and_in_pairs() {
    let dir = tempfile::tempdir().unwrap();
    let mut archive = open(dir.path(), ArchiveConfig { rollover: 4000, ..config() }, 1);
    let mut stored = Vec::new();
    for n in 0..12 {
        archive.stage(&page(capture(&format!("https://a.test/{n}"), HEAD, b"hello"))).unwrap();
        if n % 5 == 4 {
            stored.extend(archive.flush().unwrap());
        }
    }
    stored.extend(archive.close().unwrap());
    assert_eq!(stored.iter().map(|s| s.seq).collect::<Vec<_>>(), (0..12).collect::<Vec<_>>());
    assert_eq!(check_chain(&lines(dir.path())), 12);

    let stem = |folder: &str, end: &str| -> Vec<String> {
        let name =
            |f: &std::path::PathBuf| f.file_name().unwrap().to_str().unwrap().strip_suffix(end).unwrap().to_owned();
        files(dir.path(), folder).iter().map(name).collect()
    };
    let warcs = stem("warc", ".warc.gz");
    assert_eq!(warcs, stem("records", ".jsonl.zst"));
    assert!(warcs.len() > 2, "{warcs:?}");
    for (n, name) in warcs.iter().enumerate() {
        assert_eq!(*name, format!("comity-20261130091500250-{n:05}-t1"));
    }
    for file in files(dir.path(), "warc") {
        let bytes = std::fs::read(&file).unwrap();
        let kinds: Vec<_> = WarcReader::new(&bytes[..]).map(|r| r.unwrap().kind().to_owned()).collect();
        assert_eq!(kinds[0], "warcinfo");
        assert!(kinds[1..].chunks(3).all(|event| event == ["response", "request", "metadata"]), "{kinds:?}");
    }
}

#[test]
fn places_are_where_they_say() {
    let dir = tempfile::tempdir().unwrap();
    let mut archive = open(dir.path(), config(), 1);
    let mut all = Vec::new();
    for n in 0..3 {
        all.push(archive.append(&page(capture(&format!("https://a.test/{n}"), HEAD, b"hello"))).unwrap());
        assert_eq!(archive.end_offset().unwrap().1, all[n as usize].warc.as_ref().unwrap().end);
    }
    archive.close().unwrap();
    let bytes = std::fs::read(&files(dir.path(), "warc")[0]).unwrap();
    for (stored, line) in all.iter().zip(lines(dir.path())) {
        let place = stored.warc.as_ref().unwrap();
        let event = &bytes[place.offset as usize..place.end as usize];
        let records: Vec<_> = WarcReader::new(event).map(|r| r.unwrap()).collect();
        assert_eq!(records.len(), 3);
        let record = line.record().unwrap().unwrap();
        let warc = record.warc.unwrap();
        assert_eq!(warc.file, *place.file);
        for (said, found) in [(warc.response, &records[0]), (warc.request, &records[1])] {
            let said = said.unwrap();
            assert_eq!((said.offset, said.length), (place.offset + found.offset, found.length));
            assert_eq!(found.field("WARC-Record-ID"), Some(&*format!("<{}>", said.id)));
        }
        assert_eq!(warc.metadata_offset, place.offset + records[2].offset);
        assert_eq!(records[2].field("WARC-Record-ID"), Some(&*format!("<{}>", record.record_id)));
        let tie = format!("comity-record: sha256:{}\r\n", line.commitment);
        assert!(String::from_utf8_lossy(&records[2].block).contains(&tie));
        assert_eq!(stored.record, line.commitment);
    }
}

#[test]
fn reading_can_begin_at_the_file_of_a_line() {
    let dir = tempfile::tempdir().unwrap();
    let mut archive = open(dir.path(), ArchiveConfig { rollover: 4000, ..config() }, 1);
    fill(&mut archive, 0..12);
    archive.close().unwrap();
    let all = lines(dir.path());
    for seq in 0..14 {
        let some: Vec<_> = read_records_from(dir.path(), seq).unwrap().map(|line| line.unwrap()).collect();
        let first = some[0].seq;
        assert!(first <= seq && (seq < 3 || first > 0), "{seq}: {first}");
        assert_eq!(some, all[usize::try_from(first).unwrap()..]);
    }
}

#[test]
fn an_archive_can_be_moved_to_its_thread() {
    const fn is_send<T: Send>() {}
    is_send::<Archive>();
}

#[test]
fn settings_that_cannot_be_used_are_named() {
    let rows: [(&str, ArchiveConfig); 4] = [
        ("archive.prefix", ArchiveConfig { prefix: "a/b".to_owned(), ..config() }),
        ("archive.prefix", ArchiveConfig { prefix: String::new(), ..config() }),
        ("archive.tag", ArchiveConfig { tag: Some("..".to_owned()), ..config() }),
        ("archive.level", ArchiveConfig { level: 10, ..config() }),
    ];
    for (name, config) in rows {
        let dir = tempfile::tempdir().unwrap();
        let error = Archive::create(dir.path(), config, std::sync::Arc::new(StillClock), SeededEntropy::boxed(1));
        assert!(error.unwrap_err().to_string().starts_with(name), "{name}");
    }
}
