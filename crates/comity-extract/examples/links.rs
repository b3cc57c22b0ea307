//! The links of a file: `cargo run -p comity-extract --example links -- URL FILE…`, one line per link.
//!
//! With several files each is read as if it stood at URL; a last line on stderr tells bytes and links.

use std::process::ExitCode;

use comity_extract::{PageLimits, PageReader};
use comity_url::CrawlUrl;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(Ok(url)) = arguments.next().map(|text| CrawlUrl::parse(&text)) else {
        eprintln!("usage: links URL FILE…");
        return ExitCode::from(2);
    };
    let (mut bytes, mut links) = (0, 0);
    for file in arguments {
        let html = match std::fs::read(&file) {
            Ok(html) => html,
            Err(why) => {
                eprintln!("{file}: {why}");
                return ExitCode::FAILURE;
            }
        };
        let mut reader = PageReader::new(&url, Some("text/html"), PageLimits::default());
        reader.push(&html);
        let page = reader.finish();
        bytes += html.len();
        links += page.links.len();
        print_links(&page.links);
    }
    eprintln!("{bytes} bytes, {links} links");
    ExitCode::SUCCESS
}

#[expect(clippy::print_stdout, reason = "an example prints its answer")]
fn print_links(links: &[comity_extract::Link]) {
    for link in links {
        println!("{} {} {}", link.tag.as_str(), link.url, link.rel);
    }
}
