//! How do I find out whether my crawler is polite? Let it loose on a synthetic web, and ask the web's auditor.
//!
//! ```text
//! cargo run -p test-your-crawler
//! ```
//!
//! Put your own crawler in the place of [`naive`]: a function, or a program that is given the URL. The web is on loopback addresses
//! of this machine and logs what arrives; the auditor reads the log against what the web had announced.

use std::collections::{BTreeSet, VecDeque};
use std::error::Error;
use std::time::Duration;

use comity::Crawler;
use comity_testweb::{Answer, Site, Web, WebError};
use reqwest::Client;

#[tokio::main]
#[expect(clippy::print_stdout, reason = "a command line tool speaks on stdout")]
async fn main() -> Result<(), Box<dyn Error>> {
    let served = web()?.serve_loopback().await?;
    naive(&served.origins().concat()).await?;
    println!("a naive crawler\n{}", served.audit());
    let served = web()?.serve_loopback().await?;
    polite(&served.origins().concat()).await?;
    println!("a polite crawler\n{}", served.audit());
    Ok(())
}

/// One site, which asks for half a second between requests and closes a folder that it links to.
fn web() -> Result<Web, WebError> {
    let site = Site::new()
        .robots("User-agent: *\nCrawl-delay: 0.5\nDisallow: /private/\n")
        .page("/", Answer::page(["/a", "/private/diary"]))
        .page("/a", Answer::page(["/"]))
        .page("/private/diary", Answer::text("dear diary"));
    Web::builder(1).site(site).build()
}

/// A crawler as they are often written: it asks for robots.txt, since one does, and then follows every link at once. How many
/// pages it got.
async fn naive(origin: &str) -> reqwest::Result<usize> {
    let client = Client::builder().no_proxy().build()?;
    let _unread = client.get(format!("{origin}/robots.txt")).send().await?.text().await?;
    let (mut queue, mut seen) = (VecDeque::from(["/".to_owned()]), BTreeSet::from(["/".to_owned()]));
    let mut pages = 0;
    while let Some(path) = queue.pop_front() {
        let text = client.get(format!("{origin}{path}")).send().await?.text().await?;
        pages += 1;
        let links = text.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
        for link in links.filter(|link| link.starts_with('/')) {
            if seen.insert(link.to_owned()) {
                queue.push_back(link.to_owned());
            }
        }
    }
    Ok(pages)
}

/// The same by comity. How many pages it got.
async fn polite(origin: &str) -> Result<u64, comity::Error> {
    let crawler = Crawler::builder("PoliteBot/1.0 (+https://example.com/bot)")
        .seed(format!("{origin}/"))
        .allow_addresses("127.0.0.0/8")
        .delay(Duration::from_millis(200))
        .build()?;
    Ok(crawler.run().await?.pages())
}

#[cfg(test)]
mod tests;
