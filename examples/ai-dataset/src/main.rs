//! How do I collect pages for AI training, and show that I may? Declare the purpose, keep the crawl, and write beside each
//! text what the site said.
//!
//! ```text
//! cargo run -p ai-dataset -- crawl/ texts.jsonl https://site.example/
//! comity export crawl/ --for ai_train --out dataset/
//! ```
//!
//! With one purpose declared, what denies it is not requested, or not kept where the answer itself says so. The texts are for a
//! first look; the set to hand on is the export, which takes from the proven records alone what may be used, and says of
//! every other page by whose words it was left out.

use std::path::Path;
use std::sync::Arc;

use comity::signals::Purpose;
use comity::{BoxError, Crawler, CrawlerBuilder, Page};
use serde_json::{Value, json};
use tokio::fs::File;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::Mutex;

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let mut arguments = std::env::args().skip(1);
    let (Some(dir), Some(texts)) = (arguments.next(), arguments.next()) else {
        return Err("usage: ai-dataset DIR TEXTS.jsonl URL…".into());
    };
    let out = File::options().create(true).append(true).open(texts).await?;
    let crawler = collector(Path::new(&dir), Arc::new(Mutex::new(out))).seeds(arguments).build()?;
    eprint!("{}", crawler.run().await?);
    eprintln!("next: comity export {dir} --for ai_train --out dataset");
    Ok(())
}

/// A crawler that wants pages for AI training and for nothing else, and writes a row for each that it may keep.
fn collector<W>(dir: &Path, out: Arc<Mutex<W>>) -> CrawlerBuilder
where
    W: AsyncWrite + Unpin + Send + 'static,
{
    Crawler::builder("DatasetBot/0.1 (+https://example.com/bot)")
        .purposes([Purpose::AiTrain.as_str()])
        // Evidence, records and WARC files. Without it nobody can show anything later.
        .dir(dir)
        .on_page(move |page, _ctx| {
            let out = out.clone();
            async move {
                if page.status() != 200 {
                    return Ok(());
                }
                let mut line = serde_json::to_vec(&row(&page))?;
                line.push(b'\n');
                let mut out = out.lock().await;
                out.write_all(&line).await?;
                out.flush().await?;
                Ok::<(), BoxError>(())
            }
        })
}

/// A text, and on what its use rests: the verdict, each statement in the site's own words, and the robots.txt of that day, whose
/// bytes lie in `evidence/` under the digest.
fn row(page: &Page) -> Value {
    let said: Vec<Value> = page.signals().statements().iter().map(|one| {
        json!({ "source": one.source.to_string(), "purpose": one.purpose.as_str(), "verdict": one.verdict.to_string(), "words": one.raw })
    }).collect();
    json!({
        "url": page.url().as_str(),
        "title": page.title(),
        "ai_train": page.signals().verdict(Purpose::AiTrain).to_string(),
        "said": said,
        "robots": page.decision().robots.digest().map(|digest| digest.to_string()),
        "text": page.text(),
    })
}

#[cfg(test)]
mod tests;
