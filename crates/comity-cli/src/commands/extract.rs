use comity::extract::{Page, PageLimits, PageReader};
use serde_json::{Value, json};

use super::{input, print};
use crate::args::ExtractArgs;
use crate::exit::{Exit, Failure};

/// `comity extract`: any bytes give an answer.
pub(crate) fn run(args: &ExtractArgs) -> Result<Exit, Failure> {
    let url = input::url(&args.url)?;
    let mut reader = PageReader::new(&url, args.content_type.as_deref(), PageLimits::default());
    input::chunks(&args.file, |chunk| reader.push(chunk))?;
    let page = reader.finish();
    print(&report(&page).to_string())?;
    if !page.notes.is_empty() {
        eprintln!("note: {}", page.notes);
    }
    Ok(Exit::Done)
}

/// The shape of design §8.
fn report(page: &Page) -> Value {
    let head = &page.head;
    let links: Vec<Value> = page
        .links
        .iter()
        .map(|link| {
            let rel = link.rel.words().collect::<Vec<_>>().join(" ");
            json!({"url": link.url.as_str(), "tag": link.tag.as_str(), "rel": rel})
        })
        .collect();
    let named = |name: &'static str, contents: &[String]| -> Vec<Value> {
        contents.iter().map(|content| json!({"name": name, "content": content})).collect()
    };
    let mut meta: Vec<Value> =
        head.robots.iter().map(|meta| json!({"name": meta.name, "content": meta.content})).collect();
    meta.extend(named("tdm-reservation", &head.tdm_reservation));
    meta.extend(named("tdm-policy", &head.tdm_policy));
    json!({
        "charset": page.charset.map(|charset| charset.name),
        "base": page.base,
        "title": head.title,
        "links": links,
        "meta": meta,
    })
}
