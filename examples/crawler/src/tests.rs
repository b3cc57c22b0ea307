use std::path::Path;

use comity::fetch::SystemClock;
use comity::policy::WallTime;
use comity_testweb::{Answer, Site, Web};

use super::*;

const START: WallTime = WallTime::from_unix_millis(1_796_000_000_000);

#[tokio::test(start_paused = true)]
async fn a_configuration_in_titles_out() {
    let titled =
        |title: &str, links: &str| Answer::status(200).content("text/html", format!("<title>{title}</title>{links}"));
    let site = Site::new()
        .name("a.test")
        .robots("User-agent: *\nDisallow: /private/\nContent-Signal: ai-train=no\n")
        .page("/", titled("Home", "<a href=/about>1</a><a href=/private/x>2</a><a href=/gone>3</a>"))
        .page("/about", titled("About \u{1b}us\u{202e}", ""));
    let (net, observer) = Web::builder(1).epoch(START).site(site).build().unwrap().in_memory();
    let mut config = ConfigFile::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/demo.toml")).unwrap();
    config.crawl.seeds = Some(observer.seeds());
    let out = Arc::new(Mutex::new(Vec::new()));
    let crawler = crawler(config, out.clone()).allow_addresses("10.0.0.0/8");
    let crawler = crawler.net(Arc::new(net)).clock(Arc::new(SystemClock::paused_at(START)));
    let summary = crawler.build().unwrap().run().await.unwrap();
    assert_eq!((summary.pages(), summary.refusals(), summary.exit_code()), (3, 1, 0), "{summary}");
    let expected = "\
200 http://a.test/  \"Home\"
    robots.content-signal ai_train: denied
200 http://a.test/about  \"About \\u{1b}us\\u{202e}\"
    robots.content-signal ai_train: denied
404 http://a.test/gone  \"(no title)\"
    robots.content-signal ai_train: denied
";
    assert_eq!(String::from_utf8(out.lock().unwrap().clone()).unwrap(), expected);
    assert!(include_str!("../README.md").contains(expected));
    assert!(observer.audit().is_clean(), "{}", observer.audit());
}
