//! RSL: documents and pointers, and documents that nobody should write.

use comity_robots::{Dialect, Robots};
use comity_signals::{
    DiagnosticCode, HeadFacts, LicenceLink, Place, Preferences, Profile, Purpose, RslCarrier, RslConditions,
    RslDocument, RslPointers, RslReading, SignalOptions, Verdict,
};
use proptest::prelude::*;

use crate::support::letters;

const ORIGIN: &str = "https://example.com";

fn document(contents: &str) -> RslDocument {
    RslDocument::parse(format!("<rsl xmlns=\"https://rslstandard.org/rsl\">{contents}</rsl>").as_bytes())
}

fn read(document: &RslDocument, target: &str, profile: Profile) -> RslReading {
    let options = SignalOptions { profile, ..SignalOptions::default() };
    document.read(ORIGIN, target.as_bytes(), RslCarrier::Robots, &RslConditions::default(), options)
}

/// The verdicts of a conformant document for `/a/b`, in the order search, `ai_input`, `ai_train`, tdm.
fn verdicts(contents: &str) -> String {
    let document = document(contents);
    assert!(document.is_conformant(), "{contents}");
    letters(&Preferences::combine(&read(&document, "/a/b", Profile::Cautious).statements))
}

fn content(url: &str, licence: &str) -> String {
    format!("<content url=\"{url}\"><license>{licence}</license></content>")
}

fn permits(usage: &str) -> String {
    format!("<permits type=\"usage\">{usage}</permits>")
}

fn prohibits(usage: &str) -> String {
    format!("<prohibits type=\"usage\">{usage}</prohibits>")
}

#[test]
fn one_content() {
    let rows = [
        (prohibits("ai-train"), "--d-"),
        (prohibits("ai-all"), "-dd-"),
        (prohibits("all"), "dddd"),
        (prohibits("search"), "d---"),
        (prohibits("ai-index"), "-d--"),
        (prohibits("ai-search"), "----"),
        (permits("search"), "add-"),
        (permits("all"), "aaaa"),
        (permits("ai-all"), "daa-"),
        (permits("ai-index"), "ddd-"),
        (permits("\n ai-train\tsearch "), "ada-"),
        (permits(""), "ddd-"),
        (permits("all") + &prohibits("ai-train"), "aada"),
        (permits("ai-train") + &prohibits("all"), "dddd"),
        (permits("all") + "<payment type=\"free\"/>", "aaaa"),
        (permits("all") + "<legal type=\"warranty\">none</legal>", "aaaa"),
        (String::new(), "----"),
    ];
    for (licence, wanted) in rows {
        assert_eq!(verdicts(&content("/", &licence)), wanted, "{licence}");
    }
}

#[test]
fn the_longest_pattern_that_yields_a_verdict_decides_each_use() {
    let rows = [
        (content("/", &permits("all")) + &content("/a/", &prohibits("ai-train")), "aada"),
        (content("/a/", &prohibits("ai-train")) + &content("/", &permits("all")), "aada"),
        (content("/a/", &permits("all")) + &content("/", &prohibits("all")), "aaaa"),
        (content("/", &permits("all")) + &content("/", &prohibits("ai-train")), "aada"),
        (content("/x", &prohibits("all")), "----"),
        (content("/*b$", &prohibits("all")), "dddd"),
        (content("https://example.com/a", &prohibits("search")), "d---"),
        (content("https://other.test/", &prohibits("search")), "----"),
        (content("", &prohibits("search")), "----"),
        (content("a/b", &prohibits("search")), "----"),
    ];
    for (contents, wanted) in rows {
        assert_eq!(verdicts(&contents), wanted, "{contents}");
    }
    let own = document(&content("", &prohibits("search")));
    let conditions = RslConditions::default();
    let page = own.read(ORIGIN, b"/a", RslCarrier::Html, &conditions, SignalOptions::default());
    assert_eq!(page.statements.len(), 1, "an empty url is the page that the document stands in");
}

#[test]
fn a_condition_that_is_not_met_makes_a_conditional_denial() {
    let with = |list: &[&str], user: Option<&str>, region: Option<&str>| RslConditions {
        user: user.map(str::to_owned),
        region: region.map(str::to_owned),
        satisfies: list.iter().map(|word| (*word).to_owned()).collect(),
    };
    let user = |words: &str, kind: &str| format!("{}<{kind} type=\"user\">{words}</{kind}>", permits("all"));
    let geo = |words: &str, kind: &str| format!("{}<{kind} type=\"geo\">{words}</{kind}>", permits("all"));
    let rows = [
        (permits("all") + "<payment type=\"attribution\"/>", with(&[], None, None), false),
        (permits("all") + "<payment type=\"attribution\"/>", with(&["attribution"], None, None), true),
        (permits("all") + "<payment type=\"inference\"/>", with(&["use"], None, None), false),
        (permits("all") + "<payment><custom>https://x.test</custom></payment>", with(&[], None, None), false),
        (permits("all") + "<payment><custom>https://x.test</custom></payment>", with(&["custom"], None, None), true),
        (permits("all") + "<payment/>", with(&["custom"], None, None), false),
        (permits("all") + "<reporting/>", with(&[], None, None), false),
        (permits("all") + "<reporting/>", with(&["reporting"], None, None), true),
        (user("education", "permits"), with(&[], None, None), false),
        (user("education personal", "permits"), with(&[], Some("personal"), None), true),
        (user("education", "permits"), with(&[], Some("commercial"), None), false),
        (user("commercial", "prohibits"), with(&[], Some("commercial"), None), false),
        (user("commercial", "prohibits"), with(&[], Some("education"), None), true),
        (user("commercial", "prohibits"), with(&[], None, None), false),
        (geo("EU", "permits"), with(&[], None, Some("DE")), true),
        (geo("EU", "permits"), with(&[], None, Some("US")), false),
        (geo("EU", "prohibits"), with(&[], None, Some("FR")), false),
        (geo("DE", "permits"), with(&[], None, Some("EU")), false),
    ];
    for (licence, conditions, met) in rows {
        let document = document(&content("/", &licence));
        let reading = document.read(ORIGIN, b"/", RslCarrier::Robots, &conditions, SignalOptions::default());
        assert_eq!(reading.license_required, !met, "{licence} {conditions:?}");
        let wanted = if met { Verdict::Allowed } else { Verdict::Denied };
        assert!(reading.statements.iter().all(|s| s.verdict == wanted && s.conditional != met), "{licence}");
        assert_eq!(reading.statements.len(), 4);
    }
    let server = document(
        "<content url=\"/\" server=\"https://l.test\"><license><permits type=\"usage\">search</permits></license></content>",
    );
    assert!(read(&server, "/", Profile::Cautious).license_required);
    // One licence of two is free: no condition.
    let two = format!(
        "<content url=\"/\"><license>{}<payment type=\"crawl\"/></license><license>{0}</license></content>",
        permits("all")
    );
    assert!(!read(&document(&two), "/", Profile::Cautious).license_required);
}

#[test]
fn statements_carry_their_element() {
    let document = document(&(content("/x", &permits("all")) + &content("/", &prohibits("ai-train"))));
    let reading = read(&document, "/a", Profile::Cautious);
    let statement = &reading.statements[0];
    assert_eq!(statement.raw, "<prohibits type=\"usage\">ai-train</prohibits>");
    assert_eq!((statement.place, statement.path.as_deref()), (Place::Element(1), Some("/")));
    assert_eq!(statement.purpose, Purpose::AiTrain);
}

#[test]
fn what_does_not_conform_permits_nothing_and_still_prohibits() {
    let body = |xmlns: &str, inner: &str| format!("<rsl xmlns=\"{xmlns}\">{inner}</rsl>");
    let (good, ns) = (content("/", &(permits("search") + &prohibits("ai-train"))), RslDocument::NAMESPACE);
    let rows: Vec<(String, &str)> = vec![
        (body("https://example.org/other", &good), "--d-"),
        (body("", &good), "--d-"),
        (body(ns, &good).replace("rsl", "rls"), "----"),
        (body(ns, &(good.clone() + "<content url=\"/x\"></content>")), "--d-"),
        (body(ns, &good.replace("</license>", "<surprise/></license>")), "--d-"),
        (body(ns, &good.replace("</license>", "")), "--d-"),
        (body(ns, &good).replace("</rsl>", ""), "--d-"),
        (body(ns, &good) + "<more/>", "--d-"),
        (format!("<!DOCTYPE rsl [<!ENTITY x \"search\">]>{}", body(ns, &good.replace("search", "&x;"))), "--d-"),
        (body(ns, &good.replace("search", "&x;")), "--d-"),
        (body(ns, &good).replace("ai-train", "ai-train,ai-input"), "-dd-"),
        (body(ns, &good.replace("type=\"usage\">ai", "type=\"use\">ai")), "----"),
        (body(ns, &good.replace("<license>", &format!("<license>{}", prohibits("search")))), "d-d-"),
        (body(ns, &good) + "\u{0}", "--d-"),
        ("<html><body>not found</body></html>".to_owned(), "----"),
        ("{}".to_owned(), "----"),
        (String::new(), "----"),
        ("<".repeat(100_000), "----"),
        ("<rsl>".repeat(100_000), "----"),
    ];
    for (text, wanted) in rows {
        let document = RslDocument::parse(text.as_bytes());
        let shown: String = text.chars().take(160).collect();
        assert!(!document.is_conformant(), "{shown}");
        let reading = read(&document, "/", Profile::Cautious);
        assert_eq!(letters(&Preferences::combine(&reading.statements)), wanted, "{shown}");
        assert!(reading.diagnostics.contains(DiagnosticCode::RslInvalid));
        assert!(read(&document, "/", Profile::Literal).statements.is_empty(), "{shown}");
    }
    // In bytes that are no UTF-8, too.
    let latin = [body(ns, &good).as_bytes(), b"<!-- \xff -->"].concat();
    assert!(!RslDocument::parse(&latin).is_conformant());
}

#[test]
fn elements_of_other_namespaces_and_character_references_are_fine() {
    let inner =
        content("/", &(permits("ai&#45;train") + "<x:note xmlns:x=\"urn:x\"><x:permits>all</x:permits></x:note>"));
    assert_eq!(verdicts(&inner), "dda-");
    let prefixed = format!(
        "<?xml version=\"1.0\"?><r:rsl xmlns:r=\"{}\" max-age=\"7\"><r:content url=\"/\"><r:license><r:prohibits \
         type=\"usage\"><![CDATA[ai-train]]></r:prohibits></r:license><r:terms>https://example.com/t</r:terms></r:content></r:rsl>",
        RslDocument::NAMESPACE
    );
    let document = RslDocument::parse(prefixed.as_bytes());
    assert!(document.is_conformant());
    assert_eq!((document.max_age_days(), document.terms()), (7, &["https://example.com/t".to_owned()][..]));
    assert_eq!(letters(&Preferences::combine(&read(&document, "/", Profile::Literal).statements)), "--d-");
}

#[test]
fn floods_are_bounded() {
    let many = content("/", &prohibits("ai-train")).repeat(50_000);
    let flood = document(&many);
    assert!(!flood.is_conformant());
    assert_eq!(letters(&Preferences::combine(&read(&flood, "/", Profile::Cautious).statements)), "--d-");
    let deep = document(&("<content url=\"/\"><license>".to_owned() + &"<x>".repeat(1000)));
    assert!(!deep.is_conformant());
    let long = document(&content("/", &prohibits(&"ai-train ".repeat(100_000))));
    assert!(!long.is_conformant());
    // Billion laughs: never expanded.
    let laughs = "<!DOCTYPE rsl [<!ENTITY a \"ha\"><!ENTITY b \"&a;&a;&a;&a;\"><!ENTITY c \"&b;&b;&b;&b;\">]>\
                  <rsl xmlns=\"https://rslstandard.org/rsl\"><content url=\"&c;\"><license/></content></rsl>";
    assert!(!RslDocument::parse(laughs.as_bytes()).is_conformant());
    let external = "<!DOCTYPE rsl SYSTEM \"file:///etc/passwd\"><rsl xmlns=\"https://rslstandard.org/rsl\"/>";
    assert!(!RslDocument::parse(external.as_bytes()).is_conformant());
}

/// However much memory the elements of a document would take, it takes no more than its bound, permits nothing then, and
/// prohibits what it prohibited.
#[test]
fn what_is_kept_of_a_document_is_bounded_and_its_prohibitions_stay() {
    let words = "<permits type=\"user\">".to_owned() + &"x ".repeat(2000) + "</permits>";
    let rows = [
        ("classes of users", content("/b", &(permits("all") + &words)).repeat(240)),
        ("regions", content("/b", &(permits("all") + &words.replace("user", "geo"))).repeat(240)),
        ("licences", format!("<content url=\"/b\">{}</content>", "<license/>".repeat(19_000))),
        ("payments", content("/b", &format!("<payment type=\"{}\"/>", "x".repeat(34)).repeat(19_000))),
        ("permissions", content("/b", &permits("all")).repeat(6_500)),
        ("prohibitions", (0..6_500).map(|n| content(&format!("/{n}"), &prohibits("search"))).collect::<String>()),
        ("prohibitions of one", content("/b", &prohibits("search").repeat(19_000))),
    ];
    for (name, many) in rows {
        for heavy in
            [content("/p", &prohibits("ai-train")) + &many, many.clone() + &content("/p", &prohibits("ai-train"))]
        {
            let document = document(&heavy);
            assert!(
                heavy.len() < RslDocument::MAX_BYTES && document.heap_bytes() <= RslDocument::MAX_KEPT_BYTES,
                "{name}"
            );
            let said = |target| letters(&Preferences::combine(&read(&document, target, Profile::Cautious).statements));
            assert!(!document.is_conformant() && !said("/b").contains('a'), "{name}: {}", said("/b"));
            assert_eq!(said("/p").chars().nth(2), Some('d'), "{name}: {}", said("/p"));
        }
    }
}

#[test]
fn pointers() {
    let robots = |text: &str| Robots::parse(text.as_bytes()).rules(&["ComityBot"], Dialect::Standard);
    let urls = |pointers: &RslPointers| -> String {
        let show = |p: &comity_signals::RslPointer| format!("{} {}", p.carrier.as_str(), p.url);
        pointers.documents.iter().map(show).collect::<Vec<_>>().join("; ")
    };
    let none: [(&str, &str); 0] = [];
    let rows = [
        ("License: https://a.test/l.xml\nUser-agent: *\nAllow: /\n", "robots.txt https://a.test/l.xml", 0),
        (
            "License: https://a.test/g.xml\nUser-agent: *\nLicense: https://a.test/l.xml\n",
            "robots.txt https://a.test/l.xml",
            0,
        ),
        ("User-agent: other\nLicense: https://a.test/l.xml\n", "", 0),
        ("License: /l.xml\nLicense: http://a.test/l.xml\nLicense: https://\nUser-agent: *\nAllow: /\n", "", 3),
        ("License: https://a.test/1\nLicense: https://a.test/1\n", "robots.txt https://a.test/1", 0),
    ];
    for (text, wanted, bad) in rows {
        let found = RslPointers::read(Some(&robots(text)), &none, &HeadFacts::default());
        assert_eq!(urls(&found), wanted, "{text}");
        assert_eq!(found.diagnostics.as_slice().len(), bad, "{text}");
    }
    let fields = [
        ("Link", "<https://a.test/l.xml>; rel=\"license\"; type=\"application/rsl+xml\", </cc>; rel=license"),
        ("link", "<https://a.test/n>; rel=next; type=\"application/rsl+xml\""),
    ];
    let link = |href: &str, kind: Option<&str>| LicenceLink { href: href.into(), media_type: kind.map(str::to_owned) };
    let head = HeadFacts {
        licences: vec![
            link("https://a.test/h.xml", Some("Application/RSL+XML; charset=utf-8")),
            link("https://cc.test/by", None),
        ],
        ..HeadFacts::default()
    };
    let found = RslPointers::read(None, &fields, &head);
    assert_eq!(urls(&found), "link field https://a.test/l.xml; link element https://a.test/h.xml");
    assert_eq!(found.others, ["/cc", "https://cc.test/by"]);
    assert_eq!(found.urls().count(), 4);
}

fn piece() -> impl Strategy<Value = String> {
    let token = "(all|ai-all|ai-train|ai-input|ai-index|search)( (search|ai-train))?";
    prop_oneof![
        4 => token.prop_map(|usage| prohibits(&usage)),
        4 => token.prop_map(|usage| permits(&usage)),
        1 => Just("<payment type=\"crawl\"/>".to_owned()),
        1 => "(<license>|</license>|<content url=\"/\">|</content>|&x;|<|,|<legal/>|<x/>)",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_panic(body in prop::collection::vec(any::<u8>(), 0..300)) {
        read(&RslDocument::parse(&body), "/", Profile::Cautious);
        let inner = [b"<rsl xmlns=\"https://rslstandard.org/rsl\">", &body[..]].concat();
        read(&RslDocument::parse(&inner), "/", Profile::Cautious);
    }

    #[test]
    fn only_conformant_documents_permit(pieces in prop::collection::vec(piece(), 0..8), end in 0_usize..20) {
        let text = format!("<rsl xmlns=\"{}\">{}</rsl>", RslDocument::NAMESPACE, content("/", &pieces.concat()));
        let whole = RslDocument::parse(text.as_bytes());
        let statements = read(&whole, "/", Profile::Cautious).statements;
        prop_assert!(whole.is_conformant() || statements.iter().all(|s| s.verdict == Verdict::Denied));
        let cut = text.get(..text.len() - 1 - end.min(text.len() - 1)).unwrap_or_default();
        let cut = read(&RslDocument::parse(cut.as_bytes()), "/", Profile::Cautious);
        prop_assert!(cut.statements.iter().all(|s| s.verdict == Verdict::Denied));
    }

    #[test]
    fn one_more_prohibition_never_lifts_a_denial(pieces in prop::collection::vec(piece(), 0..5), more in "(all|ai-train|search)") {
        let licence = |extra: &str| content("/", &(pieces.concat() + extra));
        let ask = |text: String| Preferences::combine(&read(&document(&text), "/", Profile::Cautious).statements);
        let (before, after) = (ask(licence("")), ask(content("/", &prohibits(&more)) + &licence("")));
        for purpose in Purpose::ALL {
            prop_assert!(before.verdict(purpose) != Verdict::Denied || after.verdict(purpose) == Verdict::Denied);
        }
    }
}
