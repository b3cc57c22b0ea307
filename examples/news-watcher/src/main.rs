//! How do I watch a site's news sitemap for what is new? Begin with the sitemap, go one step, and visit it anew.
//!
//! ```text
//! cargo run -p news-watcher -- news/ https://news.example/sitemap-news.xml
//! ```
//!
//! The sitemap is read anew every hour or rarer; an article whose `lastmod` is newer than its last visit is due at once. The
//! schedule lies in the directory: stop it and start it again as you like.

use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use comity::config::{Intervals, RevisitPolicy, Span};
use comity::{BoxError, Change, Crawler, CrawlerBuilder, Page};

/// Where lines go: standard output, or what a test reads.
type Out = Arc<Mutex<dyn Write + Send>>;

const HOUR: Duration = Duration::from_secs(3600);

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let mut arguments = std::env::args().skip(1);
    let (Some(dir), Some(sitemap)) = (arguments.next(), arguments.next()) else {
        return Err("usage: news-watcher DIR SITEMAP-URL".into());
    };
    let crawler = watcher(Path::new(&dir), &sitemap, Arc::new(Mutex::new(io::stdout()))).build()?;
    let stop = crawler.stop_handle();
    tokio::spawn(async move { tokio::signal::ctrl_c().await.map(|()| stop.drain()) });
    eprint!("{}", crawler.run().await?);
    Ok(())
}

/// A crawler that prints articles when they appear and when they change.
fn watcher(dir: &Path, sitemap: &str, out: Out) -> CrawlerBuilder {
    Crawler::builder("NewsWatcher/0.1 (+https://example.com/bot)")
        .dir(dir)
        .seed(sitemap)
        // What the sitemap lists, and no links of that.
        .max_depth(1)
        .revisit(RevisitPolicy::Sitemap(Intervals { min: HOUR, max: 24 * HOUR, start: HOUR }))
        .configure(|file| {
            // No other sitemaps than this one; and it goes on while a visit is due within two days.
            file.crawl.sitemaps = Some("off".to_owned());
            file.crawl.linger = Some(Span(48 * HOUR));
        })
        .each_page(move |page| show(page, &mut *out.lock().unwrap_or_else(PoisonError::into_inner)))
}

fn show(page: &Page, out: &mut dyn Write) -> io::Result<()> {
    if page.is_seed() || page.status() != 200 {
        return Ok(());
    }
    // Whatever a title holds, the terminal gets text: no control of it.
    let title = format!("{:?}", page.title().unwrap_or("(no title)"));
    match page.change() {
        Change::First => writeln!(out, "new      {}  {title}", page.url()),
        Change::Changed => writeln!(out, "changed  {}  {title}", page.url()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
