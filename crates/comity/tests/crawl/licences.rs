//! Files about use beside tdmrep.json: RSL licences, ai.txt, and what was read in the terms of a site.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use comity::config::{ConfigFile, GrantSection, Moment};
use comity::policy::WallTime;
use comity::{CrawlerBuilder, Summary};
use comity_archive::{EvidenceKind, EvidenceStore, Record, Sighting};
use comity_fetch::SystemClock;
use comity_testweb::{Answer, MemoryNet, Observer, SecureNet, Site};

use crate::support::{START, asked, assert_clean, crawler, requests, run, web};

pub(crate) const SECRET: &str = "the words of the page";

/// A licence that permits what `permits` names, and nothing else, under the conditions `more`.
pub(crate) fn licence(permits: &str, more: &str) -> String {
    format!(
        "<rsl xmlns=\"https://rslstandard.org/rsl\"><content url=\"/\"><license>\
         <permits type=\"usage\">{permits}</permits>{more}</license></content></rsl>"
    )
}

/// A licence that prohibits training, and says nothing else.
pub(crate) fn prohibits(usage: &str) -> String {
    format!(
        "<rsl xmlns=\"https://rslstandard.org/rsl\"><content url=\"/\"><license>\
         <prohibits type=\"usage\">{usage}</prohibits></license></content></rsl>"
    )
}

pub(crate) fn xml(text: String) -> Answer {
    Answer::status(200).content("application/rsl+xml", text)
}

pub(crate) fn html(head: &str) -> Answer {
    Answer::status(200).content("text/html", format!("<head>{head}</head><body>{SECRET} <a href=/linked>x</a>"))
}

/// The web by https, too, and the file with the root that its certificates are of.
pub(crate) fn secured(net: &MemoryNet) -> (Arc<SecureNet>, tempfile::NamedTempFile) {
    let net = SecureNet::new(net.clone(), &["lic.test", "a.test", "b.test"]).unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), net.root_pem()).unwrap();
    (Arc::new(net), file)
}

pub(crate) fn crawl(net: &MemoryNet, dir: &Path, purposes: &[&str]) -> (CrawlerBuilder, tempfile::NamedTempFile) {
    let purposes = purposes.iter().map(|purpose| (*purpose).to_owned()).collect();
    let (secure, root) = secured(net);
    let roots = vec![root.path().to_owned()];
    let builder = crawler(net, &["http://a.test/"]).net(secure).dir(dir).configure(move |file| {
        file.agent.purposes = Some(purposes);
        file.frontier.store = Some("memory".to_owned());
        file.fetch.roots = Some(roots);
    });
    (builder, root)
}

pub(crate) async fn finish(
    built: (CrawlerBuilder, tempfile::NamedTempFile),
    more: impl FnOnce(&mut ConfigFile),
) -> Summary {
    let (builder, root) = built;
    let summary = run(builder.configure(more)).await;
    drop(root);
    summary
}

pub(crate) fn records(dir: &Path) -> Vec<Record> {
    let lines = comity_archive::read_records(dir).unwrap();
    lines.map(|line| line.unwrap().record().unwrap().unwrap()).collect()
}

pub(crate) fn record(dir: &Path, url: &str) -> Record {
    records(dir).into_iter().rfind(|record| record.url == url).unwrap()
}

pub(crate) fn sightings(dir: &Path, kind: EvidenceKind) -> Vec<Sighting> {
    let evidence = EvidenceStore::open(dir).unwrap();
    evidence.sightings().unwrap().map(Result::unwrap).filter(|one| one.kind == kind).collect()
}

pub(crate) fn check(dir: &Path, observer: &Observer) {
    assert_clean(observer);
    verified(dir);
}

pub(crate) fn verified(dir: &Path) {
    let verified = comity_archive::verify::verify(dir, &Default::default()).unwrap();
    assert!(verified.holds(), "{:?}", verified.faults);
}

pub(crate) fn reads_licences(file: &mut ConfigFile) {
    file.signals.licences = Some(true);
}

#[tokio::test(start_paused = true)]
#[expect(clippy::too_many_lines, reason = "a table")]
async fn a_licence_decides_whoever_names_it() {
    let robots = |url: &str| format!("User-agent: *\nLicense: {url}\nAllow: /\n");
    let site = || Site::new().name("a.test");
    let named = |url: &str| site().robots(robots(url)).page("/", html(""));
    let link = |url: &str| html("").field("Link", format!("<{url}>; rel=\"license\"; type=\"application/rsl+xml\""));
    let element = |url: &str| html(&format!("<link rel=license type='application/rsl+xml' href='{url}'>"));
    let inline = |text: &str| html(&format!("<script type='application/rsl+xml'>{text}</script>"));
    let no = "https://lic.test/no.xml";
    let absent = "https://lic.test/absent.xml";
    // What becomes of the page, why, and what is known of the licence in its record.
    let rows = [
        ("named by robots.txt", named(no), "not_fetched", "signal.ai_train", Some("read")),
        ("permits", named("https://lic.test/yes.xml"), "fetched", "ok", Some("read")),
        (
            "permits search, so not training",
            named("https://lic.test/search.xml"),
            "not_fetched",
            "signal.ai_train",
            Some("read"),
        ),
        ("for a payment", named("https://lic.test/pay.xml"), "not_fetched", "signal.ai_train", Some("read")),
        ("broken", named("https://lic.test/broken.xml"), "fetched", "ok", Some("read")),
        ("none", named(absent), "fetched", "ok", Some("absent")),
        ("no answer", named("https://lic.test/error.xml"), "fetched", "ok", Some("unreachable")),
        ("robots.txt refuses it", named("https://lic.test/private/no.xml"), "fetched", "ok", Some("not_asked")),
        ("moved", named("https://lic.test/moved.xml"), "not_fetched", "signal.ai_train", Some("read")),
        ("by http", named("http://lic.test/no.xml"), "fetched", "ok", None),
        ("a Link field", site().page("/", link(no)), "withheld", "signal.ai_train", Some("read")),
        ("a Link field, of none", site().page("/", link(absent)), "fetched", "ok.no_rules", Some("absent")),
        ("an element", site().page("/", element(no)), "withheld", "signal.ai_train", Some("read")),
        ("an element of a text", site().page("/", Answer::text(SECRET)), "fetched", "ok.no_rules", None),
        (
            "within the page",
            site().page("/", inline(&prohibits("ai-train"))),
            "withheld",
            "signal.ai_train",
            Some("read"),
        ),
        (
            "within the page, permits",
            site().page("/", inline(&licence("all", ""))),
            "fetched",
            "ok.no_rules",
            Some("read"),
        ),
        (
            "another type",
            site().page("/", html(&format!("<link rel=license href='{no}'>"))),
            "fetched",
            "ok.no_rules",
            None,
        ),
    ];
    for (name, site, outcome, reason, state) in rows {
        let dir = tempfile::tempdir().unwrap();
        let licences = Site::new()
            .name("lic.test")
            .robots("User-agent: *\nDisallow: /private/\n")
            .page("/no.xml", xml(prohibits("ai-train")))
            .page("/private/no.xml", xml(prohibits("ai-train")))
            .page("/yes.xml", xml(licence("all", "")))
            .page("/search.xml", xml(licence("search", "")))
            .page("/pay.xml", xml(licence("ai-train", "<payment type=\"purchase\"/>")))
            .page("/broken.xml", xml("<rsl".to_owned()))
            .page("/error.xml", Answer::status(500))
            .page("/moved.xml", Answer::redirect(301, "/no.xml"));
        let (net, observer) = web([site.page("/linked", Answer::text("linked")), licences]);
        finish(crawl(&net, dir.path(), &["ai_train"]), reads_licences).await;
        let found = record(dir.path(), "http://a.test/");
        assert_eq!((&*found.outcome, &*found.reason), (outcome, reason), "{name}: {found:?}");
        assert_eq!(found.licences.first().map(|one| &*one.state), state, "{name}");
        let is_kept = outcome == "fetched" && !name.ends_with("a text");
        assert_eq!(asked(&observer, "http://a.test/linked"), usize::from(is_kept), "{name}");
        let private = requests(&observer).iter().any(|url| url.contains("/private/"));
        assert!(!private, "{name}: what robots.txt refuses sees no request");
        if outcome != "fetched" {
            let said = found.signals.iter().find(|one| one.source == "rsl" && one.purpose == "ai_train").unwrap();
            assert_eq!((&*said.verdict, &*said.spec), ("denied", "RSL-SPEC-1.0, 2025-12-10"), "{name}");
            assert_eq!(said.conditional, name == "for a payment", "{name}");
        }
        check(dir.path(), &observer);
    }
}

/// What a licence has said holds on while it is not to be had, whatever keeps it from being asked for, and over crawls.
#[tokio::test(start_paused = true)]
async fn a_licence_that_was_known_holds_on_while_its_host_has_no_turn() {
    let (rules, no) = (|text: &str| Answer::text(text.to_owned()), "https://lic.test/no.xml");
    let rows = [
        ("its robots.txt fails", Answer::status(503), Answer::status(500)),
        ("it wants long pauses", rules("User-agent: *\nCrawl-delay: 400\n"), Answer::status(500)),
        ("it fails", rules(""), Answer::status(503)),
        ("it does not answer", rules(""), Answer::reset()),
    ];
    for (name, robots, answer) in rows {
        let (state, dirs) = (tempfile::tempdir().unwrap(), [(); 3].map(|()| tempfile::tempdir().unwrap()));
        let site = Site::new().name("a.test").robots(format!("User-agent: *\nLicense: {no}\nAllow: /\n"));
        let host = Site::new().name("lic.test").robots_answers([rules(""), robots]);
        let (net, observer) =
            web([site.page("/", html("")), host.page_answers("/no.xml", [xml(prohibits("ai-train")), answer])]);
        // The second crawl begins when the life of the licence is over, the third before it is asked for again.
        for (dir, minutes) in dirs.iter().zip([0, 40 * 24 * 60, 40 * 24 * 60 + 30]) {
            let at = WallTime::from_unix_millis(START.unix_millis() + minutes * 60_000);
            let (builder, root) = crawl(&net, dir.path(), &["ai_train"]);
            let built = (builder.clock(Arc::new(SystemClock::paused_at(at))), root);
            let place = state.path().to_owned();
            finish(built, |file| {
                reads_licences(file);
                file.state.dir = Some(place);
            })
            .await;
            let found = record(dir.path(), "http://a.test/");
            assert_eq!((&*found.outcome, &*found.reason), ("not_fetched", "signal.ai_train"), "{name}, {minutes}");
            let wanted = if minutes == 0 { "read" } else { "unreachable" };
            assert_eq!(found.licences.first().map(|one| &*one.state), Some(wanted), "{name}, {minutes}");
            // The auditor lives by the web's clock, which takes no part in the leaps.
            verified(dir.path());
        }
        assert_eq!(asked(&observer, "http://a.test/"), 0, "{name}");
    }
}

/// A stop is no silence: what was never asked for decides nothing, and the next run hears it.
#[tokio::test(start_paused = true)]
async fn a_page_whose_licence_nobody_asked_for_before_the_stop_comes_again() {
    let link =
        |answer: Answer| answer.field("Link", "<https://lic.test/no.xml>; rel=license; type=application/rsl+xml");
    let moved = || link(Answer::redirect(302, "/linked"));
    for (name, page) in [("a page", link(html(""))), ("a list", link(Answer::text(SECRET))), ("moved", moved())] {
        let dir = tempfile::tempdir().unwrap();
        let site = Site::new().name("a.test").page("/", page).page("/linked", link(Answer::text("linked")));
        // The stop comes while the page waits for the rules of its licence's host.
        let host = Site::new().name("lic.test").robots_answer(Answer::text("").delay(Duration::from_secs(6)));
        let (net, observer) = web([site, host.page("/no.xml", xml(prohibits("ai-train")))]);
        let secure = secured(&net);
        for is_stopped in [true, false] {
            let hours = i64::from(!is_stopped);
            let at = WallTime::from_unix_millis(START.unix_millis() + hours * 3_600_000);
            let roots = vec![secure.1.path().to_owned()];
            let built = crawler(&net, &["http://a.test/"]).net(secure.0.clone()).dir(dir.path());
            let built = built.clock(Arc::new(SystemClock::paused_at(at))).configure(|file| {
                file.agent.purposes = Some(vec!["ai_train".to_owned()]);
                file.fetch.roots = Some(roots);
                reads_licences(file);
            });
            let crawler = built.build().unwrap();
            let stop = crawler.stop_handle();
            let stopping = tokio::spawn(async move {
                tokio::time::sleep(Duration::from_secs(4)).await;
                if is_stopped {
                    stop.drain();
                }
            });
            let summary = crawler.run().await.unwrap();
            stopping.abort();
            eprintln!("{name}: {summary}");
            let found = record(dir.path(), "http://a.test/");
            if is_stopped {
                assert_eq!((&*found.outcome, &*found.reason), ("failed", "fetch.cancelled"), "{name}");
                assert_eq!((summary.pages(), summary.left), (0, 1), "{name}: {summary}");
                assert_eq!(asked(&observer, "http://lic.test/no.xml"), 0, "{name}");
            } else {
                assert_eq!((&*found.outcome, &*found.reason), ("withheld", "signal.ai_train"), "{name}");
                assert_eq!(asked(&observer, "http://a.test/"), 2, "{name}");
            }
            check(dir.path(), &observer);
        }
    }
}

/// Where silence is refused, a licence that the page names may break it, like its fields and metas.
#[tokio::test(start_paused = true)]
async fn a_licence_breaks_a_silence_that_is_refused() {
    let field = |answer: Answer, path: &str| {
        answer.field("Link", format!("<https://lic.test/{path}>; rel=license; type=application/rsl+xml"))
    };
    let element =
        |path: &str| html(&format!("<link rel=license type='application/rsl+xml' href='https://lic.test/{path}'>"));
    let long = || Answer::text(SECRET.repeat(20_000));
    let rows = [
        ("none", html(""), "withheld", "signal.unspecified"),
        ("permits, by a field", field(html(""), "yes.xml"), "fetched", "ok.no_rules"),
        ("permits, by an element", element("yes.xml"), "fetched", "ok.no_rules"),
        ("permits a text", field(long(), "yes.xml"), "fetched", "ok.no_rules"),
        ("denies", field(html(""), "no.xml"), "withheld", "signal.ai_train"),
        ("denies a text", field(long(), "no.xml"), "withheld", "signal.ai_train"),
        ("is not there", element("absent.xml"), "withheld", "signal.unspecified"),
        ("of a text is not there", field(long(), "absent.xml"), "withheld", "signal.unspecified"),
    ];
    for (name, page, outcome, reason) in rows {
        let dir = tempfile::tempdir().unwrap();
        let site = Site::new().name("a.test").page("/", page).page("/linked", Answer::text(SECRET));
        let host = Site::new().name("lic.test").page("/yes.xml", xml(licence("all", "")));
        let (net, observer) = web([site, host.page("/no.xml", xml(prohibits("ai-train")))]);
        finish(crawl(&net, dir.path(), &["ai_train"]), |file| {
            reads_licences(file);
            file.signals.unspecified = Some("refuse".to_owned());
        })
        .await;
        let found = record(dir.path(), "http://a.test/");
        assert_eq!((&*found.outcome, &*found.reason), (outcome, reason), "{name}");
        assert_eq!(found.licences.len(), usize::from(name != "none"), "{name}: it was heard");
        assert_eq!(asked(&observer, "http://a.test/"), 1, "{name}");
        check(dir.path(), &observer);
    }
}

/// What could not be decoded is kept under a grant, and its record says so, whatever the answer names.
#[tokio::test(start_paused = true)]
async fn the_grant_that_keeps_a_coded_page_stays_in_its_record() {
    let own = |text: &str| Some(text.to_owned());
    for named in [None, Some("absent.xml"), Some("yes.xml")] {
        let dir = tempfile::tempdir().unwrap();
        let coded = html("").field("Content-Encoding", "enigma");
        let page = match named {
            Some(path) => {
                coded.field("Link", format!("<https://lic.test/{path}>; rel=license; type=application/rsl+xml"))
            }
            None => coded,
        };
        let host = Site::new().name("lic.test").page("/yes.xml", xml(licence("search", "").replace("usage", "geo")));
        let (net, observer) = web([Site::new().name("a.test").page("/", page), host]);
        let grant = GrantSection {
            origins: Some(vec!["http://a.test".to_owned()]),
            purposes: Some(vec!["ai_train".to_owned()]),
            basis: own("licence"),
            reference: own("L-17"),
            approved_by: own("Ann Example"),
            expires: Some(Moment("2027-01-01T00:00:00Z".parse().unwrap())),
        };
        finish(crawl(&net, dir.path(), &["ai_train"]), |file| {
            reads_licences(file);
            file.grants = Some(vec![grant]);
        })
        .await;
        let found = record(dir.path(), "http://a.test/");
        assert_eq!((&*found.outcome, &*found.reason), ("failed", "fetch.coding"), "{named:?}");
        let decision = found.decision.as_ref().unwrap();
        let relied: Vec<_> = decision.grants.iter().map(|grant| &*grant.reference).collect();
        assert_eq!(relied, ["L-17"], "{named:?}: {decision:?}");
        assert_eq!(found.licences.len(), usize::from(named.is_some()), "{named:?}");
        check(dir.path(), &observer);
    }
}

#[tokio::test(start_paused = true)]
async fn a_licence_is_asked_for_once_however_many_name_it_and_kept_with_its_absence() {
    let dir = tempfile::tempdir().unwrap();
    let robots = "User-agent: *\nLicense: https://lic.test/no.xml\nLicense: https://lic.test/absent.xml\nAllow: /\n";
    let page = || {
        Answer::page(["/1", "/2", "/3"])
            .field("Link", "<https://lic.test/l.xml>; rel=license; type=application/rsl+xml")
    };
    let site = |name: &str| {
        let site = Site::new().name(name).robots(robots).page("/", page());
        site.page("/1", page()).page("/2", page()).page("/3", page())
    };
    let licences =
        Site::new().name("lic.test").page("/no.xml", xml(prohibits("ai-train"))).page("/l.xml", xml(prohibits("tdm")));
    let (net, observer) = web([site("a.test"), site("b.test"), licences]);
    let (builder, root) = crawl(&net, dir.path(), &["search", "ai_train"]);
    finish((builder.seed("http://b.test/"), root), reads_licences).await;
    for path in ["no.xml", "absent.xml", "l.xml"] {
        assert_eq!(asked(&observer, &format!("http://lic.test/{path}")), 1, "{path}");
    }
    let pages = records(dir.path()).into_iter().filter(|one| one.errand == "page" && one.outcome == "fetched").count();
    assert_eq!(pages, 8);
    let seen = sightings(dir.path(), EvidenceKind::Licence);
    let states: Vec<_> = seen.iter().map(|one| (one.url.as_str(), one.status, one.digest.is_some())).collect();
    assert!(states.contains(&("https://lic.test/absent.xml", 404, false)), "{states:?}");
    assert!(states.contains(&("https://lic.test/no.xml", 200, true)), "{states:?}");
    let errands = records(dir.path()).into_iter().filter(|one| one.errand == "licence").count();
    assert_eq!(errands, 3, "each request is a record");
    check(dir.path(), &observer);
}

#[tokio::test(start_paused = true)]
async fn naming_a_licence_of_its_own_on_each_page_sends_a_crawl_nowhere() {
    let dir = tempfile::tempdir().unwrap();
    let named = |n: usize| format!("<https://lic.test/{n}.xml>; rel=license; type=application/rsl+xml");
    let links: Vec<String> = (0..40).map(|n| format!("/{n}")).collect();
    let first = Site::new().name("a.test").page("/", Answer::page(links.iter().map(String::as_str)));
    let site = (0..40).fold(first, |site, n| site.page(format!("/{n}"), Answer::page([""; 0]).field("Link", named(n))));
    let (net, observer) = web([site, Site::new().name("lic.test")]);
    finish(crawl(&net, dir.path(), &["ai_train"]), reads_licences).await;
    let asked = requests(&observer).iter().filter(|url| url.contains("lic.test") && url.ends_with(".xml")).count();
    assert_eq!(asked, 24);
    let states = records(dir.path()).into_iter().flat_map(|one| one.licences).map(|one| one.state);
    assert_eq!(states.filter(|state| state == "not_asked").count(), 16, "and it is said of the others");
    check(dir.path(), &observer);
}

#[tokio::test(start_paused = true)]
async fn many_licences_of_a_site_take_no_room_from_those_of_a_page() {
    let link = |n: usize| format!("<link rel=license type='application/rsl+xml' href='https://lic.test/{n}.xml'>");
    let no = "https://lic.test/no.xml";
    let last = format!("<link rel=license type='application/rsl+xml' href='{no}'>");
    let fifteen = (20..35).map(link).collect::<String>();
    // Where it is denied: in the page, by an element, and by the last of as many elements as are read.
    let rows = [
        (format!("<script type='application/rsl+xml'>{}</script>", prohibits("ai-train")), "inline"),
        (last.clone(), "link element"),
        (fifteen + &last, "link element"),
    ];
    for (head, carrier) in rows {
        let dir = tempfile::tempdir().unwrap();
        let names: String = (0..16).map(|n| format!("License: https://lic.test/{n}.xml\n")).collect();
        let site =
            Site::new().name("a.test").robots(format!("User-agent: *\n{names}Allow: /\n")).page("/", html(&head));
        let licences = (0..35)
            .fold(Site::new().name("lic.test"), |site, n| site.page(format!("/{n}.xml"), xml(licence("all", ""))));
        let licences = licences.page("/no.xml", xml(prohibits("ai-train")));
        let (net, observer) = web([site.page("/linked", Answer::text("linked")), licences]);
        finish(crawl(&net, dir.path(), &["ai_train"]), reads_licences).await;
        let found = record(dir.path(), "http://a.test/");
        assert_eq!((&*found.outcome, &*found.reason), ("withheld", "signal.ai_train"), "{head}: {found:?}");
        let mut denied = found.licences.iter().filter(|one| carrier == "inline" || one.url == no);
        assert!(
            denied.any(|one| one.carrier == carrier && one.digest.is_some()),
            "what denied is on record: {found:?}"
        );
        assert_eq!(found.licences.iter().filter(|one| one.carrier == "robots.txt").count(), 16, "and all others are");
        check(dir.path(), &observer);
    }
}
