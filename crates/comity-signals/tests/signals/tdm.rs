//! TDMRep: the file, its layers, and files that nobody would write.

use comity_signals::{
    DiagnosticCode, HeadFacts, Place, Preferences, Profile, Purpose, Reservation, SignalOptions, Source, Statement,
    TdmReading, Tdmrep, Verdict,
};
use proptest::prelude::*;

use Reservation::{NotReserved, Reserved};

const ORIGIN: &str = "https://example.com";

fn of_file(body: &[u8], target: &str) -> TdmReading {
    TdmReading::of_file(&Tdmrep::parse(body, ORIGIN), target.as_bytes(), SignalOptions::default())
}

fn layered(body: Option<&str>, fields: &[(&str, &str)], metas: &[&str]) -> TdmReading {
    let file = body.map(|body| Tdmrep::parse(body.as_bytes(), ORIGIN));
    let head = HeadFacts { tdm_reservation: metas.iter().map(|m| (*m).to_owned()).collect(), ..HeadFacts::default() };
    TdmReading::read(file.as_ref(), b"/page", fields, &head, SignalOptions::default())
}

#[test]
fn the_first_rule_that_matches_wins() {
    let file = r#"[
        {"location": "/a/", "tdm-reservation": 0},
        {"tdm-reservation": 1},
        {"location": "/a/b"},
        "no rule", 7, null, [], {"location": 5, "tdm-reservation": 1},
        {"location": "/*.jpg$", "tdm-reservation": 1, "tdm-policy": "https://example.com/p"},
        {"location": "https://example.com/own", "tdm-reservation": 1},
        {"location": "https://other.test/", "tdm-reservation": 1},
        {"location": "/q?x=", "tdm-reservation": 1},
        {"location": "/bad", "tdm-reservation": "yes"},
        {"location": "/b", "tdm-reservation": 1}
    ]"#;
    let rows = [
        ("/a/b", Some((NotReserved, 0))),
        ("/a/b.jpg", Some((NotReserved, 0))),
        ("/x.jpg", Some((Reserved, 8))),
        ("/x.jpg?s", None),
        ("/own/x", Some((Reserved, 9))),
        ("/q?x=1", Some((Reserved, 11))),
        ("/q", None),
        ("/bad", None),
        ("/A/b", None),
        ("/", None),
    ];
    for (target, wanted) in rows {
        let reading = of_file(file.as_bytes(), target);
        let found = reading.deciding().map(|layer| (layer.reservation, layer.place));
        assert_eq!(found, wanted.map(|(value, rule)| (Some(value), Place::Rule(rule))), "{target}");
    }
    let reading = of_file(file.as_bytes(), "/x.jpg");
    assert_eq!(reading.policy.as_deref(), Some("https://example.com/p"));
    assert!(reading.statements[0].reservation, "1 is a reservation under Article 4(3)");
    assert_eq!(reading.statements[0].path.as_deref(), Some("/*.jpg$"));
    assert!(reading.statements[0].raw.starts_with('{') && reading.statements[0].raw.contains("tdm-policy"));
    assert!(of_file(file.as_bytes(), "/bad").diagnostics.contains(DiagnosticCode::TdmBadValue));
    assert!(of_file(file.as_bytes(), "/").diagnostics.as_slice().is_empty(), "other rules are not asked");
}

#[test]
fn a_later_layer_supersedes_and_silence_resets_nothing() {
    let (one, zero) = (r#"[{"location":"/","tdm-reservation":1}]"#, r#"[{"location":"/","tdm-reservation":0}]"#);
    type Row<'a> = (Option<&'a str>, &'a [(&'a str, &'a str)], &'a [&'a str], Option<(Reservation, Source)>);
    let rows: [Row<'_>; 14] = [
        (None, &[], &[], None),
        (Some(one), &[], &[], Some((Reserved, Source::TdmrepFile))),
        (Some(one), &[("TDM-Reservation", "0")], &[], Some((NotReserved, Source::HeaderTdm))),
        (Some(zero), &[("tdm-reservation", " 1 ")], &[], Some((Reserved, Source::HeaderTdm))),
        (Some(zero), &[("tdm-reservation", "0")], &["1"], Some((Reserved, Source::MetaTdm))),
        (Some(one), &[("tdm-reservation", "1")], &["0"], Some((NotReserved, Source::MetaTdm))),
        (Some(one), &[("tdm-reservation", "yes")], &["maybe"], Some((Reserved, Source::TdmrepFile))),
        (Some(one), &[("tdm-reservation", "1"), ("tdm-reservation", "0")], &[], Some((Reserved, Source::TdmrepFile))),
        (None, &[("tdm-reservation", "0"), ("tdm-reservation", "0")], &[], None),
        (None, &[("tdm-reservation", "1, 0")], &[], None),
        (None, &[("tdm-reservation", "")], &[], None),
        (None, &[], &["0", "1", "0"], Some((Reserved, Source::MetaTdm))),
        (None, &[], &["x", "0"], Some((NotReserved, Source::MetaTdm))),
        (None, &[("tdm-policy", "/p")], &[], None),
    ];
    for (file, fields, metas, wanted) in rows {
        let reading = layered(file, fields, metas);
        let found = reading.deciding().and_then(|layer| Some((layer.reservation?, layer.source)));
        assert_eq!(found, wanted, "{file:?} {fields:?} {metas:?}");
        assert_eq!(reading.statements.iter().filter(|s| s.purpose == Purpose::Tdm).count(), wanted.iter().count());
    }
}

#[test]
fn a_policy_counts_only_next_to_a_reservation() {
    type Row<'a> = (&'a [(&'a str, &'a str)], Option<&'a str>);
    let file = r#"[{"location":"/","tdm-reservation":1,"tdm-policy":"https://example.com/file"}]"#;
    let rows: [Row<'_>; 5] = [
        (&[], Some("https://example.com/file")),
        (&[("tdm-reservation", "1")], Some("https://example.com/file")),
        (&[("tdm-reservation", "1"), ("tdm-policy", "https://example.com/page")], Some("https://example.com/page")),
        (&[("tdm-policy", "https://example.com/page")], Some("https://example.com/page")),
        (&[("tdm-reservation", "0"), ("tdm-policy", "https://example.com/page")], None),
    ];
    for (fields, wanted) in rows {
        assert_eq!(layered(Some(file), fields, &[]).policy.as_deref(), wanted, "{fields:?}");
    }
}

#[test]
fn the_second_reading_takes_the_place_of_the_first() {
    let other = Statement::new(Source::RobotsContentSignal, Purpose::AiInput, Verdict::Denied, "ai-input=no");
    let file = r#"[{"location":"/","tdm-reservation":1}]"#;
    let before = layered(Some(file), &[], &[]).preferences(Preferences::combine(&[other]));
    assert_eq!(before.verdict(Purpose::Tdm), Verdict::Denied);
    assert_eq!(before.verdict(Purpose::AiTrain), Verdict::Denied);
    let after = layered(Some(file), &[("tdm-reservation", "0")], &[]).preferences(before);
    assert_eq!(after.verdict(Purpose::Tdm), Verdict::Allowed);
    assert_eq!(after.verdict(Purpose::AiTrain), Verdict::Unspecified);
    assert_eq!(after.verdict(Purpose::AiInput), Verdict::Denied, "other families stay");
    assert_eq!(after.statements().len(), 2);
}

#[test]
fn only_the_cautious_profile_derives() {
    let head = HeadFacts::default();
    for (profile, verdict) in [(Profile::Cautious, Verdict::Denied), (Profile::Literal, Verdict::Unspecified)] {
        let options = SignalOptions { profile, ..SignalOptions::default() };
        let reading = TdmReading::read(None, b"/", &[("tdm-reservation", "1")], &head, options);
        let preferences = reading.preferences(Preferences::none());
        assert_eq!(preferences.verdict(Purpose::AiTrain), verdict);
        assert_eq!(preferences.verdict(Purpose::Tdm), Verdict::Denied);
        assert!(preferences.statements().iter().all(|s| s.derived == (s.source == Source::DerivedTdm)));
    }
}

#[test]
fn files_that_are_no_rules() {
    use DiagnosticCode::{TdmLenientValue, TdmNotArray, TdmUnparsable};
    let deep = "[".repeat(200_000);
    let deep_rule =
        format!("[{{\"location\":\"/\",\"x\":{}1{},\"tdm-reservation\":1}}]", "[".repeat(500), "]".repeat(500));
    let rows: [(&[u8], Option<Reservation>, Option<DiagnosticCode>); 20] = [
        (b"", None, Some(TdmUnparsable)),
        (b"   ", None, Some(TdmUnparsable)),
        (b"<!doctype html>", None, Some(TdmUnparsable)),
        (b"null", None, Some(TdmUnparsable)),
        (b"1", None, Some(TdmUnparsable)),
        (b"[", None, Some(TdmUnparsable)),
        (b"[]", None, None),
        (b"[{}]", None, None),
        (b"[{\"location\":\"/\",\"tdm-reservation\":1}", None, Some(TdmUnparsable)),
        (b"[{\"location\":\"/\",\"tdm-reservation\":1}] x", None, Some(TdmUnparsable)),
        (b"[{\"location\":\"/\",\"tdm-reservation\":1},]", None, Some(TdmUnparsable)),
        (b"[{'location':'/','tdm-reservation':1}]", None, Some(TdmUnparsable)),
        (b"[{\"location\":\"/\",\"tdm-reservation\":1,\"x\":\"\xff\"}]", None, Some(TdmUnparsable)),
        (b"\xef\xbb\xbf[{\"location\":\"/\",\"tdm-reservation\":1}]\n", Some(Reserved), None),
        (b"[{\"location\":\"/\",\"tdm-reservation\":\"1\"}]", Some(Reserved), Some(TdmLenientValue)),
        (b"{\"location\":\"/\",\"tdm-reservation\":1}", Some(Reserved), Some(TdmNotArray)),
        (b"{\"location\":\"/\",\"tdm-reservation\":0}", None, Some(TdmNotArray)),
        (b"{\"location\":\"/\"", None, Some(TdmUnparsable)),
        (deep.as_bytes(), None, Some(TdmUnparsable)),
        (deep_rule.as_bytes(), Some(Reserved), None),
    ];
    for (body, wanted, code) in rows {
        let reading = of_file(body, "/page");
        let shown = String::from_utf8_lossy(body.get(..60).unwrap_or(body)).into_owned();
        assert_eq!(reading.effective(), wanted, "{shown}");
        let codes: Vec<_> = reading.diagnostics.as_slice().iter().map(|d| d.code).collect();
        assert_eq!(codes, Vec::from_iter(code), "{shown}");
    }
}

#[test]
fn of_a_file_without_end_reservations_stand_and_permissions_do_not() {
    let rule = |path: &str, value: u8| format!("{{\"location\":\"{path}\",\"tdm-reservation\":{value}}},");
    let head = format!("[{}{}", rule("/open/", 0), rule("/closed/", 1));
    for (filler, times) in
        [("7,", 4 << 20), (" ", 8 << 20), ("{\"location\":\"/no\",\"tdm-reservation\":1},", 1_000_000)]
    {
        let body = [head.as_str(), &filler.repeat(times)].concat();
        let file = Tdmrep::parse(body.as_bytes(), ORIGIN);
        assert!(file.rule_count() <= Tdmrep::MAX_RULES && file.heap_bytes() < 4 << 20, "{filler}");
        let ask = |target: &[u8]| TdmReading::of_file(&file, target, SignalOptions::default());
        assert_eq!(ask(b"/closed/x").effective(), Some(Reserved), "{filler}");
        assert_eq!(ask(b"/open/x").effective(), None, "{filler}: nobody knows whether the rest is JSON");
        assert!(ask(b"/").diagnostics.contains(DiagnosticCode::TdmTruncated), "{filler}");
    }
    // An array that ends before the limit, and something behind it.
    let blanks = " ".repeat(Tdmrep::MAX_BYTES);
    for behind in [format!("{blanks} x"), format!("{blanks}[]"), blanks.clone()] {
        let body = [head.trim_end_matches(','), "]", &behind].concat();
        assert_eq!(of_file(body.as_bytes(), "/closed/x").effective(), Some(Reserved));
        assert_eq!(of_file(body.as_bytes(), "/open/x").effective(), None, "nobody has read what stands behind");
    }
    let ended = [head.trim_end_matches(','), "]", " "].concat();
    assert_eq!(of_file(ended.as_bytes(), "/open/x").effective(), Some(NotReserved));
    // More rules than are kept, but all of it was read.
    let many = format!("[{}{}0]", rule("/open/", 0), rule("/a", 1).repeat(Tdmrep::MAX_RULES));
    let reading = of_file(many.as_bytes(), "/open/x");
    assert_eq!(reading.effective(), Some(NotReserved));
    assert!(reading.diagnostics.contains(DiagnosticCode::TdmTruncated));
}

#[test]
fn a_flood_of_fields_and_metas_stays_small() {
    let fields: Vec<_> = (0..1000).map(|n| ("tdm-reservation", n.to_string().repeat(50))).collect();
    let head = HeadFacts { tdm_reservation: vec!["?".repeat(9000); 1000], ..HeadFacts::default() };
    let reading = TdmReading::read(None, b"/", &fields, &head, SignalOptions::default());
    assert_eq!(reading.effective(), None);
    assert!(reading.layers.iter().all(|layer| layer.raw.len() <= 2048));
    assert!(reading.statements.is_empty() && reading.diagnostics.as_slice().len() <= 32);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_file_panics(body in prop::collection::vec(any::<u8>(), 0..200), target in "/[ -~]{0,20}") {
        of_file(&body, &target);
        of_file(&[b"[", &body[..]].concat(), &target);
    }

    #[test]
    fn what_is_cut_off_never_permits(rules in prop::collection::vec((0_u8..3, "/[ab]{0,2}"), 1..6), at in 0_usize..400) {
        let rules: Vec<_> =
            rules.iter().map(|(value, path)| format!("{{\"location\":\"{path}\",\"tdm-reservation\":{value}}}")).collect();
        let whole = format!("[{}]", rules.join(","));
        let cut = whole.get(..at.min(whole.len() - 1)).unwrap_or_default();
        prop_assert_eq!(of_file(cut.as_bytes(), "/ab").effective(), None);
    }
}
