//! How do I put pages into object storage, and lose none? Implement [`Sink`]: what it has not acknowledged stays in the queue.
//!
//! ```text
//! cargo run -p custom-sink -- crawl/ https://site.example/ http://127.0.0.1:9000/bucket
//! ```
//!
//! Each URL has one key, so that a page that is put twice, after a kill, is there once. Requests are plain `PUT`; a storage that
//! wants signatures has a client of its own, which goes into `Bucket::put`.

use std::path::Path;
use std::time::Duration;

use comity::frontier::BoxFuture;
use comity::{BoxError, Crawler, CrawlerBuilder, HandlerResult, Page, Sink, UrlOutcome};
use data_encoding::HEXLOWER;
use reqwest::{Client, header};
use sha2::{Digest as _, Sha256};
use tokio::time::sleep;

/// A URL longer than this is not repeated in a field: a storage that refuses it would end the crawl at the same page each time.
const LONGEST_FIELD: usize = 1024;

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let mut arguments = std::env::args().skip(1);
    let (Some(dir), Some(seed), Some(bucket)) = (arguments.next(), arguments.next(), arguments.next()) else {
        return Err("usage: custom-sink DIR URL BUCKET-URL".into());
    };
    let summary = storing(Path::new(&dir), Bucket::at(&bucket)?).seed(seed).build()?.run().await?;
    eprint!("{summary}");
    Ok(())
}

/// A crawler that puts every page that was there into a bucket.
fn storing(dir: &Path, bucket: Bucket) -> CrawlerBuilder {
    Crawler::builder("StoringBot/0.1 (+https://example.com/bot)").dir(dir).sink(bucket)
}

/// A bucket of an object storage that takes `PUT`.
#[derive(Clone, Debug)]
struct Bucket {
    client: Client,
    url: String,
    /// Before each try. All of it has to end within the handler's time, 60 s.
    waits: [Duration; 3],
}

/// An error ends the crawl, as a full disk does: nobody at the site is to blame, and its page is asked for by the next run.
impl Sink for Bucket {
    fn page<'a>(&'a self, page: &'a Page) -> BoxFuture<'a, HandlerResult> {
        Box::pin(async move {
            let mut outcome = Ok(());
            for wait in self.waits.into_iter().filter(|_| page.status() == 200) {
                sleep(wait).await;
                outcome = self.put(page).await;
                if outcome.is_ok() {
                    break;
                }
            }
            Ok(outcome?)
        })
    }

    /// Refusals and failures are in the crawl directory.
    fn outcome<'a>(&'a self, _: UrlOutcome<'a>) -> BoxFuture<'a, HandlerResult> {
        Box::pin(async { Ok(()) })
    }
}

impl Bucket {
    fn at(url: &str) -> reqwest::Result<Self> {
        let client = Client::builder().no_proxy().timeout(Duration::from_secs(10)).build()?;
        let waits = [Duration::ZERO, Duration::from_secs(1), Duration::from_secs(5)];
        Ok(Self { client, url: url.trim_end_matches('/').to_owned(), waits })
    }

    /// Puts a page under the key of its URL. Done when the storage says so.
    async fn put(&self, page: &Page) -> reqwest::Result<()> {
        let key = HEXLOWER.encode(&Sha256::digest(page.url().as_str()));
        let mut request = self
            .client
            .put(format!("{}/{key}", self.url))
            .header(header::CONTENT_TYPE, page.header("content-type").unwrap_or("application/octet-stream"))
            .body(page.bytes());
        // Storages take 2 KB of such fields. The key names the page in any case.
        if page.url().as_str().len() <= LONGEST_FIELD {
            request = request.header("x-amz-meta-url", page.url().as_str());
        }
        request.send().await?.error_for_status().map(drop)
    }
}

#[cfg(test)]
mod tests;
