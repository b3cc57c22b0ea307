//! Flawed files: one entry lost at most, and a note each.

use comity_extract::{BrokenFile, SitemapFormat, SitemapNotes};

use super::{gzip, locs, read};

const ONE: &str = "<url><loc>http://h/1</loc></url>";
const THREE: &str = "<url><loc>http://h/3</loc></url>";
const LAST: &str = "<url><loc>http://h/4</loc></url>";

/// What stands between two sound entries, what is kept of it, whether the file counts as damaged, and the note.
type Row = (&'static str, &'static str, Option<&'static str>, bool, fn(&SitemapNotes) -> bool);

#[test]
fn a_flaw_costs_its_own_entry_at_most() {
    let rows: [Row; 17] = [
        ("bare ampersand", "<url><loc>http://h/2?a&b=c&d</loc></url>", Some("http://h/2?a&b=c&d"), false, |n| {
            n.odd_references == 2
        }),
        ("undefined entity", "<url><loc>http://h/2?a&eacute;</loc></url>", Some("http://h/2?a&eacute;"), false, |n| {
            n.odd_references == 1
        }),
        ("no location", "<url><lastmod>2026-01-01</lastmod></url>", None, false, |n| n.without_loc == 1),
        ("empty location", "<url><loc> </loc></url>", None, false, |n| n.without_loc == 1),
        ("a location that is none", "<url><loc>http://[x</loc></url>", None, false, |n| n.unparseable == 1),
        ("bad date", "<url><loc>http://h/2</loc><lastmod>x</lastmod></url>", Some("http://h/2"), false, |n| {
            n.bad_dates == 1
        }),
        ("bad priority", "<url><loc>http://h/2</loc><priority>high</priority></url>", Some("http://h/2"), false, |n| {
            n.bad_priorities == 1
        }),
        ("mismatched end", "<url><loc>http://h/2</lok></url>", Some("http://h/2"), true, |n| n.mismatched_tags > 0),
        ("location not closed", "<url><loc>http://h/2</url>", Some("http://h/2"), true, |n| n.mismatched_tags > 0),
        ("entry not closed", "<url><loc>http://h/2</loc>", Some("http://h/2"), true, |n| n.mismatched_tags > 0),
        ("stray ends", "</loc></url></x>", None, true, |n| n.mismatched_tags == 3),
        (
            "tag in a location",
            "<url><loc>http://h/2<b>no</b></loc></url>",
            Some("http://h/2"),
            false,
            SitemapNotes::is_empty,
        ),
        ("broken markup", "<url><loc>http://h/2<!x</loc></url>", None, true, |n| n.broken_markup == 1),
        ("quote not closed", "<url x=\"><loc>http://h/2</loc></url>", None, true, |n| n.broken_markup > 0),
        ("CDATA not closed", "<url><loc><![CDATA[http://h/2</loc></url>", None, true, |n| n.broken_markup > 0),
        ("a less-than sign", "<url><loc>http://h/2?a<b</loc></url>", Some("http://h/2?a"), true, |n| {
            n.mismatched_tags > 0
        }),
        (
            "a doctype inside",
            "<!DOCTYPE x [<!ENTITY a 'b'>]><url><loc>http://h/2</loc></url>",
            Some("http://h/2"),
            false,
            |n| n.doctypes == 1,
        ),
    ];
    for (what, flaw, kept, damaged, noted) in rows {
        let found = read(format!("<urlset>{ONE}{flaw}{THREE}{LAST}</urlset>"));
        let mut wanted = vec!["http://h/1"];
        wanted.extend(kept);
        wanted.extend(["http://h/3", "http://h/4"]);
        // A tag that swallows the next one costs that entry alone.
        assert_eq!(locs(&found), wanted, "{what}: {}", found.notes);
        assert_eq!(found.is_damaged(), damaged, "{what}: {}", found.notes);
        assert!(noted(&found.notes), "{what}: {:?}", found.notes);
    }
}

#[test]
fn a_file_cut_anywhere_keeps_what_was_whole() {
    let whole = format!("<?xml version='1.0'?>\n<urlset>\n{ONE}\n{THREE}\n{LAST}\n</urlset>");
    for cut in 0..whole.len() {
        let text = &whole[..cut];
        let found = read(text);
        let complete: Vec<_> = ["http://h/1", "http://h/3", "http://h/4"]
            .into_iter()
            .filter(|loc| text.contains(&format!("{loc}</loc>")))
            .collect();
        assert_eq!(locs(&found), complete, "cut at {cut}");
        if text.contains("<urlset>") {
            assert!(found.notes.truncated && found.is_damaged(), "cut at {cut}: {}", found.notes);
        }
    }
}

#[test]
fn packed_files_that_are_cut_or_broken_keep_what_unpacks() {
    let entries: String = (0..3000).map(|n| format!("<url><loc>http://h/{n}/{}</loc></url>", n * 7919)).collect();
    let packed = gzip(format!("<urlset>{entries}</urlset>").as_bytes());
    let cut = read(&packed[..packed.len() / 2]);
    assert!(cut.entries.len() > 500 && cut.entries.len() < 3000, "{}", cut.entries.len());
    assert!(cut.notes.broken == Some(BrokenFile::Gzip) && cut.is_damaged());
    let mut broken = packed.clone();
    let middle = broken.len() / 2;
    broken[middle..middle + 40].fill(0xff);
    let found = read(&broken);
    assert!(found.entries.len() > 500 && found.is_damaged(), "{}", found.entries.len());
    let mut wrong_sum = packed;
    let len = wrong_sum.len();
    wrong_sum[len - 6] ^= 1;
    assert_eq!((read(&wrong_sum).entries.len(), read(&wrong_sum).notes.broken), (3000, Some(BrokenFile::Gzip)));
}

#[test]
fn the_entry_beyond_the_protocol_is_noted() {
    let entries: String = (0..50_001).map(|n| format!("<url><loc>/{n}</loc></url>")).collect();
    let found = read(format!("<urlset>{entries}</urlset>"));
    assert_eq!((found.entries.len(), found.notes.entries_cut, found.is_damaged()), (50_000, 1, false));
    let list: String = (0..50_001).map(|n| format!("http://h/{n}\n")).collect();
    let found = read(list);
    assert_eq!((found.format, found.entries.len(), found.notes.entries_cut), (SitemapFormat::Text, 50_000, 1));
}

#[test]
fn charsets_are_declared_or_utf_8() {
    let declared =
        b"<?xml version='1.0' encoding='ISO-8859-1'?><urlset><url><loc>http://h/caf\xE9</loc></url></urlset>";
    assert_eq!(locs(&read(declared)), ["http://h/caf%C3%A9"]);
    let none = b"<urlset><url><loc>http://h/caf\xE9</loc></url></urlset>";
    assert_eq!((locs(&read(none)), read(none).notes.replaced), (vec!["http://h/caf%EF%BF%BD"], true));
}
