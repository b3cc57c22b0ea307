//! The bundled example crawler: a configuration file in, the title of every page out.
//!
//! Run it against the synthetic web, from the workspace's root and in two terminals:
//!
//! ```text
//! cargo run --release -- demo --serve
//! cargo run --release -p crawler -- configs/demo.toml
//! ```
//!
//! It shows what a crawler author writes: settings from a file, a handler for pages, Ctrl-C, the summary. Everything
//! that keeps it polite is not here, because it cannot be left out.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use comity::config::ConfigFile;
use comity::{Crawler, CrawlerBuilder, Page, StopHandle, Summary};

/// Of what a page of a crawl takes, an allocator is a good part; the library leaves it to you.
#[cfg(unix)]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Where lines go: standard output, or what a test reads.
type Out = Arc<Mutex<dyn Write + Send>>;

#[tokio::main]
async fn main() -> ExitCode {
    let Some((config, dir)) = arguments() else {
        eprintln!("usage: crawler CONFIG.toml [DIR]");
        return ExitCode::from(2);
    };
    match crawl(&config, dir).await {
        Ok(summary) => {
            eprint!("{summary}");
            ExitCode::from(summary.exit_code())
        }
        Err(error) => {
            eprintln!("error: {error}");
            if let Some(hint) = error.advice() {
                eprintln!("hint: {hint}");
            }
            ExitCode::from(2)
        }
    }
}

/// The configuration file, and where the crawl is kept, if anywhere.
fn arguments() -> Option<(PathBuf, Option<PathBuf>)> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    Some((arguments.next()?, arguments.next()))
}

async fn crawl(config: &PathBuf, dir: Option<PathBuf>) -> Result<Summary, comity::Error> {
    let mut builder = crawler(ConfigFile::read(config)?, Arc::new(Mutex::new(io::stdout())));
    if let Some(dir) = dir {
        builder = builder.dir(dir);
    }
    let crawler = builder.build()?;
    tokio::spawn(obey_interrupts(crawler.stop_handle()));
    crawler.run().await
}

/// A crawler that prints every page.
fn crawler(config: ConfigFile, out: Out) -> CrawlerBuilder {
    Crawler::from_config(config)
        .each_page(move |page| show(page, &mut *out.lock().unwrap_or_else(PoisonError::into_inner)))
}

/// Status, URL and title of a page; for the pages that a signal speaks about, what it says.
fn show(page: &Page, out: &mut dyn Write) -> io::Result<()> {
    let title = page.title().unwrap_or("(no title)");
    // Whatever a title holds, the terminal gets text: no control of it.
    writeln!(out, "{} {}  {title:?}", page.status(), page.url())?;
    for statement in page.signals().statements() {
        writeln!(out, "    {} {}: {}", statement.source, statement.purpose, statement.verdict)?;
    }
    Ok(())
}

/// Ctrl-C once: finish what is in flight; twice: stop now.
async fn obey_interrupts(stop: StopHandle) {
    if tokio::signal::ctrl_c().await.is_ok() {
        stop.drain();
    }
    if tokio::signal::ctrl_c().await.is_ok() {
        stop.now();
    }
}

#[cfg(test)]
mod tests;
