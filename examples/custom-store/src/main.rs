//! How do I keep the queue in a store of my own? Implement [`Store`](comity::frontier::Store): rows by key, and batches that are
//! written whole or not at all.
//!
//! ```text
//! cargo run -p custom-store -- crawl/ https://site.example/
//! ```
//!
//! Everything else of a frontier (who is due, leases, budgets) is comity's, over any store. This one is a file that only grows,
//! and a copy in memory: see [`log_store`] for what it promises and what it does not.

use std::path::Path;

use comity::{BoxError, Crawler, CrawlerBuilder};

use crate::log_store::LogStore;

mod log_store;

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let mut arguments = std::env::args().skip(1);
    let (Some(dir), Some(seed)) = (arguments.next(), arguments.next()) else {
        return Err("usage: custom-store DIR URL".into());
    };
    let crawler = crawler(Path::new(&dir), &seed)?.build()?;
    let stop = crawler.stop_handle();
    tokio::spawn(async move { tokio::signal::ctrl_c().await.map(|()| stop.drain()) });
    eprint!("{}", crawler.run().await?);
    Ok(())
}

/// A crawler whose queue lies beside its directory: `crawl.queue` of `crawl/`.
fn crawler(dir: &Path, seed: &str) -> Result<CrawlerBuilder, BoxError> {
    let store = LogStore::open(&dir.with_extension("queue"))?;
    Ok(Crawler::builder("OwnStoreBot/0.1 (+https://example.com/bot)")
        .seed(seed)
        .dir(dir)
        .frontier_store(Box::new(store)))
}

#[cfg(test)]
mod tests;
