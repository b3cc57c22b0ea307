//! Laws that hold for any bytes: what was written is read back, grammar and digests hold, every null is explained.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use bytes::Bytes;
use comity_archive::{Basis, ConstraintsRecord, Event, NotFetched, PriceRecord, Target, verify_chain};
use comity_policy::{Capture, Decision, Digest, Protocol, Reason, Truncation, WallTime};
use comity_signals::{
    HeadFacts, PaymentDemand, Preferences, Purpose, Remarks, SignalOptions, Source, Statement, TdmReading, Tdmrep,
    Verdict, page_signals,
};
use common::*;
use proptest::prelude::*;
use serde_json::Value;

/// Bytes that are likely to hurt: line ends, NUL, colons, blanks, high bytes, words of the grammar.
fn nasty() -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        Just(b"\r\n".to_vec()),
        Just(b"\n".to_vec()),
        Just(b"\r".to_vec()),
        Just(b"\0".to_vec()),
        Just(b": ".to_vec()),
        Just(b" ".to_vec()),
        Just(b"\t".to_vec()),
        Just(b"HTTP/1.1 200 OK".to_vec()),
        Just(b"Content-Length".to_vec()),
        Just(b"Transfer-Encoding".to_vec()),
        Just(b"WARC/1.1\r\n".to_vec()),
        Just(b"\xff\x80".to_vec()),
        Just(b"7".to_vec()),
        Just("ü\u{2028}".as_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 0..6),
    ];
    prop::collection::vec(word, 0..24).prop_map(|words| words.concat())
}

fn token() -> impl Strategy<Value = String> {
    "[A-Za-z][A-Za-z0-9-]{0,12}".prop_filter("not one that is rewritten", |name| {
        !["content-length", "transfer-encoding"].contains(&name.to_ascii_lowercase().as_str())
    })
}

/// A head that no rule touches.
fn clean_head() -> impl Strategy<Value = Vec<u8>> {
    let value = prop::collection::vec(prop_oneof![0x21..=0x7e_u8, Just(b' '), 0x80..=0xff_u8], 0..20);
    let fields = prop::collection::vec((token(), value), 0..8);
    (200..600_u16, "[ -~]{0,12}", fields).prop_map(|(status, reason, fields)| {
        let mut head = format!("HTTP/1.1 {status} {reason}\r\n").into_bytes();
        for (name, value) in fields {
            head.extend([name.as_bytes(), b":", &value, b"\r\n"].concat());
        }
        head.extend(b"\r\n");
        head
    })
}

fn any_capture() -> impl Strategy<Value = Capture> {
    let heads = (nasty(), nasty(), nasty(), any::<bool>());
    let odds = (any::<bool>(), any::<bool>(), prop::option::of(100..600_u16), "[a-z/|^?%\\[\\]é ]{0,20}");
    (heads, odds).prop_map(|((request, response, body, h2), (faulty, plain, status, path))| {
        let mut capture = capture(&format!("https://a.test/{path}"), &response, &body);
        capture.request_head = Bytes::from(request);
        capture.status = status;
        if h2 {
            capture.protocol = Protocol::H2;
        }
        if plain {
            (capture.tls, capture.peer) = (None, None);
        }
        if faulty {
            (capture.fault, capture.truncated) = (Some(Reason::FetchReset), Some(Truncation::Disconnect));
            capture.detail = Some(String::from_utf8_lossy(&response).into_owned());
        }
        capture
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn clean_heads_and_any_body_come_back_byte_for_byte(head in clean_head(), body in nasty()) {
        let dir = tempfile::tempdir().unwrap();
        let mut archive = open(dir.path(), config(), 1);
        archive.append(&page(capture("https://a.test/", &head, &body))).unwrap();
        drop(archive); // An append is flushed; without syncs the cases are quick.
        let records = warc_records(dir.path());
        prop_assert_eq!(&records[1].block, &[head, body].concat());
        prop_assert_eq!(&records[2].block, &request_head(&url("https://a.test/")).into_bytes());
    }

    #[test]
    fn any_bytes_make_a_well_formed_archive(captures in prop::collection::vec(any_capture(), 1..4)) {
        let dir = tempfile::tempdir().unwrap();
        let mut archive = open(dir.path(), config(), 1);
        for capture in &captures {
            archive.append(&page(capture.clone())).unwrap();
        }
        drop(archive); // An append is flushed; without syncs the cases are quick.
        // Strict reading and digests are checked in here.
        let records = warc_records(dir.path());
        let payloads: Vec<_> =
            records.iter().filter(|r| r.kind() == "response").map(|r| r.http().unwrap().1.to_vec()).collect();
        let bodies: Vec<_> = captures
            .iter()
            .filter(|c| c.status.is_some() && (!c.response_head.is_empty() || c.protocol == Protocol::H2))
            .map(|c| { let mut all = Vec::new(); std::io::Read::read_to_end(&mut c.body.reader().unwrap(), &mut all).unwrap(); all })
            .collect();
        prop_assert_eq!(payloads, bodies);
        for record in records.iter().filter(|r| r.http().is_some()) {
            check_head(record.http().unwrap().0)?;
        }
        for record in records.iter().filter(|r| r.kind() == "metadata") {
            let text = String::from_utf8(record.block.clone()).unwrap();
            prop_assert!(text.ends_with("\r\n") && text.split_terminator("\r\n").all(|l| l.contains(": ")), "{}", text);
        }
        let lines = lines(dir.path());
        let text: String = lines.iter().map(|line| line.to_text() + "\n").collect();
        prop_assert_eq!(verify_chain(text.as_bytes()).unwrap().lines, captures.len() as u64);
        for line in &lines {
            check_body(line)?;
        }
    }

    #[test]
    fn any_text_that_is_no_url_is_recorded(text in "\\PC{0,40}|[\\x00-\\x20]{0,9}", times in 1..400_usize, robots in any::<bool>()) {
        let dir = tempfile::tempdir().unwrap();
        let mut archive = open(dir.path(), config(), 1);
        let long = text.repeat(times);
        let basis = if robots { Basis::Robots(url("https://a.test/").origin().clone()) } else { Basis::Rule };
        let event = NotFetched {
            target: Target::Text(long.clone()),
            reason: Reason::UrlSyntax,
            basis,
            at: WallTime::from_unix_millis(START),
            until: None,
            detail: Some(text),
            context: context(),
        };
        archive.append(&Event::NotFetched(Box::new(event))).unwrap();
        drop(archive); // An append is flushed; without syncs the cases are quick.
        let line = lines(dir.path()).remove(0);
        check_body(&line)?;
        let record = line.record().unwrap().unwrap();
        prop_assert!(long.starts_with(&record.url) && record.url.len() <= 4096 && record.url_length == long.len() as u64);
    }
}

/// CRLF line ends, a colon in every field, nothing that a reader could take for the end before the end.
fn check_head(head: &[u8]) -> Result<(), TestCaseError> {
    let text: String = head.iter().map(|b| char::from(*b)).collect();
    let lines: Vec<_> = text.strip_suffix("\r\n\r\n").unwrap().split("\r\n").collect();
    for (n, line) in lines.iter().enumerate() {
        let folded = line.starts_with([' ', '\t']) && n > 0;
        prop_assert!(!line.contains(['\r', '\n', '\0']), "{:?}", text);
        prop_assert!(n == 0 || folded || line.contains(':'), "{:?}", text);
        prop_assert!(!line.trim_matches([' ', '\t']).is_empty(), "{:?}", text);
    }
    let start = lines[0];
    prop_assert!(
        start.starts_with("HTTP/1.") || start.ends_with(" HTTP/1.1") || start.ends_with(" HTTP/1.0"),
        "{start:?}"
    );
    Ok(())
}

/// The body is canonical JSON, and `absent` names exactly its nulls.
fn check_body(line: &comity_archive::Line) -> Result<(), TestCaseError> {
    let comity_archive::Content::Kept { body, .. } = &line.content else { panic!("kept") };
    let value: Value = serde_json::from_str(body).unwrap();
    prop_assert_eq!(&canonical(&value), body);
    let mut nulls = Vec::new();
    collect_nulls(&value, String::new(), &mut nulls);
    nulls.sort();
    let mut absent: Vec<_> = value["absent"].as_object().unwrap().keys().cloned().collect();
    absent.sort();
    prop_assert_eq!(nulls, absent);
    prop_assert_eq!(serde_json::to_string(&line.record().unwrap().unwrap()).unwrap(), body.as_str());
    Ok(())
}

/// RFC 8785 for what records hold: strings, integers, booleans, null, arrays, objects with ASCII keys.
fn canonical(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<_> = map.keys().collect();
            keys.sort();
            let fields = keys.iter().map(|key| format!("{}:{}", Value::from(key.as_str()), canonical(&map[*key])));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
        plain => plain.to_string(),
    }
}

fn collect_nulls(value: &Value, path: String, nulls: &mut Vec<String>) {
    let join = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        Value::Null => nulls.push(path),
        Value::Object(map) => map.iter().for_each(|(key, inner)| collect_nulls(inner, join(key), nulls)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(n, i)| collect_nulls(i, join(&n.to_string()), nulls))
        }
        _ => {}
    }
}

#[test]
fn nulls_are_explained_for_every_kind_of_outcome() {
    let dir = tempfile::tempdir().unwrap();
    let mut archive = open(dir.path(), config(), 1);
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n";
    let mut none = capture("http://a.test/", b"", b"");
    (none.status, none.fault, none.request_head) = (None, Some(Reason::FetchRefused), Bytes::new());
    let robots = url("http://a.test/robots.txt");
    let unasked = NotFetched {
        target: Target::Url(robots),
        reason: Reason::FetchDns,
        basis: Basis::Robots(url("http://a.test/").origin().clone()),
        at: WallTime::from_unix_millis(START),
        until: Some(WallTime::from_unix_millis(START + 60_000)),
        detail: Some("no such name".to_owned()),
        context: context(),
    };
    let scope = NotFetched {
        reason: Reason::UrlScope,
        basis: Basis::Rule,
        target: Target::Url(url("http://b.test/")),
        ..unasked.clone()
    };
    let events = [
        robots_txt("http://a.test", capture("http://a.test/robots.txt", head, b"x"), Some(Digest::from_bytes([7; 32]))),
        page(capture("http://a.test/", head, b"x")),
        page(none),
        refused("http://a.test/private", "/private"),
        Event::NotFetched(Box::new(unasked)),
        Event::NotFetched(Box::new(scope)),
    ];
    for event in &events {
        archive.append(event).unwrap();
    }
    archive.close().unwrap();
    let lines = lines(dir.path());
    lines.iter().for_each(|line| check_body(line).unwrap());
    let record = |n: usize| lines[n].record().unwrap().unwrap();
    assert_eq!((record(0).errand.as_str(), record(0).robots.unwrap().state.as_str()), ("robots", "not_applicable"));
    assert!(record(1).robots.unwrap().record.is_some_and(|id| record(0).warc.unwrap().response.unwrap().id == id));
    assert_eq!(record(2).outcome, "failed");
    assert_eq!((record(3).outcome.as_str(), record(3).warc), ("not_fetched", None));
    assert!(record(4).warc.is_some(), "a robots.txt that could not be asked for stands in the WARC");
    assert_eq!((record(5).reason.as_str(), record(5).warc), ("url.scope", None));
}

#[test]
fn a_site_cannot_make_records_grow_without_end() {
    let refusal = Statement::new(Source::RobotsContentUsage, Purpose::Tdm, Verdict::Denied, "train-ai=n");
    let many = (0..5000).map(|n| Statement {
        path: Some("/é".repeat(9000)),
        ..Statement::new(
            Source::RobotsContentSignal,
            Purpose::Search,
            Verdict::Allowed,
            format!("{n}{}", "é".repeat(9000)),
        )
    });
    let statements: Vec<_> = many.chain([refusal]).collect();
    let mut robots = robots_evidence();
    robots.group = vec!["x".repeat(9000); 256];
    let decision = Decision {
        robots: robots.into(),
        preferences: Preferences::combine(&statements),
        ..(*decision(Reason::SignalTdm, "allow", "/")).clone()
    };
    let dir = tempfile::tempdir().unwrap();
    let mut archive = open(dir.path(), config(), 1);
    let Event::NotFetched(mut event) = refused("https://a.test/", "/") else { panic!("not fetched") };
    event.basis = Basis::Decision(std::sync::Arc::new(decision));
    archive.append(&Event::NotFetched(event)).unwrap();
    archive.close().unwrap();
    let line = lines(dir.path()).remove(0);
    check_body(&line).unwrap();
    assert!(line.to_text().len() < 400_000, "{}", line.to_text().len());
    let record = line.record().unwrap().unwrap();
    assert_eq!((record.signals.len(), record.omitted.signals), (61, 4940));
    assert_eq!((record.group.unwrap().len(), record.omitted.group), (64, 192));
    assert_eq!(record.signals[60].verdict, "denied");
}

/// What a page and its files say beside purposes stands in the record: of a flood of oddities some, and of each kind one.
#[test]
fn what_stands_beside_the_verdicts_is_recorded_and_bounded() {
    let flood: Vec<String> = (0..40).map(|n| format!("odd-{n}, ")).collect();
    let fields = [("X-Robots-Tag", "max-snippet:20, nofollow, noimageai"), ("Content-Signal", "use=reference, key=x")];
    let tags = [("X-Robots-Tag", flood.concat()), ("Content-Usage", "a b".to_owned())];
    let (options, head) = (SignalOptions::default(), HeadFacts::default());
    let page = Remarks::from(&page_signals(&fields, &head, "TestBot", false));
    let odd = Remarks::from(&page_signals(&tags, &head, "TestBot", false));
    let file = Tdmrep::parse(br#"{"location": "/", "tdm-reservation": 1, "tdm-policy": "/policy"}"#, "https://a.test");
    let tdm = Remarks::from(&TdmReading::of_file(&file, b"/", options));
    let demand = PaymentDemand::read(402, &[("crawler-price", "USD 0.01")], None).unwrap();
    let remarks = page.with(odd).with(tdm).with(&demand);
    let decision = Decision { remarks, ..(*decision(Reason::SignalTdm, "allow", "/")).clone() };
    let dir = tempfile::tempdir().unwrap();
    let mut archive = open(dir.path(), config(), 1);
    let Event::NotFetched(mut event) = refused("https://a.test/", "/") else { panic!("not fetched") };
    event.basis = Basis::Decision(std::sync::Arc::new(decision));
    archive.append(&Event::NotFetched(event)).unwrap();
    archive.close().unwrap();
    let line = lines(dir.path()).remove(0);
    check_body(&line).unwrap();
    let record = line.record().unwrap().unwrap();
    let price = PriceRecord { amount: "0.01".to_owned(), currency: "USD".to_owned() };
    let held = ConstraintsRecord {
        follow: Some(false),
        image_ai_train: Some("denied".to_owned()),
        price: Some(price),
        snippet_max: Some(20),
        tdm_policy: Some("/policy".to_owned()),
        use_ceiling: Some("reference".to_owned()),
        ..ConstraintsRecord::default()
    };
    assert_eq!(record.constraints, Some(held));
    let count = |code| record.diagnostics.iter().filter(|one| one.code == code).count();
    let codes = ["signal_unknown_key", "xrobots_unknown_rule", "aipref_unparsable", "tdm_not_array"];
    assert_eq!(codes.map(count), [1, 16, 1, 1]);
    assert_eq!((record.diagnostics.len(), record.omitted.diagnostics), (19, 24));
}
