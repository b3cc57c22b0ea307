//! What a site says beside its licences: ai.txt, and terms in prose.

use comity::config::{Moment, TermsSection};
use comity_archive::EvidenceKind;
use comity_testweb::{Answer, Site};

use crate::licences::{check, crawl, finish, html, prohibits, record, sightings};
use crate::support::{asked, requests, web};

#[tokio::test(start_paused = true)]
async fn nothing_is_asked_for_where_it_is_not_set() {
    let dir = tempfile::tempdir().unwrap();
    let robots = "User-agent: *\nLicense: https://lic.test/no.xml\nAllow: /\n";
    let inline = format!("<script type='application/rsl+xml'>{}</script>", prohibits("ai-train"));
    let terms = "<a rel=terms-of-service href=/terms>t</a>";
    let site = Site::new().name("a.test").robots(robots).page("/", html(&format!("{inline}{terms}")));
    let site = site.page("/ai.txt", Answer::text("User-agent: *\nDisallow: /\n")).page("/linked", Answer::text("x"));
    let (net, observer) = web([site, Site::new().name("lic.test")]);
    finish(crawl(&net, dir.path(), &["search"]), |_| {}).await;
    let asked: Vec<_> = requests(&observer).into_iter().filter(|url| !url.ends_with("/robots.txt")).collect();
    assert!(!asked.iter().any(|url| url.contains("lic.test") || url.ends_with("/ai.txt")), "{asked:?}");
    let found = record(dir.path(), "http://a.test/");
    assert!(found.licences.is_empty() && found.ai_txt.is_none(), "{found:?}");
}

#[tokio::test(start_paused = true)]
async fn ai_txt_speaks_before_the_fetch() {
    let text = |text: &str| Answer::text(text.to_owned());
    let rows = [
        ("denies", text("User-agent: *\nDisallow: /\n"), "not_fetched", "signal.ai_train", "read"),
        ("denies others", text("User-agent: OtherBot\nDisallow: /\n"), "fetched", "ok.no_rules", "read"),
        ("permits", text("User-agent: *\nAllow: /\n"), "fetched", "ok.no_rules", "read"),
        ("is of another kind", text("# About us\nDisallow: /\n"), "fetched", "ok.no_rules", "read"),
        ("is not there", Answer::status(404), "fetched", "ok.no_rules", "absent"),
        ("fails", Answer::status(503), "fetched", "ok.no_rules", "unreachable"),
    ];
    for (name, answer, outcome, reason, state) in rows {
        let dir = tempfile::tempdir().unwrap();
        let site = Site::new().name("a.test").page("/", html("")).page("/linked", Answer::text("x"));
        let (net, observer) = web([site.page("/ai.txt", answer)]);
        finish(crawl(&net, dir.path(), &["ai_train"]), |file| file.signals.ai_txt = Some(true)).await;
        let found = record(dir.path(), "http://a.test/");
        assert_eq!((&*found.outcome, &*found.reason), (outcome, reason), "{name}");
        let file = found.ai_txt.as_ref().unwrap();
        assert_eq!(file.state, state, "{name}");
        assert_eq!(asked(&observer, "http://a.test/ai.txt"), 1, "{name}");
        assert_eq!(sightings(dir.path(), EvidenceKind::AiTxt).len(), 1, "{name}: absence, too");
        check(dir.path(), &observer);
    }
}

/// A trust.txt speaks of the whole site, before the fetch.
#[tokio::test(start_paused = true)]
async fn trust_txt_speaks_before_the_fetch() {
    let text = |text: &str| Answer::text(text.to_owned());
    let rows = [
        ("denies", text("member=x\ndatatrainingallowed=no\n"), "not_fetched", "signal.ai_train", "read"),
        ("permits", text("datatrainingallowed=yes\n"), "fetched", "ok.no_rules", "read"),
        (
            "says both",
            text("datatrainingallowed=yes\ndatatrainingallowed=no\n"),
            "not_fetched",
            "signal.ai_train",
            "read",
        ),
        ("says something else", text("datatrainingallowed=maybe\n"), "fetched", "ok.no_rules", "read"),
        ("denies oddly", text("datatrainingallowed=yes\ndatatrainingallowed=no.\n"), "fetched", "ok.no_rules", "read"),
        ("is not there", Answer::status(404), "fetched", "ok.no_rules", "absent"),
        ("fails", Answer::status(503), "fetched", "ok.no_rules", "unreachable"),
    ];
    for (name, answer, outcome, reason, state) in rows {
        let dir = tempfile::tempdir().unwrap();
        let site = Site::new().name("a.test").page("/", html("")).page("/linked", Answer::text("x"));
        let (net, observer) = web([site.page("/trust.txt", answer)]);
        finish(crawl(&net, dir.path(), &["ai_train"]), |file| file.signals.trust_txt = Some(true)).await;
        let found = record(dir.path(), "http://a.test/");
        assert_eq!((&*found.outcome, &*found.reason), (outcome, reason), "{name}");
        assert_eq!(found.trust_txt.as_ref().unwrap().state, state, "{name}");
        let odd = found.diagnostics.iter().any(|one| one.code == "trust_bad_value");
        assert_eq!(odd, matches!(name, "says something else" | "denies oddly"), "{name}: {found:?}");
        let permits = found.signals.iter().any(|one| one.verdict == "allowed");
        assert_eq!(permits, name == "permits", "{name}: {found:?}");
        assert_eq!(asked(&observer, "http://a.test/trust.txt"), 1, "{name}");
        assert_eq!(sightings(dir.path(), EvidenceKind::TrustTxt).len(), 1, "{name}: absence, too");
        check(dir.path(), &observer);
    }
}

/// What a document or image embeds decides like a meta: after the field, and before a byte is kept. It may stand at the very end.
#[tokio::test(start_paused = true)]
async fn what_is_embedded_decides_before_a_byte_is_kept() {
    let packet = |said: &str| {
        format!(
            "<?xpacket begin?><r:RDF xmlns:r=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\"><r:Description \
             xmlns:tdm=\"http://www.w3.org/ns/tdmrep/\" xmlns:p=\"http://ns.useplus.org/ldf/xmp/1.0/\" {said}/>\
             </r:RDF><?xpacket end=\"w\"?>"
        )
    };
    let file = |kind: &str, said: &str, before: usize| {
        let bytes = [b"%PDF-1.7\n".to_vec(), vec![0x80; before], packet(said).into_bytes()].concat();
        Answer::status(200).content(kind, bytes)
    };
    let pdf = |said: &str| file("application/pdf", said, 100);
    let (one, zero) = ("tdm:reservation=\"1\"", "tdm:reservation=\"0\"");
    let mining = "p:DataMining=\"http://ns.useplus.org/ldf/vocab/DMI-PROHIBITED-AIMLTRAINING\"";
    // A member that is stored: head, name, and bytes as they are.
    let epub = |value: &str| {
        let text = format!("<package><meta property=\"tdm:reservation\">{value}</meta></package>");
        let size = u32::try_from(text.len()).unwrap().to_le_bytes();
        let head = [b"PK\x03\x04", &[0; 14][..], &size, &size, &[8, 0, 0, 0], b"book.opf"].concat();
        Answer::status(200).content("application/epub+zip", [head, text.into_bytes()].concat())
    };
    let rows = [
        ("an EPUB that reserves", epub("1"), "withheld", Some("embedded.tdm")),
        ("an EPUB that does not", epub("0"), "fetched", Some("embedded.tdm")),
        ("an EPUB above the field's 0", epub("1").field("tdm-reservation", "0"), "withheld", Some("embedded.tdm")),
        ("reserved", pdf(one), "withheld", Some("embedded.tdm")),
        ("not reserved", pdf(zero), "fetched", Some("embedded.tdm")),
        ("nothing", pdf(""), "fetched", None),
        ("above the field's 0", pdf(one).field("tdm-reservation", "0"), "withheld", Some("embedded.tdm")),
        ("0 lifts no field's 1", pdf(zero).field("tdm-reservation", "1"), "withheld", None),
        ("an image", file("image/jpeg", mining, 100), "withheld", Some("embedded.plus")),
        ("allowed", file("image/jpeg", "p:DataMining=\"DMI-ALLOWED\"", 100), "fetched", None),
        ("at the end of a long one", file("application/pdf", one, 5 << 20), "withheld", Some("embedded.tdm")),
        ("of another type", file("text/plain", one, 100), "fetched", None),
    ];
    for (name, answer, outcome, source) in rows {
        let dir = tempfile::tempdir().unwrap();
        let site = Site::new().name("a.test").page("/", answer);
        let (net, observer) = web([site]);
        finish(crawl(&net, dir.path(), &["ai_train"]), |_| {}).await;
        let found = record(dir.path(), "http://a.test/");
        assert_eq!(found.outcome, outcome, "{name}: {found:?}");
        let said = found.signals.iter().find(|one| one.source.starts_with("embedded."));
        assert_eq!(said.map(|one| one.source.as_str()), source, "{name}");
        let length = found.response.unwrap().body_length;
        assert_eq!(length == 0, outcome == "withheld", "{name}: {length}");
        check(dir.path(), &observer);
    }
}

fn reviewed(origin: &str, digest: Option<String>, verdicts: &[(&str, &str)]) -> TermsSection {
    let own = |text: &str| Some(text.to_owned());
    TermsSection {
        origin: own(origin),
        url: Some(format!("{origin}/terms")),
        reviewed_by: own("Counsel"),
        reviewed_on: Some(Moment("2026-11-29T00:00:00Z".parse().unwrap())),
        digest,
        note: own("section 4"),
        verdicts: Some(verdicts.iter().map(|(purpose, said)| ((*purpose).to_owned(), (*said).to_owned())).collect()),
    }
}

#[tokio::test(start_paused = true)]
async fn reviewed_terms_deny_and_never_permit() {
    let denied: &[(&str, &str)] = &[("ai_train", "denied")];
    let allowed: &[(&str, &str)] = &[("ai_train", "allowed")];
    let noai = "<meta name=robots content=noai>";
    let rows = [
        ("denied", "http://a.test", denied, &["ai_train"][..], "", "not_fetched", "terms.denied"),
        ("another origin", "http://b.test", denied, &["ai_train"], "", "fetched", "ok.no_rules"),
        ("one of two purposes", "http://a.test", denied, &["ai_train", "search"], "", "fetched", "ok.no_rules"),
        ("allowed", "http://a.test", allowed, &["ai_train"], "", "fetched", "ok.no_rules"),
        ("allowed, and the page denies", "http://a.test", allowed, &["ai_train"], noai, "withheld", "signal.ai_train"),
    ];
    for (name, origin, verdicts, purposes, head, outcome, reason) in rows {
        let dir = tempfile::tempdir().unwrap();
        let site = Site::new().name("a.test").page("/", html(head)).page("/linked", Answer::text("x"));
        let (net, observer) = web([site]);
        let section = reviewed(origin, None, verdicts);
        finish(crawl(&net, dir.path(), purposes), |file| file.terms = Some(vec![section])).await;
        let found = record(dir.path(), "http://a.test/");
        assert_eq!((&*found.outcome, &*found.reason), (outcome, reason), "{name}");
        let said = found.signals.iter().find(|one| one.source == "terms");
        let is_said = origin == "http://a.test" && verdicts == denied;
        assert_eq!(said.is_some(), is_said, "{name}");
        if let Some(said) = said {
            assert_eq!(said.raw, "http://a.test/terms, reviewed 2026-11-29 by Counsel: section 4");
        }
        assert_eq!(asked(&observer, "http://a.test/terms"), 0, "{name}: prose is not asked for");
        check(dir.path(), &observer);
    }
}

#[tokio::test(start_paused = true)]
async fn links_to_terms_are_noted_and_copied_where_that_is_set() {
    for copies in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let head = "<link rel=license href='http://b.test/cc'><meta name=tdm-reservation content=1>\
                    <meta name=tdm-policy content='/policy.json'>";
        let page = html(&format!("{head}<a rel='terms-of-service' href='/terms'>terms</a>"));
        let site = Site::new()
            .name("a.test")
            .page("/", page)
            .page("/terms", Answer::redirect(301, "/terms/en"))
            .page("/terms/en", html("no training"))
            .page("/linked", Answer::text("x"));
        let other = Site::new().name("b.test").page("/cc", Answer::text("licence"));
        let (net, observer) = web([site, other]);
        let section = reviewed("http://a.test", Some("ab".repeat(32)), &[("tdm", "denied")]);
        let summary = finish(crawl(&net, dir.path(), &["search"]), |file| {
            file.signals.terms = copies.then(|| "copy".to_owned());
            file.terms = Some(vec![section]);
        })
        .await;
        let links = record(dir.path(), "http://a.test/").terms;
        let found: Vec<_> = links.iter().map(|link| (link.rel.as_str(), link.url.as_str())).collect();
        let wanted = [
            ("license", "http://b.test/cc"),
            ("terms-of-service", "http://a.test/terms"),
            ("tdm-policy", "http://a.test/policy.json"),
        ];
        assert_eq!(found, wanted);
        let seen = sightings(dir.path(), EvidenceKind::Terms);
        let mut copied: Vec<_> = seen.iter().map(|one| (one.url.as_str(), one.status, one.digest.is_some())).collect();
        copied.sort_unstable();
        let all = [
            ("http://a.test/policy.json", 404, false),
            ("http://a.test/terms", 200, true),
            ("http://a.test/terms", 301, false),
            ("http://a.test/terms/en", 200, true),
            ("http://b.test/cc", 200, true),
        ];
        assert_eq!(copied, if copies { &all[..] } else { &[] });
        let outdated = summary.notes.iter().filter(|note| note.contains("http://a.test/terms")).count();
        assert!(outdated >= 1, "the review is said: {:?}", summary.notes);
        let changed = summary.to_string().contains("not the text that was reviewed");
        assert_eq!(changed, copies, "{summary}");
        check(dir.path(), &observer);
    }
}
