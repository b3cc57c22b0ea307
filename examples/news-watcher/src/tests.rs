use comity::config::ByteSize;
use comity::fetch::SystemClock;
use comity::policy::WallTime;
use comity_testweb::{Answer, Site, Web};

use super::*;

/// 2026-11-30 00:53:20 UTC.
const START: WallTime = WallTime::from_unix_millis(1_796_000_000_000);

fn sitemap(entries: &[(&str, &str)]) -> Answer {
    let entry = |(path, date): &(&str, &str)| format!("<url><loc>{path}</loc><lastmod>{date}</lastmod></url>");
    let entries: String = entries.iter().map(entry).collect();
    Answer::status(200).content("application/xml", format!("<urlset>{entries}</urlset>"))
}

fn article(title: &str) -> Answer {
    Answer::status(200).content("text/html", format!("<title>{title}</title><a href=/elsewhere>more</a>"))
}

#[tokio::test(start_paused = true)]
async fn what_appears_and_what_changes_is_told_once() {
    let (old, later) = ("2026-11-29T08:00:00Z", "2026-11-30T01:30:00Z");
    let site = Site::new()
        .name("news.test")
        .robots("User-agent: *\nDisallow: /subscribers/\n")
        .page_answers(
            "/news.xml",
            [
                sitemap(&[("/a", old), ("/b", old), ("/subscribers/c", old)]),
                sitemap(&[("/a", later), ("/b", old), ("/subscribers/c", old), ("/d", later)]),
            ],
        )
        .page_answers("/a", [article("A storm comes"), article("A storm has come")])
        .page("/b", article("Calm"))
        .page("/d", article("After the storm"));
    let (net, observer) = Web::builder(1).epoch(START).site(site).build().unwrap().in_memory();
    let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let out = Arc::new(Mutex::new(Vec::new()));
    let crawler = watcher(&dir.path().join("news"), "http://news.test/news.xml", out.clone())
        .max_duration(4 * HOUR)
        .configure(|file| file.archive.min_free = Some(ByteSize(0)))
        .allow_addresses("10.0.0.0/8")
        .net(Arc::new(net))
        .clock(Arc::new(SystemClock::paused_at(START)));
    let summary = crawler.build().unwrap().run().await.unwrap();
    let expected = "\
new      http://news.test/a  \"A storm comes\"
new      http://news.test/b  \"Calm\"
new      http://news.test/d  \"After the storm\"
changed  http://news.test/a  \"A storm has come\"
";
    assert_eq!(String::from_utf8(out.lock().unwrap().clone()).unwrap(), expected, "{summary}");
    assert!(include_str!("../README.md").contains(expected));
    assert!(summary.revisits >= 3, "{summary}");
    assert!(observer.audit().is_clean(), "{}", observer.audit());
    let asked = |what: &str| observer.log().iter().any(|seen| seen.request.path().contains(what));
    assert!(asked("/d") && !asked("elsewhere") && !asked("subscribers"));
}
