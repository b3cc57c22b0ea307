//! How do I turn pages into JSON lines? Pick fields by CSS selectors, and write each line before its page is settled.
//!
//! ```text
//! cargo run -p extract-jsonl -- items.jsonl https://shop.example/ name=h1 price='.price'
//! ```
//!
//! A page leaves the queue only after its handler has ended well, so no page is lost by a kill; its line may stand
//! twice after one. Readers take the last line of a URL.

use std::sync::Arc;

use comity::extract::SelectError;
use comity::{BoxError, Crawler, CrawlerBuilder, Page};
use serde_json::{Value, json};
use tokio::fs::File;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::Mutex;

/// Name of a field, and the selector of its elements.
type Field = (String, String);

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let mut arguments = std::env::args().skip(1);
    let (Some(file), Some(seed)) = (arguments.next(), arguments.next()) else {
        return Err("usage: extract-jsonl FILE.jsonl URL NAME=SELECTOR…".into());
    };
    let fields = arguments.map(|text| field(&text)).collect::<Result<_, _>>()?;
    let out = File::options().create(true).append(true).open(file).await?;
    let summary = extractor(&seed, fields, Arc::new(Mutex::new(out))).build()?.run().await?;
    eprint!("{summary}");
    Ok(())
}

fn field(text: &str) -> Result<Field, String> {
    let (name, selector) = text.split_once('=').ok_or_else(|| format!("{text:?} is no NAME=SELECTOR"))?;
    Ok((name.to_owned(), selector.to_owned()))
}

/// A crawler that writes a line for every HTML page that was there.
fn extractor<W>(seed: &str, fields: Vec<Field>, out: Arc<Mutex<W>>) -> CrawlerBuilder
where
    W: AsyncWrite + Unpin + Send + 'static,
{
    let fields = Arc::new(fields);
    Crawler::builder("ExtractBot/0.1 (+https://example.com/bot)").seed(seed).on_page(move |page, _ctx| {
        let (fields, out) = (fields.clone(), out.clone());
        async move {
            let is_html = page.header("content-type").is_some_and(|kind| kind.contains("html"));
            if page.status() != 200 || !is_html {
                return Ok(());
            }
            let mut line = serde_json::to_vec(&item(&page, &fields)?)?;
            line.push(b'\n');
            // Whole lines: one at a time, and each flushed before its page is settled.
            let mut out = out.lock().await;
            out.write_all(&line).await?;
            out.flush().await?;
            Ok::<(), BoxError>(())
        }
    })
}

/// What a page says: its own facts, and the texts of the fields, white space folded.
fn item(page: &Page, fields: &[Field]) -> Result<Value, SelectError> {
    let mut item = json!({ "url": page.url().as_str(), "title": page.title() });
    for (name, selector) in fields {
        let found = page.select(selector)?;
        let texts = found.iter().map(|element| element.text.split_whitespace().collect::<Vec<_>>().join(" "));
        item[name] = texts.collect::<Vec<_>>().into();
    }
    Ok(item)
}

#[cfg(test)]
mod tests;
