//! `comity audit` does not take a record's word for which files its decision rests on.

use std::path::Path;

use comity::config::ConfigFile;
use comity_testweb::{Answer, Site, Target};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use super::audit::{audited, name, small_with};
use super::verify::change_values;

const NO: &str = "<rsl xmlns=\"https://rslstandard.org/rsl\"><content url=\"/\"><license>\
                  <prohibits type=\"usage\">ai-train</prohibits></license></content></rsl>";
const ABSENT: &str = "https://lic.test/absent.xml";

/// The page of a record that is forged.
fn is_page(record: &Value, path: &str) -> bool {
    let of = |url: &str| url.split('?').next().is_some_and(|url| url.ends_with(path));
    record["errand"] == json!("page") && record["url"].as_str().is_some_and(of)
}

/// What a crawl writes of queries, and what stands behind the paths of its pages: with a query that is not written a forgery is found
/// all the same where no query bears it out.
const FORMS: [(&str, &str); 3] = [("keep", ""), ("drop", "?name=Ada"), ("hash", "?name=Ada")];

fn in_form(form: &str) -> impl Fn(&mut ConfigFile) + use<'_> {
    move |file| {
        licensed(file);
        file.archive.query = Some(form.to_owned());
    }
}

fn reads_all(file: &mut ConfigFile) {
    (file.signals.ai_txt, file.signals.licences) = (Some(true), Some(true));
    file.signals.trust_txt = Some(true);
}

/// Kept under a grant, as a crawler that heeds nothing would keep it.
fn licensed(file: &mut ConfigFile) {
    reads_all(file);
    file.signals.content_use_level = Some("full".to_owned());
    file.grants = Some(vec![comity::config::GrantSection {
        origins: Some(vec![format!("http://{}", name(0))]),
        purposes: Some(vec!["ai_train".to_owned()]),
        basis: Some("licence".to_owned()),
        reference: Some("L-1".to_owned()),
        approved_by: Some("Ann".to_owned()),
        expires: Some(comity::config::Moment("2099-12-31T00:00:00Z".parse().unwrap())),
    }]);
}

/// Takes every trace of a denial of training out of a record, and lets it say that the page may be kept.
fn whitewash(record: &mut Value) {
    let said = record["signals"].as_array().cloned().unwrap_or_default();
    let harmless = said.into_iter().filter(|one| one["verdict"] != json!("denied")).collect::<Vec<_>>();
    record["signals"] = harmless.into();
    record["decision"]["purposes"]["ai_train"] = json!({"decision": "proceed", "verdict": "unspecified"});
    for place in ["reason", "decision.reason"] {
        let at = place.split('.').fold(&mut *record, |at, key| &mut at[key]);
        *at = json!("ok");
    }
    for stage in record["decision"]["stages"].as_array_mut().into_iter().flatten() {
        (stage["reason"], stage["deciding"]) = (json!("ok"), json!([]));
    }
}

/// A forgery leaves out what denies, and everything that follows from it: the audit finds what is missing by the evidence alone.
#[tokio::test(start_paused = true)]
async fn what_a_record_leaves_out_is_found() {
    for (form, query) in FORMS {
        left_out_in(form, query).await;
    }
}

#[expect(clippy::too_many_lines, reason = "a table of forgeries")]
async fn left_out_in(form: &str, query: &str) {
    let at = |path: &str| format!("{path}{query}");
    type Forge = fn(&mut Value);
    let link =
        |answer: Answer| answer.field("Link", format!("<{ABSENT}>; rel=\"license\"; type=\"application/rsl+xml\""));
    let robots = format!("User-agent: GPTBot\nDisallow: /\n\nUser-agent: *\nLicense: {ABSENT}\nAllow: /\n");
    let tdm = r#"[{"location":"/closed","tdm-reservation":1}]"#;
    let site = Site::new()
        .name(name(0))
        .robots(robots)
        .page("/.well-known/tdmrep.json", Answer::status(200).content("application/json", tdm))
        .page("/ai.txt", Answer::text("User-agent: *\nDisallow: /train\n"))
        .page("/", Answer::page(["/closed", "/train", "/link", "/shown"].map(|path| Target::here(at(path)))))
        .page(at("/shown"), Answer::text("x").field("Content-Signal", "use=reference"))
        .page(at("/closed"), Answer::text("x"))
        .page(at("/train"), Answer::text("x"))
        .page(at("/link"), link(Answer::text("x")));
    let rows: [(&str, &str, Forge, &str); 12] = [
        (
            "the licence of robots.txt",
            "/link",
            |one| one["licences"] = json!([]),
            "it leaves out the licence https://lic.test",
        ),
        (
            "the licence of a field",
            "/link",
            |one| one["licences"].as_array_mut().unwrap().retain(|one| one["carrier"] != json!("link field")),
            "named by link field",
        ),
        ("ai.txt", "/train", |one| drop(one.as_object_mut().unwrap().remove("ai_txt")), "names no ai.txt"),
        ("trust.txt", "/train", |one| drop(one.as_object_mut().unwrap().remove("trust_txt")), "names no trust.txt"),
        ("tdmrep.json", "/closed", |one| drop(one.as_object_mut().unwrap().remove("tdmrep")), "names no tdmrep.json"),
        (
            "a tdmrep.json that was not there",
            "/closed",
            |one| {
                one["tdmrep"]["state"] = json!("absent");
                one["tdmrep"]["digest"] = Value::Null;
            },
            "of which",
        ),
        (
            "an ai.txt that nobody could have",
            "/train",
            |one| {
                one["ai_txt"]["state"] = json!("unreachable");
                one["ai_txt"]["digest"] = Value::Null;
            },
            "of which",
        ),
        (
            "the agents of others",
            "/link",
            |one| drop(one["robots"].as_object_mut().unwrap().remove("others")),
            "others",
        ),
        ("that it is used further than it may be", "/shown", |_| {}, "by its evidence use= is"),
        ("the ceiling", "/shown", |one| drop(one.as_object_mut().unwrap().remove("constraints")), "of use="),
        (
            "the level",
            "/shown",
            |one| drop(one["decision"].as_object_mut().unwrap().remove("content_use_level")),
            "declares the use level",
        ),
        ("nothing but the denial", "/train", |_| {}, "its evidence denied"),
    ];
    let home = TempDir::new().unwrap();
    let dir = home.path().join("d");
    small_with(&dir, vec![site], &["ai_train"], in_form(form)).await;
    let (code, found) = audited(&home, &dir, &[]);
    assert_eq!((code, &found["violations"]), (Some(0), &json!([])), "{form}: {found:#}");
    let kept = records_of(&dir);
    for (missing, path, forge, told) in rows {
        let forged = change_values(&dir, |record| {
            if is_page(record, path) {
                whitewash(record);
                record["decision"]["grants"] = json!([]);
                forge(record);
            }
        });
        assert!(forged > 0, "{missing}");
        let (code, found) = audited(&home, &dir, &[]);
        let problems: Vec<&str> =
            found["violations"].as_array().unwrap().iter().filter_map(|one| one["problem"].as_str()).collect();
        assert_eq!(code, Some(1), "{form}, {missing}: {found:#}");
        assert!(problems.iter().any(|problem| problem.contains(told)), "{form}, {missing}: {problems:?}");
        kept.iter().for_each(|(path, bytes)| std::fs::write(path, bytes).unwrap());
    }
}

/// A licence within the page is kept as evidence, and the record that names it is held against it.
#[tokio::test(start_paused = true)]
async fn a_licence_within_a_page_is_read_anew() {
    let home = TempDir::new().unwrap();
    let dir = home.path().join("d");
    let page = format!("<head><script type=application/rsl+xml>{NO}</script></head><body>x");
    let site = Site::new().name(name(0)).page("/", Answer::status(200).content("text/html", page));
    small_with(&dir, vec![site], &["ai_train"], reads_all).await;
    assert_eq!(audited(&home, &dir, &[]).0, Some(0));
    let forged = change_values(&dir, |record| {
        if is_page(record, "/") {
            whitewash(record);
        }
    });
    assert!(forged > 0);
    assert_eq!(audited(&home, &dir, &[]).0, Some(1));
}

const PAGES: [&str; 7] = ["/meta", "/late", "/tdm", "/inline", "/linked", "/wishes", "/gone"];

/// What stands in the page alone is read again from its bytes, whatever its record leaves out; without them the record is believed,
/// and that is said.
#[tokio::test(start_paused = true)]
async fn what_only_the_page_says_is_found() {
    for (form, query) in FORMS {
        on_the_page_in(form, query).await;
    }
}

async fn on_the_page_in(form: &str, query: &str) {
    let at = |path: &str| format!("{path}{query}");
    type Forge = fn(&mut Value);
    let html = |head: &str| Answer::status(200).content("text/html", format!("<head>{head}</head><body>x"));
    let link = format!("<link rel=license type=application/rsl+xml href={ABSENT}>");
    let site = Site::new()
        .name(name(0))
        .page("/", Answer::page(PAGES.map(|path| Target::here(at(path)))))
        .page(at("/meta"), html("<meta name=robots content=noai>"))
        .page(at("/late"), Answer::status(200).content("text/html", "<body>x<meta name=robots content=noai>"))
        .page(at("/tdm"), html("<meta name=tdm-reservation content=1>"))
        .page(at("/inline"), html(&format!("<script type=application/rsl+xml>{NO}</script>")))
        .page(at("/linked"), html(&link))
        .page(at("/wishes"), html("<meta name=robots content='max-snippet:9, noodd'>"))
        .page(at("/gone"), Answer::status(404).content("text/html", "<head><meta name=robots content=noai></head>"));
    let no_licences: Forge = |one| one["licences"] = json!([]);
    let rows: [(&str, Forge, &str); 9] = [
        ("/meta", |_| {}, "its evidence denied"),
        ("/late", |_| {}, "its evidence denied"),
        ("/tdm", |_| {}, "its evidence denied"),
        ("/gone", |_| {}, "its evidence denied"),
        ("/inline", no_licences, "which stands within the page"),
        ("/linked", no_licences, "named by link element"),
        ("/wishes", |one| one["constraints"] = Value::Null, "the site asks"),
        ("/wishes", |one| one["diagnostics"] = json!([]), "was odd"),
        ("/meta", |one| drop(one["decision"].as_object_mut().unwrap().remove("stages")), "decided only before"),
    ];
    let home = TempDir::new().unwrap();
    let dir = home.path().join("d");
    small_with(&dir, vec![site], &["ai_train"], in_form(form)).await;
    let (code, found) = audited(&home, &dir, &[]);
    assert_eq!((code, &found["violations"]), (Some(0), &json!([])), "{form}: {found:#}");
    assert_eq!((&found["pages_read"], &found["pages_unread"]), (&json!(8), &json!(0)), "{found:#}");
    let kept = records_of(&dir);
    for (path, forge, told) in rows {
        let forged = change_values(&dir, |record| {
            if is_page(record, path) {
                whitewash(record);
                record["decision"]["grants"] = json!([]);
                forge(record);
            }
        });
        assert!(forged > 0, "{path}");
        let (code, found) = audited(&home, &dir, &[]);
        assert_eq!(code, Some(1), "{form} {path}: {found:#}");
        let problems: Vec<&str> =
            found["violations"].as_array().unwrap().iter().filter_map(|one| one["problem"].as_str()).collect();
        assert!(problems.iter().any(|problem| problem.contains(told)), "{path}: {problems:?}");
        if path == "/meta" && told.contains("evidence") {
            let (code, found) = audited(&home, &dir, &["--no-pages"]);
            assert_eq!((code, &found["pages_read"]), (Some(0), &json!(0)), "{path}: nobody looks, and that is said");
        }
        kept.iter().for_each(|(path, bytes)| std::fs::write(path, bytes).unwrap());
    }
}

/// A crawl of a version that looked into no image is held to what it could know: nobody is accused of what was read later.
#[tokio::test(start_paused = true)]
async fn what_an_earlier_version_did_not_read_is_not_held_against_it() {
    let image = "<?xpacket begin?><r:RDF xmlns:r=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\"><r:Description \
                 xmlns:p=\"http://ns.useplus.org/ldf/xmp/1.0/\" p:DataMining=\"DMI-PROHIBITED\"/></r:RDF><?xpacket end?>";
    let site = Site::new()
        .name(name(0))
        .page("/", Answer::page(["/image"]))
        .page("/image", Answer::status(200).content("image/png", image));
    let home = TempDir::new().unwrap();
    let dir = home.path().join("d");
    small_with(&dir, vec![site], &["search", "ai_train"], licensed).await;
    let (code, found) = audited(&home, &dir, &[]);
    assert_eq!((code, &found["violations"]), (Some(0), &json!([])), "{found:#}");
    let text = std::fs::read_to_string(dir.join("crawl.toml")).unwrap();
    let earlier = text.lines().filter(|line| !line.starts_with("trust_txt")).map(|line| format!("{line}\n"));
    let earlier = earlier.collect::<String>();
    assert_ne!(earlier, text);
    let digest = data_encoding::HEXLOWER.encode(&Sha256::digest(earlier.as_bytes()));
    std::fs::create_dir_all(dir.join("configs")).unwrap();
    std::fs::write(dir.join("configs").join(format!("{digest}.toml")), &earlier).unwrap();
    let kept = records_of(&dir);
    for (is_earlier, code) in [(false, Some(1)), (true, Some(0))] {
        let forged = change_values(&dir, |record| {
            if is_page(record, "/image") {
                whitewash(record);
                record["decision"]["grants"] = json!([]);
                if is_earlier {
                    record["agent"]["config_digest"] = json!(digest);
                    drop(record.as_object_mut().unwrap().remove("trust_txt"));
                }
            }
        });
        assert!(forged > 0);
        let (found, all) = audited(&home, &dir, &[]);
        assert_eq!(found, code, "{all:#}");
        kept.iter().for_each(|(path, bytes)| std::fs::write(path, bytes).unwrap());
    }
}

fn says(record: &mut Value, reason: &str, rule: &Value) {
    (record["reason"], record["decision"]["reason"], record["rule"]) = (json!(reason), json!(reason), rule.clone());
}

/// A forged verdict of robots.txt is found wherever no query of the path leads to it, and excused where one may.
#[tokio::test(start_paused = true)]
async fn a_verdict_that_no_query_bears_out_is_found() {
    type Forge = fn(&mut Value);
    let robots = "User-agent: *\nAllow: /open\nDisallow: /shut\nDisallow: /*?no=\nDisallow: /any?\nAllow: /any?yes=\nContent-Signal: ai-train=no\nCrawl-delay: 1\n";
    let refused: Forge = |one| {
        whitewash(one);
        says(
            one,
            "robots.disallow",
            &json!({"kind": "disallow", "pattern": "/shut", "line": 3, "priority": 5, "group_line": 1}),
        );
    };
    let rows: [(&str, Forge, Option<&str>); 6] = [
        ("/open", refused, Some("decides for no query of its path")),
        ("/x", refused, Some("decides for no query of its path")),
        ("/shut", |one| says(one, "ok", &Value::Null), Some("refuses the path with every query")),
        ("/open", |one| one["robots"]["crawl_delay_ms"] = json!(9), Some("Crawl-delay")),
        ("/open", whitewash, Some("its evidence denied")),
        // By its query it may have been.
        (
            "/x",
            |one| {
                whitewash(one);
                says(
                    one,
                    "robots.disallow",
                    &json!({"kind": "disallow", "pattern": "/*?no=", "line": 4, "priority": 6, "group_line": 1}),
                );
            },
            None,
        ),
    ];
    let home = TempDir::new().unwrap();
    let dir = home.path().join("d");
    let links = ["/open?name=Ada", "/shut?name=Ada", "/x?name=Ada"];
    let site = Site::new().name(name(0)).robots(robots).page("/", Answer::page(links.map(Target::here)));
    let site = links.into_iter().fold(site, |site, link| site.page(link, Answer::text("x")));
    small_with(&dir, vec![site], &["search", "ai_train"], in_form("drop")).await;
    let (code, found) = audited(&home, &dir, &[]);
    assert_eq!((code, &found["violations"]), (Some(0), &json!([])), "{found:#}");
    let kept = records_of(&dir);
    for (path, forge, told) in rows {
        let forged = change_values(&dir, |record| {
            if is_page(record, path) {
                record["decision"]["grants"] = json!([]);
                forge(record);
            }
        });
        assert!(forged > 0, "{path}");
        let (code, found) = audited(&home, &dir, &[]);
        let problems: Vec<&str> =
            found["violations"].as_array().unwrap().iter().filter_map(|one| one["problem"].as_str()).collect();
        match told {
            Some(told) => {
                assert!(problems.iter().any(|problem| problem.contains(told)), "{path}: {told}: {problems:?}")
            }
            None => assert_eq!(code, Some(0), "{path}: {problems:?}"),
        }
        kept.iter().for_each(|(path, bytes)| std::fs::write(path, bytes).unwrap());
    }
}

fn records_of(dir: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let files = std::fs::read_dir(dir.join("records")).unwrap().map(|entry| entry.unwrap().path());
    files.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}
