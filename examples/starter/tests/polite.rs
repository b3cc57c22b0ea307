//! The crawler against a synthetic web on this machine, whose own auditor judges what arrived.

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use comity::config::ConfigFile;
use comity_testweb::{Answer, Auditor, Site, Web};

#[tokio::test]
async fn it_fetches_what_it_may_and_leaves_the_rest_alone() -> Result<(), Box<dyn Error>> {
    let site = Site::new()
        .robots("User-agent: *\nDisallow: /private/\n")
        .page("/", Answer::page(["/about", "/private/diary"]))
        .page("/about", Answer::page(["/"]))
        .page("/private/diary", Answer::text("nobody reads this"));
    let served = Web::builder(1).site(site).build()?.serve_loopback().await?;

    let mut settings = ConfigFile::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("crawl.toml"))?;
    settings.crawl.seeds = Some(served.seeds());
    settings.fetch.allow_addresses = Some(vec!["127.0.0.0/8".to_owned()]);
    let summary = starter::crawler(settings).build()?.run().await?;

    let audit = Auditor::new().floor(Duration::from_secs(1)).examine(&served);
    assert!(audit.is_clean(), "{audit}");
    assert_eq!((summary.pages(), summary.refusals()), (2, 1), "{summary}");
    Ok(())
}
