//! Tombstones without an erasure, erasures that were not done, and records of them that another key signed.

use super::*;

/// Writes a records file anew, with one of its lines changed.
fn change_line(dir: &Path, seq: u64, change: impl Fn(&Line) -> Line) {
    for path in files(dir, "records") {
        let text = String::from_utf8(zstd::decode_all(&fs::read(&path).unwrap()[..]).unwrap()).unwrap();
        let lines = text.lines().map(|line| Line::parse(line).unwrap());
        let text: String =
            lines.map(|line| if line.seq == seq { change(&line) } else { line }.to_text() + "\n").collect();
        let mut coder = crate::records::writer::frame_compressor().unwrap();
        fs::write(&path, coder.compress(text.as_bytes()).unwrap()).unwrap();
    }
}

#[test]
fn a_forged_tombstone_is_found_even_where_no_checkpoint_speaks() {
    let made = tempfile::tempdir().unwrap();
    crawl(made.path(), WarcFormat::Gzip);
    let report = erase(made.path(), WarcFormat::Gzip, &erasure(origin(GONE), Depth::Records));
    let all = lines(made.path());
    let refusal =
        all.iter().find(|line| line.record().unwrap().is_some_and(|r| r.outcome == "not_fetched")).unwrap().seq;
    let gone =
        all.iter().find(|line| matches!(&line.content, Content::Erased(note) if !note.contains("body"))).unwrap().seq;
    let amended =
        all.iter().find(|line| matches!(&line.content, Content::Erased(note) if note.contains("body"))).unwrap().seq;
    let real = format!("{{\"erasure\":\"{}\"}}", report.id);
    let other = "{\"erasure\":\"urn:uuid:00000000-0000-4000-8000-000000000000\"}";
    let rows: [(u64, &str, &str); 6] = [
        (refusal, other, "of an erasure that never was"),
        (refusal, &real, "of an erasure that names other lines"),
        (refusal, "{}", "without an erasure"),
        (gone, other, "of another erasure"),
        (amended, &real, "a record taken out of its tombstone"),
        (gone, "{\"erasure\":7}", "no note of ours"),
    ];
    for (seq, note, what) in rows {
        for sums in [true, false] {
            let dir = tempfile::tempdir().unwrap();
            copy_tree(made.path(), dir.path());
            change_line(dir.path(), seq, |line| line.erased(note).unwrap());
            if !sums {
                fs::remove_file(dir.path().join("checkpoints.jsonl")).unwrap();
                let head = all.last().unwrap().head();
                let chain = format!("{{\"v\":1,\"seq\":{},\"link\":\"{}\"}}\n", head.seq, head.link);
                fs::write(dir.path().join("chain"), chain).unwrap();
            }
            let found = verify(dir.path(), &VerifyOptions::default()).unwrap();
            assert!(kinds(&found).contains(&FaultKind::Erasure), "{what}: {:?}", found.faults);
            assert_eq!(kinds(&found).contains(&FaultKind::FileSum), sums, "{what}");
        }
    }
}

#[test]
fn an_erasure_that_was_not_done_is_found() {
    let made = tempfile::tempdir().unwrap();
    crawl(made.path(), WarcFormat::Gzip);
    let before: Vec<Line> = lines(made.path());
    let dir = tempfile::tempdir().unwrap();
    copy_tree(made.path(), dir.path());
    erase(dir.path(), WarcFormat::Gzip, &erasure(origin(GONE), Depth::Records));
    let gone = lines(dir.path()).iter().find(|line| matches!(line.content, Content::Erased(_))).unwrap().seq;
    // The old line is put back: its commitment fits, and the erasure says that it went.
    change_line(dir.path(), gone, |_| before[usize::try_from(gone).unwrap()].clone());
    let found = verify(dir.path(), &VerifyOptions::default()).unwrap();
    assert!(kinds(&found).contains(&FaultKind::Erasure), "{:?}", found.faults);
    // And the old WARC file.
    let dir = tempfile::tempdir().unwrap();
    copy_tree(made.path(), dir.path());
    erase(dir.path(), WarcFormat::Gzip, &erasure(origin(GONE), Depth::Payload));
    for file in files(made.path(), "warc") {
        fs::copy(&file, dir.path().join("warc").join(file.file_name().unwrap())).unwrap();
    }
    let found = verify(dir.path(), &VerifyOptions::default()).unwrap();
    assert!(kinds(&found).contains(&FaultKind::Erasure), "{:?}", found.faults);
}

/// Whoever can write to the directory can append a record of an erasure; a checkpoint of the crawl's next start covers it.
#[test]
fn an_erasure_that_another_key_signed_is_found() {
    let dir = tempfile::tempdir().unwrap();
    crawl(dir.path(), WarcFormat::Gzip);
    for signer in [None, Some(TestSigner::shared(8))] {
        let mut archive = open(dir.path(), ArchiveConfig { signer, ..settings(WarcFormat::Gzip) }, 2);
        archive.erase(&erasure(origin(GONE), Depth::Payload), false).unwrap();
        archive.close().unwrap();
        open(dir.path(), settings(WarcFormat::Gzip), 3).close().unwrap();
        let found = verified(dir.path());
        assert!(
            found
                .faults
                .iter()
                .any(|fault| fault.problem.contains("the record of an erasure") || fault.kind == FaultKind::Signer),
            "{:?}",
            found.faults
        );
    }
}
