//! How do I crawl through the exits of one country? Name each exit with its country, and say which one you want.
//!
//! ```text
//! cargo run -p proxy-pool -- DE https://site.example/ DE=http://192.0.2.1:3128 US=socks5h://192.0.2.2:1080
//! ```
//!
//! Exits are for seeing what a country sees. They do not make a crawl faster: delays hold per site, whatever the exit, and nothing
//! leaves around them.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use comity::config::ProxySection;
use comity::{BoxError, Crawler, CrawlerBuilder, Page};

/// Where lines go: standard output, or what a test reads.
type Out = Arc<Mutex<dyn Write + Send>>;

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let mut arguments = std::env::args().skip(1);
    let (Some(country), Some(seed)) = (arguments.next(), arguments.next()) else {
        return Err("usage: proxy-pool COUNTRY URL COUNTRY=PROXY…".into());
    };
    let exits = arguments.map(|text| exit(&text)).collect::<Result<_, _>>()?;
    let crawler = through(&country, exits, Arc::new(Mutex::new(io::stdout()))).seed(seed).build()?;
    eprint!("{}", crawler.run().await?);
    Ok(())
}

/// `DE=http://192.0.2.1:3128`. Credentials go into a file of their own, never into a URL: `credentials_file`.
fn exit(text: &str) -> Result<ProxySection, String> {
    let (country, url) = text.split_once('=').ok_or_else(|| format!("{text:?} is no COUNTRY=PROXY"))?;
    Ok(ProxySection { url: Some(url.to_owned()), country: Some(country.to_owned()), ..ProxySection::default() })
}

/// A crawler that leaves through the exits of a country alone. That there are none of it is refused before anything is sent.
fn through(country: &str, exits: Vec<ProxySection>, out: Out) -> CrawlerBuilder {
    let country = country.to_owned();
    Crawler::builder("ProxyPoolBot/0.1 (+https://example.com/bot)")
        .configure(move |file| {
            file.fetch.proxy = Some(exits);
            file.fetch.proxy_country = Some(country);
        })
        .each_page(move |page| show(page, &mut *out.lock().unwrap_or_else(PoisonError::into_inner)))
}

/// From where a page was asked for; its record says the same.
fn show(page: &Page, out: &mut dyn Write) -> io::Result<()> {
    let capture = page.capture();
    let exit = capture.via.as_ref().and_then(|via| via.exit.as_deref()).unwrap_or("-");
    writeln!(out, "{} {}  from {} by {exit}", page.status(), page.url(), capture.vantage)
}

#[cfg(test)]
mod tests;
