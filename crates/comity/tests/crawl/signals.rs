//! Signals: decided before the fetch, and again by what the answer says. Of what is withheld no byte stays anywhere.

use std::io::Read as _;
use std::path::Path;
use std::sync::{Arc, Mutex};

use comity::policy::Reason;
use comity::{CrawlerBuilder, Summary};
use comity_archive::Record;
use comity_testweb::{Answer, Coding, MemoryNet, Site};

use crate::support::{asked, assert_clean, crawler, run, web};

/// A text that stands in every body that must not be kept.
const SECRET: &str = "the words of the page";

fn html(head: &str) -> Answer {
    Answer::status(200).content("text/html", format!("<head>{head}</head><body>{SECRET} <a href=/linked>x</a>"))
}

fn crawl(net: &MemoryNet, dir: &Path, purposes: &[&str]) -> CrawlerBuilder {
    let purposes = purposes.iter().map(|purpose| (*purpose).to_owned()).collect();
    crawler(net, &["http://a.test/"]).dir(dir).configure(|file| {
        file.agent.purposes = Some(purposes);
        // Of the queue on disk nothing would be found but empty room.
        file.frontier.store = Some("memory".to_owned());
    })
}

fn records(dir: &Path) -> Vec<Record> {
    let lines = comity_archive::read_records(dir).unwrap();
    lines.map(|line| line.unwrap().record().unwrap().unwrap()).collect()
}

fn record(dir: &Path, url: &str) -> Record {
    records(dir).into_iter().rfind(|record| record.url == url).unwrap()
}

/// Whether a text stands anywhere in what the crawl left, compressed or not.
fn holds(dir: &Path, text: &str) -> bool {
    let mut all: Vec<u8> = records(dir).iter().flat_map(|record| format!("{record:?}").into_bytes()).collect();
    unpack(dir, &mut all);
    String::from_utf8_lossy(&all).contains(text)
}

fn unpack(folder: &Path, all: &mut Vec<u8>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            unpack(&path, all);
        } else if let Ok(raw) = std::fs::read(&path) {
            if path.extension().is_some_and(|end| end == "gz") {
                flate2::read::MultiGzDecoder::new(&raw[..]).read_to_end(all).unwrap();
            }
            all.extend(raw);
        }
    }
}

/// What became of a page: its outcome, and whether its link was followed and its words are kept.
struct Row<'a> {
    name: &'a str,
    page: Answer,
    purposes: &'a [&'a str],
    /// The reason it is withheld for; `None` where it is kept.
    withheld: Option<Reason>,
    followed: bool,
}

const fn row<'a>(
    name: &'a str,
    page: Answer,
    purposes: &'a [&'a str],
    withheld: Option<Reason>,
    followed: bool,
) -> Row<'a> {
    Row { name, page, purposes, withheld, followed }
}

#[tokio::test(start_paused = true)]
async fn what_the_answer_says_decides_before_a_byte_is_kept() {
    let (train, search): (&[&str], &[&str]) = (&["ai_train"], &["search"]);
    let both: &[&str] = &["ai_train", "search"];
    let no = Some(Reason::SignalAiTrain);
    let usage = |value: &str| html("").field("Content-Usage", value);
    let robots = |value: &str| html("").field("X-Robots-Tag", value);
    let meta = |value: &str| html(&format!("<meta name=robots content='{value}'>"));
    let late = |value: &str| {
        let filler = "<script>x</script>".repeat(20_000);
        html(&format!("{filler}<meta name=robots content='{value}'>"))
    };
    let body_meta = Answer::status(200)
        .content("text/html", format!("<body>{SECRET}<a href=/linked>x</a><meta name=robots content=noai>"));
    let rows = [
        row("silence", html(""), train, None, true),
        row("field", usage("train-ai=n"), train, no, false),
        row("field, other purpose", usage("train-ai=n"), search, None, true),
        row("field, one of two", usage("train-ai=n"), both, None, true),
        row("field, both", usage("train-ai=n, search=n"), both, no, false),
        row("field, broken", usage("train-ai=n,"), train, None, true),
        row("signal", html("").field("Content-Signal", "ai-train=no"), train, no, false),
        row("noai", robots("noai"), train, no, false),
        row("noai for another", robots("otherbot: noai"), train, None, true),
        row("meta", meta("noai"), train, no, false),
        row("meta behind 360 KB of scripts", late("noai"), train, no, false),
        row("meta in the body", body_meta, train, no, false),
        row("gzip", meta("noai").coding(Coding::Gzip), train, no, false),
        row("derived", meta("noarchive"), train, no, false),
        row("noindex stays", meta("noindex"), search, None, true),
        row("noindex and noai", meta("noindex, noai"), both, no, false),
        row("noindex alone of two", meta("noindex"), both, None, true),
        row("nofollow", meta("nofollow"), train, None, false),
        row("text", Answer::text(SECRET).field("X-Robots-Tag", "noai"), train, no, false),
        row("404", meta("noai").with_status(404), train, no, false),
        row("404, field", robots("noai").with_status(404), train, no, false),
        row("recorded purpose", meta("noai"), &["archive", "ai_train"], None, true),
    ];
    for Row { name, page, purposes, withheld, followed } in rows {
        let dir = tempfile::tempdir().unwrap();
        let told = Arc::new(Mutex::new(Vec::new()));
        let seen = told.clone();
        let site = Site::new().name("a.test").page("/", page).page("/linked", Answer::text("linked"));
        let (net, observer) = web([site]);
        let handler = move |page: &comity::Page| seen.lock().unwrap().push(page.url().to_string());
        let summary = run(crawl(&net, dir.path(), purposes).each_page(handler)).await;
        let found = record(dir.path(), "http://a.test/");
        let outcome = if withheld.is_some() { "withheld" } else { "fetched" };
        assert_eq!(found.outcome, outcome, "{name}: {found:?}");
        assert_eq!(asked(&observer, "http://a.test/linked"), usize::from(followed), "{name}");
        assert_eq!(holds(dir.path(), SECRET), withheld.is_none(), "{name}: its words on disk");
        assert_eq!(told.lock().unwrap().contains(&"http://a.test/".to_owned()), withheld.is_none(), "{name}: told");
        assert_eq!(summary.withheld.values().sum::<u64>(), u64::from(withheld.is_some()), "{name}");
        assert_eq!(summary.queued, total(&summary), "{name}");
        if let Some(reason) = withheld {
            assert_withheld(&found, reason, name);
        }
        assert_clean(&observer);
        let verified = comity_archive::verify::verify(dir.path(), &Default::default()).unwrap();
        assert!(verified.holds(), "{name}: {:?}", verified.faults);
    }
}

fn total(summary: &Summary) -> u64 {
    summary.pages() + summary.redirects + summary.refusals() + summary.failed.values().sum::<u64>() + summary.left
}

/// The record has head, statement and both decisions, and says that there is no body.
fn assert_withheld(found: &Record, reason: Reason, name: &str) {
    assert_eq!(found.reason, reason.code(), "{name}");
    let response = found.response.as_ref().unwrap();
    assert_eq!((response.body_length, response.truncated.as_deref()), (0, Some("unspecified")), "{name}");
    assert!(!response.fields.is_empty(), "{name}");
    let decision = found.decision.as_ref().unwrap();
    let [first, second] = &decision.stages[..] else { panic!("{name}: {:?}", decision.stages) };
    assert_eq!((&*first.after, first.deciding.len()), ("before_fetch", 0), "{name}");
    assert!(first.reason.starts_with("ok") && second.reason == reason.code(), "{name}");
    let deciding = &found.signals[usize::try_from(second.deciding[0]).unwrap()];
    assert_eq!((&*deciding.verdict, &*deciding.purpose), ("denied", "ai_train"), "{name}");
    assert!(found.warc.as_ref().unwrap().response.is_some(), "{name}: its head is archived");
}

#[tokio::test(start_paused = true)]
async fn silence_refuses_where_it_is_set_so_and_a_word_of_the_page_breaks_it() {
    let yes = html("").field("Content-Usage", "train-ai=y");
    let rows = [
        ("silence", Site::new().page("/", html("")), "withheld", "signal.unspecified"),
        ("the page permits", Site::new().page("/", yes), "fetched", "ok.no_rules"),
        (
            "robots.txt permits",
            Site::new().robots("User-agent: *\nContent-Signal: ai-train=yes\nAllow: /\n").page("/", html("")),
            "fetched",
            "ok",
        ),
        ("denied", Site::new().page("/", html("").field("X-Robots-Tag", "noai")), "withheld", "signal.ai_train"),
    ];
    for (name, site, outcome, reason) in rows {
        let dir = tempfile::tempdir().unwrap();
        let (net, _) = web([site.name("a.test").page("/linked", Answer::text("x"))]);
        run(crawl(&net, dir.path(), &["ai_train"])
            .configure(|file| file.signals.unspecified = Some("refuse".to_owned())))
        .await;
        let found = record(dir.path(), "http://a.test/");
        assert_eq!((&*found.outcome, &*found.reason), (outcome, reason), "{name}");
        assert_eq!(holds(dir.path(), SECRET), outcome == "fetched", "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn by_silence_what_has_no_head_is_withheld_at_its_first_piece() {
    let every = std::time::Duration::from_secs(2);
    // Whether a word may still come, so that the body is waited for.
    let rows = [
        ("audio/mpeg", false),
        ("text/plain", false),
        ("application/rss+xml", false),
        ("application/octet-stream", false),
        ("text/html", true),
        // It may embed words of its own.
        ("image/png", true),
    ];
    for (kind, waits) in rows {
        let dir = tempfile::tempdir().unwrap();
        // Fast enough to come whole: what is cut is no silence.
        let body = format!("<i>{SECRET}</i>{}", "<b></b>".repeat(3000));
        let answer = Answer::status(200).content(kind, body).trickle(3000, every);
        let (net, _) = web([Site::new().name("a.test").page("/", answer)]);
        let summary = run(crawl(&net, dir.path(), &["ai_train"])
            .configure(|file| file.signals.unspecified = Some("refuse".to_owned())))
        .await;
        let found = record(dir.path(), "http://a.test/");
        assert_eq!((&*found.outcome, &*found.reason), ("withheld", "signal.unspecified"), "{kind}");
        assert_eq!(summary.elapsed > every * 5, waits, "{kind}: {:?}", summary.elapsed);
        assert!(!holds(dir.path(), SECRET), "{kind}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_grant_lifts_a_denial_of_use_and_never_one_of_access() {
    let robots = "User-agent: *\nContent-Signal: ai-train=no\nDisallow: /closed\n";
    let day = |text: &str| Some(comity::config::Moment(text.parse().unwrap()));
    // Whose, for what, until when; whether the page is refused before it, and one that speaks for itself after it.
    let rows = [
        ("no grant", "http://b.test", "ai_train", "2027-01-01T00:00:00Z", false),
        ("granted", "http://a.test", "ai_train", "2027-01-01T00:00:00Z", true),
        ("for another use", "http://a.test", "tdm", "2027-01-01T00:00:00Z", false),
        ("run out", "http://a.test", "ai_train", "2026-11-30T00:00:00Z", false),
    ];
    for (name, origin, purpose, expires, granted) in rows {
        let dir = tempfile::tempdir().unwrap();
        let page = Answer::page(["/noai", "/closed"]);
        let noai = html("<meta name=robots content=noai>");
        let site = Site::new().name("a.test").robots(robots).page("/", page).page("/noai", noai);
        let (net, observer) = web([site.page("/closed", Answer::text("x"))]);
        let grant = comity::config::GrantSection {
            origins: Some(vec![origin.to_owned()]),
            purposes: Some(vec![purpose.to_owned()]),
            basis: Some("licence".to_owned()),
            reference: Some("L-17".to_owned()),
            approved_by: Some("Ann Example".to_owned()),
            expires: day(expires),
        };
        let summary =
            run(crawl(&net, dir.path(), &["ai_train"]).configure(|file| file.grants = Some(vec![grant]))).await;
        let first = record(dir.path(), "http://a.test/");
        let (outcome, reason) = if granted { ("fetched", "ok") } else { ("not_fetched", "signal.ai_train") };
        assert_eq!((&*first.outcome, &*first.reason), (outcome, reason), "{name}");
        let one = &first.decision.as_ref().unwrap().purposes["ai_train"];
        assert_eq!(one.verdict, "denied", "{name}: what was said stays");
        assert_eq!(one.decision, if granted { "proceed" } else { "refuse" }, "{name}");
        assert!(summary.to_string().contains("L-17"), "{name}: said first");
        if granted {
            let relied = &first.decision.as_ref().unwrap().grants[0];
            assert_eq!((&*relied.reference, &*relied.purpose), ("L-17", "ai_train"));
            assert_eq!(record(dir.path(), "http://a.test/noai").outcome, "fetched");
            assert_eq!(record(dir.path(), "http://a.test/closed").reason, "robots.disallow");
            assert_eq!(asked(&observer, "http://a.test/closed"), 0);
        }
    }
}

#[test]
fn a_grant_that_lacks_something_is_refused_at_its_key() {
    let whole = "[[grant]]\norigins = [\"https://a.test\"]\npurposes = [\"ai_train\"]\nbasis = \"licence\"\n\
        reference = \"L-17\"\napproved_by = \"Ann\"\nexpires = 2027-01-01\n";
    let start = "[agent]\nname = \"MyBot/1.0\"\ncontact = \"https://example.com/bot\"\n[crawl]\nseeds = [\"https://a.test/\"]\n";
    let resolve = |text: &str| {
        comity::config::CrawlConfig::resolve(
            comity::config::ConfigFile::parse(&format!("{start}{text}"), None).unwrap(),
        )
    };
    assert_eq!(resolve(whole).unwrap().grants.all().len(), 1);
    let rows = [
        ("origins = [\"https://a.test\"]\n", "", "origins"),
        ("https://a.test\"]\npurposes", "https://a.test/x?y\"]\npurposes", "origins"),
        ("[\"ai_train\"]", "[\"archive\"]", "purposes"),
        ("\"licence\"", "\"asked nicely\"", "basis"),
        ("reference = \"L-17\"\n", "", "reference"),
        ("\"Ann\"", "\" \"", "approved_by"),
        ("expires = 2027-01-01\n", "", "expires"),
    ];
    for (from, to, key) in rows {
        let error = resolve(&whole.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(error.contains(key), "{key}: {error}");
    }
    let unknown = format!("{start}{}", whole.replace("basis", "base"));
    assert!(comity::config::ConfigFile::parse(&unknown, None).is_err());
}

#[tokio::test(start_paused = true)]
async fn an_override_of_signals_lifts_what_the_page_says_and_says_so() {
    let words = |word: &str| Some(vec![word.to_owned()]);
    let moment = |text: &str| Some(comity::config::Moment(text.parse().unwrap()));
    let own = comity::config::OverrideSection {
        origins: words("http://a.test"),
        scope: words("signals"),
        basis: Some("own_site".to_owned()),
        justification: Some("Our own site, looked at before release".to_owned()),
        approved_by: Some("Ann Example".to_owned()),
        created: moment("2026-11-29T00:00:00Z"),
        expires: moment("2026-12-29T00:00:00Z"),
        ..comity::config::OverrideSection::default()
    };
    let dir = tempfile::tempdir().unwrap();
    let site = Site::new().name("a.test").page("/", html("<meta name=robots content=noai>"));
    let (net, _) = web([site.page("/linked", Answer::text("x"))]);
    run(crawl(&net, dir.path(), &["ai_train"]).configure(|file| file.overrides = Some(vec![own]))).await;
    let found = record(dir.path(), "http://a.test/");
    assert_eq!((&*found.outcome, &*found.reason), ("fetched", "ok.override"));
    let lifted = &found.decision.as_ref().unwrap().r#override.as_ref().unwrap().lifted;
    assert_eq!((lifted.len(), &*lifted[0].scope, &*lifted[0].reason), (1, "signals", "signal.ai_train"));
    assert!(holds(dir.path(), SECRET));
}

/// A page whose coding cannot be undone may hold a refusal that nobody has seen.
#[tokio::test(start_paused = true)]
async fn a_page_that_cannot_be_decoded_is_withheld_where_it_could_refuse() {
    let (train, search, both): (&[&str], &[&str], &[&str]) = (&["ai_train"], &["search"], &["ai_train", "search"]);
    let false_gzip = || html("<meta name=robots content=noai>").field("Content-Encoding", "gzip");
    let unknown = || html("").field("Content-Encoding", "enigma");
    let text = || Answer::text(SECRET).field("Content-Encoding", "enigma");
    let untyped = || Answer::status(200).content("", SECRET).field("Content-Encoding", "enigma");
    let late = || {
        let coded = Coding::Gzip.encode(format!("<body>{SECRET}{}", "x<b>y</b>".repeat(40_000)).as_bytes()).unwrap();
        let cut = coded[..coded.len() - 100].to_vec();
        Answer::status(200).content("text/html", cut).field("Content-Encoding", "gzip")
    };
    let empty = || Answer::status(200).content("text/html", "").field("Content-Encoding", "enigma");
    let rows = [
        ("false gzip", false_gzip(), train, "withheld", "fetch.coding"),
        ("unknown coding", unknown(), train, "withheld", "fetch.coding"),
        ("two purposes", unknown(), both, "withheld", "fetch.coding"),
        ("an error page", unknown().with_status(404), train, "withheld", "fetch.coding"),
        ("of no type", untyped(), train, "withheld", "fetch.coding"),
        ("search, which no page refuses", unknown(), search, "failed", "fetch.coding"),
        ("a purpose that is recorded only", unknown(), &["archive", "ai_train"], "failed", "fetch.coding"),
        ("no page", text(), train, "failed", "fetch.coding"),
        ("broken behind its head", late(), train, "failed", "fetch.coding"),
        ("without a byte", empty(), train, "fetched", "ok.no_rules"),
        ("its fields deny", unknown().field("X-Robots-Tag", "noai"), train, "withheld", "signal.ai_train"),
    ];
    for (name, answer, purposes, outcome, reason) in rows {
        let dir = tempfile::tempdir().unwrap();
        let (net, _) = web([Site::new().name("a.test").page("/", answer).page("/linked", Answer::text("x"))]);
        let summary = run(crawl(&net, dir.path(), purposes)).await;
        let found = record(dir.path(), "http://a.test/");
        assert_eq!((&*found.outcome, &*found.reason), (outcome, reason), "{name}");
        assert_eq!(summary.withheld.values().sum::<u64>(), u64::from(outcome == "withheld"), "{name}");
        if outcome == "withheld" {
            assert!(!holds(dir.path(), SECRET), "{name}");
            let decision = found.decision.as_ref().unwrap();
            assert!(decision.purposes.values().all(|one| one.decision == "refuse"), "{name}: {decision:?}");
        }
        let verified = comity_archive::verify::verify(dir.path(), &Default::default()).unwrap();
        assert!(verified.holds(), "{name}: {:?}", verified.faults);
    }
}

/// Where silence refuses, an answer that was cut before it spoke is tried again; one that denied is not.
#[tokio::test(start_paused = true)]
async fn a_cut_answer_is_not_silence() {
    let long = |head: &str| html(&format!("{head}{}", "<script>x</script>".repeat(2000)));
    let permits = || html(&format!("{}<meta name=tdm-reservation content=0>", "<script>x</script>".repeat(2000)));
    let denies = || long("<meta name=tdm-reservation content=1>").cut_after(5000);
    let rows = [
        ("cut once", vec![permits().cut_after(5000), permits()], "fetched", "ok.no_rules", 2),
        ("cut always", vec![permits().cut_after(5000)], "failed", "fetch.reset", 3),
        ("denied, then cut", vec![denies()], "withheld", "signal.tdm", 1),
        ("silent and whole", vec![long("")], "withheld", "signal.unspecified", 1),
    ];
    for (name, answers, outcome, reason, requests) in rows {
        let dir = tempfile::tempdir().unwrap();
        let site = Site::new().name("a.test").page_answers("/", answers).page("/linked", Answer::text("linked"));
        let (net, observer) = web([site]);
        run(crawl(&net, dir.path(), &["tdm"]).configure(|file| file.signals.unspecified = Some("refuse".to_owned())))
            .await;
        let found = record(dir.path(), "http://a.test/");
        assert_eq!((&*found.outcome, &*found.reason), (outcome, reason), "{name}");
        assert_eq!(asked(&observer, "http://a.test/"), requests, "{name}");
        assert_eq!(holds(dir.path(), SECRET), outcome == "fetched", "{name}: its words on disk");
        assert_clean(&observer);
        let verified = comity_archive::verify::verify(dir.path(), &Default::default()).unwrap();
        assert!(verified.holds(), "{name}: {:?}", verified.faults);
    }
}
