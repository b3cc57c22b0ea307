//! A polite crawler: the settings are in `crawl.toml`, what is done with a page is here.

use comity::config::ConfigFile;
use comity::{Crawler, CrawlerBuilder, Page};

/// The crawler with its handler. Everything that keeps it polite is not here, because it cannot be left out.
pub fn crawler(settings: ConfigFile) -> CrawlerBuilder {
    Crawler::from_config(settings).each_page(show)
}

/// Told of every page: its status, its address, its title.
fn show(page: &Page) {
    let title = page.title().unwrap_or("(no title)");
    // Whatever a title holds, the terminal gets text: no control of it.
    println!("{} {}  {title:?}", page.status(), page.url());
}
