use std::collections::BTreeMap;

use comity::config::ByteSize;
use comity::fetch::SystemClock;
use comity::policy::WallTime;
use comity_archive::read_proven;
use comity_archive::verify::{VerifyOptions, verify};
use comity_testweb::{Answer, MemoryNet, Observer, Site, Web};

use super::*;

const START: WallTime = WallTime::from_unix_millis(1_796_000_000_000);

/// A site that permits, but for a folder and a page; one that is silent; one that denies.
fn web() -> (MemoryNet, Observer) {
    let open = Site::new()
        .name("open.test")
        .robots("User-agent: *\nContent-Signal: ai-train=yes\nDisallow: /private/\n")
        .page("/", Answer::page(["/text", "/by-its-field", "/private/x"]))
        .page("/text", Answer::text("a text"))
        .page("/by-its-field", Answer::text("not for you").field("X-Robots-Tag", "noai"));
    let silent = Site::new().name("silent.test").page("/", Answer::text("nobody says anything"));
    let closed = Site::new()
        .name("closed.test")
        .robots("User-agent: *\nContent-Signal: ai-train=no\n")
        .page("/", Answer::text("not for you"));
    let web = [open, silent, closed].into_iter().fold(Web::builder(1).epoch(START), |web, site| web.site(site));
    web.build().unwrap().in_memory()
}

#[tokio::test(start_paused = true)]
async fn rows_are_what_the_records_permit() {
    let (net, observer) = web();
    let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let dir = dir.path().join("crawl");
    let out = Arc::new(Mutex::new(Vec::new()));
    let crawler = collector(&dir, out.clone())
        .seeds(observer.seeds())
        .configure(|file| file.archive.min_free = Some(ByteSize(0)))
        .allow_addresses("10.0.0.0/8")
        .net(Arc::new(net))
        .clock(Arc::new(SystemClock::paused_at(START)));
    let summary = crawler.build().unwrap().run().await.unwrap();

    let out = String::from_utf8(out.lock().await.clone()).unwrap();
    let rows: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut told: Vec<_> = rows.iter().map(|row| (text(&row["url"]), text(&row["ai_train"]))).collect();
    told.sort_unstable();
    let permitted = [
        ("http://open.test/", "allowed"),
        ("http://open.test/text", "allowed"),
        ("http://silent.test/", "unspecified"),
    ];
    assert_eq!(told, permitted, "{summary}");
    let row = rows.iter().find(|row| row["url"] == "http://open.test/text").unwrap();
    assert_eq!((text(&row["text"]), text(&row["said"][0]["words"])), ("a text", "ai-train=yes"));

    // The chain of records holds, and says the same; of what was left out it says why.
    assert!(verify(&dir, &VerifyOptions::default()).unwrap().holds());
    let mut found = BTreeMap::new();
    let each = |_: &_, record: Option<&comity_archive::Record>| {
        if let Some(record) = record.filter(|record| record.errand == "page") {
            found.insert(record.url.clone(), (record.outcome.clone(), record.reason.clone()));
        }
        Ok(())
    };
    read_proven(&dir, each).unwrap();
    let found: Vec<_> =
        found.iter().map(|(url, (outcome, reason))| (url.as_str(), outcome.as_str(), reason.as_str())).collect();
    let expected = [
        ("http://closed.test/", "not_fetched", "signal.ai_train"),
        ("http://open.test/", "fetched", "ok"),
        ("http://open.test/by-its-field", "withheld", "signal.ai_train"),
        ("http://open.test/private/x", "not_fetched", "robots.disallow"),
        ("http://open.test/text", "fetched", "ok"),
        ("http://silent.test/", "fetched", "ok.no_rules"),
    ];
    assert_eq!(found, expected);
    for (url, outcome, reason) in expected {
        assert!(include_str!("../README.md").contains(&format!("{url:29} {outcome:12} {reason}\n")), "{url}");
    }
    let digest = text(&row["robots"]);
    assert!(std::fs::read_dir(dir.join("evidence")).unwrap().count() > 0 && digest.len() == 64);
    assert!(observer.audit().is_clean(), "{}", observer.audit());
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}
