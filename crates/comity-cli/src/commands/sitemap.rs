use std::io::{self, BufWriter, Write as _};

use comity::extract::{Sitemap, SitemapEntry, SitemapLimits, SitemapReader};
use serde_json::{Map, Value};

use super::input;
use crate::args::SitemapArgs;
use crate::exit::{Exit, Failure};

/// `comity sitemap`: what can be read is printed; exit 1 when the file is damaged, or neither sitemap nor feed.
pub(crate) fn run(args: &SitemapArgs) -> Result<Exit, Failure> {
    let url = input::url(&args.url)?;
    let mut reader = SitemapReader::new(&url, None, SitemapLimits::default());
    input::chunks(&args.file, |chunk| reader.push(chunk))?;
    let sitemap = reader.finish();
    show(&sitemap)?;
    for line in sitemap.notes.lines() {
        eprintln!("note: {line}");
    }
    if !sitemap.format.is_known() {
        eprintln!("note: {} is {}", args.file.display(), sitemap.format.as_str());
    }
    let is_sound = sitemap.format.is_known() && !sitemap.is_damaged();
    Ok(if is_sound { Exit::Done } else { Exit::Findings })
}

fn show(sitemap: &Sitemap) -> Result<(), Failure> {
    let mut output = BufWriter::new(io::stdout().lock());
    let written = sitemap.entries.iter().try_for_each(|entry| writeln!(output, "{}", line(entry)));
    match written.and_then(|()| output.flush()) {
        // The reader went away: nobody wants more.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(|e| Failure::unavailable(format!("standard output: {e}"))),
    }
}

/// The shape of design §8.
fn line(entry: &SitemapEntry) -> Value {
    let mut line = Map::new();
    line.insert("loc".to_owned(), entry.loc.as_str().into());
    if let Some(date) = &entry.lastmod {
        line.insert("lastmod".to_owned(), Value::from(&*date.text));
    }
    if let Some(priority) = entry.priority {
        line.insert("priority".to_owned(), (f64::from(priority.thousandths()) / 1000.0).into());
    }
    line.insert("kind".to_owned(), entry.kind.as_str().into());
    Value::Object(line)
}
